"""The course of a training: what happens to the scores of words, epoch by epoch, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, SettingError, nearest
from regard.explain.entries import Floats, inner_model, label_codes, some_texts
from regard.explain.findings import vector_directions
from regard.explain.terms import check_terms, row_terms, term_columns
from regard.explain.words import by_class
from regard.models.inputs import as_labels
from regard.models.model import Model
from regard.models.table import TableModel
from regard.tokens import Rows, Vocabulary

if TYPE_CHECKING:
    import polars as pl


class Course:
    """Records, at each epoch, the scores of groups of words and the terms that move them (Sun and Lu 2020).

    Give it to whatever trains as the function that is called after each epoch: ``course(epoch, model)``.

    Parameters
    ----------
    texts, labels
        The training texts and their labels; the terms are sums over them.
    groups : mapping of name to words, optional
        Which words to take the mean of; the model's kinds (positive, negative, neutral), if not given.
    pairs : sequence of two words each
        Whose embeddings' dot product to record.
    terms : bool, default True
        Whether to record the terms and the mean β, which takes one pass over the texts at each epoch and needs a model
        in which words speak the same in every text.
    n_threads : int or None, default None
        All cores, if None.

    Examples
    --------
    >>> course = Course(texts, labels, pairs=[("good", "great")])  # doctest: +SKIP
    >>> course(1, model)  # doctest: +SKIP
    >>> course.groups  # doctest: +SKIP
    """

    def __init__(
        self,
        texts: Any,
        labels: Any,
        *,
        groups: Mapping[str, Sequence[str]] | None = None,
        pairs: Sequence[tuple[str, str]] = (),
        terms: bool = True,
        n_threads: int | None = None,
    ) -> None:
        self._texts = some_texts(texts)
        self._labels = as_labels(labels, len(self._texts))
        self._given = groups
        self._pairs = tuple(pairs)
        self._terms = terms
        self._n_threads = n_threads
        self._read: tuple[Vocabulary, Rows] | None = None
        self._groups: list[dict[str, Any]] = []
        self._epochs: list[dict[str, Any]] = []

    def __call__(self, epoch: int, model: Any) -> None:
        """Record an epoch.

        Parameters
        ----------
        epoch
            What to call it.
        model
            The model as it is now: a ``Model``, or an estimator that holds one.
        """
        inner = inner_model(model)
        table, vectors = inner.word_table, inner.vectors
        columns: dict[str, Floats] = {
            **by_class("polarity", table.polarity.astype(np.float64), inner.classes),
            "attention": table.attention.astype(np.float64),
        }
        way = vector_directions(vectors)
        whole: dict[str, Any] = {
            "epoch": epoch,
            **_sides("V·W", way.dot, inner.classes),
            "|V|": way.attention_norm,
            **_sides("|W|", way.output_norm, inner.classes),
            **_sides("angle", way.angle, inner.classes),
        }
        if self._terms:
            check_terms(vectors)
            codes = label_codes(self._labels, len(self._texts), inner.classes)
            terms = row_terms(vectors, self._rows(table), codes, inner.bias)
            columns |= term_columns(terms, vectors, inner.classes)
            whole["beta"] = terms.beta
        for one, other in self._pairs:
            first, second = (_row(table, word) for word in (one, other))
            product = vectors.embedding[first].astype(np.float64) @ vectors.embedding[second].astype(np.float64)
            whole[f"{one}·{other}"] = float(product)
        self._epochs.append(whole)
        for name, rows in self._members(inner).items():
            means = {column: float(values[rows].mean()) for column, values in columns.items()}
            self._groups.append({"epoch": epoch, "group": name, "words": len(rows), **means})

    @property
    def groups(self) -> pl.DataFrame:
        """For each epoch and group of words: their number, and the means of polarity, attention and every term."""
        import polars as pl

        return pl.DataFrame(self._groups)

    @property
    def epochs(self) -> pl.DataFrame:
        """For each epoch: V·W, |V|, |W|, their angle in degrees, the mean β, and the dot products of the pairs."""
        import polars as pl

        return pl.DataFrame(self._epochs)

    def _rows(self, table: TableModel) -> Rows:
        """The texts as rows, which are worked out again only for another vocabulary."""
        if self._read is None or self._read[0] is not table.vocabulary:
            tokens = table.vocabulary.tokens(self._texts, self._n_threads)
            self._read = table.vocabulary, table.vocabulary.rows(tokens, self._n_threads)
        return self._read[1]

    def _members(self, model: Model) -> dict[str, NDArray[np.intp]]:
        table = model.word_table
        if self._given is not None:
            groups = {
                name: np.array([_row(table, word) for word in words], np.intp) for name, words in self._given.items()
            }
            if empty := [name for name, rows in groups.items() if not len(rows)]:
                raise SettingError(f"Every group needs a word; {empty[0]!r} has none: leave it out.")
            return groups
        codes, names = table.kind_codes(), table.kind_names()
        found = {names[code]: np.flatnonzero(codes == code) for code in range(1, len(names))}
        return {name: rows for name, rows in found.items() if len(rows)}


def _sides(name: str, values: Floats, classes: NDArray[Any]) -> dict[str, float]:
    return {column: float(value[0]) for column, value in by_class(name, values[None, :], classes).items()}


def _row(table: TableModel, word: str) -> int:
    row = table.vocabulary.row(word)
    if row is None:
        close = nearest(word, table.vocabulary.word_list)
        raise DataError(f"Words to follow must have a row in the model; {word!r} has none: leave it out.{close}")
    return row
