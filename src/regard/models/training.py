"""PROVISIONAL trainer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from regard.tokens.vocabulary import Rows


@dataclass(frozen=True)
class Fitted:
    attention: np.ndarray
    polarity: np.ndarray
    bias: np.ndarray
    epochs: int
    counts: np.ndarray
    validation: dict | None


@njit(cache=True, nogil=True)
def _epoch(ids, counts, starts, order, labels, a, s, b, eta_s, eta_a):
    C = s.shape[1]
    S = np.zeros(C)
    g = np.zeros(C)
    for q in range(order.size):
        d = order[q]
        W = 0.0
        S[:] = 0
        for j in range(starts[d], starts[d + 1]):
            w = counts[j] * np.exp(a[ids[j]])
            W += w
            for c in range(C):
                S[c] += w * s[ids[j], c]
        if W <= 0:
            continue
        for c in range(C):
            S[c] /= W
        if C == 1:
            g[0] = (1.0 if labels[d] == 1 else 0.0) - 1 / (1 + np.exp(-S[0] - b[0]))
        else:
            m = (S + b).max()
            e = np.exp(S + b - m)
            e /= e.sum()
            for c in range(C):
                g[c] = (1.0 if labels[d] == c else 0.0) - e[c]
        n = starts[d + 1] - starts[d]
        for j in range(starts[d], starts[d + 1]):
            r = ids[j]
            w = counts[j] * np.exp(a[r]) / W * n
            t = 0.0
            for c in range(C):
                t += g[c] * (s[r, c] - S[c])
                s[r, c] += eta_s * w * g[c]
            a[r] = min(max(a[r] + eta_a * w * t, -6.0), 6.0)
        for c in range(C):
            b[c] += 0.01 * g[c]


def fit_table(rows: Rows, n_rows, labels, n_classes, settings, report, held_out=None):
    sides = 1 if n_classes == 2 else n_classes
    f = np.zeros((n_rows, n_classes))
    doc = np.repeat(np.arange(len(labels)), np.diff(rows.starts))
    np.add.at(f, (rows.ids, labels[doc]), 1)
    pr = np.bincount(labels, minlength=n_classes) / len(labels)
    tot = f.sum(1, keepdims=True)
    r = np.log((f + 2 * pr) / pr) - np.log((tot - f + 2 * (1 - pr)) / (1 - pr))
    amp = np.abs(r).max(1)
    s = 8 * (r[:, 1:2] if sides == 1 else r).astype(np.float32)
    a = np.clip(0.3 * amp, -6, 6).astype(np.float32)
    b = np.zeros(sides) if sides > 1 else np.array([np.log(pr[1] / pr[0])])
    rng = np.random.default_rng(settings.seed)
    for e in range(5):
        _epoch(
            rows.ids,
            rows.counts,
            rows.starts,
            rng.permutation(len(labels)),
            labels,
            a,
            s,
            b,
            1 - e / 5,
            0.02 * (1 - e / 5),
        )
        report("Training", (e + 1) / 5)
    return Fitted(a, s, b, 5, f.astype(np.int32), None)
