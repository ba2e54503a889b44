"""Whether attention ranks units as leaving them out and as the gradient do: described, never the verdict."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regard.audit.inspection import Context, Seen
from regard.audit.result import Measure, Result
from regard.audit.source import Floats
from regard.audit.view import View

_TOP = 0.1


class Agreement:
    """Kendall's tau-b and the overlap of the tops (Jain and Wallace 2019; Neely et al. 2022 on what it is not)."""

    name = "agreement"
    linear = False

    def measure(self, view: View) -> Seen:
        """Three pairs of rankings, and the first with random ones on a sample of the documents."""
        rankings = view.batch.rankings
        effects = {"leave one out": np.abs(view.batch.leave_one_out()[0])}
        if "attention × gradient" in rankings:
            effects["gradient"] = np.abs(rankings["attention × gradient"])
        seen: Seen = {}
        orders = {name: view.ordered(values) for name, values in effects.items()}
        known = [name for name in rankings if name in ("attention", "contribution")]
        # Of scores from elsewhere all are compared, but not leaving out with itself.
        others = [name for name in rankings if name != "leave one out"] or list(rankings)
        for ranking in known or others:
            values = np.abs(rankings[ranking]) if ranking == "contribution" else rankings[ranking]
            order = view.ordered(values)
            for name, effect in effects.items():
                if ranking == "attention" or name == "leave one out" or "attention" not in rankings:
                    seen[f"tau: {ranking}, {name}"] = view.tau(values, effect)
                    seen[f"top: {ranking}, {name}"] = view.overlap(order, orders[name], _TOP)
        if "gradient" in effects:
            seen["tau: gradient, leave one out"] = view.tau(effects["gradient"], effects["leave one out"])
            seen["top: gradient, leave one out"] = view.overlap(orders["gradient"], orders["leave one out"], _TOP)
        tau, top = (np.full((len(view), view.draws), np.nan) for _ in range(2))
        sample = view.small_sample
        effect, order = effects["leave one out"][sample.units], orders["leave one out"][sample.units]
        for draw in range(view.draws):
            shuffled = view.random_order(draw, sample)
            tau[sample.documents, draw] = view.tau(shuffled.astype(np.float64), effect, sample.starts)
            top[sample.documents, draw] = view.overlap(shuffled, order, _TOP, sample.starts)
        return {**seen, "random tau": tau, "random top": top}

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over the documents where both rankings vary."""
        measures: list[Measure] = []
        for name, values in seen.items():
            if not name.startswith("random "):
                drawn = seen["random tau" if name.startswith("tau") else "random top"]
                by_draw = np.nanmean(drawn, axis=0) if np.isfinite(drawn).any() else np.full(2, np.nan)
                control = (
                    (float(by_draw.mean()), float(by_draw.std(ddof=1))) if np.isfinite(by_draw).all() else (None,) * 2
                )
                measures.append(context.measure(name, values, random=control[0], spread=control[1]))
        return Result(
            "agreement",
            "Does attention rank as leaving out and as the gradient do?",
            "Kendall's tau-b of each document between attention, |f(x) - f(x \\ i)| and |weight · "
            "∂f/∂weight|; top: what "
            "the two top tenths have in common, divided by what either holds (Jaccard)",
            "neither: it describes, and is no part of the verdict; 1 is the same order, 0 is chance (tau)",
            context.source.removal,
            "probability of the predicted class, absolute",
            tuple(measures),
            notes=(
                "tau-b is undefined where a ranking is constant; those documents are counted, not averaged in.",
                "The gradient takes the attention as constant, as in the paper. tau over hundreds of near-equal tail "
                "weights rewards noise, so the agreement of the tops stands beside it.",
                "Random rankings are drawn for a sample of the documents.",
            ),
            exact=context.source.exact,
            instead=context.units,
        )
