"""A trained hardmax transformer: it scores texts, and takes one text apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import SettingError
from regard.models import store
from regard.models.model import Attended, pack_classes, predicted, unpack_classes
from regard.models.table import TableModel, chunks
from regard.models.vectors import Vectors
from regard.tokens import Place, Rows, Vocabulary, tokenize
from regard.tokens.threads import even_shards, in_threads, thread_count


@dataclass(frozen=True)
class HardmaxModel:
    """A pure-attention hardmax transformer.

        x[i] ← x[i] + α / (1 + α) · (mean of x over C[i] - x[i])   in each layer,   C[i] = {j : x[i]·x[j] is largest}
        score = bias + W' (mean of the final x) = bias + Σⱼ share[j] · W'e[j]

    over the words ``j`` of a text, each time they occur, which start at their embeddings ``e``. Final positions are
    averages of the first ones; ``share[j]`` is what the text's mean has of word ``j``'s embedding.

    Attributes
    ----------
    vocabulary
        The words and phrases that have an embedding.
    embedding : (rows, d)
        ``e``.
    output : (d, sides)
        ``W``. Two classes have one side, positive for ``classes[1]``; more have one each.
    bias : (sides,)
        The score of a text without rows.
    alpha : float
        ``α``, positive, of all layers.
    layers : int
        How many.
    classes : (classes,)
        The labels, in order.
    counts : (rows, classes)
        How often the row occurs in the training texts of each class.
    about
        Settings and measurements, ready for JSON.
    """

    kind: ClassVar[str] = "HardmaxClassifier"

    vocabulary: Vocabulary
    embedding: NDArray[np.float32]
    output: NDArray[np.float64]
    bias: NDArray[np.float64]
    alpha: float
    layers: int
    classes: NDArray[Any]
    counts: NDArray[np.integer[Any]]
    about: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.embedding)

    @property
    def sides(self) -> int:
        """One for two classes, otherwise one a class."""
        return int(self.output.shape[1])

    @property
    def exact(self) -> bool:
        """The share of a word depends on the others of its text."""
        return False

    @property
    def vectors(self) -> Vectors:
        """A hardmax has no direction that reads attention; its embeddings are in ``embedding``."""
        raise SettingError(
            "A hardmax model has no direction V that reads attention off embeddings: ask for its leaders instead "
            "(regard.explain.leaders)."
        )

    @cached_property
    def polarity(self) -> NDArray[np.float64]:
        """Which side each row takes: W'e, (rows, sides)."""
        return np.asarray(self.embedding.astype(np.float64) @ self.output)

    @cached_property
    def word_table(self) -> TableModel:
        """Each row by itself: the logarithm of its length, for nobody follows a point that is nearer; and its side."""
        length = np.linalg.norm(self.embedding.astype(np.float64), axis=1)
        attention = np.log(np.maximum(length, 1e-30)).astype(np.float32)
        polarity = self.polarity.astype(np.float32)
        return TableModel(self.vocabulary, attention, polarity, self.bias, self.classes, self.counts, self.about)

    # -- predicting ----------------------------------------------------------------------------------------------

    def scores(self, texts: Sequence[str], n_threads: int | None = None) -> NDArray[np.float64]:
        """The score of each text on each side: (texts, sides)."""
        found = [self._chunk_scores(chunk, n_threads) for chunk in chunks(texts)]
        return np.concatenate(found) if found else np.empty((0, self.sides))

    def _chunk_scores(self, texts: Sequence[str], n_threads: int | None) -> NDArray[np.float64]:
        return self.row_scores(self.vocabulary.rows(self.vocabulary.tokens(texts, n_threads), n_threads), n_threads)

    def row_scores(self, rows: Rows, n_threads: int | None = None) -> NDArray[np.float64]:
        """The score of each document: (documents, sides)."""
        shares, _ = self.shares(rows, n_threads)
        document = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        sums = [np.bincount(document, shares * side[rows.ids], len(rows.starts) - 1) for side in self.polarity.T]
        return np.asarray(self.bias + np.stack(sums, axis=1))

    def shares(self, rows: Rows, n_threads: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The share of each entry in its document, and the layer in which it became a leader, or -1: (entries,) each.

        The result does not depend on ``n_threads``.
        """
        from regard.models.hardmax import kernels

        shares, became = np.zeros(len(rows.ids)), np.full(len(rows.ids), -1)
        pull = self.alpha / (1 + self.alpha)

        def run(shard: tuple[int, int]) -> None:
            kernels.share_rows(*rows, *shard, self.embedding, self.layers, pull, shares, became)

        in_threads(run, even_shards(rows.starts, thread_count(n_threads)), n_threads)
        return shares, became

    def predictions(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The label of each text."""
        return predicted(scores, self.classes)

    def attend(self, text: str, masked: frozenset[int] = frozenset()) -> Attended:
        """Take one text apart; the rows that cover a masked word are left out, and the others gather without them.

        ``attention`` is the logarithm of a weight, zero where all places of the text would have the same.
        """
        tokens = tokenize(text)
        places = [p for p in self.vocabulary.places(text, tokens) if masked.isdisjoint(range(p.first, p.last))]
        rows, entry, times = distinct_rows(places)
        shares, _ = self.shares(rows, 1)
        weights = (shares / times)[entry]
        polarity = self.polarity[rows.ids][entry]
        attention = np.log(weights * max(len(places), 1))
        return Attended(tokens, places, attention, weights, polarity, self.bias + weights @ polarity)

    def attend_many(self, texts: Sequence[str]) -> Iterator[Attended]:
        """``attend`` for each of many texts, in their order."""
        return map(self.attend, texts)

    # -- keeping -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one file."""
        about = {**self.about, **pack_classes(self.classes), "hardmax": {"alpha": self.alpha, "layers": self.layers}}
        tensors: dict[str, NDArray[Any]] = {
            "words": self.vocabulary.arena,
            "ends": self.vocabulary.ends,
            "embedding": self.embedding,
            "output": self.output,
            "bias": self.bias,
            "counts": self.counts,
            **{f"phrases{level + 2}": keys for level, keys in enumerate(self.vocabulary.phrases)},
        }
        store.write(path, self.kind, about, tensors)

    @classmethod
    def unpack(cls, about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """The model that a file holds."""
        levels = sum(name.startswith("phrases") for name in tensors)
        classes = unpack_classes(about)
        vocabulary = Vocabulary(
            tensors["words"], tensors["ends"], tuple(tensors[f"phrases{n}"] for n in range(2, 2 + levels))
        )
        vocabulary.check()
        rows, sides, d = len(vocabulary), 1 if len(classes) == 2 else len(classes), tensors["output"].shape[0]
        # Compiled loops trust shapes and types, so a file must not get them wrong.
        for name, kind, shape in (
            ("embedding", np.float32, (rows, d)),
            ("output", np.float64, (d, sides)),
            ("bias", np.float64, (sides,)),
            ("counts", np.integer, (rows, len(classes))),
        ):
            array = tensors[name]
            if array.shape != shape or not np.issubdtype(array.dtype, kind) or not np.isfinite(array).all():
                raise ValueError(f"{name} must hold finite numbers of type {kind.__name__} in the shape {shape}")
        how = about.pop("hardmax")
        alpha, layers = float(how["alpha"]), how["layers"]
        if d < 1 or not 0 < alpha < np.inf or type(layers) is not int or layers < 0:
            raise ValueError("there must be a dimension, alpha must be above zero, and layers a whole number")
        return cls(
            vocabulary, tensors["embedding"], tensors["output"], tensors["bias"], alpha, layers, classes,
            tensors["counts"], about,
        )  # fmt: skip


def distinct_rows(places: Sequence[Place]) -> tuple[Rows, NDArray[np.intp], NDArray[np.float64]]:
    """The distinct rows of one text in order of appearance, the entry of each place, and how often each occurs."""
    number: dict[int, int] = {}
    entry = np.array([number.setdefault(place.row, len(number)) for place in places], np.intp)
    times = np.bincount(entry, minlength=len(number))
    rows = Rows(np.array(list(number), np.int32), times.astype(np.float32), np.array([0, len(number)]))
    return rows, entry, times.astype(np.float64)
