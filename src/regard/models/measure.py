"""How good predictions are, on labelled texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.models.table import probabilities


def measure(scores: NDArray[np.float64], labels: NDArray[Any], classes: NDArray[Any]) -> dict[str, Any]:
    """Accuracy, macro-F1 (over the classes that occur or are predicted) and mean log loss.

    A label outside ``classes`` counts as an error; log loss is over the texts whose label is known.

    Parameters
    ----------
    scores : (texts, sides)
        What a table model says.
    labels : (texts,)
        The truth.
    classes : (classes,)
        The labels in order.
    """
    from sklearn.metrics import f1_score

    chances = probabilities(scores)
    predicted = classes[chances.argmax(axis=1)] if len(classes) > 2 else classes[(scores[:, 0] > 0).astype(np.intp)]
    known = np.isin(labels, classes)
    place = np.searchsorted(classes, labels[known])
    likelihood = chances[known, place]
    return {
        "texts": len(labels),
        "accuracy": float(np.mean(predicted == labels)) if len(labels) else 0.0,
        "macro_f1": float(f1_score(labels, predicted, average="macro", zero_division=0.0)) if len(labels) else 0.0,
        "log_loss": float(-np.log(np.maximum(likelihood, 1e-300)).mean()) if known.any() else None,
    }
