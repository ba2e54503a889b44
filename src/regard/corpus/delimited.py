"""CSV and TSV, chunk by chunk.

A newline ends a row only outside quotes. Where every quote stands as the standard (RFC 4180) has it,
"outside" is the same as "after an even number of quotes", and NumPy finds that at memory speed. Where one
does not, as in ``a 5" disk,1``, the chunk is first rewritten so that they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from regard.corpus.chunks import Chunk, by_lines, chunks
from regard.corpus.inputs import TextInput
from regard.errors import DataError

_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")
_WINDOW = 1024 * 1024


class Quotes:
    """Where the quotes of some rows are.

    Parameters
    ----------
    rows : bytes
        That begin outside quotes.
    separator : bytes
        Between fields.

    Attributes
    ----------
    at : (quotes,)
        Their positions.
    standard : bool
        Whether each of them opens a field, closes one, or is doubled inside one.
    """

    def __init__(self, rows: bytes, separator: bytes) -> None:
        self.rows = rows
        self.separator = separator[0]
        self.bytes = np.frombuffer(rows, dtype=np.uint8)
        # In windows and as 32-bit numbers: an input of nothing but quotes must not fill memory.
        self.at: NDArray[np.uint32] = np.empty(0, np.uint32)
        self.standard = True
        if b'"' in rows:
            self.at = np.empty(rows.count(b'"'), np.uint32)
            seen = 0
            for start in range(0, len(rows), _WINDOW):
                at = np.flatnonzero(self.bytes[start : start + _WINDOW] == _QUOTE) + start
                self.standard = self.standard and self._are_standard(at, seen % 2)
                self.at[seen : seen + at.size] = at
                seen += at.size

    def _are_standard(self, at: NDArray[np.intp], inside: int) -> bool:
        """Whether each of these quotes opens a field, closes one, or is doubled inside one."""
        opening, closing = at[inside::2], at[1 - inside :: 2]
        before = self.bytes[np.maximum(opening - 1, 0)]
        after = self.bytes[np.minimum(closing + 1, len(self.bytes) - 1)]
        # A quote just before an opening one has closed, and a quote just after a closing one opens again:
        # doubled.
        opens = (opening == 0) | self._is(before, _QUOTE, _NEWLINE)
        closes = (closing + 1 == len(self.bytes)) | self._is(after, _QUOTE, _NEWLINE, _RETURN)
        return bool(opens.all() and closes.all())

    def _is(self, byte: NDArray[np.uint8], *marks: int) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = byte == self.separator
        for mark in marks:
            found = found | (byte == mark)
        return found

    def outside(self, mark: int) -> NDArray[np.uint32]:
        """Where the byte stands outside quotes."""
        # Of the same type as `at`, or searching would first copy that into the wider one.
        found = np.flatnonzero(self.bytes == mark).astype(np.uint32)
        return found[np.searchsorted(self.at, found) % 2 == 0] if self.at.size else found

    def end_of_rows(self) -> int:
        """Just after the last newline outside quotes; 0 where there is none."""
        end = self.rows.rfind(b"\n")
        while end >= 0:
            quotes_before = int(np.searchsorted(self.at, np.uint32(end)))
            if quotes_before % 2 == 0:
                return end + 1
            end = self.rows.rfind(b"\n", 0, int(self.at[quotes_before - 1]))
        return 0

    @property
    def open_at(self) -> int | None:
        """Where the quote stands that is still open at the end."""
        if self.at.size % 2 == 0:
            return None
        i = self.at.size - 1
        while i >= 2 and self.at[i] == self.at[i - 1] + 1:  # doubled quotes inside the field
            i -= 2
        return int(self.at[i])


class Delimited:
    """The rows of a CSV or TSV input as Polars frames, every column a string.

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
        # Many TSV files know no quoting at all, and then a field may begin with a quote that nothing closes.
        self.quoted = source.format == "CSV" or Quotes(source.head, source.separator).standard
        if not self.quoted:
            self.notes.append("Quotes are ordinary characters in this file.")

    def __iter__(self) -> Iterator[pl.DataFrame]:
        header: bytes | None = None
        settle = self._settle if self.quoted else by_lines
        for chunk in chunks(self.source.blocks, self.size, settle, self.source.name):
            rows, line = chunk.rows, chunk.line
            if header is None:
                body = rows.lstrip(b"\r\n")
                line += rows.count(b"\n", 0, len(rows) - len(body))
                if not body:
                    continue
                ends = Quotes(body, self.source.separator).outside(_NEWLINE) if self.quoted else None
                end = body.find(b"\n") if ends is None else (int(ends[0]) if ends.size else -1)
                header, rows = (body, b"") if end < 0 else (body[: end + 1], body[end + 1 :])
                line += header.count(b"\n")
            if rows:
                frame = self._parse(header, Chunk(rows, line))
                if repeated := [
                    c for c in frame.columns if re.sub(r"_duplicated_\d+$", "", c) in set(frame.columns) - {c}
                ]:
                    note = f"Columns of the same name were told apart: {', '.join(map(repr, repeated))}."
                    self.notes += [note] if note not in self.notes else []
                yield frame

    def _settle(self, buffer: bytes, line: int, last: bool) -> tuple[bytes, int]:
        quotes = Quotes(buffer, self.source.separator)
        if quotes.standard:
            if last:
                self._refuse_open(quotes, line)
                return buffer, len(buffer)
            end = quotes.end_of_rows()
            return buffer[:end], end
        quotes = Quotes(standardised(buffer, line, self.source), self.source.separator)
        if last:
            self._refuse_open(quotes, line)
            return quotes.rows, len(buffer)
        end = quotes.end_of_rows()
        # Rewriting changes quotes and never newlines, so the cut is after as many newlines in what came.
        newlines = quotes.rows.count(b"\n", 0, end)
        used = int(np.flatnonzero(np.frombuffer(buffer, np.uint8) == _NEWLINE)[newlines - 1]) + 1 if newlines else 0
        return quotes.rows[:end], used

    def _refuse_open(self, quotes: Quotes, line: int) -> None:
        if (at := quotes.open_at) is not None:
            line += quotes.rows.count(b"\n", 0, at)
            raise DataError(
                f"Every quote in {self.source.name} must be closed, but the one that opens in line {line} is not: "
                'close it, or write a quote inside a text as "".'
            )

    def _parse(self, header: bytes, chunk: Chunk) -> pl.DataFrame:
        # The header in front makes each chunk a complete table, so Polars names the columns and no first
        # field of a chunk can be taken for a byte order mark.
        try:
            return pl.read_csv(
                header + chunk.rows,
                separator=self.source.separator.decode(),
                quote_char='"' if self.quoted else None,
                infer_schema=False,
            )
        # OSError: Polars takes bytes that begin like a compressed file for one.
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._explained(error, header, chunk) from None

    def _explained(self, error: Exception, header: bytes, chunk: Chunk) -> DataError:
        name = self.source.name
        columns = int(self._fields_by_row(header)[0])
        fields = self._fields_by_row(chunk.rows)
        if (fields > columns).any():
            row = int(np.argmax(fields > columns))
            line = chunk.line + (self._newlines_before_row(chunk.rows, row) if row else 0)
            mark = {b",": "comma", b"\t": "tab", b";": "semicolon", b"|": "bar"}[self.source.separator]
            return DataError(
                f"Every row of {name} must have {columns} field{'s' * (columns > 1)}, as its header has, but line "
                f"{line} has {fields[row]}: put quotes around a text that holds a {mark}."
            )
        what = str(error).splitlines()[0]
        return DataError(f"{name} cannot be read as {self.source.format} near line {chunk.line}: {what}.")

    def _fields_by_row(self, rows: bytes) -> NDArray[np.intp]:
        rows = rows if rows.endswith(b"\n") else rows + b"\n"
        quotes = Quotes(rows, self.source.separator)
        if not self.quoted:
            quotes.at = np.empty(0, np.uint32)
        ends, separators = quotes.outside(_NEWLINE), quotes.outside(self.source.separator[0])
        return np.diff(np.searchsorted(separators, ends), prepend=0) + 1

    def _newlines_before_row(self, rows: bytes, row: int) -> int:
        quotes = Quotes(rows, self.source.separator)
        if not self.quoted:
            quotes.at = np.empty(0, np.uint32)
        return rows.count(b"\n", 0, int(quotes.outside(_NEWLINE)[row - 1]) + 1)


def standardised(rows: bytes, line: int, source: TextInput) -> bytes:
    """Rewrite fields whose quotes are not standard, reading them as spreadsheets do.

    ``5" disk`` becomes ``"5"" disk"`` and ``"x" y`` becomes ``"x y"``: the values are kept, the quoting is
    mended.
    """
    mark = re.escape(source.separator)
    # Possessive repetitions (*+): nothing is tried twice, so time stays linear in the length.
    field = re.compile(
        (
            rb"(?<![^\n%s])(?:"  # a field begins here, and is
            rb'"[^"]*+(?:""[^"]*+)*+(?:"(?=[\r\n%s]|\Z)|\Z)'  # quoted as it should be, or not closed so far
            rb'|"(?P<quoted>[^"]*+(?:""[^"]*+)*+)"(?P<rest>[^\r\n%s]*+)'  # closed too early
            rb'|(?P<plain>[^"\r\n%s][^"\r\n%s]*+"[^\r\n%s]*+))'  # a quote after the start
        )
        % ((mark,) * 6)
    )

    def mended(found: re.Match[bytes]) -> bytes:
        if (plain := found["plain"]) is not None:
            return b'"' + plain.replace(b'"', b'""') + b'"'
        if (quoted := found["quoted"]) is None:
            return found[0]
        if b"\n" in quoted:
            opened = line + rows.count(b"\n", 0, found.start())
            raise DataError(
                f"Every quote in {source.name} must be closed where its text ends, but the one that opens in line "
                f"{opened} meets another in line {opened + quoted.count(bytes([_NEWLINE]))}: close it, or write a "
                'quote inside a text as "".'
            )
        return b'"' + quoted + found["rest"].replace(b'"', b'""') + b'"'

    return field.sub(mended, rows)
