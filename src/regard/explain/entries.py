"""Attention over many texts at once in NumPy: no loop over texts or places, and no padding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.models.inputs import as_labels, as_texts
from regard.models.model import Model
from regard.tokens import Rows

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]


def entry_weights(rows: Rows, attention: NDArray[np.floating[Any]]) -> tuple[Ids, Floats]:
    """The text of each entry, and its share of the attention there.

        w[i] = c[i] exp(a[i]) / Σⱼ c[j] exp(a[j]),   i and j in one text

    Parameters
    ----------
    rows
        Ragged rows, all known; an entry with the count ``c`` stands for ``c`` occurrences.
    attention : (rows,)
        How loudly each row speaks.
    """
    sizes = np.diff(rows.starts)
    documents = np.repeat(np.arange(len(sizes)), sizes)
    scores = attention[rows.ids].astype(np.float64)
    top = np.zeros(len(sizes))
    if len(scores):
        # Empty texts have no entry of their own: left out, each text's entries run up to the next one's.
        top[sizes > 0] = np.maximum.reduceat(scores, rows.starts[:-1][sizes > 0])
    loud = rows.counts * np.exp(scores - top[documents])
    return documents, loud / np.bincount(documents, loud, len(sizes))[documents]


def known_rows(ids: NDArray[np.integer[Any]], starts: NDArray[np.integer[Any]]) -> Rows:
    """One entry for each occurrence; unknown words, which are below zero, are left out."""
    known = ids >= 0
    before = np.concatenate([[0], np.cumsum(known)])
    return Rows(ids[known].astype(np.int32), np.ones(int(before[-1]), np.float32), before[starts].astype(np.int64))


def inner_model(model: Any) -> Model:
    """The ``Model`` inside an estimator, or the model itself."""
    inner: Model = getattr(model, "model_", model)
    return inner


def some_texts(texts: Any) -> list[str]:
    """A list of at least one string."""
    found = as_texts(texts)
    if not found:
        raise DataError("Expected texts; got none: give at least one.")
    return found


def label_codes(labels: Any, texts: int, classes: NDArray[Any]) -> Ids:
    """The label of each text as a place among the classes."""
    found = as_labels(labels, texts)
    strange = np.setdiff1d(found, classes)
    if len(strange):
        raise DataError(
            f"Labels must be among the model's classes, such as {classes[0].item()!r}; got {strange[0].item()!r}: "
            "leave those texts out, or write the labels as in training."
        )
    return np.searchsorted(classes, found)


def summed(ids: NDArray[np.integer[Any]], values: Floats, rows: int) -> Floats:
    """Values added up by row: (entries, sides) to (rows, sides)."""
    return np.stack([np.bincount(ids, column, rows) for column in values.T], axis=1)
