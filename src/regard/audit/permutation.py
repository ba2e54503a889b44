"""How far the decision moves when the weights of a text are shuffled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regard.audit import kernels
from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Result
from regard.audit.source import Floats
from regard.audit.view import View

_SHUFFLES = 100
_BINS = 4


class Permutation:
    """Random permutations of the weights (Jain and Wallace 2019): exact moments for all, shuffles for a sample."""

    name = "permutation"
    linear = True

    def measure(self, view: View) -> Seen:
        """Moments of the lead, and the median move of the probability."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        n = len(batch)
        mean, variance = np.empty(n), np.empty(n)
        kernels.permutation_moments(batch.weights, batch.margin, batch.starts, 0, n, mean, variance)
        documents = np.flatnonzero(view.sizes > 0)
        lead, top = np.full(n, np.nan), np.full(n, np.nan)
        if len(documents):
            bounds = batch.starts[:-1][documents]
            lead[documents] = np.add.reduceat(batch.contribution, bounds)
            top[documents] = np.maximum.reduceat(batch.weights, bounds)
        moved = np.full((n, _SHUFFLES), np.nan)
        kernels.permute(
            batch.weights,
            batch.said,
            batch.scores,
            batch.starts,
            view.sample.documents,
            batch.first,
            batch.explained,
            view.seed,
            moved,
        )
        return {
            "lead": lead,
            "mean": mean,
            "deviation": np.sqrt(variance),
            "median": np.median(moved, axis=1),
            "top": top,
        }

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Over all, and by the largest weight of the text."""
        median, top = seen["median"], seen["top"]
        measures = [
            context.measure("median |Δp|", median),
            context.measure("lead", seen["lead"]),
            context.measure("lead under shuffles, mean", seen["mean"]),
            context.measure("lead under shuffles, deviation", seen["deviation"]),
        ]
        for i in range(_BINS):
            low, high = i / _BINS, (i + 1) / _BINS
            inside = (top >= low) & ((top < high) | (i == _BINS - 1))
            name = f"median |Δp|, largest weight {low:g} to {high:g}"
            measures.append(context.measure(name, np.where(inside, median, np.nan)))
        return Result(
            "permutation",
            "Does it matter which unit has which weight?",
            f"median over {_SHUFFLES} shuffles π of |f(x, π(weights)) - f(x, weights)|; the lead Σ weight · m of the "
            "predicted class over the runner-up has under all shuffles the mean m̄ and the variance "
            "Σ (w - 1/n)² Σ (m - m̄)² / (n - 1)",
            "higher if attention matters; near 0 the weights could as well be shuffled",
            "weights are moved between units; nothing is removed",
            "probability of the predicted class; its lead in scores",
            tuple(measures),
            notes=("Mean and deviation of the lead are exact for every text; shuffles are drawn for a sample.",),
            instead=_SHUFFLES * len(context.texts),
        )
