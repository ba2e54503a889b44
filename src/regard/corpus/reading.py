"""A whole table at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from regard.corpus.columns import BY_NAME, NAMED, Choice, as_in, canonical_split, find_label, find_split, find_text
from regard.corpus.corpus import Corpus, Source
from regard.corpus.inputs import called
from regard.corpus.labels import as_array, check_usable, without_blanks
from regard.corpus.tables import no_rows, open_table
from regard.errors import DataError

_CHUNK = 16 * 1024 * 1024


def read(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    encoding: str = "utf-8",
    need_labels: bool = True,
    classes: int = 2,
    like: Source | None = None,
) -> Corpus:
    """Read a table of texts.

    Parameters
    ----------
    path : str or Path
        CSV, TSV or JSON Lines, plain or compressed with gzip or zstd; Parquet; a folder with one subfolder
        per label, perhaps below ``train`` and ``test``; ``"-"`` for standard input.
    text, label, split : str, optional
        Names of columns; without them they are found by name, then by content.
    encoding : str
        Of CSV, TSV, JSON Lines and the files of a folder.
    need_labels : bool
        With labels, for training: rows without a label or with a blank text are left out, with a note.
        Without, for prediction: every row is kept in order, a missing text becomes an empty one, and labels
        come along only if a column is named for them and is complete.
    classes : int
        The fewest classes that the labels may have: 1 will do for texts to test on.
    like : Source, optional
        Another table that this one belongs to: where its columns are here too, they hold the same.

    Returns
    -------
    Corpus
        ``corpus.source`` says which columns were taken and why, and what was left out.

    Raises
    ------
    DataError
        If the table cannot be used; one sentence says what was expected, what came, and what to do.
    """
    name = called(path)
    format_, table = open_table(path, encoding, _CHUNK, need_labels=need_labels)
    frame = _together(list(table), name)
    if not frame.height or not frame.width:
        raise no_rows(name)
    notes = list(table.notes)

    same_text = as_in(frame, text, like.text_column if like else None)
    same_label = as_in(frame, label, like.label_column if like else None)
    taken = (same_label.column if same_label else label, split)
    text_choice = same_text or find_text(frame, name, text, taken=taken)
    split_choice, note = find_split(frame, name, split, taken=(text_choice.column, label))
    notes += [note] if note else []
    split_column = split_choice.column if split_choice else None
    label_choice = same_label or find_label(
        frame, name, label, taken=(text_choice.column, split_column), guess=need_labels
    )
    if label_choice is not None and label_choice.column == text_choice.column:
        raise DataError(f"Texts and labels must be two columns of {name}, but both are {text_choice.column!r}.")
    if label_choice is None and need_labels:
        raise DataError(
            f"{name} must have a column of labels, but none of {', '.join(map(repr, frame.columns[:12]))} looks like "
            "one: name it with --label."
        )

    texts = frame[text_choice.column].cast(pl.String)
    labels = without_blanks(frame[label_choice.column]) if label_choice else None
    keep = pl.repeat(True, frame.height, eager=True)
    if need_labels:
        assert labels is not None
        assert label_choice is not None
        keep = _usable_rows(texts, labels, notes, label_choice.column, name)
        texts, labels = texts.filter(keep), labels.filter(keep)
        if format_ in {"CSV", "TSV"}:
            _check_header(labels, text_choice, label_choice, name)
        check_usable(labels, label_choice.column, name, named=label_choice.reason == NAMED, classes=classes)
    elif labels is not None and labels.null_count():
        notes.append(f"The labels are not used: {_rows(labels.null_count())} no value in column {labels.name!r}.")
        labels = label_choice = None

    parts = canonical_split(frame[split_column]).filter(keep).to_list() if split_column else None
    return Corpus(
        texts=texts.fill_null("").to_list(),
        labels=None if labels is None else as_array(labels, written=format_ in {"CSV", "TSV"}),
        split=None if parts is None else np.array(parts, dtype=np.str_),
        source=Source(
            path=str(path),
            format=format_,
            rows=frame.height,
            text_column=text_choice.column,
            text_reason=text_choice.reason,
            label_column=label_choice.column if label_choice else None,
            label_reason=label_choice.reason if label_choice else None,
            split_column=split_column,
            split_reason=split_choice.reason if split_choice else None,
            notes=tuple(notes),
        ),
    )


def _together(frames: list[pl.DataFrame], name: str) -> pl.DataFrame:
    if not frames:
        raise no_rows(name)
    try:
        return pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"A column of {name} must hold one kind of value, but Polars says: {str(error).splitlines()[0]}; write the "
            "column the same way in every row."
        ) from None


def _usable_rows(texts: pl.Series, labels: pl.Series, notes: list[str], column: str, name: str) -> pl.Series:
    has_label = labels.is_not_null()
    if not has_label.any():
        raise DataError(
            f"Training needs labels, but column {column!r} of {name} is empty in all {len(labels):,} rows: fill it or "
            "name another column with --label."
        )
    has_text = texts.fill_null("").str.contains(r"\S")
    if not (has_text & has_label).any():
        raise DataError(
            f"Training needs texts, but column {texts.name!r} of {name} is empty in every row with a label: fill it or "
            "name another column with --text."
        )
    if n := int((~has_label).sum()):
        notes.append(f"{n:,} {'row' if n == 1 else 'rows'} without a label {'was' if n == 1 else 'were'} left out.")
    if n := int((has_label & ~has_text).sum()):
        notes.append(f"{n:,} {'row' if n == 1 else 'rows'} without a text {'was' if n == 1 else 'were'} left out.")
    return has_label & has_text


def _check_header(labels: pl.Series, text: Choice, label: Choice, name: str) -> None:
    """Where no column is known by its name, and that of the labels is itself a label, there is no header."""
    if not {text.reason, label.reason} & {NAMED, BY_NAME} and label.column.strip() in labels.unique():
        raise DataError(
            f"The first line of {name} must name its columns, but {label.column!r} is also a label: add a first line "
            "such as text,label, or name the columns with --text and --label."
        )


def _rows(n: int) -> str:
    return "1 row has" if n == 1 else f"{n:,} rows have"
