"""Estimators that learn from text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.models.attention_classifier import AttentionClassifier
    from regard.models.counts import TableClassifier
    from regard.models.model import Attended, Model, load_model
    from regard.models.table import TableModel

__all__ = ["Attended", "AttentionClassifier", "Model", "TableClassifier", "TableModel", "load_model"]

# Explaining a text needs the table alone; scikit-learn is imported when an estimator is asked for.
_HOMES = {
    "Attended": "model",
    "AttentionClassifier": "attention_classifier",
    "Model": "model",
    "TableClassifier": "counts",
    "TableModel": "table",
    "load_model": "model",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
