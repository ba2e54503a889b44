"""A folder of text files, one subfolder per label, perhaps below ``train`` and ``test``."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from regard.corpus.columns import SPLIT_NAMES
from regard.corpus.inputs import ENDINGS, counted, decoder_for, not_decodable, unreadable
from regard.errors import DataError

UNLABELLED = "unsup"  # what the Large Movie Review Dataset calls its reviews without a label
_SCHEMA = {"file": pl.String, "text": pl.String, "label": pl.String, "split": pl.String}


@dataclass(frozen=True)
class _File:
    path: Path
    label: str | None
    split: str | None


class Folder:
    """The files of a folder as Polars frames with the columns file, text, label and, where there is one,
    split.

    Parameters
    ----------
    path : Path
        The folder.
    encoding : str
        Of the files.
    size : int
        Bytes of text a chunk.
    need_labels : bool
        Whether files without a label are an error (all of them) or left out (those in ``unsup``).
    """

    def __init__(self, path: Path, encoding: str, size: int, need_labels: bool) -> None:
        self.path = path
        self.encoding = encoding
        self.size = size
        self.notes: list[str] = []
        decoder_for(encoding)
        try:
            files = list(_walk(path))
        except OSError as error:
            raise unreadable(error.filename or path, error) from None
        self.files = [f for f in files if f.label is not None] if need_labels else files
        left_out = len(files) - len(self.files)
        if left_out and self.files:
            self.notes.append(f"Left out: {counted(left_out, 'file')} without a label, in folders called {UNLABELLED}.")
        if not self.files:
            raise DataError(self._nothing_found(need_labels))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        rows: list[tuple[str, str, str | None, str | None]] = []
        gathered = 0
        for file in self.files:
            text = self._text(file.path)
            rows.append((file.path.relative_to(self.path).as_posix(), text, file.label, file.split))
            gathered += len(text) + 200
            if gathered >= self.size:
                yield self._frame(rows)
                rows, gathered = [], 0
        if rows:
            yield self._frame(rows)

    def _frame(self, rows: list[tuple[str, str, str | None, str | None]]) -> pl.DataFrame:
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        useless = [name for name in ("label", "split") if all(getattr(f, name) is None for f in self.files)]
        return frame.drop(useless)

    def _text(self, path: Path) -> str:
        try:
            data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        except OSError as error:
            raise unreadable(path, error) from None
        try:
            return data.decode(self.encoding)
        except UnicodeError as error:
            raise not_decodable(str(path), self.encoding, error) from None

    def _nothing_found(self, need_labels: bool) -> str:
        inside = list(_visible(self.path))
        folders = sum(p.is_dir() for p in inside)
        wanted = "one subfolder per label with text files in it (such as pos/ and neg/)"
        if not need_labels:
            wanted = f"text files, or {wanted}"
        tables = [p.name for p in inside if _is_table(p)]
        advice = f"to read one table name its file, such as {tables[0]!r}" if tables else "sort the files by label"
        files = counted(len(inside) - folders, "file")
        return (
            f"The folder {self.path} must hold {wanted}, but it holds {files} "
            f"and {counted(folders, 'subfolder')}{' without files' if folders else ''}: {advice}."
        )


def _walk(root: Path) -> Iterator[_File]:
    """The text files in a fixed order: split, label, name."""
    folders = [p for p in _visible(root) if p.is_dir()]
    splits = [p for p in folders if p.name.lower() in SPLIT_NAMES and any(q.is_dir() for q in _visible(p))]
    if splits:
        for split in splits:
            for label in (p for p in _visible(split) if p.is_dir()):
                yield from _files(label, label.name, split.name)
        return
    for label in folders:
        yield from _files(label, label.name, None)
    if not folders and not any(_is_table(p) for p in _visible(root)):
        yield from _files(root, None, None)


def _files(folder: Path, label: str | None, split: str | None) -> Iterator[_File]:
    for path in _visible(folder):
        if path.is_file():
            yield _File(path, None if label == UNLABELLED else label, split)


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and path.is_file()


def _visible(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if not p.name.startswith("."))
