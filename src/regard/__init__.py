"""Text classifiers whose attention is exact, and tests of whether attention may be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.lazy import fetch

if TYPE_CHECKING:
    from regard.models import (
        AttentionClassifier,
        HardmaxClassifier,
        HierarchicalAttentionClassifier,
        NeuralAttentionClassifier,
        TableClassifier,
    )
    from regard.models.estimator import load

__all__ = [
    "AttentionClassifier",
    "HardmaxClassifier",
    "HierarchicalAttentionClassifier",
    "NeuralAttentionClassifier",
    "TableClassifier",
    "load",
]

_HOMES = {
    "AttentionClassifier": "regard.models",
    "HardmaxClassifier": "regard.models",
    "HierarchicalAttentionClassifier": "regard.models",
    "NeuralAttentionClassifier": "regard.models",
    "TableClassifier": "regard.models",
    "load": "regard.models.estimator",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return fetch(_HOMES[name], name)


def __dir__() -> list[str]:
    return sorted(__all__)
