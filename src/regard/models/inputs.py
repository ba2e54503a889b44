"""What users hand to an estimator: lists, NumPy arrays, pandas and Polars series."""

from __future__ import annotations

import numbers
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
            what = "nothing (None or NaN)" if _is_nothing(text) else f"{type(text).__name__} {text!r:.40}"
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
    if not isinstance(labels, np.ndarray):
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
            raise DataError(f"Expected one label for each of the {n} texts; got {labels!r:.40}: put them in a list.")
        listed = list(labels)
        labels = np.empty(len(listed), object)  # asarray would turn ["a", 1] into strings without a word
        for i, label in enumerate(listed):
            labels[i] = label
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) != n:
        raise DataError(f"Expected one label for each of the {n} texts; got labels of the shape {labels.shape}.")
    if labels.dtype.kind in "OT":
        for i, label in enumerate(labels):
            if _is_nothing(label):
                raise DataError(f"Every text must have a label; got nothing at place {i}: leave that row out.")
        kinds = {_kind(label) for label in labels}
        if len(kinds) > 1:
            raise DataError(
                f"Labels must be of one type; got {' and '.join(sorted(kinds))}: convert them, say to strings."
            )
        labels = np.array(labels.tolist()) if kinds <= {"bool", "number", "str"} else labels
    if labels.dtype.kind not in "biufU":
        raise DataError(f"Labels must be strings, numbers or booleans; got {type(labels[0]).__name__}: convert them.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(
            f"Every text must have a label; got {'NaN' if np.isnan(labels).any() else 'an infinite number'} at place "
            f"{int(np.argmin(np.isfinite(labels)))}: leave that row out."
        )
    return np.asarray(labels)


def labels_like(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """The labels in the type of the classes, where a file wrote 1 for "1"; another kind of label is refused."""
    if labels.dtype.kind == classes.dtype.kind or {labels.dtype.kind, classes.dtype.kind} <= set("iufb"):
        return labels
    known = {str(label): label for label in classes}
    if all(str(label) in known for label in labels.tolist()):
        return np.array([known[str(label)] for label in labels.tolist()], dtype=classes.dtype)
    strange = next(label for label in labels.tolist() if str(label) not in known)
    raise DataError(
        f"Labels must be of the model's kind, such as {classes[0].item()!r}; got {strange!r}: name the right column of "
        "labels."
    )


def _is_nothing(value: Any) -> bool:
    """None, NaN, or what pandas writes for a missing value: it is not equal to itself, nor anything else."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _kind(label: Any) -> str:
    if isinstance(label, bool | np.bool_):
        return "bool"
    if isinstance(label, str):
        return "str"
    return "number" if isinstance(label, numbers.Real) else type(label).__name__
