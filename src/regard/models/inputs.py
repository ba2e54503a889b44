"""What users hand to an estimator: lists, NumPy arrays, pandas and Polars series."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError


def as_texts(texts: Any) -> list[str]:
    """A list of strings, or a sentence on what came instead."""
    if isinstance(texts, str | bytes):
        raise DataError("Expected several texts, such as a list of strings; got one string: put it in a list.")
    if hasattr(texts, "columns"):
        if len(texts.columns) != 1:
            names = ", ".join(map(str, list(texts.columns)[:5]))
            raise DataError(f"Expected one column of texts; got a table with columns {names}: choose one of them.")
        texts = texts[next(iter(texts.columns))]
    if hasattr(texts, "to_list"):
        texts = texts.to_list()
    elif isinstance(texts, np.ndarray):
        if texts.ndim == 2 and texts.shape[1] == 1:
            texts = texts[:, 0]
        if texts.ndim != 1:
            raise DataError(f"Expected a one-dimensional array of texts; got the shape {texts.shape}.")
        texts = texts.tolist()
    elif not isinstance(texts, Iterable):
        raise DataError(f"Expected several texts, such as a list of strings; got {type(texts).__name__}.")
    strings: list[Any] = list(texts)
    for i, text in enumerate(strings):
        if not isinstance(text, str):
            what = "nothing (None or NaN)" if text is None or text != text else f"{type(text).__name__} {text!r:.40}"
            raise DataError(f"Every text must be a string; got {what} at place {i}: drop that row or fill it with ''.")
    return strings


def as_labels(labels: Any, n: int) -> NDArray[Any]:
    """A one-dimensional array with one label for each of ``n`` texts."""
    if labels is None:
        raise DataError("Expected a label for every text; got none: training needs `y`.")
    if hasattr(labels, "columns") and len(labels.columns) == 1:
        labels = labels[next(iter(labels.columns))]
    if hasattr(labels, "to_list"):
        labels = labels.to_list()
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n:
        raise DataError(f"Expected one label for each of the {n} texts; got labels of the shape {array.shape}.")
    if array.dtype.kind == "O":
        for i, label in enumerate(array):
            if label is None or label != label:
                raise DataError(f"Every text must have a label; got nothing at place {i}: leave that row out.")
        kinds = {type(label) for label in array}
        if len(kinds) > 1:
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise DataError(f"Labels must be of one type; got {names}: convert them, for instance to strings.")
        array = np.array(array.tolist())
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(f"Every text must have a label; got NaN at place {int(np.argmin(np.isfinite(array)))}.")
    return array
