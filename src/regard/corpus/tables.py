"""Any input as a run of Polars frames; what reading whole and reading in pieces have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import polars as pl

from regard.corpus.delimited import Delimited
from regard.corpus.folders import Folder
from regard.corpus.inputs import STDIN, Format, check_there, kind_of_file, open_text
from regard.corpus.jsonlines import JsonLines
from regard.errors import DataError


class Table(Protocol):
    """Frames in order, and sentences for the user that may grow while reading."""

    notes: list[str]

    def __iter__(self) -> Iterator[pl.DataFrame]: ...


class Parquet:
    """The rows of a Parquet file as frames.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        Bytes of memory a frame, about.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self.notes: list[str] = []

    def __iter__(self) -> Iterator[pl.DataFrame]:
        try:
            lazy = pl.scan_parquet(self.path, glob=False)
            rows = int(lazy.select(pl.len()).collect().item())
            sample = lazy.head(256).collect(engine="streaming")
            step = max(self.size * sample.height // max(int(sample.estimated_size()), 1), 1)
            # Slices, not Polars' own batches: those read several row groups ahead and need four times the
            # memory.
            for start in range(0, rows, step):
                yield lazy.slice(start, step).collect(engine="streaming")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if isinstance(error, PermissionError):
                raise
            what = str(error).splitlines()[0]
            raise DataError(
                f"{self.path} must be a whole Parquet file, but Polars says: {what}; it is damaged or cut short, so "
                "copy or write it again."
            ) from None


def open_table(path: str | Path, encoding: str, size: int, *, need_labels: bool) -> tuple[Format, Table]:
    """Open any input.

    Parameters
    ----------
    path : str or Path
        A file, a folder, or ``"-"`` for standard input.
    encoding : str
        Of texts; Parquet has its own.
    size : int
        Bytes a frame, about.
    need_labels : bool
        Whether a folder must have labels.

    Returns
    -------
    format : str
        What it turned out to be.
    table : Table
        Its frames.
    """
    if str(path) != STDIN:
        there = Path(path)
        check_there(there)
        if there.is_dir():
            return "folder", Folder(there, encoding, size, need_labels)
        if kind_of_file(there) == "Parquet":
            return "Parquet", Parquet(there, size)
    source = open_text(path, encoding, size)
    if source.format == "JSON Lines":
        return source.format, JsonLines(source, size)
    return source.format, Delimited(source, size)


def no_rows(name: str) -> DataError:
    """The error for a table that is a header and nothing else."""
    return DataError(f"{name} must have at least one row, but it has only a header or nothing: add rows.")
