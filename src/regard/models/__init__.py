"""Estimators that learn from text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.lazy import fetch

if TYPE_CHECKING:
    from regard.models.attention_classifier import AttentionClassifier
    from regard.models.counts import TableClassifier
    from regard.models.hardmax.model import HardmaxModel
    from regard.models.hardmax_classifier import HardmaxClassifier
    from regard.models.hierarchical import HierarchicalModel
    from regard.models.hierarchical_classifier import HierarchicalAttentionClassifier
    from regard.models.model import Attended, Model, load_model
    from regard.models.neural import NeuralModel
    from regard.models.neural_classifier import NeuralAttentionClassifier
    from regard.models.table import TableModel
    from regard.models.vectors import Vectors

__all__ = [
    "Attended",
    "AttentionClassifier",
    "HardmaxClassifier",
    "HardmaxModel",
    "HierarchicalAttentionClassifier",
    "HierarchicalModel",
    "Model",
    "NeuralAttentionClassifier",
    "NeuralModel",
    "TableClassifier",
    "TableModel",
    "Vectors",
    "load_model",
]

# Explaining a text needs the table alone; scikit-learn is imported when an estimator is asked for.
_HOMES = {
    "Attended": "model",
    "AttentionClassifier": "attention_classifier",
    "HardmaxClassifier": "hardmax_classifier",
    "HardmaxModel": "hardmax.model",
    "HierarchicalAttentionClassifier": "hierarchical_classifier",
    "HierarchicalModel": "hierarchical",
    "Model": "model",
    "NeuralAttentionClassifier": "neural_classifier",
    "NeuralModel": "neural",
    "TableClassifier": "counts",
    "TableModel": "table",
    "Vectors": "vectors",
    "load_model": "model",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return fetch(f"{__name__}.{_HOMES[name]}", name)
