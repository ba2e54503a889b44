"""Texts, their labels, and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError, nearest


@dataclass(frozen=True)
class Source:
    """Where a corpus came from and how it was understood.

    Attributes
    ----------
    path : str
        The file or folder; ``-`` is standard input.
    format : str
        ``CSV``, ``TSV``, ``JSON Lines``, ``Parquet``, ``folder``, ``columns`` or ``demo``.
    rows : int
        Rows read, before any were left out.
    text_column, text_reason : str
        The column of texts and why it was taken.
    label_column, label_reason, split_column, split_reason : str or None
        The same for labels, and for the column that says train, validation or test.
    notes : tuple of str
        Sentences the user should see, such as "12 rows without a label were left out."
    """

    path: str
    format: str
    rows: int
    text_column: str
    text_reason: str
    label_column: str | None = None
    label_reason: str | None = None
    split_column: str | None = None
    split_reason: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with their labels, row by row.

    Attributes
    ----------
    texts : list of str
        One a row.
    labels : (rows,) or None
        Strings, whole numbers or booleans.
    split : (rows,) or None
        ``train``, ``validation`` or ``test``.
    source : Source
        Where it came from.

    Examples
    --------
    >>> corpus = Corpus.from_columns(["fine", "poor", "good", "bad"], [1, 0, 1, 0])
    >>> corpus.classes.tolist()
    [0, 1]
    >>> rest, held_out = corpus.stratified(0.5, seed=0)
    >>> len(rest), len(held_out)
    (2, 2)
    """

    texts: list[str]
    labels: NDArray[Any] | None
    split: NDArray[Any] | None
    source: Source

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> NDArray[Any]:
        """The distinct labels in order."""
        return np.unique(self._labels_for("classes"))

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the split that have rows, in the order train, validation, test."""
        if self.split is None:
            return ()
        present = set(self.split.tolist())
        return tuple(name for name in ("train", "validation", "test") if name in present)

    def part(self, name: str) -> Self:
        """The rows of one part of the split.

        Parameters
        ----------
        name : str
            ``train``, ``validation`` or ``test``; usual other names such as ``dev`` are understood.

        Returns
        -------
        Corpus
            Of the same kind.
        """
        from regard.corpus.columns import SPLIT_NAMES

        wanted = SPLIT_NAMES.get(name.strip().lower(), name)
        if self.split is None or wanted not in self.parts:
            has = f"has the parts {', '.join(self.parts)}" if self.parts else "has no split"
            raise DataError(f"The corpus must have the part {name!r}, but it {has}.{nearest(wanted, self.parts)}")
        return self.take(self.split == wanted)

    def take(self, rows: NDArray[Any]) -> Self:
        """The chosen rows.

        Parameters
        ----------
        rows : (rows,) of bool, or of int
            A mask, or row numbers.

        Returns
        -------
        Corpus
            Of the same kind, in the order of the row numbers.
        """
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return self._with(
            [self.texts[i] for i in numbers.tolist()],
            None if self.labels is None else self.labels[numbers],
            None if self.split is None else self.split[numbers],
        )

    def stratified(self, fraction: float, seed: int) -> tuple[Self, Self]:
        """Hold out a share of every class.

        Parameters
        ----------
        fraction : float
            Of the rows to hold out, between 0 and 1.
        seed : int
            The same seed holds out the same rows.

        Returns
        -------
        rest, held_out : Corpus
            Together every row, each in the order of the corpus; a class with one example is in ``rest``.
        """
        from regard.corpus.splits import stratified_mask

        held_out = stratified_mask(self._labels_for("a stratified split"), fraction, seed)
        return self.take(~held_out), self.take(held_out)

    @classmethod
    def from_columns(
        cls, texts: Iterable[str], labels: Iterable[Any] | None = None, split: Iterable[str] | None = None
    ) -> Corpus:
        """A corpus from what a program already has; every row is kept as it is.

        Parameters
        ----------
        texts : iterable of str
            One a row.
        labels : iterable, optional
            As many.
        split : iterable of str, optional
            As many; the names of parts.

        Returns
        -------
        Corpus
            With ``source.format == "columns"``.
        """
        rows = list(texts)
        for i, text in enumerate(rows):
            if not isinstance(text, str):
                raise DataError(f"texts must hold strings, but row {i} holds {type(text).__name__}: convert it first.")
        array = None if labels is None else _label_array(list(labels))
        parts = None if split is None else _split_array(list(split))
        for name, column in (("labels", array), ("split", parts)):
            if column is not None and len(column) != len(rows):
                raise DataError(f"{name} must be as many as the texts ({len(rows)}); got {len(column)}.")
        source = Source("<columns>", "columns", len(rows), "texts", "given", "labels" if array is not None else None)
        return Corpus(rows, array, parts, source)

    def _with(self, texts: list[str], labels: NDArray[Any] | None, split: NDArray[Any] | None) -> Self:
        from dataclasses import replace

        return replace(self, texts=texts, labels=labels, split=split)

    def _labels_for(self, what: str) -> NDArray[Any]:
        if self.labels is None:
            raise DataError(f"The corpus must have labels for {what}, but it has none: read it with a label column.")
        return self.labels


def _label_array(labels: Sequence[Any]) -> NDArray[Any]:
    import polars as pl

    from regard.corpus.labels import as_array, without_blanks

    plain = [value.item() if isinstance(value, np.generic) else value for value in labels]
    kinds = {type(value) for value in plain}
    if not kinds <= {str, int, float, bool, type(None)}:
        odd = next(k for k in kinds if k not in {str, int, float, bool, type(None)})
        raise DataError(f"labels must be strings, numbers or booleans; got {odd.__name__}.")
    if len(kinds - {type(None), int, float}) > 1 or (kinds & {str, bool} and kinds & {int, float}):
        raise DataError(
            f"labels must be of one kind; got {' and '.join(sorted(k.__name__ for k in kinds))}: convert them first."
        )
    values = without_blanks(pl.Series("labels", plain, strict=False))
    if values.null_count():
        at = int(values.is_null().arg_max() or 0)
        raise DataError(f"labels must have a value in every row, but row {at} has none: leave that row out.")
    return as_array(values, written=False)


def _split_array(split: Sequence[str]) -> NDArray[Any]:
    from regard.corpus.columns import SPLIT_NAMES

    for name in split:
        if str(name).strip().lower() not in SPLIT_NAMES:
            raise DataError(f"split must say train, validation or test in every row; got {name!r}.")
    return np.array([SPLIT_NAMES[str(name).strip().lower()] for name in split], dtype=np.str_)
