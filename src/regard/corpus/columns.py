"""Which column holds the texts, which the labels, which the split; and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from regard.errors import DataError, nearest

# Earlier names win over later ones.
TEXT_NAMES = (
    "text",
    "review",
    "comment",
    "sentence",
    "body",
    "content",
    "message",
    "document",
    "tweet",
    "post",
    "utterance",
    "description",
)
LABEL_NAMES = ("label", "labels", "class", "category", "sentiment", "target", "y", "polarity", "topic")
SPLIT_COLUMNS = ("split", "fold", "set", "subset", "partition")
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "dev": "validation",
    "devel": "validation",
    "development": "validation",
    "valid": "validation",
    "validation": "validation",
    "val": "validation",
    "test": "test",
    "testing": "test",
}
NAMED, BY_NAME, SAME = "named by you", "its name", "as in training"
ROWS_LOOKED_AT = 1000  # for texts; enough to know which strings are long, and the same for a file read in pieces


@dataclass(frozen=True)
class Choice:
    """A column and a short plain phrase that says why it was taken."""

    column: str
    reason: str


def named(column: str, frame: pl.DataFrame, what: str, source: str) -> Choice:
    """The column that the caller named, if there is such a one."""
    for candidate in (column, *(c for c in frame.columns if c.strip() == column.strip())):
        if candidate in frame.columns:
            return Choice(candidate, NAMED)
    known = ", ".join(map(repr, frame.columns[:12])) + (", ..." if frame.width > 12 else "")
    raise DataError(
        f"{source} must have the {what} column {column!r}, but its columns are {known}: name one of them."
        f"{nearest(column, frame.columns)}"
    )


def as_in(frame: pl.DataFrame, wanted: str | None, known: str | None) -> Choice | None:
    """The column of the same name as in a table known before, if the caller named none."""
    return Choice(known, SAME) if wanted is None and known in frame.columns and known is not None else None


def find_text(frame: pl.DataFrame, source: str, wanted: str | None, taken: Iterable[str | None] = ()) -> Choice:
    """Choose the column of texts.

    Parameters
    ----------
    frame : DataFrame
        Its first rows are enough.
    source : str
        What messages call the input.
    wanted : str or None
        The column that the caller named.
    taken : iterable of str or None
        Columns that are already something else.

    Returns
    -------
    Choice
        By name if a name is telling, otherwise the strings that are longest on average.
    """
    if wanted is not None:
        choice = named(wanted, frame, "text", source)
        if frame.schema[choice.column].is_nested() or frame.schema[choice.column] == pl.Binary:
            raise DataError(
                f"The text column {choice.column!r} of {source} must hold strings, but holds "
                f"{frame.schema[choice.column]}: name another column with --text."
            )
        return choice
    free = [c for c in frame.columns if c not in set(taken)]
    strings = [c for c in free if frame.schema[c] in (pl.String, pl.Categorical, pl.Enum)]
    head = frame.head(ROWS_LOOKED_AT).select(pl.col(strings).cast(pl.String))
    lengths = {c: _mean_length(head[c]) for c in strings}
    # A column of numbers may be called text (an id, a flag): it is taken only where no other column has words.
    wordy = [c for c in strings if _has_words(head[c])] or strings
    if (exact := _by_name(wordy, TEXT_NAMES)) is not None:
        return Choice(exact, BY_NAME)
    partly = [c for c in wordy if _says(c, TEXT_NAMES) and not _says(c, (*LABEL_NAMES, "id"))]
    if partly:
        return Choice(max(partly, key=lambda c: lengths[c]), BY_NAME)
    if not strings:
        raise DataError(
            f"{source} must have a column of texts, but none of its columns ({', '.join(map(repr, frame.columns))}) "
            "holds strings: add one."
        )
    if not any(_has_words(head[c]) for c in strings):
        raise DataError(
            f"{source} must have a column of texts, but its columns ({', '.join(map(repr, frame.columns[:12]))}) hold "
            "nothing but numbers: name the one to use with --text."
        )
    best = max(wordy, key=lambda c: lengths[c])
    return Choice(best, "the only column" if frame.width == 1 else f"the longest strings of {frame.width} columns")


def find_label(
    frame: pl.DataFrame, source: str, wanted: str | None, taken: Iterable[str | None] = (), *, guess: bool
) -> Choice | None:
    """Choose the column of labels.

    Parameters
    ----------
    frame : DataFrame
        All rows: a file may be sorted by label.
    source : str
        What messages call the input.
    wanted : str or None
        The column that the caller named.
    taken : iterable of str or None
        Columns that are already something else.
    guess : bool
        Whether to go by the values where no name is telling.

    Returns
    -------
    Choice or None
        By name if a name is telling, otherwise the column with the fewest distinct values.
    """
    if wanted is not None:
        choice = named(wanted, frame, "label", source)
        if frame.schema[choice.column].is_nested() or frame.schema[choice.column] == pl.Binary:
            raise DataError(
                f"The label column {choice.column!r} of {source} must hold one value a row, but holds "
                f"{frame.schema[choice.column]}: name another column with --label."
            )
        return choice
    used = set(taken)
    free = [c for c, kind in frame.schema.items() if c not in used and not kind.is_nested() and kind != pl.Binary]
    if (exact := _by_name(free, LABEL_NAMES)) is not None:
        return Choice(exact, BY_NAME)
    distinct = {c: frame[c].drop_nulls().n_unique() for c in free}
    partly = [c for c in free if _says(c, LABEL_NAMES)]
    if partly:
        return Choice(min(partly, key=lambda c: distinct[c]), BY_NAME)
    able = [c for c in free if 2 <= distinct[c] <= max(50, frame.height // 2) and distinct[c] < frame.height]
    if not guess or not able:
        return None
    best = min(reversed(able), key=lambda c: distinct[c])  # of equals the last one: labels tend to stand last
    return Choice(best, f"the fewest distinct values ({distinct[best]}) of {frame.width} columns")


def find_split(
    frame: pl.DataFrame, source: str, wanted: str | None, taken: Iterable[str | None] = ()
) -> tuple[Choice | None, str]:
    """Choose the column that says which rows are for training.

    Parameters
    ----------
    frame : DataFrame
        All rows.
    source : str
        What messages call the input.
    wanted : str or None
        The column that the caller named.
    taken : iterable of str or None
        Columns that are already something else.

    Returns
    -------
    choice : Choice or None
        The column, if there is one.
    note : str
        Why a column of that name is not used, or nothing.
    """
    if wanted is not None:
        choice = named(wanted, frame, "split", source)
        if strange := _strange_parts(frame[choice.column]):
            raise DataError(
                f"The split column {choice.column!r} of {source} must say train, validation or test in every row, but "
                f"has {strange}: correct it or do not name it."
            )
        return choice, ""
    used = set(taken)
    free = [c for c, kind in frame.schema.items() if c not in used and not kind.is_nested()]
    by_name = _by_name(free, SPLIT_COLUMNS)
    if by_name is not None:
        if not (strange := _strange_parts(frame[by_name])):
            return Choice(by_name, BY_NAME), ""
        note = f"The column {by_name!r} is not used as a split: it has {strange}, not only train, validation and test."
    else:
        note = ""
    for c in free:
        if frame.schema[c] == pl.String and not _strange_parts(frame[c]) and frame[c].n_unique() > 1:
            return Choice(c, "its values"), note
    return None, note


def canonical_split(values: pl.Series) -> pl.Series:
    """``train``, ``validation`` and ``test``, whatever spelling came."""
    return values.cast(pl.String).str.strip_chars().str.to_lowercase().replace(SPLIT_NAMES)


def _strange_parts(values: pl.Series) -> str:
    """Values that name no part of a split, in words; empty where there are none."""
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return f"values of type {values.dtype}"
    some = values.cast(pl.String).unique(maintain_order=True).to_list()
    strange = [v for v in some if v is None or v.strip().lower() not in SPLIT_NAMES]
    if not strange:
        return ""
    return "empty fields" if strange[0] in (None, "") else f"{strange[0][:40]!r}"


def _by_name(columns: Sequence[str], names: Sequence[str]) -> str | None:
    by_lower = {c.strip().lower(): c for c in reversed(columns)}
    return next((by_lower[name] for name in names if name in by_lower), None)


def _says(column: str, names: Iterable[str]) -> bool:
    """Whether a word of a name such as ``review_text``, ``commentBody`` or ``label5`` is telling."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column)
    return not {w.lower() for w in words}.isdisjoint(names)


def _has_words(values: pl.Series) -> bool:
    """Whether some value is not a number."""
    return bool(values.str.contains(r"[^\s0-9.,+-]").any())


def _mean_length(values: pl.Series) -> float:
    mean = values.str.len_chars().mean()
    return float(mean) if isinstance(mean, (int, float)) else 0.0
