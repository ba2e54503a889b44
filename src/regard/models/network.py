"""The paper's models as one network: embeddings, an encoder, one attention, one linear output."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from regard.models.vectors import Encoder, Vectors
from regard.nn.pool import PoolAttention
from regard.nn.result import AttentionResult

PADDING = -1


@dataclass(frozen=True)
class Shape:
    """The sizes and kinds that make a network; ``dim`` is that of e, ``hidden`` that of h."""

    words: int
    sides: int
    dim: int
    hidden: int
    encoder: Encoder
    bidirectional: bool
    widths: tuple[int, ...]
    score: Literal["dot", "additive"]
    scale: float
    dropout: float
    word_dropout: float = 0.0
    attention: Literal["learned", "frozen", "flat"] = "learned"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> Self:
        """What ``to_dict`` returned."""
        return cls(**{**said, "widths": tuple(said["widths"])})


class AttentionNetwork(nn.Module):
    """DP, DP-A, DP-L and AD of Sun and Lu (2020), and the FLAN encoder of Serrano and Smith (2019).

        h = encoder(e),   a = softmax(h·V / λ),   score = W' Σⱼ a[j] h[j]        (additive: V·tanh(A h) / λ)

    Parameters
    ----------
    shape : Shape
    sparse : bool
        Whether the gradient of the embeddings holds the rows of a batch alone.
    """

    def __init__(self, shape: Shape, *, sparse: bool = False) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.words, shape.dim, sparse=sparse)
        self.encoder = _ENCODERS[shape.encoder](shape)
        self.attention = PoolAttention(shape.hidden, score=shape.score, scale=shape.scale, bias=False)
        self.output = nn.Linear(shape.hidden, shape.sides, bias=False)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.normal_(self.attention.query)
        nn.init.uniform_(self.output.weight, -1.0, 1.0)
        if shape.attention == "flat":
            nn.init.zeros_(self.attention.query)
        self.attention.requires_grad_(shape.attention == "learned")

    def forward(self, ids: Tensor) -> Tensor:
        """The score of each text on each side.

        Parameters
        ----------
        ids : (texts, T)
            Words, each text filled up with ``PADDING``; every text has one word at least.
        """
        _, attended = self.attend(ids)
        return self.read(self._thinned(attended.context))

    def attend(self, ids: Tensor) -> tuple[Tensor, AttentionResult]:
        """``h`` (texts, T, hidden), and what attention makes of it."""
        keep = ids != PADDING
        e = self._thinned(self.embedding(ids.clamp_min(0)))
        if self.training and self.shape.word_dropout:
            e = e * (torch.rand(ids.shape, device=e.device) >= self.shape.word_dropout)[..., None]
        h = self.encoder(e, keep)
        mask = None if bool(keep.all()) else keep
        if self.shape.attention == "learned":
            return h, self.attention(h, mask=mask)
        # What is not learned is no way for the loss to reach h by, either.
        return h, self.attention(h.detach(), h, mask=mask)

    def speaks(self, ids: Tensor) -> Tensor:
        """Where there is a word."""
        return ids != PADDING

    def _thinned(self, x: Tensor) -> Tensor:
        return thinned(x, self.shape.dropout) if self.training and self.shape.dropout else x

    def read(self, h: Tensor) -> Tensor:
        """W' h: which side it takes."""
        side: Tensor = self.output(h)
        return side

    def loudness_direction(self) -> Tensor:
        """The direction of h along which attention grows: V, or A' V to first order where the score is additive."""
        key, query = self.attention.key, self.attention.query
        return query if key is None else key.weight.T @ query

    def overlap(self) -> Tensor:
        """V·W, for each side: what pulls the attention of opposite words apart."""
        return self.output.weight @ self.loudness_direction()

    def regularised(self) -> list[nn.Parameter]:
        """What the penalty on squares is on: the encoder, and A."""
        key = self.attention.key
        return [*self.encoder.parameters(), *([] if key is None else key.parameters())]

    def vectors(self) -> Vectors:
        """The parameters as arrays."""

        def array(x: Tensor) -> Any:
            return x.detach().cpu().numpy().copy()

        key, encoder = self.attention.key, self.encoder
        return Vectors(
            array(self.embedding.weight),
            array(self.attention.query),
            array(self.output.weight.T),
            self.shape.scale,
            self.shape.encoder,
            array(encoder.linear.weight) if isinstance(encoder, AffineEncoder) else None,
            array(key.weight) if key is not None else None,
        )


def thinned(x: Tensor, share: float) -> Tensor:
    """Dropout: zero about a share of the numbers, and enlarge the others so that the mean stays.

    One random byte decides for each number, so the share is a multiple of 1/256. ``torch.nn.functional.dropout`` draws
    four bytes for each, one after another, and takes five times as long on a CPU.
    """
    dropped = min(round(256 * share), 255)
    size = x.numel()
    drawn = torch.empty((size + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    keep = drawn.view(torch.uint8)[:size].view(x.shape) >= dropped
    return x * keep.to(x.dtype).mul_(256 / (256 - dropped))


class NoEncoder(nn.Module):
    """h = e."""

    def __init__(self, shape: Shape) -> None:  # noqa: ARG002 - all encoders are made alike
        super().__init__()

    def forward(self, e: Tensor, keep: Tensor) -> Tensor:  # noqa: ARG002 - and called alike
        """The embeddings themselves."""
        return e


class AffineEncoder(nn.Module):
    """h = M e."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.linear = nn.Linear(shape.dim, shape.hidden, bias=False)

    def forward(self, e: Tensor, keep: Tensor) -> Tensor:  # noqa: ARG002 - all encoders are called alike
        """Each word by itself."""
        h: Tensor = self.linear(e)
        return h


class LstmEncoder(nn.Module):
    """h = what an LSTM remembers at each word, reading forwards and, if bidirectional, backwards too.

    The backward LSTM reads each text turned around within its own length, so both run over plain padded tensors, whose
    kernel is several times as fast as the one for packed sequences, and neither reads padding before a word.
    """

    cell: ClassVar[type[nn.LSTM | nn.GRU]] = nn.LSTM

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        both = 2 if shape.bidirectional else 1
        self.forwards = self.cell(shape.dim, shape.hidden // both, batch_first=True)
        self.backwards = self.cell(shape.dim, shape.hidden // both, batch_first=True) if shape.bidirectional else None

    def forward(self, e: Tensor, keep: Tensor) -> Tensor:
        """Each text by itself."""
        h: Tensor = self.forwards(e)[0]
        if self.backwards is None:
            return h
        place = torch.arange(e.shape[1], device=e.device)
        last = keep.sum(-1, keepdim=True) - 1
        turned = torch.where(keep, last - place, place)[..., None]
        back = self.backwards(e.gather(1, turned.expand_as(e)))[0]
        return torch.cat([h, back.gather(1, turned.expand_as(back))], -1)


class GruEncoder(LstmEncoder):
    """h = what a GRU remembers at each word, reading as the LSTM does."""

    cell = nn.GRU


class ConvEncoder(nn.Module):
    """h = relu of convolutions of several widths, one beside the other."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        each = shape.hidden // len(shape.widths)
        sizes = [shape.hidden - each * (len(shape.widths) - 1), *[each] * (len(shape.widths) - 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(shape.dim, size, width, padding=width // 2)
            for size, width in zip(sizes, shape.widths, strict=True)
        )

    def forward(self, e: Tensor, keep: Tensor) -> Tensor:
        """Beyond either end of a text there are zeros."""
        e = torch.where(keep[..., None], e, 0).mT
        return torch.cat([torch.relu(convolution(e)) for convolution in self.convolutions], 1).mT


_ENCODERS: dict[Encoder, type[nn.Module]] = {
    "none": NoEncoder,
    "affine": AffineEncoder,
    "lstm": LstmEncoder,
    "gru": GruEncoder,
    "conv": ConvEncoder,
}
