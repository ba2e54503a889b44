"""From a path to blocks of UTF-8: opening, decompressing, decoding, and telling what kind of table it is."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

from regard.errors import DataError, SettingError, nearest

Format = Literal["CSV", "TSV", "JSON Lines", "Parquet", "folder"]

STDIN = "-"
HEAD = 256 * 1024  # what is looked at before anything is decided
ENDINGS: dict[str, Format] = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".tab": "TSV",
    ".jsonl": "JSON Lines",
    ".ndjson": "JSON Lines",
    ".parquet": "Parquet",
    ".pq": "Parquet",
}
_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"%PDF": "a PDF",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"ARROW1": "an Arrow file",
}
# The 32-bit marks come first: the little-endian one begins like the 16-bit one.
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WANTED = "CSV, TSV, JSON Lines (.jsonl), Parquet, or a folder with one subfolder per label"


@dataclass(frozen=True)
class TextInput:
    """A text table that has been opened and looked at.

    Attributes
    ----------
    name : str
        What messages call it.
    format : str
        ``CSV``, ``TSV`` or ``JSON Lines``.
    separator : bytes
        Between the fields of a row; one byte.
    head : bytes
        The first 256 KiB, or all there is.
    blocks : iterator of bytes
        The whole input, the head included, as UTF-8 without a byte order mark.
    """

    name: str
    format: Format
    separator: bytes
    head: bytes
    blocks: Iterator[bytes]


def counted(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def called(path: str | Path) -> str:
    """What messages call the input."""
    return "standard input" if str(path) == STDIN else str(path)


def check_there(path: Path) -> None:
    """Say so where nothing can be read at the path at all."""
    try:
        there = path.exists()
    except OSError as error:
        raise unreadable(path, error) from None
    if not there:
        beside = path.parent if path.parent.is_dir() else None
        close = _close_name(path.name, beside) if beside else f" There is no folder {path.parent} either."
        raise DataError(f"There is no file {path}: check the path.{close}")


def _close_name(name: str, folder: Path) -> str:
    try:
        return nearest(name, (p.name for p in folder.iterdir()))
    except OSError:
        return ""


def unreadable(path: object, error: OSError) -> DataError:
    """The error for a file or folder that the system will not let us read."""
    if isinstance(error, PermissionError):
        return DataError(f"{path} must be readable, but permission was denied: change its permissions or copy it.")
    return DataError(f"{path} cannot be read: {error.strerror or error}.")


def kind_of_file(path: Path) -> Format | None:
    """The format that the ending or the first bytes announce; None means: look at the text."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".zstd")
    by_ending = ENDINGS.get(Path(name).suffix)
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise unreadable(path, error) from None
    if not start:
        raise DataError(f"{path} is empty (0 bytes): a table with a header and at least one row is needed.")
    if start.startswith(_PARQUET):
        return "Parquet"
    if by_ending == "Parquet":
        if start.startswith((_GZIP, _ZSTD)):
            raise DataError(f"{path} is a compressed Parquet file, and Parquet compresses itself: decompress it first.")
        raise DataError(f"{path} is named Parquet but does not begin like one: it is damaged or of another kind.")
    return by_ending


def open_text(path: str | Path, encoding: str, block: int) -> TextInput:
    """Open a CSV, TSV or JSON Lines input and find out which it is.

    Parameters
    ----------
    path : str or Path
        A file, plain or compressed with gzip or zstd; ``"-"`` is standard input.
    encoding : str
        Of the text; any that Python knows.
    block : int
        About how many bytes to read at a time.

    Returns
    -------
    TextInput
        With the head looked at and nothing lost.
    """
    name = called(path)
    blocks = _as_utf8(_raw_blocks(path, max(block, 1)), name, encoding)
    first: list[bytes] = []
    while sum(map(len, first)) < HEAD and (piece := next(blocks, None)) is not None:
        first.append(piece)
    head = b"".join(first)
    if not head.strip():
        raise DataError(f"{name} is empty: a table with a header and at least one row is needed.")
    by_ending = None if str(path) == STDIN else kind_of_file(Path(path))
    format_, separator = _sniff(head, name, by_ending)
    return TextInput(name, format_, separator, head, chain(first, blocks))


# --- bytes


class _Peekable(Protocol):
    def peek(self, size: int = ..., /) -> bytes: ...
    def read(self, size: int = ..., /) -> bytes: ...


def _raw_blocks(path: str | Path, size: int) -> Iterator[bytes]:
    """The input, decompressed; no more than ``size`` bytes are ever inflated at once."""
    if str(path) == STDIN:
        # A second buffer, so that peeking is possible whatever stands in for standard input.
        reader = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
        try:
            yield from _inflated(reader, "standard input", size, None)
        finally:
            reader.detach()
        return
    try:
        with Path(path).open("rb") as file:
            yield from _inflated(file, str(path), size, Path(path))
    except OSError as error:
        raise unreadable(path, error) from None


def _inflated(file: _Peekable, name: str, size: int, path: Path | None) -> Iterator[bytes]:
    start = file.peek(8)[:8]
    ending = path.suffix.lower() if path else ""
    if start.startswith(_PARQUET):
        raise DataError(f"Parquet needs a file that can be read from its end, which {name} is not: give it as a file.")
    for magic, kind in _OTHER_KINDS.items():
        if start.startswith(magic):
            raise DataError(f"{name} is {kind}, not a table that regard reads: save it as {_WANTED}.")
    if start.startswith(_GZIP):
        yield from _gunzipped(cast(BinaryIO, file), name, size)
    elif start.startswith(_ZSTD):
        yield from _unzstd(path, name)
    elif ending in {".gz", ".zst", ".zstd"} and start:
        kind = "gzip" if ending == ".gz" else "zstd"
        raise DataError(
            f"{name} is named {ending} but does not begin like {kind}: it is damaged or needs another name."
        )
    else:
        while block := file.read(size):
            yield block


def _gunzipped(file: BinaryIO, name: str, size: int) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=file) as inflated:
            while block := inflated.read(size):
                yield block
    except EOFError:
        raise DataError(f"{name} ends in the middle of its gzip data: it was cut short, so copy it again.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} is damaged gzip data ({error}): copy it again.") from None


def _unzstd(path: Path | None, name: str) -> Iterator[bytes]:
    """Zstandard through Polars' line reader: needs no further package, but makes Windows line ends plain."""
    import polars as pl

    if path is None:
        raise DataError(f"{name} is compressed with zstd: decompress it on the way in, as in `zstd -dc FILE | ...`.")
    try:
        for lines in pl.scan_lines(path, glob=False).collect_batches(chunk_size=500):
            yield ("\n".join(lines["line"].to_list()) + "\n").encode()
    except OSError as error:
        raise DataError(f"{name} is damaged or cut short ({error}): copy it again.") from None
    except pl.exceptions.ComputeError:
        raise DataError(
            f"{name} must hold UTF-8 where it is compressed with zstd: for another encoding decompress it first."
        ) from None


# --- characters


def decoder_for(encoding: str) -> codecs.IncrementalDecoder:
    """A decoder that takes bytes piece by piece."""
    try:
        # CodecInfo knows whether bytes become text or, as with base64, other bytes; only `bytes.decode` asks
        # it.
        with suppress(UnicodeDecodeError):
            b" ".decode(encoding)
        return codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise SettingError(
            f"encoding must be one that Python knows, such as utf-8, latin-1, cp1252 or utf-16; got {encoding!r}."
        ) from None


def _as_utf8(blocks: Iterator[bytes], name: str, encoding: str) -> Iterator[bytes]:
    decoder = decoder_for(encoding)
    is_utf8 = codecs.lookup(encoding).name in {"utf-8", "utf-8-sig"}
    line, begun = 1, False
    for block in chain(blocks, [b""]):
        if not begun and is_utf8:
            _refuse_wide(block, name)
        whole_and_ascii = is_utf8 and block.isascii() and not decoder.getstate()[0]
        if not whole_and_ascii:
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                raise not_decodable(name, encoding, error, line) from None
        # UTF-8 that decodes is passed on as it came; a character cut by the block's end is only checked
        # later.
        out = block if is_utf8 else text.encode("utf-8", "surrogatepass")
        if not begun and out:
            out, begun = out.removeprefix(codecs.BOM_UTF8), True
        line += out.count(b"\n")
        if out:
            yield out


def _refuse_wide(block: bytes, name: str) -> None:
    for mark, wide in _WIDE_MARKS.items():
        if block.startswith(mark):
            raise DataError(f"{name} must be UTF-8, but begins with the mark of {wide.upper()}: say --encoding {wide}.")


def not_decodable(name: str, encoding: str, error: UnicodeError, line: int = 1) -> DataError:
    """The error for bytes that are not in the encoding; ``line`` is the one where they begin."""
    if not isinstance(error, UnicodeDecodeError):  # of the whole, such as UTF-16 without its mark
        return DataError(
            f"{name} must be {encoding.upper()}, but is not ({error}): name the right encoding, for instance "
            "--encoding utf-8 or --encoding utf-16-le."
        )
    line += error.object.count(b"\n", 0, error.start)
    return DataError(
        f"{name} must be {encoding.upper()}, but line {line} holds the byte 0x{error.object[error.start]:02x}, which "
        "is not: name the right encoding, for instance --encoding latin-1 or --encoding cp1252."
    )


# --- kinds


def _sniff(head: bytes, name: str, by_ending: Format | None) -> tuple[Format, bytes]:
    lines = head.lstrip().splitlines()
    header = lines[0] if lines else b""
    separator, times = _likely_separator(header)
    listed = header.startswith(b"[") and (by_ending == "JSON Lines" or re.match(rb"\[\s*(\{|\Z)", head.strip()))
    if listed:
        raise DataError(f"{name} must hold one JSON object a line, but begins with a list: write it as JSON Lines.")
    if by_ending == "JSON Lines" or (by_ending is None and header.startswith(b"{")):
        return "JSON Lines", b""
    if b"\0" in header:
        raise DataError(
            f"{name} must name its columns in its first line, but that holds NUL bytes: if it is a table, it is "
            "probably UTF-16, so say --encoding utf-16-le or --encoding utf-16-be."
        )
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        raise DataError(f"{name} ends its lines with a bare carriage return: save it with \\n or Windows line ends.")
    if by_ending == "TSV":
        return "TSV", b"\t"
    if by_ending is None and not times and not _is_text_name(header):
        raise DataError(f"{name} is not a table that regard knows: it reads {_WANTED}, each with its usual ending.")
    return ("TSV" if separator == b"\t" else "CSV"), separator


def _likely_separator(header: bytes) -> tuple[bytes, int]:
    """The separator that the header uses most, else a comma; spreadsheets also write semicolons, databases bars."""
    unquoted = re.sub(rb'"[^"]*"', b"", header)
    times = {mark: unquoted.count(mark) for mark in (b",", b"\t", b";", b"|")}
    best = max(times, key=lambda mark: times[mark])
    return best, times[best]


def _is_text_name(header: bytes) -> bool:
    from regard.corpus.columns import TEXT_NAMES

    return header.strip(b' "').decode("utf-8", "replace").lower() in TEXT_NAMES
