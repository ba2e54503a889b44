"""Chorowski et al. 2015: a recogniser of sounds that knows where it listened last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.attention import Memory
from regard.nn.location_sensitive import LocationSensitiveAttention
from regard.nn.masks import lengths_mask
from regard.nn.weigh import Weigh
from regard.systems import decoding
from regard.systems.data.symbols import END, PAD, START, padded
from regard.systems.decoding import Decoded, Said
from regard.systems.recurrent import Recurrent
from regard.systems.saving import System
from regard.systems.without import flat

WEIGHINGS = ("softmax", "sharpened", "smoothed", "average")


class Listening(NamedTuple):
    """Where decoding is: the sound as prepared, what the decoder remembers, what it heard last, and where."""

    memory: Memory
    mask: Tensor
    hidden: Tensor
    context: Tensor
    weights: Tensor


class Recogniser(System):
    """Hears a sound, and writes down what was said.

        h = encoder(x)                              both ways, ``stride`` frames at a time
        a[i] = attend(s[i-1], a[i-1], h),  g[i] = Σⱼ a[i, j] h[j]
        P(y[i]) = softmax(W tanh(Wg [g[i]; s[i-1]] + b)),   s[i] = GRU([y[i]; g[i]], s[i-1])

    Parameters
    ----------
    bands : int
        Numbers in a frame.
    symbols : int
        How many symbols there are, padding, start and end included.
    dim, hidden : int
        Sizes of the embeddings of symbols, and of h and s.
    mode : "content", "location" or "hybrid"
        What attention looks at: h and s; h and where it listened last; all of them.
    weighing : "softmax", "sharpened", "smoothed" or "average"
        Softmax; softmax of twice the scores; the sigmoid of the scores over its sum; or no attention, everything
        alike.
    stride : int
        So many frames are heard as one.
    filters, width : int
        Of the features of the last weights.
    """

    def __init__(
        self,
        bands: int,
        symbols: int,
        *,
        dim: int = 16,
        hidden: int = 64,
        mode: Literal["content", "location", "hybrid"] = "hybrid",
        weighing: Literal["softmax", "sharpened", "smoothed", "average"] = "softmax",
        stride: int = 2,
        filters: int = 8,
        width: int = 15,
    ) -> None:
        super().__init__(
            bands=bands,
            symbols=symbols,
            dim=dim,
            hidden=hidden,
            mode=mode,
            weighing=weighing,
            stride=stride,
            filters=filters,
            width=width,
        )
        if weighing not in WEIGHINGS:
            raise SettingError(f"`weighing` must be one of {', '.join(WEIGHINGS)}; got {weighing!r}.")
        weigh: dict[str, str | Weigh] = {"smoothed": "smooth", "average": flat}
        self.stride = stride
        self.hear = nn.Linear(bands * stride, hidden)
        self.encoder = Recurrent(hidden, hidden)
        self.symbol = nn.Embedding(symbols, dim)
        self.attention = LocationSensitiveAttention(
            hidden,
            hidden,
            mode=mode,
            filters=filters,
            width=width,
            sharpening=2.0 if weighing == "sharpened" else 1.0,
            weigh=weigh.get(weighing, "softmax"),
        )
        self.decoder = nn.GRUCell(dim + hidden, hidden)
        self.join = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, symbols)

    def begin(self, sounds: Tensor, lengths: Tensor) -> Listening:
        """Hear sounds, (batch, frames, bands), of lengths (batch,) in frames."""
        if sounds.ndim != 3 or lengths.shape != sounds.shape[:1]:
            raise SettingError(
                f"`sounds` must be (batch, frames, bands) with a length for each; got {tuple(sounds.shape)} and "
                f"{tuple(lengths.shape)}."
            )
        if len(lengths) and not 1 <= int(lengths.min()) <= int(lengths.max()) <= sounds.shape[1]:
            raise SettingError(
                f"`lengths` must be from 1 to {sounds.shape[1]} frames; got {int(lengths.min())} to "
                f"{int(lengths.max())}."
            )
        frames = torch.arange(sounds.shape[1], device=sounds.device)
        sounds = torch.where((frames < lengths[:, None])[..., None], sounds, 0)
        sounds = F.pad(sounds, (0, 0, 0, -sounds.shape[1] % self.stride))
        heard = torch.tanh(self.hear(sounds.reshape(len(sounds), -1, self.stride * sounds.shape[-1])))
        lengths = (lengths + self.stride - 1) // self.stride
        states, _ = self.encoder(heard, lengths)
        mask = lengths_mask(lengths, states.shape[1])
        nothing = states.new_zeros(len(states), states.shape[-1])
        uniform = (mask[:, 0] / lengths[:, None]).to(states.dtype)
        return Listening(self.attention.precompute(states, mask=mask), mask, nothing, nothing, uniform)

    def step(self, tokens: Tensor, state: Listening) -> Said:
        """From the last symbols (batch,) to logits (batch, V); weights (batch, S), a stride of frames each."""
        hidden = self.decoder(torch.cat([self.symbol(tokens), state.context], -1), state.hidden)
        result = self.attention(hidden[:, None], state.memory, mask=state.mask, state=state.weights)
        context = result.context[:, 0]
        logits = self.out(torch.tanh(self.join(torch.cat([context, hidden], -1))))
        return Said(logits, state._replace(hidden=hidden, context=context, weights=result.state), result.state)

    def forward(self, sounds: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """From sounds (batch, frames, bands), their lengths (batch,) and what was said so far (batch, T), the start
        first, to logits (batch, T, V).
        """
        state, said = self.begin(sounds, lengths), []
        for tokens in target.unbind(1):
            logits, state, _ = self.step(tokens, state)
            said.append(logits)
        return torch.stack(said, 1)

    def loss(self, sounds: Sequence[NDArray[Any]], targets: Sequence[Sequence[int]]) -> Tensor:
        """The mean of -log P over the symbols of the targets, their ends included."""
        heard, lengths = beside(sounds, self.device)
        said, _ = padded([[START, *one] for one in targets], self.device)
        wanted, _ = padded([[*one, END] for one in targets], self.device)
        return F.cross_entropy(self(heard, lengths, said).flatten(0, 1), wanted.flatten(), ignore_index=PAD)

    def greedy(self, sounds: Tensor, lengths: Tensor, *, longest: int = 100) -> Decoded:
        """The most probable symbol at each step; at most ``longest``."""
        start = torch.full((len(sounds),), START, device=sounds.device)
        return decoding.greedy(self.step, self.begin(sounds, lengths), start, end=END, longest=longest)

    def beam(self, sounds: Tensor, lengths: Tensor, *, width: int = 5, longest: int = 100) -> Decoded:
        """The best of what the ``width`` most probable beginnings become."""
        start = torch.full((len(sounds),), START, device=sounds.device)
        return decoding.beam(self.step, self.begin(sounds, lengths), start, end=END, longest=longest, width=width)


def beside(sounds: Sequence[NDArray[Any]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Sounds (frames, bands) side by side, filled up with zeros: (n, frames, bands), and how long each is (n,)."""
    lengths = torch.tensor([len(sound) for sound in sounds])
    filled = nn.utils.rnn.pad_sequence([torch.as_tensor(sound) for sound in sounds], batch_first=True)
    return filled.to(device), lengths.to(device)
