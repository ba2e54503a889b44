"""A table in pieces, for files larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import polars as pl

from regard.corpus.columns import as_in, find_text
from regard.corpus.inputs import Format, called
from regard.corpus.tables import Table, no_rows, open_table
from regard.errors import DataError, SettingError


class Stream:
    """Frames with all columns of an input, one after the other, in constant memory; goes once.

    Attributes
    ----------
    path, format : str
        What is read, and what it turned out to be.
    columns : tuple of str
        The columns of every frame.
    text_column, text_reason : str
        The column of texts and why it was taken, known from the first frame.
    """

    path: str
    format: Format
    columns: tuple[str, ...]
    text_column: str
    text_reason: str

    def __init__(self, path: str, format_: Format, table: Table, text: str | None, usual: str | None = None) -> None:
        name = called(path)
        frames = iter(table)
        first = next((frame for frame in frames if frame.height and frame.width), None)
        if first is None:
            raise no_rows(name)
        # A column that is empty so far may turn out to hold anything, and a string can be anything.
        first = first.with_columns(pl.col(pl.Null).cast(pl.String))
        choice = as_in(first, text, usual) or find_text(first, name, text)
        self.path = path
        self.format = format_
        self.columns = tuple(first.columns)
        self.text_column = choice.column
        self.text_reason = choice.reason
        self._schema = first.schema
        self._table = table
        self._frames = chain([first], frames)
        self._name = name
        self._dropped: set[str] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user; there may be more of them at the end than at the beginning."""
        dropped = ", ".join(map(repr, sorted(self._dropped)))
        late = (f"Fields that only later rows have were left out: {dropped}.",) if dropped else ()
        return (*self._table.notes, *late)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for frame in self._frames:
            if frame.height:
                yield self._same_columns(frame)

    def texts(self, frame: pl.DataFrame) -> list[str]:
        """The texts of a frame, one a row; a missing text is an empty one.

        Parameters
        ----------
        frame : DataFrame
            One that this stream gave.

        Returns
        -------
        list of str
            As many as the frame has rows.
        """
        return frame[self.text_column].cast(pl.String).fill_null("").to_list()

    def _same_columns(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Make frames alike for whoever writes them: JSON Lines can change columns and types on the way."""
        if frame.schema == self._schema:
            return frame
        self._dropped.update(set(frame.columns) - set(self.columns))
        missing = [pl.lit(None, dtype=self._schema[c]).alias(c) for c in self.columns if c not in frame.columns]
        frame = frame.with_columns(missing).select(self.columns)
        try:
            return frame.cast(self._schema, strict=True)
        except pl.exceptions.PolarsError:
            changed = next(c for c in self.columns if not _fits(frame[c], self._schema[c]))
            raise DataError(
                f"The field {changed!r} of {self._name} must hold the same kind of value in every line, but is "
                f"{self._schema[changed]} in the first lines and {frame.schema[changed]} later: write it as a string."
            ) from None


def _fits(values: pl.Series, kind: pl.DataType) -> bool:
    try:
        values.cast(kind, strict=True)
    except pl.exceptions.PolarsError:
        return False
    return True


def stream(
    path: str | Path,
    *,
    text: str | None = None,
    usual: str | None = None,
    encoding: str = "utf-8",
    chunk_bytes: int = 1024 * 1024,
) -> Stream:
    """Open a table to go through it in pieces.

    Parameters
    ----------
    path : str or Path
        As in ``read``; a folder may also hold texts without labels.
    text : str, optional
        The column of texts; without it, found by name, then by content.
    usual : str, optional
        What the column of texts was called in training: it is taken where there is one of that name.
    encoding : str
        Of CSV, TSV, JSON Lines and the files of a folder.
    chunk_bytes : int
        Bytes a frame, about. Memory stays at a few times this much, or a few times the longest row.

    Returns
    -------
    Stream
        Frames with every column of the input. CSV and TSV have no types, so all their columns are strings and
        what is written back equals what came.

    Raises
    ------
    DataError
        At once or on the way, as ``read`` does.
    """
    if chunk_bytes < 1:
        raise SettingError(f"chunk_bytes must be at least 1; got {chunk_bytes!r}.")
    format_, table = open_table(path, encoding, chunk_bytes, need_labels=False)
    return Stream(str(path), format_, table, text, usual)
