"""Cutting a stream of bytes into chunks of whole rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regard.errors import DataError

LONGEST_ROW = 32 * 1024 * 1024  # bytes; five million characters, whichever, fit
MOST_ROWS = 200_000  # in a chunk


@dataclass(frozen=True)
class Chunk:
    """Whole rows.

    Attributes
    ----------
    rows : bytes
        UTF-8.
    line : int
        The number of its first line in the input, from 1.
    """

    rows: bytes
    line: int


# Given the bytes so far, the line they start in and whether they are the last: the whole rows, as they shall
# be parsed, and how many of the given bytes they were.
Settle = Callable[[bytes, int, bool], tuple[bytes, int]]


def chunks(blocks: Iterator[bytes], size: int, settle: Settle, name: str) -> Iterator[Chunk]:
    """Cut blocks into chunks of whole rows, each about ``size`` bytes.

    Parameters
    ----------
    blocks : iterator of bytes
        The input, cut anywhere.
    size : int
        Bytes to gather before a chunk is cut off.
    settle : callable
        Finds the rows that are whole.
    name : str
        What messages call the input.

    Yields
    ------
    Chunk
        In order; together they are the input.
    """
    buffer, line, wanted = bytearray(), 1, size
    for block in blocks:
        buffer += block
        while len(buffer) >= wanted:
            portion = _portion(buffer)
            rows, used = settle(_start(buffer, portion), line, False)
            if not used and portion < len(buffer):
                rows, used = settle(bytes(buffer), line, False)
            if not used:
                if len(buffer) > LONGEST_ROW:
                    raise _too_long(name, line)
                # Twice as much, so that a long row is looked at a few times and not once per block.
                wanted = min(2 * len(buffer), LONGEST_ROW + 1)
                break
            yield Chunk(rows, line)
            line += buffer.count(b"\n", 0, used)
            del buffer[:used]
            wanted = size
    while buffer:
        portion = _portion(buffer)
        rows, used = settle(_start(buffer, portion), line, portion == len(buffer))
        if not used:
            rows, used = settle(bytes(buffer), line, True)
        yield Chunk(rows, line)
        line += buffer.count(b"\n", 0, used)
        del buffer[:used]


def _start(buffer: bytearray, size: int) -> bytes:
    with memoryview(buffer) as view:  # a slice of the bytearray itself would be one copy more
        return bytes(view[:size])


def _portion(buffer: bytearray) -> int:
    """How much of the buffer to take at once: not all of it where its rows are short and very many."""
    newlines = buffer.count(b"\n")
    return len(buffer) if newlines <= MOST_ROWS else max(len(buffer) * MOST_ROWS // newlines, 1)


def _too_long(name: str, line: int) -> DataError:
    return DataError(
        f"A row of {name} must be shorter than {LONGEST_ROW // 2**20} MiB, but the one that begins in line {line} is "
        "not: check that its quotes are closed and that it is a table of texts."
    )


def by_lines(buffer: bytes, line: int, last: bool) -> tuple[bytes, int]:  # noqa: ARG001  (a Settle)
    """Settle a format whose every row is one line."""
    end = len(buffer) if last else buffer.rfind(b"\n") + 1
    return buffer[:end], end
