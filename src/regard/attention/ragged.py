"""Attention over ragged documents, in NumPy: each formula beside its gradient.

These are the readable twins of the compiled kernels, which are tested against them. All arrays lie end to end:
document ``d`` is ``starts[d]:starts[d + 1]``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]


def softmax(scores: Floats, starts: Starts, counts: Floats | None = None) -> Floats:
    """Attention weights.

        w[i] = c[i] exp(s[i]) / Σⱼ c[j] exp(s[j]),   i and j in one document

    Parameters
    ----------
    scores : (entries,)
        How loudly each entry speaks.
    starts : (documents + 1,)
        Where each document starts.
    counts : (entries,), optional
        How many equal entries one stands for; non-negative. One, if not given.

    Returns
    -------
    weights : (entries,)
        They sum to one in each document that has an entry with a positive count, and are zero in others.
    """
    weights = np.zeros(len(scores))
    counts = np.ones(len(scores)) if counts is None else counts
    for start, stop in pairwise(starts):
        c = counts[start:stop]
        if (c > 0).any():
            s = scores[start:stop]
            w = c * np.exp(s - s[c > 0].max())
            weights[start:stop] = w / w.sum()
    return weights


def softmax_backward(d_weights: Floats, weights: Floats, starts: Starts) -> Floats:
    """Carry a gradient from the weights back to the scores.

        ∂L/∂s[i] = w[i] (∂L/∂w[i] − Σⱼ w[j] ∂L/∂w[j]),   i and j in one document

    Parameters
    ----------
    d_weights : (entries,)
        ∂L/∂w.
    weights : (entries,)
        What ``softmax`` returned.
    starts : (documents + 1,)
        Where each document starts.

    Returns
    -------
    d_scores : (entries,)
        ∂L/∂s; sums to zero inside each document.
    """
    d_scores = np.empty_like(weights)
    for start, stop in pairwise(starts):
        w, d_w = weights[start:stop], d_weights[start:stop]
        d_scores[start:stop] = w * (d_w - w @ d_w)
    return d_scores


def average(weights: Floats, values: Floats, starts: Starts) -> Floats:
    """The context of each document.

        c[d] = Σⱼ w[j] v[j],   j in document d

    Parameters
    ----------
    weights : (entries,)
        Attention weights.
    values : (entries, classes)
        What each entry says.
    starts : (documents + 1,)
        Where each document starts.

    Returns
    -------
    context : (documents, classes)
        Zero for a document without entries.
    """
    return np.stack([weights[a:b] @ values[a:b] for a, b in pairwise(starts)]) if len(starts) > 1 else values[:0]


def average_backward(d_context: Floats, weights: Floats, values: Floats, starts: Starts) -> tuple[Floats, Floats]:
    """Carry a gradient from the context back to weights and values.

        ∂L/∂w[j] = v[j] · ∂L/∂c[d],   ∂L/∂v[j] = w[j] ∂L/∂c[d],   j in document d

    Returns
    -------
    d_weights : (entries,)
    d_values : (entries, classes)
    """
    d_entries = np.repeat(d_context, np.diff(starts), axis=0)
    return (values * d_entries).sum(axis=1), weights[:, None] * d_entries
