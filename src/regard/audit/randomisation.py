"""Whether the heat map notices when what the model has learned is taken away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Result
from regard.audit.source import Floats
from regard.audit.view import View


class Randomisation:
    """Parameters shuffled from the output down (Adebayo et al. 2018)."""

    name = "randomisation"
    linear = True

    def measure(self, view: View) -> Seen:
        """Tau of each ranking with itself, after polarity, and then attention too, was shuffled among lines."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        lines = np.random.default_rng([view.seed, 4]).permutation(len(batch.polarity))
        others = np.random.default_rng([view.seed, 5]).permutation(len(batch.loudness))
        output = replace(batch, polarity=batch.polarity[lines])
        both = replace(output, loudness=batch.loudness[others])
        seen: Seen = {}

        def tau(one: Floats, two: Floats) -> Floats:
            out = np.full(len(batch), np.nan)
            sample = view.sample
            out[sample.documents] = view.tau(one[sample.units], two[sample.units], sample.starts)
            return out

        for what, changed in (("output shuffled", output), ("output and attention shuffled", both)):
            for name in ("attention", "contribution"):
                one, two = batch.attention, changed.attention
                if name == "contribution":
                    # The same class is explained before and after.
                    one, two = batch.contribution, changed.weights * _margin(changed, batch)
                    seen[f"|{name}|, {what}"] = tau(np.abs(one), np.abs(two))
                seen[f"{name}, {what}"] = tau(one, two)
        return seen

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over documents."""
        return Result(
            "randomisation",
            "Does the map notice when the model forgets?",
            "Kendall's tau-b between a ranking and itself after the numbers were shuffled among the words: first what "
            "they say, then how loudly too",
            "should fall to about 0; what stays near 1 does not depend on what was learned",
            "nothing is removed",
            "rank correlation",
            tuple(context.measure(name, seen[name]) for name in sorted(seen)),
            notes=(
                "Worked out for a sample of the documents.",
                "Attention cannot notice when what words say is shuffled: by construction it does not depend on it. "
                "That is not a fault of this model, and it is why attention alone is no reason for a decision.",
            ),
        )


def _margin(changed: LinearBatch, batch: LinearBatch) -> Floats:
    """What each unit says now for the class that was predicted before, against the runner-up of before."""
    if len(batch.bias) == 1:
        return changed.said[:, 0] * (2.0 * batch.explained - 1.0)[batch.documents]
    others = batch.scores.copy()
    others[np.arange(len(batch)), batch.explained] = -np.inf
    mine, next_best = batch.explained[batch.documents], others.argmax(axis=1)[batch.documents]
    units = np.arange(len(batch.ids))
    return np.asarray(changed.said[units, mine] - changed.said[units, next_best])
