"""Models whose decision is linear in what they attend to: one reading of a text answers every question exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.audit import kernels, word_kernels
from regard.audit.source import SHARES, Batch, Erasure, Floats, Places, Span
from regard.models.model import Model
from regard.models.table import chunks, probabilities

_DOCUMENTS = 500  # in a batch: it fits the cache, and there is work for every thread


@dataclass(frozen=True)
class Covers:
    """The words that units cover; only words that the model knows are counted, each of which is a unit too.

    Attributes
    ----------
    words : (units,)
        The place of a unit's first word among those of its document; units stand in this order.
    lengths : (units,)
        How many words it has.
    starts : (documents + 1,)
        Where each document starts among all words.
    """

    words: NDArray[np.int32]
    lengths: NDArray[np.int32]
    starts: Places

    @property
    def of_units(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Places]:
        """As the kernels take them."""
        return self.words, self.lengths, self.starts

    def share_out(self, values: Floats, unit_starts: Places) -> Floats:
        """What units have, divided evenly among their words: (words,)."""
        sizes = np.diff(unit_starts)
        at = self.words + np.repeat(self.starts[:-1], sizes)
        parts = values / self.lengths
        out = np.zeros(int(self.starts[-1]))
        for further in range(int(self.lengths.max(initial=0))):
            longer = self.lengths > further
            out += np.bincount(at[longer] + further, parts[longer], len(out))
        return out


@dataclass(frozen=True)
class LinearBatch:
    """Some documents, each a weighted average of what its units say.

        score = Σⱼ weight[j] said[j],   weight ∝ exp(attention),   said[j] = polarity[j] + bias

    Attributes
    ----------
    first : int
        The place of the first document in the data.
    starts : (documents + 1,)
        Where each document starts.
    ids : (units,)
        The line of ``loudness`` and ``polarity`` that each unit reads.
    loudness : (lines,)
        Logits of the attention.
    polarity : (lines, sides)
        What is said.
    bias : (sides,)
        The score of a document in which nothing speaks.
    rows : (units,)
        The row of the model's vocabulary.
    covers : Covers, optional
        The words that each unit covers, where there are phrases; otherwise every unit is a word.
    """

    first: int
    starts: Places
    ids: NDArray[np.integer[Any]]
    loudness: NDArray[np.floating[Any]]
    polarity: NDArray[np.floating[Any]]
    bias: Floats
    rows: NDArray[np.integer[Any]]
    covers: Covers | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    # -- reading -------------------------------------------------------------------------------------------------

    @cached_property
    def attention(self) -> Floats:
        """Logits: (units,)."""
        return np.asarray(self.loudness[self.ids], np.float64)

    @cached_property
    def said(self) -> Floats:
        """Polarity and bias: (units, sides)."""
        return np.asarray(self.polarity[self.ids] + self.bias, np.float64)

    @cached_property
    def _read(self) -> tuple[Floats, Floats]:
        weights, scores = np.empty(len(self.ids)), np.empty((len(self), len(self.bias)))
        kernels.weigh(self.attention, self.said, self.bias, *self._all, weights, scores)
        return weights, scores

    @property
    def weights(self) -> Floats:
        """Shares of the attention: (units,)."""
        return self._read[0]

    @property
    def scores(self) -> Floats:
        """(documents, sides)."""
        return self._read[1]

    @property
    def _all(self) -> tuple[Places, int, int]:
        return self.starts, 0, len(self)

    @cached_property
    def documents(self) -> NDArray[np.intp]:
        """The document of each unit: (units,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def chances(self) -> Floats:
        """(documents, classes)."""
        return probabilities(self.scores)

    @cached_property
    def explained(self) -> Places:
        """The predicted class; with two classes a tie goes to the first."""
        if len(self.bias) == 1:
            return np.asarray(self.scores[:, 0] > 0, np.int64)
        return np.asarray(self.scores.argmax(axis=1), np.int64)

    @cached_property
    def margin(self) -> Floats:
        """What each unit says for the predicted class and against the runner-up: (units,)."""
        if len(self.bias) == 1:
            return np.asarray(self.said[:, 0] * (2.0 * self.explained - 1.0)[self.documents])
        others = self.scores.copy()
        others[np.arange(len(self)), self.explained] = -np.inf
        mine, next_best = self.explained[self.documents], others.argmax(axis=1)[self.documents]
        units = np.arange(len(self.ids))
        return np.asarray(self.said[units, mine] - self.said[units, next_best])

    @cached_property
    def contribution(self) -> Floats:
        """Weight · margin: they add up to the lead of the predicted class."""
        return self.weights * self.margin

    @cached_property
    def gradient(self) -> Floats:
        """The slope of the explained probability in each weight, up to a factor that is the document's own."""
        if len(self.bias) == 1:
            return np.asarray((self.said[:, 0] - self.bias[0]) * (2.0 * self.explained - 1.0)[self.documents])
        said = self.said - self.bias
        mine = said[np.arange(len(said)), self.explained[self.documents]]
        return np.asarray(mine - np.einsum("uk,uk->u", said, self.chances[self.documents]))

    # -- rankings ------------------------------------------------------------------------------------------------

    @cached_property
    def rankings(self) -> dict[str, Floats]:
        """Keys that rise with importance; where a product would underflow, an increasing function of it."""
        return {
            "attention": self.attention,
            "gradient": self.gradient,
            "attention × gradient": self._signed_log(self.gradient),
            "contribution": self._signed_log(self.margin),
            "leave one out": self.left_out[0],
        }

    def _signed_log(self, values: Floats) -> Floats:
        """An increasing function of exp(attention) · value: its sign times the logarithm of its size."""
        sign = np.sign(values)
        size = self.attention + np.log(np.abs(values), where=sign != 0, out=np.zeros_like(values))
        return np.asarray(sign * (size - size.min(initial=0.0) + 1.0))

    # -- removing ------------------------------------------------------------------------------------------------

    @cached_property
    def left_out(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Change of the explained probability without each unit, and whether the decision changes: (units,) each."""
        change, flips = np.empty(len(self.ids)), np.empty(len(self.ids), np.bool_)
        kernels.leave_one_out(
            self.attention,
            self.weights,
            self.said,
            self.bias,
            self.scores,
            *self._all,
            self.explained,
            change,
            flips,
        )
        return change, flips

    def leave_one_out(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The same, as every batch has it."""
        return self.left_out

    def erase(self, order: NDArray[np.int32]) -> Erasure:
        """Remove units along an order; each step is two sums."""
        n = len(self)
        removed, kept = np.empty((n, len(SHARES))), np.empty((n, len(SHARES)))
        flip, mass, monotone = np.empty(n, np.int64), np.empty(n), np.empty(n)
        kernels.erase(
            self.attention,
            self.said,
            self.bias,
            *self._all,
            self.explained,
            order,
            SHARES,
            removed,
            kept,
            flip,
            mass,
            monotone,
        )
        return Erasure(removed, kept, flip, mass, monotone)

    def fewest(self) -> Places:
        """The exact optimum: see ``kernels.minimal_flip``."""
        smallest, rival = np.empty(len(self), np.int64), np.empty(len(self), np.int64)
        kernels.minimal_flip(self.attention, self.said, *self._all, self.explained, smallest, rival)
        return smallest

    # -- removing words, where phrases speak too -----------------------------------------------------------------

    @property
    def _words(self) -> Covers:
        if self.covers is not None:
            return self.covers
        place = np.arange(len(self.ids)) - np.repeat(self.starts[:-1], np.diff(self.starts))
        return Covers(place.astype(np.int32), np.ones(len(self.ids), np.int32), self.starts)

    def fewest_words(self) -> Places:
        """The exact optimum over sets of words, -1 where it is not known: see ``word_kernels.fewest_words``."""
        smallest = np.empty(len(self), np.int64)
        word_kernels.fewest_words(
            self.attention, self.said, self.starts, *self._words.of_units, 0, len(self), self.explained, smallest
        )
        return smallest

    def erase_words(self, order: NDArray[np.int32], documents: Places | None = None) -> Places:
        """After how many removals the decision changes, 0 where it never does, -1 where that is not known or asked."""
        flip = np.full(len(self), -1, np.int64)
        some = np.arange(len(self)) if documents is None else documents
        word_kernels.erase_words(
            self.attention, self.said, self.starts, *self._words.of_units, some, self.explained, order, flip
        )
        return flip

    def word_rankings(self) -> dict[str, Floats]:
        """What claims to rank words: units' shares of attention and contribution divided evenly; leaving out."""
        change = np.zeros(int(self._words.starts[-1]))
        word_kernels.leave_words_out(
            self.attention,
            self.weights,
            self.said,
            self.bias,
            self.scores,
            self.starts,
            *self._words.of_units,
            0,
            len(self),
            self.explained,
            change,
        )
        return {
            "attention": self._words.share_out(self.weights, self.starts),
            "contribution": self._words.share_out(self.contribution, self.starts),
            "leave one out": change,
        }

    # -- moving the weights --------------------------------------------------------------------------------------

    def adversary(self, eps: float) -> tuple[Floats, Places, Floats]:
        """The farthest attention that moves the decision by at most ``eps``: JSD, the units, the first one's share."""
        found = np.empty(len(self)), np.empty((len(self), 2), np.int64), np.empty(len(self))
        if len(self.bias) == 1:
            kernels.adversary(self.weights, self.said, self.scores, *self._all, eps, *found)
        else:
            kernels.adversary_found(self.weights, self.said, self.scores, *self._all, eps, 20, *found)
        return found

    def single(self, draws: int, seed: int) -> Floats:
        """Zero the largest weight, or another: see ``kernels.single``."""
        out = np.empty((len(self), 5))
        kernels.single(
            self.attention,
            self.weights,
            self.said,
            self.bias,
            self.scores,
            *self._all,
            self.first,
            self.explained,
            draws,
            seed,
            out,
        )
        return out


@dataclass
class ModelSource:
    """A model of regard's own.

    Attributes
    ----------
    model : Model
    name : str
    n_threads : int or None
    evaluations : int
        Texts read so far.
    """

    model: Model
    name: str = "model"
    n_threads: int | None = None
    evaluations: int = field(default=0, init=False)
    exact: bool = field(default=True, init=False)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in order."""
        return self.model.classes

    @property
    def units(self) -> str:
        """Phrases are units of their own, where the model has any."""
        return "words and phrases" if self.phrases else "words"

    @property
    def phrases(self) -> bool:
        """Whether units may be longer than a word."""
        return self.model.exact and self.model.word_table.vocabulary.ngrams > 1

    @property
    def removal(self) -> str:
        """Deleting is the same as zeroing, unless words read their neighbours."""
        if self.model.exact:
            return "its weight is zeroed and the others are renormalised, which is the same as deleting it"
        return "its weight is zeroed and the others are renormalised; its neighbours have still read it"

    def spans(self, text: str) -> list[Span]:
        """Where the units stand, by their first word, shorter ones first."""
        places = self.model.word_table.vocabulary.places(text) if self.model.exact else self.model.attend(text).places
        return [Span(place.start, place.end) for place in sorted(places, key=lambda place: (place.first, place.last))]

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """The texts in their order."""
        first = 0
        for chunk in chunks(texts):
            for batch in self._exactly(chunk, first) if self.model.exact else self._attended(chunk, first):
                first += len(batch)
                self.evaluations += len(batch)
                yield batch

    def _exactly(self, texts: Sequence[str], first: int) -> Iterator[LinearBatch]:
        table = self.model.word_table
        tokens = table.vocabulary.tokens(texts, self.n_threads)
        grams = table.vocabulary.grams(tokens, self.n_threads)
        for a in range(0, len(tokens), _DOCUMENTS):
            starts = tokens.starts[a : a + _DOCUMENTS + 1]
            ids = grams[:, starts[0] : starts[-1]].T
            known = ids >= 0
            before = np.append(0, np.cumsum(known.sum(axis=1)))
            rows, units = ids[known], before[starts - starts[0]]
            covers = _covers(known, starts - starts[0]) if table.vocabulary.ngrams > 1 else None
            yield LinearBatch(first + a, units, rows, table.attention, table.polarity, table.bias, rows, covers)

    def _attended(self, texts: Sequence[str], first: int) -> Iterator[LinearBatch]:
        for a in range(0, len(texts), _DOCUMENTS):
            found = list(self.model.attend_many(texts[a : a + _DOCUMENTS]))
            starts = np.append(0, np.cumsum([len(each.places) for each in found]))
            rows = np.array([place.row for each in found for place in each.places], np.int32)
            attention = np.concatenate([each.attention for each in found])
            polarity = np.concatenate([each.polarity for each in found])
            yield LinearBatch(
                first + a, starts, np.arange(len(rows)), attention, polarity, np.asarray(self.model.bias), rows
            )


def _covers(known: NDArray[np.bool_], starts: Places) -> Covers:
    """From which rows begin at which token, (tokens, levels), to the words of each unit."""
    before = np.append(0, np.cumsum(known[:, 0]))
    token, level = np.nonzero(known)
    word_starts = before[starts]
    document = np.searchsorted(starts, token, side="right") - 1
    return Covers((before[token] - word_starts[document]).astype(np.int32), (level + 1).astype(np.int32), word_starts)
