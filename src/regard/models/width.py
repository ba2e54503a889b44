"""How vectors are learned: the paper's own model, by a gradient in closed form that has rank two.

    a[e] = e·V / λ        s[e] = W'e        score = Σⱼ weight[j] s[j],   weight[j] ∝ exp(a[j])

``docs/training.md`` says more; the loops are in ``kernels.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.attention.scoring import score
from regard.corpus.splits import stratified_mask
from regard.models import kernels
from regard.models.measure import measure
from regard.models.progress import Report
from regard.models.settings import Settings
from regard.models.table import loudness
from regard.models.training import Fitted, Texts, count_by_class, smallest
from regard.models.vectors import Vectors
from regard.tokens import Rows

# As in the paper's published code.
_SPREAD = 0.1
_BATCH = 100
_STEP = 0.02
_DECAY = 0.001
_DROPOUT = 0.5
_EPOCHS = 40
# As many epochs without a better one end the search for the best.
_PATIENCE = 10
# Attention as float32 stays within the first, whatever the scale; polarity within the second, so that contributions add
# up to the score in the tenth place at any learning rate.
_LOUDEST = 1e30
_FARTHEST = 1e6


@dataclass
class _Space:
    """Vectors on their way: the embeddings (rows, width), and as the rows of ``directions`` V and the columns of W."""

    embedding: NDArray[np.float32]
    directions: NDArray[np.float64]
    scale: float

    def read(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Attention (rows,) and polarity (rows, sides), read off in double precision."""
        numbers = np.empty((len(rows), len(self.directions)))
        kernels.read_vectors(self.embedding, rows, self.directions, numbers)
        with np.errstate(over="ignore"):  # a scale near zero; the bound comes next
            numbers[:, 0] /= self.scale
        attention = np.clip(numbers[:, 0], -_LOUDEST, _LOUDEST)
        polarity = np.clip(numbers[:, 1:], -_FARTHEST, _FARTHEST)
        return attention.astype(np.float32), polarity.astype(np.float32)

    def copy(self) -> _Space:
        return _Space(self.embedding.copy(), self.directions.copy(), self.scale)


@dataclass(frozen=True)
class _HeldOut:
    """Texts to choose the epoch by: their rows, renumbered, and which rows of the vocabulary these are."""

    rows: Rows
    codes: NDArray[np.intp]
    which: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Rows, codes: NDArray[np.intp]) -> _HeldOut:
        which, ids = np.unique(rows.ids, return_inverse=True)
        return cls(rows._replace(ids=ids.astype(np.int32)), codes, which.astype(np.intp))

    def scores(self, space: _Space, n_threads: int) -> NDArray[np.float64]:
        attention, polarity = space.read(self.which)
        return score(self.rows, attention, loudness(attention), polarity, np.zeros(polarity.shape[1]), n_threads)


def fit_vectors(
    rows: Rows,
    size: int,
    codes: NDArray[np.intp],
    classes: int,
    width: int,
    settings: Settings,
    report: Report,
    validation: tuple[Rows, NDArray[np.intp]] | None = None,
) -> Fitted:
    """Learn ``width`` numbers for each of ``size`` rows, and the two directions that read them.

    With ``epochs="auto"`` the epoch with the highest accuracy on held-out texts counts, and among equals the one with
    the lowest log loss. The held-out texts are those given, and then the vectors of that epoch are kept; or a share of
    the training texts, and then as many epochs are made with all texts.

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
    width
        Numbers a row.
    validation
        Rows and classes of held-out texts.
    """
    texts = Texts(rows, codes, size, classes)
    most = _EPOCHS if settings.epochs == "auto" else settings.epochs
    training, held_out = texts, None
    if validation is not None:
        held_out = _HeldOut.of(*validation) if len(validation[1]) else None
    elif settings.validation_fraction > 0:
        held = stratified_mask(codes, settings.validation_fraction, settings.seed)
        if held.any():
            apart = texts.part(np.flatnonzero(held))
            training, held_out = texts.part(np.flatnonzero(~held)), _HeldOut.of(apart.rows, apart.codes)

    epochs, measured, space = most, None, None
    if held_out is not None:
        best = (-1.0, 0.0)
        course: list[float] = []
        for epoch, moving in enumerate(_passes(training, width, most, settings, report), start=1):
            if settings.epochs != "auto" and epoch < most:
                continue
            now = measure(held_out.scores(moving, settings.n_threads), held_out.codes, np.arange(classes))
            course.append(now["log_loss"])
            if (now["accuracy"], -now["log_loss"]) > best:
                best = now["accuracy"], -now["log_loss"]
                epochs, measured = epoch, {**now, "course": course}
                space = moving.copy() if training is texts else None
            elif epoch - epochs >= _PATIENCE:
                break
    if space is None:
        *_, space = _passes(texts, width, epochs, settings, report)
    attention, polarity = space.read(np.arange(size))
    vectors = Vectors(space.embedding, space.directions[0], np.ascontiguousarray(space.directions[1:].T), space.scale)
    counts = smallest(count_by_class(texts, settings.n_threads)[1])
    return Fitted(attention, polarity, np.zeros(polarity.shape[1]), counts, epochs, measured, vectors)


def _passes(texts: Texts, width: int, epochs: int, settings: Settings, report: Report) -> Iterator[_Space]:
    """Go over the texts; yields the vectors, which go on moving, after each epoch."""
    generator = np.random.default_rng(settings.seed)
    sides = 1 if texts.classes == 2 else texts.classes
    embedding = generator.random((texts.size, width), np.float32)
    embedding *= np.float32(2 * _SPREAD)
    embedding -= np.float32(_SPREAD)
    directions = np.vstack([generator.normal(size=(1, width)), generator.uniform(-1.0, 1.0, (sides, width))])
    if settings.attention == "flat":
        directions[0] = 0.0
    space = _Space(embedding, directions, settings.scale)
    squares = np.zeros_like(embedding), np.zeros_like(directions)
    dropout = _DROPOUT if settings.dropout == "auto" else settings.dropout
    steps = 0
    for epoch in range(epochs):
        generator = np.random.default_rng([settings.seed, epoch])
        steps = kernels.train_vectors(
            *texts.rows,
            texts.codes,
            generator.permutation(len(texts.codes)),
            _BATCH,
            settings.class_weight,
            embedding,
            squares[0],
            directions,
            squares[1],
            settings.scale,
            _STEP * settings.learning_rate,
            _DECAY,
            steps,
            dropout,
            int(generator.integers(2**63)),
            settings.attention == "learned",
        )
        report("Training", (epoch + 1) / epochs)
        yield space
