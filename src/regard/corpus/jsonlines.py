"""JSON Lines, chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from regard.corpus.chunks import Chunk, by_lines, chunks
from regard.corpus.inputs import TextInput
from regard.errors import DataError


class JsonLines:
    """The lines of a JSON Lines input as Polars frames; each chunk has the types that its own values need.

    Parameters
    ----------
    source : TextInput
        The opened input.
    size : int
        Bytes a chunk.
    """

    def __init__(self, source: TextInput, size: int) -> None:
        self.source = source
        self.size = size
        self.notes: list[str] = []

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for chunk in chunks(self.source.blocks, self.size, by_lines, self.source.name):
            if chunk.rows.strip():
                yield self._parse(chunk)

    def _parse(self, chunk: Chunk) -> pl.DataFrame:
        try:
            return pl.read_ndjson(chunk.rows, infer_schema_length=None)
        # OSError: Polars takes bytes that begin like a compressed file for one.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise self._explained(error, chunk) from None

    def _explained(self, error: BaseException, chunk: Chunk) -> DataError:
        """Polars knows where inside a line it failed but not in which line; Python's reader does."""
        wanted = f"Every line of {self.source.name} must be one JSON object"
        for number, line in enumerate(chunk.rows.split(b"\n"), chunk.line):
            if not line.strip():
                continue
            try:
                value = json.loads(line, parse_constant=_no_number)
            except (ValueError, RecursionError) as broken:
                what = broken.msg if isinstance(broken, json.JSONDecodeError) else str(broken)
                return DataError(f"{wanted}, but line {number} is not ({what}): correct it or take it out.")
            if not isinstance(value, dict):
                return DataError(f"{wanted}, but line {number} holds a {type(value).__name__}: correct it.")
        return DataError(f"{wanted}, but near line {chunk.line} Polars says: {str(error).splitlines()[0]}.")


def _no_number(name: str) -> None:
    """Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"JSON has no {name}, write null")
