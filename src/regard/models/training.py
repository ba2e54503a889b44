"""How the table is learned: from counts to a start, and from the start by a few passes over the texts.

``docs/training.md`` explains the choices and what each is worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.attention import kernels
from regard.attention.scoring import score
from regard.corpus.splits import stratified_mask
from regard.models.measure import measure
from regard.models.progress import Report
from regard.models.settings import Settings
from regard.models.table import loudness, probabilities
from regard.models.vectors import Vectors
from regard.tokens import Rows
from regard.tokens.threads import even_shards, in_threads

# The strength of the prior that makes the counts most likely is right for single rows; rows of one text overlap (a pair
# and its words), so less of it predicts best. In small data most rows are seen once and would make it far too strong;
# the limit, for a class with 100,000 rows in its texts, grows with the root of their number.
_PRIOR = 0.6
_PRIOR_LIMIT = 0.75
_PRIORS = np.geomspace(0.02, 200.0, 41)
_PRIOR_COUNTS = 50  # rows that occur oftener say little about the prior
# Polarity starts at this multiple of the log ratio, for texts of a hundred rows; it grows with the root of their
# number, because an average over more rows is smaller. With more than two classes the difference of two sides decides,
# so each starts smaller.
_POLARITY = 3.0
_POLARITY_OTHERS = 2.0
# Attention starts at this multiple of the largest log ratio, and no higher than the limit.
_ATTENTION = 0.6
_ATTENTION_LIMIT = 6.0
# Loudness stays between exp(-8) and exp(8), polarity and bias within a million: nothing can overflow.
_LOUDEST = math.exp(8.0)
_FARTHEST = 1e6
# Rows in fewer training texts keep their start: what they say of a training text is mostly that text's own label.
_TRAINED_FROM = 5
# With more than two classes a text does not count in its own rows while it is learned, so that two texts are enough.
# Counts from the limit on hardly change by one text.
_TRAINED_FROM_OTHERS = 2
_OWN_COUNTS = 256
_STEP_POLARITY = 0.7
_STEP_ATTENTION = 0.03
_STEP_BIAS = 0.1
# Uneven classes are evened out by this power.
_EVEN = 0.5
_EPOCHS = 5
# Texts are trained in two halves, always, whose tables are averaged twice an epoch: the average is better than
# either, and two threads can share the work without changing the result.
_HALVES_FROM = 4000
_AVERAGES = 2
# Polarity and bias are multiplied in the end so that probabilities are right; that moves no decision. By how much is
# read off held-out texts, or is what suits most data where these are too few.
_SHARPEN = 1.25
_SHARPEN_FROM = 500
_SHARPNESS = np.geomspace(0.2, 5.0, 65)
# With fewer held-out texts the number of epochs would be chosen by chance.
_CHOOSE_FROM = 100


_Moved = tuple[NDArray[np.float32], NDArray[np.float64]]


@dataclass(frozen=True)
class Fitted:
    """A learned table.

    Attributes
    ----------
    attention : (rows,)
    polarity : (rows, sides)
    bias : (sides,)
    counts : (rows, classes)
        Occurrences in the training texts of each class.
    epochs : int
        How many passes were made.
    validation : dict or None
        What was measured on held-out texts, by a table that had not seen them.
    space : Vectors or None
        What attention and polarity were read off, if anything.
    """

    attention: NDArray[np.float32]
    polarity: NDArray[np.float32]
    bias: NDArray[np.float64]
    counts: NDArray[np.integer[Any]]
    epochs: int
    validation: dict[str, Any] | None
    space: Vectors | None = None


@dataclass(frozen=True)
class Texts:
    """Training texts: their rows, their classes, and the size of the table."""

    rows: Rows
    codes: NDArray[np.intp]
    size: int
    classes: int

    def part(self, texts: NDArray[np.intp]) -> Texts:
        """Some of the texts."""
        everything = np.arange(self.size, dtype=np.int32)
        rows = Rows(*kernels.keep_rows(*self.rows, texts, everything))
        return replace(self, rows=rows, codes=self.codes[texts])


@dataclass
class _Table:
    """A table on its way."""

    attention: NDArray[np.float32]
    polarity: NDArray[np.float32]
    bias: NDArray[np.float64]

    def scores(self, rows: Rows, n_threads: int) -> NDArray[np.float64]:
        return score(rows, self.attention, loudness(self.attention), self.polarity, self.bias, n_threads)


@dataclass(frozen=True)
class _Own:
    """What a text adds to the start of its own rows; see ``kernels.train_epoch``.

    Attributes
    ----------
    texts_with : (rows, classes)
    less : (classes, counts)
        No counts where nothing is to be taken away.
    top_side, quieter : (rows,)
    """

    texts_with: NDArray[np.int32]
    less: NDArray[np.float32]
    top_side: NDArray[np.int32]
    quieter: NDArray[np.float32]

    def part(self, rows: NDArray[np.intp]) -> _Own:
        """Some of the rows."""
        if not self.less.shape[1]:
            return self
        return _Own(self.texts_with[rows], self.less, self.top_side[rows], self.quieter[rows])


def fit_table(
    rows: Rows,
    size: int,
    codes: NDArray[np.intp],
    classes: int,
    settings: Settings,
    report: Report,
    validation: tuple[Rows, NDArray[np.intp]] | None = None,
) -> Fitted:
    """Learn loudness and side of ``size`` rows.

    The number of epochs is the one after which held-out texts had the lowest log loss. The held-out texts are those
    given, or a share of the training texts; a share of them is trained on too, in the end.

    Parameters
    ----------
    rows
        The rows of each text.
    size
        Rows of the table.
    codes : (texts,)
        The class of each text.
    classes
        How many there are.
    validation
        Rows and classes of held-out texts.
    """
    texts = Texts(rows, codes, size, classes)
    most = _EPOCHS if settings.epochs == "auto" else settings.epochs
    epochs = most
    measured, table = None, None
    held_out = validation
    training = texts
    if validation is None and settings.validation_fraction > 0:
        held = stratified_mask(codes, settings.validation_fraction, settings.seed)
        if held.any():
            apart = texts.part(np.flatnonzero(held))
            training, held_out = texts.part(np.flatnonzero(~held)), (apart.rows, apart.codes)
    sharpness = _SHARPEN
    if held_out is not None:
        course: list[tuple[float, float]] = []  # log loss after each epoch, at the sharpness that makes it lowest

        def watch(table: _Table) -> None:
            course.append(_sharpest(table.scores(held_out[0], settings.n_threads), held_out[1]))

        table, _ = _learn(training, most, settings, report, watch)
        if settings.epochs == "auto" and len(held_out[1]) >= _CHOOSE_FROM:
            epochs = 1 + min(range(most), key=lambda epoch: course[epoch][0])
        if epochs < most:
            course.clear()
            table, _ = _learn(training, epochs, settings, report, watch)
        if len(held_out[1]) >= _SHARPEN_FROM:
            sharpness = course[-1][1]
        scores = sharpness * table.scores(held_out[0], settings.n_threads)
        measured = {**measure(scores, held_out[1], np.arange(classes)), "course": [step for step, _ in course]}
    if table is None or training is not texts:
        table, occurrences = _learn(texts, epochs, settings, report)
    else:
        occurrences = count_by_class(texts, settings.n_threads)[1]
    polarity = np.clip(sharpness * table.polarity, -_FARTHEST, _FARTHEST).astype(np.float32)
    if polarity.shape[1] > 1:
        polarity -= polarity.mean(axis=1, keepdims=True)  # what speaks for all classes alike decides nothing
    bias = np.clip(sharpness * table.bias, -_FARTHEST, _FARTHEST)
    return Fitted(table.attention, polarity, bias, smallest(occurrences), epochs, measured)


def _sharpest(scores: NDArray[np.float64], codes: NDArray[np.intp]) -> tuple[float, float]:
    """The lowest mean log loss that a common factor of all scores can reach, and that factor."""
    texts = np.arange(len(codes))
    losses = [-np.log(np.maximum(probabilities(factor * scores)[texts, codes], 1e-300)).mean() for factor in _SHARPNESS]
    best = int(np.argmin(losses))
    return float(losses[best]), float(_SHARPNESS[best])


def _learn(
    texts: Texts, epochs: int, settings: Settings, report: Report, watch: Callable[[_Table], None] | None = None
) -> tuple[_Table, NDArray[np.int64]]:
    """Start from the counts, then move the rows that occur often enough; ``watch`` sees the table after each epoch."""
    texts_with, occurrences = count_by_class(texts, settings.n_threads)
    longer = math.sqrt(max(len(texts.rows.ids) / len(texts.codes), 1.0) / 100)
    polar = longer * (_POLARITY if texts.classes == 2 else _POLARITY_OTHERS)
    table, own = _start(texts_with, texts.codes, polar)
    if settings.attention == "flat":
        table.attention[:], own.quieter[:] = 0.0, 1.0
    total = texts_with.sum(axis=1)
    enough = _TRAINED_FROM if texts.classes == 2 else _TRAINED_FROM_OTHERS
    moved = np.argsort(-total, kind="stable")[: np.count_nonzero(total >= enough)]
    passes = _passes(texts, moved, table, own.part(moved), longer, polar, epochs, settings)
    for epoch, (moving, bias) in enumerate(passes):
        report("Training", (epoch + 1) / epochs)
        if watch is not None or epoch + 1 == epochs:
            table.attention[moved] = np.log(moving[:, 0])
            table.polarity[moved] = moving[:, 1:]
            table.bias = bias
        if watch is not None:
            watch(table)
    return table, occurrences


def count_by_class(texts: Texts, n_threads: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """In how many texts of each class a row occurs, and how often: (rows, classes) each."""
    rows, shape = texts.rows, (texts.size, texts.classes)

    def count(shard: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        texts_with, occurrences = np.zeros(shape, np.int32), np.zeros(shape, np.int64)
        kernels.count_rows(*rows, *shard, texts.codes, texts_with, occurrences)
        return texts_with, occurrences

    (texts_with, occurrences), *others = in_threads(count, even_shards(rows.starts, n_threads), n_threads)
    for more_texts, more_occurrences in others:
        texts_with += more_texts
        occurrences += more_occurrences
    return texts_with, occurrences


def smallest(counts: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """The same counts in the smallest type that holds them."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _start(texts_with: NDArray[np.int32], codes: NDArray[np.intp], polar: float) -> tuple[_Table, _Own]:
    """Polarity from the log ratio of a row's odds in a class to the class's own odds; attention from its size.

        r[e, k] = ln (n[e, k] + α[k]) / α[k]  −  ln (n[e] − n[e, k] + β[k]) / β[k]

    where ``n`` counts texts and ``α[k]``, ``β[k]`` are what a prior adds to the counts, in the proportion of the class
    to the rest: a row without evidence has the ratio 0. Polarity is ``polar`` times that. With more than two classes,
    also what each text adds to its own rows.
    """
    classes = texts_with.shape[1]
    mass = np.maximum(texts_with.sum(axis=0, dtype=np.float64), 1.0)
    share = mass / mass.sum()
    alphas = np.minimum(_PRIOR * prior_strength(texts_with, share) * share, _PRIOR_LIMIT * np.sqrt(mass / 1e5))
    ratio = np.empty(texts_with.shape, np.float32)
    total = texts_with.sum(axis=1, dtype=np.int64)
    for k in range(classes):
        alpha, beta = alphas[k], alphas[k] * (1 - share[k]) / share[k]
        ratio[:, k] = np.log1p(texts_with[:, k] / alpha) - np.log1p((total - texts_with[:, k]) / beta)

    frequency = np.log(_frequencies(codes, classes))
    size = np.abs(ratio)
    attention = _start_attention(size.max(axis=1, initial=0.0))
    if classes == 2:
        bias = frequency[1:] - frequency[:1]
        own = _Own(texts_with, np.empty((2, 0), np.float32), np.empty(0, np.int32), np.empty(0, np.float32))
        ratio = ratio[:, 1:]
    else:
        bias = frequency - frequency.mean()
        counts = np.arange(_OWN_COUNTS)[None, :]
        less = np.log1p(np.maximum(counts - 1, 0) / alphas[:, None]) - np.log1p(counts / alphas[:, None])
        rows, top = np.arange(len(ratio)), size.argmax(axis=1)
        size[rows, top] = 0.0
        times = np.minimum(texts_with[rows, top], _OWN_COUNTS - 1)
        without = np.maximum(size.max(axis=1, initial=0.0), np.abs(ratio[rows, top] + less[top, times]))
        quieter = np.exp(_start_attention(without) - attention)
        own = _Own(
            texts_with,
            (polar * less).astype(np.float32),
            top.astype(np.int32),
            quieter.astype(np.float32),
        )
    return _Table(attention.astype(np.float32), (polar * ratio).astype(np.float32), bias), own


def _start_attention(size: NDArray[np.floating]) -> NDArray[np.floating]:
    """Attention from the largest log ratio of a row."""
    return np.asarray(np.minimum(_ATTENTION * size, _ATTENTION_LIMIT))


def prior_strength(texts_with: NDArray[np.integer[Any]], share: NDArray[np.float64]) -> float:
    """How evenly rows are spread over the classes, as the strength of the prior that makes their counts most likely.

    The texts of a row fall into class ``k`` with a probability drawn from a beta distribution with the mean
    ``share[k]`` and the strength ``c``; then ``n[e, k]`` of ``n[e]`` are in the class with a likelihood

        Γ(n[e, k] + α) Γ(n[e] − n[e, k] + β) Γ(c) / (Γ(n[e] + c) Γ(α) Γ(β)),   α = c share[k],   β = c − α

    up to a constant. Topics, whose words keep to one class, get a weak prior; opinions a strong one.

    Parameters
    ----------
    texts_with : (rows, classes)
        In how many texts of each class a row occurs.
    share : (classes,)
        The classes' shares of all rows.
    """
    total = texts_with.sum(axis=1)
    some = (total >= 2) & (total <= _PRIOR_COUNTS)
    total = total[some]
    if not len(total):
        return 2.0
    likelihood = np.zeros(len(_PRIORS))
    size = _PRIOR_COUNTS + 1
    for k in range(len(share) if len(share) > 2 else 1):
        cells = np.bincount(texts_with[some, k] * size + total, minlength=size * size).reshape(size, size)
        inside, together = np.nonzero(cells)
        number = cells[inside, together]
        for i, c in enumerate(_PRIORS):
            alpha = c * share[k]
            # ln Γ(n + x) − ln Γ(x) for n = 0, 1, 2, ...
            rise = [np.concatenate([[0.0], np.cumsum(np.log(x + np.arange(size - 1)))]) for x in (alpha, c - alpha, c)]
            likelihood[i] += number @ (rise[0][inside] + rise[1][together - inside] - rise[2][together])
    return float(_PRIORS[likelihood.argmax()])


def _frequencies(codes: NDArray[np.intp], classes: int) -> NDArray[np.float64]:
    """The share of texts in each class, never quite zero."""
    return np.maximum(np.bincount(codes, minlength=classes) / len(codes), 1e-9)


def _passes(
    texts: Texts,
    moved: NDArray[np.intp],
    start: _Table,
    own: _Own,
    longer: float,
    polar: float,
    epochs: int,
    settings: Settings,
) -> Iterator[_Moved]:
    """Go over the texts; yields the moving rows as (loudness, polarity...) and the bias after each epoch."""
    place = np.full(texts.size, -1, np.int32)
    place[moved] = np.arange(len(moved), dtype=np.int32)
    documents = np.arange(len(texts.codes))
    rows = Rows(*kernels.keep_rows(*texts.rows, documents, place))

    table = np.empty((len(moved), 1 + start.polarity.shape[1]), np.float32)
    table[:, 0] = np.exp(start.attention[moved])
    table[:, 1:] = start.polarity[moved]
    bias = start.bias.copy()

    frequency = _frequencies(texts.codes, texts.classes)
    weight = settings.class_weight * frequency**-_EVEN
    weights: NDArray[np.float32] = (weight / (weight @ frequency)).astype(np.float32)
    step = settings.learning_rate * _STEP_POLARITY * longer**1.5
    step_attention = step * _STEP_ATTENTION / polar if settings.attention == "learned" else 0.0
    steps = step_attention, step, settings.learning_rate * _STEP_BIAS
    dropout = settings.dropout if settings.dropout != "auto" else min(0.5, max(0.0, 0.1 * math.log2(6.25 * longer**2)))

    shuffled = np.random.default_rng(settings.seed).permutation(documents)
    halves = np.array_split(shuffled, 2) if len(documents) >= _HALVES_FROM else [shuffled]
    averages = _AVERAGES if len(halves) > 1 else 1
    sharing = np.zeros((len(moved), 1), np.float32)
    for half in halves:
        present = np.zeros(len(moved), np.bool_)
        kernels.mark_rows(rows.ids, rows.starts, half, present)
        sharing[present] += 1
    sharing = np.maximum(sharing, 1)
    counted = own.texts_with, own.less, own.top_side, own.quieter

    for epoch in range(epochs):
        generator = np.random.default_rng([settings.seed, epoch])
        orders = [np.array_split(generator.permutation(half), averages) for half in halves]
        seed = int(generator.integers(2**63))
        for part in range(averages):
            begin, end = (1 - (epoch + p / averages) / epochs for p in (part, part + 1))
            how = (*steps, begin, end, dropout, seed, _LOUDEST, _FARTHEST, *counted)

            def go(order: NDArray[np.intp], before: _Moved = (table, bias), how: tuple[Any, ...] = how) -> _Moved:
                mine, my_bias = before[0].copy(), before[1].copy()
                kernels.train_epoch(*rows, texts.codes, order, weights, mine, my_bias, *how)
                return mine, my_bias

            went = in_threads(go, [order[part] for order in orders], settings.n_threads)
            if len(went) == 1:
                table, bias = went[0]
            else:
                (one, one_bias), (two, two_bias) = went
                table += ((one - table) + (two - table)) / sharing
                bias = (one_bias + two_bias) / 2
        yield table, bias
