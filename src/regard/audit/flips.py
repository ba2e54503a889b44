"""How many units must go before the decision changes, along each ranking and at best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.audit.inspection import Context, Metric, Seen, conclude_rankings, measure_rankings
from regard.audit.result import Measure, Result
from regard.audit.source import Floats
from regard.audit.view import View


def _fraction(view: View, erasure: Any) -> Floats:
    """K / n, and 1 where the decision never changes."""
    return np.where(erasure.flip > 0, erasure.flip / np.maximum(view.sizes, 1), np.where(view.sizes > 0, 1.0, np.nan))


def _never(view: View, erasure: Any) -> Floats:
    return np.where(view.sizes > 0, (erasure.flip == 0).astype(np.float64), np.nan)


def _ratio(view: View, erasure: Any) -> Floats:
    """K / k*, with n in place of k where the ranking never gets there; nothing where no removal can."""
    fewest = view.fewest
    assert fewest is not None, "the ratio is measured where the optimum is known"
    reached = np.where(erasure.flip > 0, erasure.flip, view.sizes)
    return np.where(fewest > 0, reached / np.maximum(fewest, 1), np.nan)


_FRACTION, _NEVER = Metric("fraction to flip", _fraction), Metric("never flips", _never)
_RATIO = Metric("ratio to the optimum", _ratio)


class Flips:
    """Fraction to flip (Serrano and Smith 2019), with those that never flip shown, and the exact optimum."""

    name = "flips"
    linear = False

    def measure(self, view: View) -> Seen:
        """Every ranking, and the optimum where it is known."""
        if view.fewest is None:
            return measure_rankings(view, (_FRACTION, _NEVER))
        seen = measure_rankings(view, (_FRACTION, _NEVER, _RATIO))
        seen["optimum"] = np.where(
            view.fewest > 0, view.fewest / np.maximum(view.sizes, 1), np.where(view.sizes > 0, 1.0, np.nan)
        )
        seen["cannot"] = np.where(view.sizes > 0, (view.fewest == 0).astype(np.float64), np.nan)
        attention = next(iter(view.batch.rankings))
        seen["mass"] = view.erasure(attention).mass
        return seen

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Fractions, never-shares and ratios."""
        known = "optimum" in seen
        metrics = (_FRACTION, _NEVER, _RATIO) if known else (_FRACTION, _NEVER)
        optimum = (
            {
                _FRACTION.name: seen["optimum"],
                _NEVER.name: seen["cannot"],
                _RATIO.name: np.where(np.isfinite(seen[f"{_RATIO.name}: random"][:, 0]), 1.0, np.nan),
            }
            if known
            else {}
        )
        measures, comparisons = conclude_rankings(seen, context, [metric.name for metric in metrics], optimum)
        more: tuple[Measure, ...] = ()
        if known:
            more = (
                context.measure("fraction to flip: optimum", seen["optimum"]),
                context.measure("attention removed at the flip", seen["mass"]),
            )
        rankings = sum(name.startswith(_FRACTION.name) for name in seen)
        return Result(
            "flips",
            "How much must go before the decision changes?",
            "k / n for the smallest k < n with argmax f(x \\ R_k) ≠ argmax f(x), R_k the first k of a ranking; 1 where "
            "there is none; k* is the smallest k over all sets",
            "lower is better; a ratio k / k* of 1 is perfect",
            context.source.removal,
            "decision",
            measures + more,
            comparisons,
            notes=(
                "Texts whose decision never changes are counted as 1 (as n / k* in the ratio), and their share is "
                "shown: left out, they would make a bad ranking look good.",
            ),
            exact=context.source.exact,
            instead=(rankings + context.draws) * context.units,
        )
