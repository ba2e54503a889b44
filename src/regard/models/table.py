"""The table: every word has two numbers, how loudly it speaks and which side it takes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from regard.models import store
from regard.models.kinds import gamma_of, kind_names, kinds_of
from regard.models.lines import distinct_lines
from regard.models.model import Attended, pack_classes, predicted, unpack_classes
from regard.models.vectors import Vectors
from regard.tokens import Vocabulary, tokenize

if TYPE_CHECKING:
    import polars as pl
# How many characters are scored at a time: bounds the memory, whatever the number of texts.
_CHUNK = 1 << 23


@dataclass(frozen=True)
class TableModel:
    """An attention classifier as a table.

        weight[j] ∝ exp(attention[row j]),   score = bias + Σⱼ weight[j] polarity[row j]

    over the words and phrases ``j`` of a text, each time they occur; a text without any row scores ``bias``.

    Attributes
    ----------
    vocabulary
        The words and phrases that have a row.
    attention : (rows,)
        How loudly a row speaks.
    polarity : (rows, sides)
        Which side it takes. Two classes have one side, positive for ``classes[1]``; more have one each.
    bias : (sides,)
        The score of a text without rows.
    classes : (classes,)
        The labels, in order.
    counts : (rows, classes)
        How often the row occurs in the training texts of each class.
    about
        Settings and measurements, ready for JSON.
    space
        The vectors that the numbers were read off, where the model was learned with more than two numbers a row.
    """

    kind: ClassVar[str] = "AttentionClassifier"

    vocabulary: Vocabulary
    attention: NDArray[np.float32]
    polarity: NDArray[np.float32]
    bias: NDArray[np.float64]
    classes: NDArray[Any]
    counts: NDArray[np.integer[Any]]
    about: dict[str, Any] = field(default_factory=dict)
    space: Vectors | None = None

    def __len__(self) -> int:
        return len(self.attention)

    @property
    def sides(self) -> int:
        """One for two classes, otherwise one a class."""
        return int(self.polarity.shape[1])

    @property
    def exact(self) -> bool:
        """A word speaks the same in every text: the table is the model."""
        return True

    @property
    def word_table(self) -> Self:
        """The table itself."""
        return self

    @property
    def vectors(self) -> Vectors:
        """Those it was read off, or else the table as vectors: e = (a, s), V = (λ, 0), W = (0, 1)."""
        if self.space is not None:
            return self.space
        scale = float(self.about["parameters"]["scale"])
        directions = np.eye(1 + self.sides)
        return Vectors(
            np.column_stack([self.attention, self.polarity]).astype(np.float64),
            scale * directions[0],
            directions[:, 1:],
            scale,
        )

    # -- predicting ----------------------------------------------------------------------------------------------

    def scores(self, texts: Sequence[str], n_threads: int | None = None) -> NDArray[np.float64]:
        """The score of each text on each side: (texts, sides)."""
        scores = [self._chunk_scores(chunk, n_threads) for chunk in chunks(texts)]
        return np.concatenate(scores) if scores else np.empty((0, self.sides))

    def quick_scores(self, text: str) -> NDArray[np.float64]:
        """The score of one short text on each side, (sides,), in microseconds; those of ``scores`` up to rounding."""
        from regard.attention import kernels

        rows = self.vocabulary.occurrences(text)
        starts, out = np.array([0, len(rows)], np.int64), np.empty((1, self.sides))
        once = np.ones(len(rows), np.float32)
        kernels.score_rows(rows, once, starts, 0, 1, self.attention, self.loudness, self.polarity, self.bias, out)
        return np.asarray(out[0])

    def _chunk_scores(self, texts: Sequence[str], n_threads: int | None) -> NDArray[np.float64]:
        from regard.attention.scoring import score

        rows = self.vocabulary.rows(self.vocabulary.tokens(texts, n_threads), n_threads)
        return score(rows, self.attention, self.loudness, self.polarity, self.bias, n_threads)

    @cached_property
    def loudness(self) -> NDArray[np.float64]:
        """exp(attention), with the loudest row at one."""
        return loudness(self.attention)

    def predictions(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The label of each text."""
        return predicted(scores, self.classes)

    def attend(self, text: str, masked: frozenset[int] = frozenset()) -> Attended:
        """Take one text apart; the rows that cover a masked word are left out."""
        tokens = tokenize(text)
        places = [p for p in self.vocabulary.places(text, tokens) if masked.isdisjoint(range(p.first, p.last))]
        rows = np.array([place.row for place in places], np.intp)
        weights = loudness(self.attention[rows])
        weights = weights / weights.sum() if len(rows) else weights
        # Added up without rounding: a plain sum of many large parts could be wrong in the ninth place.
        parts = weights[:, None] * self.polarity[rows].astype(np.float64)
        scores = np.array([math.fsum([bias, *side]) for bias, side in zip(self.bias, parts.T, strict=True)])
        return Attended(tokens, places, self.attention[rows], weights, self.polarity[rows], scores)

    def attend_many(self, texts: Sequence[str]) -> Iterator[Attended]:
        """``attend`` for each of many texts, in their order."""
        return map(self.attend, texts)

    # -- keeping -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file."""
        phrases = {f"phrases{level + 2}": keys for level, keys in enumerate(self.vocabulary.phrases)}
        about = {**self.about, **pack_classes(self.classes)}
        vectors: dict[str, NDArray[Any]] = {}
        if self.space is not None:
            about["vectors"], vectors = self.space.pack()
        first, line = distinct_lines([self.attention, *self.polarity.T, *self.counts.T])
        tensors: dict[str, NDArray[Any]] = {
            "words": self.vocabulary.arena,
            "ends": self.vocabulary.ends,
            "lines": line.astype(np.uint32),
            "attention": self.attention[first],
            "polarity": self.polarity[first],
            "bias": self.bias,
            "counts": self.counts[first],
            **phrases,
            **vectors,
        }
        store.write(path, self.kind, about, tensors)

    @classmethod
    def unpack(cls, about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """The model that a file holds."""
        phrases = tuple(
            tensors[f"phrases{n}"] for n in range(2, 2 + sum(name.startswith("phrases") for name in tensors))
        )
        classes = unpack_classes(about)
        vocabulary = Vocabulary(tensors["words"], tensors["ends"], phrases)
        vocabulary.check()
        sides = 1 if len(classes) == 2 else len(classes)
        lines = len(tensors["attention"])
        # Compiled loops trust shapes and types, so a file must not get them wrong.
        for name, kind, shape in (
            ("lines", np.uint32, (len(vocabulary),)),
            ("attention", np.float32, (lines,)),
            ("polarity", np.float32, (lines, sides)),
            ("counts", np.integer, (lines, len(classes))),
            ("bias", np.float64, (sides,)),
        ):
            array = tensors[name]
            if array.shape != shape or not np.issubdtype(array.dtype, kind) or not np.isfinite(array).all():
                raise ValueError(f"{name} must hold finite numbers of type {kind.__name__} in the shape {shape}")
        arrays = {name: tensors[name][tensors["lines"]] for name in ("attention", "polarity", "counts")}
        space = _vectors(about, tensors)
        return cls(vocabulary, bias=tensors["bias"], classes=classes, about=about, space=space, **arrays)

    # -- reading -------------------------------------------------------------------------------------------------

    def gamma(self) -> NDArray[np.float64]:
        """How one-sided each row's counts are: see ``kinds.gamma_of``."""
        return gamma_of(self.counts)

    def kind_codes(self) -> NDArray[np.intp]:
        """0 for none, 1 for neutral, ``2 + k`` for a row that is polar towards class ``k``: see ``kinds.kinds_of``."""
        return kinds_of(self.counts)

    def kind_names(self) -> list[str]:
        """What the codes are called."""
        return kind_names(self.classes)

    def kinds(self) -> NDArray[np.str_]:
        """Positive, negative, neutral or none; with more than two classes the dominant class in place of a sign."""
        return np.array(self.kind_names())[self.kind_codes()]

    def table(self) -> pl.DataFrame:
        """Every row as a Polars frame: word, attention, polarity, counts, gamma, kind."""
        import polars as pl

        names = [str(label) for label in self.classes]
        polarity = (
            {"polarity": self.polarity[:, 0]}
            if self.sides == 1
            else {f"polarity {name}": self.polarity[:, k] for k, name in enumerate(names)}
        )
        return pl.DataFrame(
            {
                "word": self.vocabulary.names(),
                "attention": self.attention,
                **polarity,
                **{f"count {name}": self.counts[:, k] for k, name in enumerate(names)},
                "gamma": self.gamma(),
                "kind": self.kinds(),
            }
        )


def _vectors(about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Vectors | None:
    """Those that a file holds beside the table, if any."""
    if "vectors" not in about:
        return None
    return Vectors.unpack(about.pop("vectors"), {k: v for k, v in tensors.items() if k.startswith("vectors.")})


def loudness(attention: NDArray[np.float32]) -> NDArray[np.float64]:
    """exp(attention), with the loudest row at one, so that nothing overflows."""
    attention = attention.astype(np.float64)
    return np.asarray(np.exp(attention - attention.max(initial=-np.inf)))


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sigmoid of one side, softmax of several: (texts, sides) to (texts, classes).

    Examples
    --------
    >>> probabilities(np.array([[0.0], [-1000.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    if scores.shape[1] == 1:
        scores = np.concatenate([-scores / 2, scores / 2], axis=1)
    exps = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exps / exps.sum(axis=1, keepdims=True))


def chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of texts of about ``_CHUNK`` characters."""
    start, size = 0, 0
    for i, text in enumerate(texts):
        size += len(text) + 16
        if size >= _CHUNK:
            yield texts[start : i + 1]
            start, size = i + 1, 0
    if start < len(texts):
        yield texts[start:]
