"""Words, sentences, document: the network of Yang et al. (2016), without padding between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.models.network import AttentionNetwork, Shape
from regard.nn.pool import PoolAttention
from regard.nn.result import AttentionResult
from regard.nn.weigh import softmax

_GROUPS = 4  # of sentences of like length, which are read together


@dataclass(frozen=True)
class HierarchicalShape(Shape):
    """As ``Shape``, and what reads the sentences. The number ``words`` is a mark between sentences."""

    sentence_encoder: Literal["none", "weights", "gru"] = "weights"
    flat: bool = False


class HierarchicalNetwork(AttentionNetwork):
    """A hierarchical attention network.

        h[i, t] = encoder(e)[i, t],   α[i, :] = softmax(uw · tanh(Ww h[i, :] + bw)),   s[i] = Σₜ α[i, t] h[i, t]
        r = GRU(s) or s,              α = softmax(us · tanh(Ws r + bs))
        score = W' Σᵢ α[i] s[i]       (sentence_encoder "gru", as in the paper: W' Σᵢ α[i] r[i])

    With ``sentence_encoder="weights"`` the GRU decides how loudly each sentence speaks and the sentences themselves are
    averaged, so that the score is Σ α[i] α[i, t] W'h[i, t], a sum over words.

    Parameters
    ----------
    shape : HierarchicalShape
    sparse : bool
        Whether the gradient of the embeddings holds the rows of a batch alone.
    """

    shape: HierarchicalShape

    def __init__(self, shape: HierarchicalShape, *, sparse: bool = False) -> None:
        super().__init__(shape, sparse=sparse)
        weigh = _even if shape.flat else "softmax"
        self.attention = PoolAttention(shape.hidden, weigh=weigh)
        self.sentences = PoolAttention(shape.hidden, weigh=weigh)
        # Half of the size each way, so that sentences among their neighbours have the size of sentences.
        self.reader: nn.GRU | None = None
        if shape.sentence_encoder != "none":
            self.reader = nn.GRU(shape.hidden, shape.hidden // 2, batch_first=True, bidirectional=True)

    def forward(self, ids: Tensor) -> Tensor:
        """The score of each text on each side.

        Parameters
        ----------
        ids : (texts, T)
            Words, ``words`` between sentences, and ``PADDING`` at the end; every text has one word at least, and so has
            every sentence.
        """
        cut = Cut.of(ids, self.shape.words)
        _, _, upper = self._levels(ids, cut)
        return self.read(self._thinned(upper.context))

    def speaks(self, ids: Tensor) -> Tensor:
        """Where there is a word: not padding, not a mark."""
        return (ids >= 0) & (ids < self.shape.words)

    def attend(self, ids: Tensor) -> tuple[Tensor, AttentionResult]:
        """``h`` (texts, T, hidden), and what attention makes of it, words and sentences in one.

        The weight of a word is α[i] α[i, t], and its score

            u[i, t] − L[i] + u[i] + Σₖ α[k] L[k],   L[i] = log Σₜ exp u[i, t]

        whose softmax over the text is that weight; for a word alone it is u[i, t] + u[i].
        """
        cut = Cut.of(ids, self.shape.words)
        words, lower, upper = self._levels(ids, cut)
        assert lower.scores is not None, "scores come with the weights"
        assert lower.weights is not None
        assert upper.scores is not None
        assert upper.weights is not None
        total = torch.where(cut.keep, lower.scores, -torch.inf).logsumexp(-1)  # L, by sentence
        weight, score = upper.weights[cut.sentence], upper.scores[cut.sentence]
        if self.shape.flat:
            scores = torch.where(cut.keep, (lower.weights * weight[:, None]).log(), 0.0)
        else:
            spread = total.new_zeros(len(ids)).index_add(0, cut.sentence[0], weight * total)
            scores = lower.scores - total[:, None] + (score + spread[cut.sentence[0]])[:, None]
        if self.shape.sentence_encoder == "gru":
            words = self._read_among(cut, lower.context)[cut.sentence][:, None].expand_as(words)
        h = cut.unfold(words, ids)
        weights = cut.unfold(lower.weights * weight[:, None], ids)
        return h, AttentionResult(upper.context, weights, cut.unfold(scores, ids))

    def regularised(self) -> list[nn.Parameter]:
        """What the penalty on squares is on: the encoders, and the maps before both attentions."""
        parts = [self.sentences.key, *([] if self.reader is None else [self.reader])]
        return [*super().regularised(), *(p for part in parts if part is not None for p in part.parameters())]

    def _levels(self, ids: Tensor, cut: Cut) -> tuple[Tensor, AttentionResult, AttentionResult]:
        """Words (sentences, W, hidden), the attention in each sentence, and that over the sentences of each text."""
        h, lower = self._words(cut.fold(ids), cut)
        s = cut.by_text(lower.context)
        there = cut.there
        encoder = self.shape.sentence_encoder
        r = s if self.reader is None else among(self.reader, s, there)
        return h, lower, self.sentences(r, s if encoder == "weights" else None, mask=there)

    def _read_among(self, cut: Cut, s: Tensor) -> Tensor:
        assert self.reader is not None
        return among(self.reader, cut.by_text(s), cut.there)

    def _words(self, ids: Tensor, cut: Cut) -> tuple[Tensor, AttentionResult]:
        """Sentences of like length together, so that little is filled up."""
        lengths = cut.keep.sum(-1)
        order = lengths.argsort(stable=True)
        found, widest = [], ids.shape[1]
        for rows in order.tensor_split(min(_GROUPS, len(order))):
            width = int(lengths[rows].max())
            keep = cut.keep[rows, :width]
            e = self._thinned(self.embedding(ids[rows, :width]))
            if self.training and self.shape.word_dropout:
                e = e * (torch.rand(keep.shape, device=e.device) >= self.shape.word_dropout)[..., None]
            h = self.encoder(e, keep)
            attended = self.attention(h, mask=keep)
            assert attended.weights is not None, "weights come unless told otherwise"
            assert attended.scores is not None
            found.append((h, attended.context, attended.weights, attended.scores))
        back = order.argsort()
        if self.training:  # only the sentences are needed, and gluing words together costs time
            context = torch.cat([each[1] for each in found])[back]
            return context, AttentionResult(context)
        h = torch.cat([F.pad(each[0], (0, 0, 0, widest - each[0].shape[1])) for each in found])[back]
        weights, scores = (
            torch.cat([F.pad(each[k], (0, widest - each[k].shape[1])) for each in found])[back] for k in (2, 3)
        )
        return h, AttentionResult(torch.cat([each[1] for each in found])[back], weights, scores)


@dataclass(frozen=True)
class Cut:
    """Where the sentences of some texts stand.

    Attributes
    ----------
    text, place : (words,)
        Of each word, text by text: its text and its place there.
    row, column : (words,)
        Its sentence, counted through all texts, and its place there.
    keep : bool (sentences, W)
        Where a sentence has a word.
    sentence : pair of (sentences,)
        Of each sentence: its text, and its place among the sentences of the text.
    there : bool (texts, S)
        Where a text has a sentence.
    """

    text: Tensor
    place: Tensor
    row: Tensor
    column: Tensor
    keep: Tensor
    sentence: tuple[Tensor, Tensor]
    there: Tensor

    @classmethod
    def of(cls, ids: Tensor, mark: int) -> Cut:
        """From texts (texts, T) in which ``mark`` stands between sentences."""
        texts, size = ids.shape
        flat = ids.cpu().numpy()
        text, place = np.nonzero((flat >= 0) & (flat != mark))
        among_text = np.cumsum(flat == mark, axis=1)[text, place]
        label = text * (size + 1) + among_text
        distinct, first, row = np.unique(label, return_index=True, return_inverse=True)
        column = np.arange(len(row)) - first[row]
        of_text = distinct // (size + 1)
        rank = np.arange(len(of_text)) - np.searchsorted(of_text, of_text)
        keep = np.zeros((len(distinct), int(column.max(initial=-1)) + 1), bool)
        keep[row, column] = True
        there = np.zeros((texts, int(rank.max(initial=-1)) + 1), bool)
        there[of_text, rank] = True

        def tensor(x: NDArray[Any]) -> Tensor:
            return torch.from_numpy(x).to(ids.device)

        words = tensor(text), tensor(place), tensor(row), tensor(column)
        return cls(*words, tensor(keep), (tensor(of_text), tensor(rank)), tensor(there))

    def fold(self, ids: Tensor) -> Tensor:
        """Texts (texts, T) as sentences (sentences, W), with word 0 where there is none."""
        folded = ids.new_zeros(self.keep.shape)
        folded[self.row, self.column] = ids[self.text, self.place]
        return folded

    def unfold(self, x: Tensor, ids: Tensor) -> Tensor:
        """Words (sentences, W, ...) where they stand in their texts (texts, T, ...); zero elsewhere."""
        unfolded = x.new_zeros(*ids.shape, *x.shape[2:])
        unfolded[self.text, self.place] = x[self.row, self.column]
        return unfolded

    def by_text(self, s: Tensor) -> Tensor:
        """Sentences (sentences, D) side by side: (texts, S, D)."""
        return s.new_zeros(*self.there.shape, s.shape[-1]).index_put(self.sentence, s)


def among(reader: nn.GRU, s: Tensor, there: Tensor) -> Tensor:
    """Each sentence as a GRU that reads both ways finds it among the others: (texts, S, D)."""
    packed = nn.utils.rnn.pack_padded_sequence(s, there.sum(-1).cpu(), batch_first=True, enforce_sorted=False)
    read: Tensor = nn.utils.rnn.pad_packed_sequence(reader(packed)[0], batch_first=True, total_length=s.shape[1])[0]
    return read


def _even(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The same weight for all that may be attended to."""
    return softmax(torch.zeros_like(scores), mask)
