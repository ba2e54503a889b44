"""What removing the top of a ranking costs, and what the top alone is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.audit.inspection import Context, Metric, Seen, conclude_rankings, measure_rankings
from regard.audit.result import Result
from regard.audit.source import BINS, SHARES, Floats
from regard.audit.view import View

_ROOM = 0.1
_AT = np.searchsorted(SHARES, BINS)


def _comprehensiveness(view: View, erasure: Any) -> Floats:
    return np.asarray((view.confidence[:, None] - erasure.removed[:, _AT]).mean(axis=1))


def _sufficiency(view: View, erasure: Any) -> Floats:
    return np.asarray((view.confidence[:, None] - erasure.kept[:, _AT]).mean(axis=1))


def _empty(view: View, erasure: Any) -> Floats:
    """1 - max(0, f(x) - f(nothing))."""
    return np.asarray(1.0 - np.maximum(0.0, view.confidence - erasure.kept[:, 0]))


def _normal(top: Floats, room: Floats) -> Floats:
    """A quotient, where an empty text leaves room; a quotient by next to nothing would drown all others."""
    return np.where(room >= _ROOM, top / np.where(room >= _ROOM, room, 1.0), np.nan)


def _normalised_comprehensiveness(view: View, erasure: Any) -> Floats:
    return _normal(_comprehensiveness(view, erasure), 1.0 - _empty(view, erasure))


def _normalised_sufficiency(view: View, erasure: Any) -> Floats:
    raw = 1.0 - np.maximum(0.0, view.confidence[:, None] - erasure.kept[:, _AT])
    empty = _empty(view, erasure)
    return _normal(np.maximum(0.0, raw - empty[:, None]).mean(axis=1), 1.0 - empty)


METRICS = (
    Metric("comprehensiveness", _comprehensiveness),
    Metric("sufficiency", _sufficiency),
    Metric("normalised comprehensiveness", _normalised_comprehensiveness),
    Metric("normalised sufficiency", _normalised_sufficiency),
)


class Comprehensiveness:
    """Means over bins (DeYoung et al. 2020), and normalised by the empty text (Carton et al. 2020)."""

    name = "comprehensiveness"
    linear = False

    def measure(self, view: View) -> Seen:
        """Every ranking."""
        return measure_rankings(view, METRICS)

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over documents."""
        measures, comparisons = conclude_rankings(seen, context, [metric.name for metric in METRICS])
        return Result(
            "comprehensiveness",
            "What is the top of the ranking worth?",
            "comprehensiveness = f(x) - f(x \\ R_k), sufficiency = f(x) - f(R_k), k = max(1, ⌈q n⌉), each a mean over "
            f"q = {', '.join(f'{q:g}' for q in BINS)} (AOPC); normalised by f(x) - f(nothing), "
            f"undefined where that is below {_ROOM:g}",
            "comprehensiveness: higher is better; sufficiency: lower is better; both normalised: higher is better",
            context.source.removal,
            "probability of the predicted class",
            measures,
            comparisons,
            exact=context.source.exact,
            instead=2 * len(BINS) * (len(seen) // len(METRICS) - 1 + context.draws) * len(context.texts),
        )
