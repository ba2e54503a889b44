"""How a hardmax transformer is learned: from counts to a start, and from there by passes over the texts.

``docs/hardmax.md`` explains the choices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.attention.kernels import mark_rows
from regard.corpus.splits import stratified_mask
from regard.models.hardmax import kernels
from regard.models.hardmax.model import HardmaxModel
from regard.models.measure import measure
from regard.models.progress import Report
from regard.models.training import Texts, count_by_class, prior_strength, smallest
from regard.tokens import Rows
from regard.tokens.threads import in_threads

# As for the table (``models.training``): the share of the prior, its limit, and the multiple of the log ratio.
_PRIOR, _PRIOR_LIMIT, _POLARITY = 0.6, 0.75, 3.0
# How far points lie from the plane of the classes in the beginning, as a share of the spread of the log ratios.
_SPREAD = 0.3
# Rows in fewer training texts keep their start: what they say of a training text is mostly that text's own label.
_TRAINED_FROM = 5
_STEP_EMBEDDING, _STEP_OUTPUT, _STEP_BIAS = 0.7, 0.01, 0.1
# Training texts alone would drive α up to one and more, at the cost of other texts.
_STEP_ALPHA = 0.0005
_LONGEST_STEP = 12.0  # of ln α
_FARTHEST = 1e4
_STEEPEST = 1e12  # of a step, at any learning rate: nothing overflows
_EPOCHS = 6
# Texts are learned in two halves, always, whose transformers are averaged twice an epoch: see ``models.training``.
_HALVES_FROM = 4000
_AVERAGES = 2
_EVEN = 0.5  # uneven classes are evened out by this power


@dataclass(frozen=True)
class Recipe:
    """The settings of a training, each in its range."""

    d: int
    layers: int
    alpha: float
    epochs: int | Literal["auto"]
    dropout: float | Literal["auto"]
    learning_rate: float
    validation_fraction: float
    class_weight: NDArray[np.float64]
    seed: int
    n_threads: int


@dataclass(frozen=True)
class Learned:
    """A learned transformer.

    Attributes
    ----------
    embedding, output, bias, alpha
        See ``HardmaxModel``.
    counts : (rows, classes)
        Occurrences in the texts it was learned from.
    epochs : int
        After how many passes.
    course : list of dict
        By epoch: α, the mean log loss of the texts as they came, and accuracy and log loss of the held-out ones.
    validation : dict or None
        What was measured on held-out texts.
    """

    embedding: NDArray[np.float32]
    output: NDArray[np.float64]
    bias: NDArray[np.float64]
    alpha: float
    counts: NDArray[np.integer[Any]]
    epochs: int
    course: list[dict[str, float]]
    validation: dict[str, Any] | None


@dataclass
class _State:
    """A transformer on its way."""

    embedding: NDArray[np.float32]
    output: NDArray[np.float64]
    bias: NDArray[np.float64]
    step: NDArray[np.float64]  # ln α, which keeps α positive

    def copy(self) -> _State:
        return _State(self.embedding.copy(), self.output.copy(), self.bias.copy(), self.step.copy())


def fit_hardmax(
    rows: Rows,
    codes: NDArray[np.intp],
    make: Callable[[_State, NDArray[np.integer[Any]]], HardmaxModel],
    size: int,
    classes: int,
    recipe: Recipe,
    report: Report,
    validation: tuple[Rows, NDArray[np.intp]] | None = None,
    watch: Callable[[int, HardmaxModel], None] | None = None,
) -> Learned:
    """Learn embeddings, ``W``, the bias and α.

    The epoch that is kept is the one after which held-out texts had the lowest log loss: those given, or a share of the
    training texts, which is not learned from.

    Parameters
    ----------
    rows
        The rows of each text.
    codes : (texts,)
        The class of each text.
    make
        A model of what was learned so far.
    size
        How many rows have an embedding.
    classes
        How many there are.
    validation
        Rows and classes of held-out texts.
    watch
        Called with the number of each finished epoch and the model as it is then; with 0 before the first.
    """
    texts = Texts(rows, codes, size, classes)
    held_out = validation if validation is not None and len(validation[1]) else None
    if validation is None and recipe.validation_fraction > 0:
        held = stratified_mask(codes, recipe.validation_fraction, recipe.seed)
        if held.any():
            apart = texts.part(np.flatnonzero(held))
            texts, held_out = texts.part(np.flatnonzero(~held)), (apart.rows, apart.codes)
    counts = smallest(count_by_class(texts, recipe.n_threads)[1])
    most = _EPOCHS if recipe.epochs == "auto" else recipe.epochs
    best, kept, measured, course = math.inf, most, None, []
    state = None
    for epoch, (moving, loss) in enumerate(_passes(texts, most, recipe)):
        report("Training", epoch / most)
        model = make(moving, counts) if watch is not None or held_out is not None else None
        if watch is not None and model is not None:
            watch(epoch, model)
        if epoch == 0:
            continue
        course.append({"epoch": epoch, "alpha": math.exp(moving.step[0]), "loss": loss})
        if held_out is not None and model is not None:
            now = measure(model.row_scores(held_out[0], recipe.n_threads), held_out[1], np.arange(classes))
            course[-1] |= {"accuracy": now["accuracy"], "log_loss": now["log_loss"]}
            if (recipe.epochs == "auto" and now["log_loss"] < best) or (epoch == most and state is None):
                best, kept, measured, state = now["log_loss"], epoch, now, moving.copy()
        elif epoch == most:
            state = moving
    assert state is not None, "there is an epoch at least"
    if measured is not None:
        measured = {**measured, "course": [step["log_loss"] for step in course]}
    alpha = math.exp(state.step[0])
    return Learned(state.embedding, state.output, state.bias, alpha, counts, kept, course, measured)


def _passes(texts: Texts, epochs: int, recipe: Recipe) -> Iterator[tuple[_State, float]]:
    """Go over the texts; yields the state, which goes on moving, and the mean loss, before the first and after each."""
    texts_with, _ = count_by_class(texts, recipe.n_threads)
    longer = math.sqrt(max(len(texts.rows.ids) / len(texts.codes), 1.0) / 100)
    state = start(texts_with, texts.codes, longer, recipe)
    movable = texts_with.sum(axis=1) >= _TRAINED_FROM
    frequency = np.maximum(np.bincount(texts.codes, minlength=texts.classes) / len(texts.codes), 1e-9)
    weight = recipe.class_weight * frequency**-_EVEN
    weight /= weight @ frequency
    dropout = recipe.dropout if recipe.dropout != "auto" else min(0.5, max(0.0, 0.1 * math.log2(6.25 * longer**2)))
    rate = recipe.learning_rate
    steps = tuple(
        min(rate * step, _STEEPEST) for step in (_STEP_EMBEDDING * longer**1.5, _STEP_OUTPUT, _STEP_BIAS, _STEP_ALPHA)
    )
    shuffled = np.random.default_rng(recipe.seed).permutation(len(texts.codes))
    halves = np.array_split(shuffled, 2) if len(shuffled) >= _HALVES_FROM else [shuffled]
    averages = _AVERAGES if len(halves) > 1 else 1
    sharing = np.zeros((texts.size, 1), np.float32)
    for half in halves:
        present = np.zeros(texts.size, np.bool_)
        mark_rows(texts.rows.ids, texts.rows.starts, half, present)
        sharing[present] += 1
    sharing = np.maximum(sharing, 1)
    codes = texts.codes.astype(np.int64)
    yield state, math.nan
    for epoch in range(epochs):
        generator = np.random.default_rng([recipe.seed, epoch])
        orders = [np.array_split(generator.permutation(half), averages) for half in halves]
        seed = int(generator.integers(2**63))
        losses = []
        for part in range(averages):
            begin, end = (1 - (epoch + p / averages) / epochs for p in (part, part + 1))
            how = (*steps, begin, end, dropout, seed, _FARTHEST, _LONGEST_STEP)

            def go(order: NDArray[np.intp], before: _State = state, how: tuple[Any, ...] = how) -> tuple[_State, float]:
                mine = before.copy()
                moving = mine.embedding, movable, mine.output, mine.bias, mine.step
                everything: tuple[Any, ...] = (*texts.rows, codes, order, weight, *moving, recipe.layers, *how)
                return mine, kernels.train_epoch(*everything)

            went = in_threads(go, [order[part] for order in orders], recipe.n_threads)
            losses += [loss for _, loss in went]
            state = went[0][0] if len(went) == 1 else _average(state, [moved for moved, _ in went], sharing)
        yield state, float(np.mean(losses))


def _average(before: _State, moved: list[_State], sharing: NDArray[np.float32]) -> _State:
    """The mean of copies that went on from ``before``; a row that only one of them has met moves as far as there."""
    together = np.sum([each.embedding - before.embedding for each in moved], axis=0)
    embedding = (before.embedding + together / sharing).astype(np.float32)
    output, bias, step = (
        np.mean([getattr(each, name) for each in moved], axis=0) for name in ("output", "bias", "step")
    )
    return _State(embedding, output, bias, step)


def start(texts_with: NDArray[np.int32], codes: NDArray[np.intp], longer: float, recipe: Recipe) -> _State:
    """Embeddings that ``W`` reads as the log ratios of their rows' counts, as the table starts with, and some spread.

        W'e[j] = 3 √(n̄ / 100) r[j]

    as nearly as ``d`` dimensions allow; ``models.training`` says what ``r`` is. The columns of ``W`` are of length one:
    axes of the space where it has enough, otherwise evenly spread.

    Parameters
    ----------
    texts_with : (rows, classes)
        In how many texts of each class a row occurs.
    codes : (texts,)
        The class of each text.
    longer
        √(n̄ / 100), with n̄ the mean number of different rows in a text.
    """
    classes = texts_with.shape[1]
    mass = np.maximum(texts_with.sum(axis=0, dtype=np.float64), 1.0)
    share = mass / mass.sum()
    alphas = np.minimum(_PRIOR * prior_strength(texts_with, share) * share, _PRIOR_LIMIT * np.sqrt(mass / 1e5))
    total = texts_with.sum(axis=1, dtype=np.int64)[:, None]
    betas = alphas * (1 - share) / share
    ratio = np.log1p(texts_with / alphas) - np.log1p((total - texts_with) / betas)
    frequency = np.log(np.maximum(np.bincount(codes, minlength=classes) / len(codes), 1e-9))
    if classes == 2:
        ratio, bias = ratio[:, 1:], frequency[1:] - frequency[:1]
    else:
        ratio, bias = ratio - ratio.mean(axis=1, keepdims=True), frequency - frequency.mean()
    output = _directions(recipe.d, ratio.shape[1])
    generator = np.random.default_rng(recipe.seed)
    embedding = _POLARITY * longer * ratio @ np.linalg.pinv(output)
    free = recipe.d - np.linalg.matrix_rank(output)
    if free:  # across the directions that W reads
        _, _, basis = np.linalg.svd(output.T)
        length = _SPREAD * _POLARITY * longer / math.sqrt(free)
        embedding += length * generator.normal(size=(len(ratio), free)) @ basis[-free:]
    step = np.array([math.log(recipe.alpha)])
    return _State(np.ascontiguousarray(embedding, np.float32), output, bias, step)


def _directions(d: int, sides: int) -> NDArray[np.float64]:
    """Vectors of length one, (d, sides): axes, or where there are too few the corners of a polygon, or any."""
    if sides <= d:
        return np.eye(d, sides)
    if d == 1:
        return np.linspace(-1.0, 1.0, sides)[None]
    if d == 2:
        angles = 2 * np.pi * np.arange(sides) / sides
        return np.stack([np.cos(angles), np.sin(angles)])
    found = np.random.default_rng(0).normal(size=(d, sides))
    return np.asarray(found / np.linalg.norm(found, axis=0))
