"""Whether every unit that is put back helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.audit.inspection import Context, Metric, Seen, conclude_rankings, measure_rankings
from regard.audit.result import Result
from regard.audit.source import Floats
from regard.audit.view import View


def _monotone(_: View, erasure: Any) -> Floats:
    return erasure.monotone  # type: ignore[no-any-return]


METRICS = (Metric("monotonicity", _monotone),)


class Monotonicity:
    """Monotonicity (Arya et al. 2019)."""

    name = "monotonicity"
    linear = False

    def measure(self, view: View) -> Seen:
        """Every ranking."""
        return measure_rankings(view, METRICS)

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over documents."""
        measures, comparisons = conclude_rankings(seen, context, [metric.name for metric in METRICS])
        return Result(
            "monotonicity",
            "Does every unit that is put back help?",
            "share of the n steps from nothing to the whole text, the least important unit first, on which f does not "
            "fall",
            "higher is better",
            context.source.removal,
            "probability of the predicted class",
            measures,
            comparisons,
            exact=context.source.exact,
            instead=(len(seen) - 1 + context.draws) * context.units,
        )
