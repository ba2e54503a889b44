"""Whether the loudest unit alone decides anything."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Result
from regard.audit.source import Floats
from regard.audit.view import View


class SingleWeight:
    """Zero the largest weight, or another one (Serrano and Smith 2019)."""

    name = "single weight"
    linear = True

    def measure(self, view: View) -> Seen:
        """The five columns of ``kernels.single``."""
        assert isinstance(view.batch, LinearBatch)
        return {"single": view.batch.single(view.draws, view.seed)}

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """The table of decision flips, and what the largest weight does beyond another."""
        top, other, flips, others, gap = seen["single"].T
        measures = (
            context.measure("ΔJS", top - other),
            context.measure("flips without the largest", flips, random=_mean(others)),
            context.measure("both flip", flips * others),
            context.measure("only the largest flips", flips * (1 - others)),
            context.measure("only another flips", (1 - flips) * others),
            context.measure("neither flips", (1 - flips) * (1 - others)),
            context.measure("difference of the weights", gap),
        )
        return Result(
            "single weight",
            "Does the loudest unit decide?",
            "ΔJS = JSD(p, p \\ i*) - JSD(p, p \\ r), i* the largest weight, r another one drawn from the rest "
            f"({context.draws} draws, averaged); the table says which removals change the decision",
            "higher is better (ΔJS, flips without the largest); only another flips: lower is better",
            context.source.removal,
            "distribution over classes, in nats",
            measures,
            (context.compare("JSD", "attention", "random", (top, other)),),
            exact=context.source.exact,
            instead=(1 + context.draws) * len(context.texts),
        )


def _mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
