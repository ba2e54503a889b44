"""A model as tables that any engine can join: its words and phrases, and what becomes of each character."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.report.alphabet import alphabet
from regard.tokens.rule import normalise

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from regard.models.table import TableModel

_HANGUL = range(0xAC00, 0xD7A4)


def words(model: TableModel) -> pl.DataFrame:
    """Every row of the model.

    Returns
    -------
    frame
        ``phrase``, its words joined by single spaces, in NFD; ``length``, how many words; ``attention``; and
        ``polarity``, or with more than two classes ``polarity_CLASS`` for each.
    """
    import polars as pl

    vocabulary = model.vocabulary
    starts = vocabulary.level_starts()
    lengths = np.repeat(np.arange(1, len(starts)), np.diff(starts))
    polarity = model.polarity.astype(np.float64)
    return pl.DataFrame(
        {
            "phrase": [unicodedata.normalize("NFD", name) for name in vocabulary.names()],
            "length": lengths,
            "attention": model.attention.astype(np.float64),
            **{name: polarity[:, k] for k, name in enumerate(polarity_columns(model))},
        }
    )


def polarity_columns(model: TableModel) -> list[str]:
    """What the columns of polarity are called."""
    return ["polarity"] if model.sides == 1 else columns("polarity", model.classes)


def columns(prefix: str, classes: NDArray[Any]) -> list[str]:
    """A name of a column for each class, of the letters that every engine takes, all different.

    Examples
    --------
    >>> columns("probability", np.array(["sci.med", "sci-med", "Ж"]))
    ['probability_sci_med', 'probability_sci_med_2', 'probability__']
    """
    names: list[str] = []
    taken: set[str] = set()
    for label in classes.tolist():
        plain = f"{prefix}_{re.sub('[^0-9A-Za-z_]', '_', str(label))}"[:120]
        name, n = plain, 1
        while name.lower() in taken:  # engines do not tell A from a
            n += 1
            name = f"{plain}_{n}"
        taken.add(name.lower())
        names.append(name)
    return names


@cache
def characters() -> pl.DataFrame:
    """What becomes of each character before a phrase is looked up: lower case, one form of each apostrophe, NFD.

    Two strings have the same NFC if they have the same NFD, and NFD needs no more than this table and sorting: each
    character is replaced by its forms, and then those of a rank above zero are sorted by it as far as they stand
    together. Characters that stay as they are, and need no sorting, are not in the table.

    Returns
    -------
    frame
        ``letter``; ``part``, from 0; ``form``, one character or none; ``rank``, its combining class, where none is 1.
    """
    import polars as pl

    known = alphabet()
    changed = {code for code, _ in known["lower"]} | {ord(letter) for letter, _ in known["same"]} | {*_HANGUL}
    rows: list[tuple[str, int, str, int]] = []
    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        letter = chr(code)
        if code not in changed and not unicodedata.decomposition(letter) and not unicodedata.combining(letter):
            continue
        forms = unicodedata.normalize("NFD", normalise(letter))
        if forms == letter and not unicodedata.combining(letter):
            continue
        rows += [(letter, part, form, unicodedata.combining(form)) for part, form in enumerate(forms)]
        if not forms:
            rows.append((letter, 0, "", 1))
    return pl.DataFrame(rows, schema=["letter", "part", "form", "rank"], orient="row")
