"""Weights in NumPy: from the scores of one row to its weights.

The readable reference of ``regard.nn.weigh``. Every function takes scores (..., S) and a boolean mask
broadcast to them, True = may attend; a masked slot gets exactly zero, and a row with nothing to attend to
is zero throughout.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def by_row(weigh: Callable[[Floats], Floats], scores: Floats, mask: Bools | None = None) -> Floats:
    """Weigh what each row may attend to, and leave the rest at zero: the meaning of every mask.

    Parameters
    ----------
    weigh : callable
        From at least one score (n,) to as many weights.
    scores : (..., S)
    mask : (..., S), optional
    """
    keep = np.broadcast_to(True if mask is None else mask, scores.shape)
    weights = np.zeros_like(scores)
    for row in np.ndindex(scores.shape[:-1]):
        if keep[row].any():
            weights[row][keep[row]] = weigh(scores[row][keep[row]])
    return weights


def softmax(scores: Floats, mask: Bools | None = None, temperature: float = 1.0) -> Floats:
    """w[s] = exp(x[s] / τ) / Σⱼ exp(x[j] / τ)."""

    def row(x: Floats) -> Floats:
        e: Floats = np.exp((x - x.max()) / temperature)
        shares: Floats = e / e.sum()
        return shares

    return by_row(row, scores, mask)


def hardmax(scores: Floats, mask: Bools | None = None) -> Floats:
    """Equal weights on the highest score and what ties with it."""
    return by_row(lambda x: (x == x.max()) / (x == x.max()).sum(), scores, mask)


def top_k(scores: Floats, mask: Bools | None = None, k: int = 1) -> Floats:
    """Equal weights on the k highest scores and what ties with the last of them."""

    def row(x: Floats) -> Floats:
        best = x >= np.sort(x)[-min(k, len(x))]
        shares: Floats = best / best.sum()
        return shares

    return by_row(row, scores, mask)


def sparsemax(scores: Floats, mask: Bools | None = None) -> Floats:
    """w[s] = max(x[s] - τ, 0), Σ w = 1."""

    def row(x: Floats) -> Floats:
        falling = np.sort(x)[::-1]
        tau = (falling.cumsum() - 1) / np.arange(1, len(x) + 1)
        support = np.flatnonzero(falling > tau)[-1]
        weights: Floats = np.maximum(x - tau[support], 0)
        return weights

    return by_row(row, scores, mask)


def entmax15(scores: Floats, mask: Bools | None = None) -> Floats:
    """w[s] = max(x[s]/2 - τ, 0)², Σ w = 1; τ by halving an interval."""

    def row(x: Floats) -> Floats:
        low, high = x.max() / 2 - 1, x.max() / 2
        for _ in range(100):
            tau = (low + high) / 2
            low, high = (tau, high) if (np.maximum(x / 2 - tau, 0) ** 2).sum() > 1 else (low, tau)
        weights: Floats = np.maximum(x / 2 - low, 0) ** 2
        return weights

    return by_row(row, scores, mask)


def smooth(scores: Floats, mask: Bools | None = None) -> Floats:
    """w[s] = σ(x[s]) / Σⱼ σ(x[j])."""
    return by_row(lambda x: sigmoid(x) / sigmoid(x).sum(), scores, mask)


def gate(scores: Floats, mask: Bools | None = None) -> Floats:
    """w[s] = σ(x[s]); a row need not sum to one."""
    return by_row(sigmoid, scores, mask)


def ratio(scores: Floats, mask: Bools | None = None, of: Callable[[Floats], Floats] = np.exp) -> Floats:
    """w[s] = F(x[s]) / Σⱼ F(x[j]), for non-negative F; zero where all F are, or too small to divide by."""

    def row(x: Floats) -> Floats:
        amounts = of(x)
        total, limits = amounts.sum(), np.finfo(amounts.dtype)
        return amounts / total if total > limits.tiny / limits.eps else np.zeros_like(amounts)

    return by_row(row, scores, mask)


def literal(scores: Floats, mask: Bools | None = None) -> Floats:
    """w[s] = x[s] / Σⱼ x[j]; zero where the scores cancel."""

    def row(x: Floats) -> Floats:
        cancelled = abs(x.sum()) <= np.sqrt(np.finfo(x.dtype).eps) * np.abs(x).sum()
        return np.zeros_like(x) if cancelled else x / x.sum()

    return by_row(row, scores, mask)


def window(centre: Floats, sources: int, reach: int) -> Bools:
    """Which sources lie in [p - D, p + D]: a mask (T, S) for the centres (T,)."""
    return np.abs(np.arange(sources) - centre[:, None]) <= reach


def gaussian(weights: Floats, centre: Floats, sigma: float) -> Floats:
    """w'[t, s] = w[t, s] exp(-(s - p[t])² / 2σ²), not renormalised."""
    return weights * np.exp(-((np.arange(weights.shape[-1]) - centre[:, None]) ** 2) / (2 * sigma**2))


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    return np.exp(-np.logaddexp(0, -x))
