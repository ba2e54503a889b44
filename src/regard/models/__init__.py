"""Estimators that learn from text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.models.attention_classifier import AttentionClassifier
    from regard.models.counts import TableClassifier
    from regard.models.table import TableModel

__all__ = ["AttentionClassifier", "TableClassifier", "TableModel"]

# Explaining a text needs the table alone; scikit-learn is imported when an estimator is asked for.
_HOMES = {"AttentionClassifier": "attention_classifier", "TableClassifier": "counts", "TableModel": "table"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
