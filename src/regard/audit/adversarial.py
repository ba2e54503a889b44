"""How different the attention could be, with the same decision."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Result
from regard.audit.source import Floats
from regard.audit.view import View

EPS = (0.01, 0.05)


class Adversarial:
    """The farthest attention that leaves the decision as it is (Jain and Wallace 2019), at the global optimum."""

    name = "adversarial"
    linear = True

    def measure(self, view: View) -> Seen:
        """The largest divergence of each document, for both bounds."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        return {f"JSD within {eps:g}": batch.adversary(eps)[0] for eps in EPS}

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Beside the bound ln 2; the divergence between seeds stands in the test of that name."""
        two = len(context.source.classes) == 2
        measures = []
        for name, values in seen.items():
            measures.append(context.measure(name, values))
            share = np.where(np.isfinite(values), values > 0.95 * math.log(2), np.nan)
            measures.append(context.measure(f"{name}, share above 95% of ln 2", share))
        return Result(
            "adversarial",
            "How different could the attention be, with the same decision?",
            "max JSD(w', w) over all w' ≥ 0, Σ w' = 1, with TVD(p(w'), p(w)) ≤ ε; in nats, at most ln 2 = 0.693",
            "lower is better, but read it beside the divergence between seeds: two quiet units that balance each other "
            "exist in nearly every longer text, so it is a property of the text more than a failure of the model",
            "weights are replaced; nothing is removed",
            "probability",
            tuple(measures),
            notes=(
                "Two classes: the global optimum, at a vertex with one unit or two; published searches by gradient are "
                "lower bounds of it."
                if two
                else "Several classes: a search over single units, pairs, and mixtures with the model's "
                "own attention; a "
                "lower bound.",
            ),
            exact=two,
            instead=2 * 5 * 500 * len(context.texts),
        )
