"""From a column to an array of labels: strings, whole numbers or true and false."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from regard.errors import DataError

MOST_CLASSES = 10_000  # a table has a number for each row and class
_LARGEST = 2**53  # beyond it a float no longer names one whole number


def without_blanks(values: pl.Series) -> pl.Series:
    """The same labels with blank strings and NaN as null: no label was given there."""
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        stripped = values.str.strip_chars()
        return stripped.set(stripped == "", None)
    if values.dtype.is_float():
        return values.fill_nan(None)
    return values


def as_array(values: pl.Series, *, written: bool) -> NDArray[Any]:
    """Labels as NumPy knows them.

    Parameters
    ----------
    values : Series
        Without nulls.
    written : bool
        The input could only write strings, as CSV does: strings that are numbers, or true and false, become
        such.

    Returns
    -------
    labels : (rows,)
        Of kind ``U``, ``i`` or ``b``; floats that are whole become ``i``, other floats strings.
    """
    if values.dtype == pl.String and written:
        values = _unwritten(values)
    if values.dtype == pl.Boolean:
        return values.to_numpy().astype(np.bool_)
    if values.dtype.is_integer() and values.cast(pl.Int64, strict=False).null_count() == 0:
        return values.cast(pl.Int64).to_numpy()
    if values.dtype.is_float() and bool(((values == values.round()) & (values.abs() < _LARGEST)).all()):
        return values.to_numpy().astype(np.int64)
    return np.array(values.cast(pl.String).to_list(), dtype=np.str_)


def _unwritten(values: pl.Series) -> pl.Series:
    some = values.unique()
    # 01 stays a string: as a number it would come back as 1.
    if some.str.contains(r"^(0|-?[1-9][0-9]{0,14})(\.0+)?$").all():
        return values.str.replace(r"\.0+$", "").cast(pl.Int64)
    if some.str.contains(r"^(?i:true|false)$").all():
        return values.str.to_lowercase() == "true"
    return values


def check_usable(values: pl.Series, column: str, source: str, *, named: bool, classes: int = 2) -> None:
    """Refuse labels that nothing can be learned from.

    Parameters
    ----------
    values : Series
        Without nulls.
    column, source : str
        What messages call them.
    named : bool
        Whether the caller named the column: then only a label of its own for each row shows that it is the wrong one.
    classes : int
        The fewest there may be.
    """
    rows, distinct = len(values), values.n_unique()
    if distinct < classes:
        raise DataError(
            f"There must be at least two classes, but every label in column {column!r} of {source} is {values[0]!r}: "
            "add rows of another class or name another column with --label."
        )
    # Dozens of classes are fine in the smallest table; more of them must on average have two rows each.
    most = min(rows - 1 if named else rows / 2, MOST_CLASSES)
    if distinct > max(50, most):
        raise DataError(
            f"A label must be shared by many rows, but column {column!r} of {source} has {distinct:,} different values "
            f"in {rows:,} rows: it is probably not the label, so name the right column with --label."
        )
