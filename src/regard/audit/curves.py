"""The whole erasure curve: out from the top of a ranking, and in from nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.audit.inspection import Context, Metric, Seen, conclude_rankings, measure_rankings
from regard.audit.result import Curve, Result
from regard.audit.source import SHARES, STEPS, Floats
from regard.audit.view import View


def _area(values: Floats) -> Floats:
    """By the trapezoid rule over steps of 5%."""
    at = values[:, STEPS]
    return np.asarray((at[:, 1:] + at[:, :-1]).mean(axis=1) / 2)


def _deletion(_: View, erasure: Any) -> Floats:
    return _area(erasure.removed)


def _insertion(_: View, erasure: Any) -> Floats:
    return _area(erasure.kept)


METRICS = (Metric("deletion area", _deletion), Metric("insertion area", _insertion))


class Curves:
    """Erasure curves under each ranking, and the area below them."""

    name = "curves"
    linear = False

    def measure(self, view: View) -> Seen:
        """Areas, and the curves themselves."""
        seen = measure_rankings(view, METRICS)
        for ranking in view.batch.rankings:
            seen[f"deletion: {ranking}"] = view.erasure(ranking).removed
            seen[f"insertion: {ranking}"] = view.erasure(ranking).kept
        seen["deletion: random"] = np.mean([each.removed for each in view.random_erasures], axis=0)
        seen["insertion: random"] = np.mean([each.kept for each in view.random_erasures], axis=0)
        return seen

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over documents, at each share."""
        measures, comparisons = conclude_rankings(seen, context, [metric.name for metric in METRICS])
        curves = tuple(
            Curve(name, tuple(SHARES[STEPS].tolist()), tuple(values[:, STEPS].mean(axis=0).tolist()))
            for name, values in seen.items()
            if name.startswith(("deletion: ", "insertion: "))
        )
        return Result(
            "curves",
            "How fast does the probability fall, and how fast does it come back?",
            "deletion: mean over shares q of f(x \\ R_⌈qn⌉); insertion: of f(R_⌈qn⌉); steps of 5%, trapezoid rule",
            "deletion area: lower is better; insertion area: higher is better",
            context.source.removal,
            "probability of the predicted class",
            measures,
            comparisons,
            curves,
            exact=context.source.exact,
            instead=2 * 20 * (len(seen) // 4 - 1 + context.draws) * len(context.texts),
        )
