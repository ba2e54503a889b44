"""Whether the numbers foretell what hiding random units does, and whether they hold still under noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regard.audit import kernels
from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Result
from regard.audit.source import Floats
from regard.audit.view import View

_MASKS = 100
_NOISE, _NOISES = 0.02, 10


class Infidelity:
    """Infidelity (Yeh et al. 2019), with the factor that suits each explanation best."""

    name = "infidelity"
    linear = True

    def measure(self, view: View) -> Seen:
        """Attention, contribution, and attention in a random order."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        sample = view.sample
        weights = batch.weights[sample.units]
        places = np.repeat(sample.starts[:-1], np.diff(sample.starts))
        shuffled = [weights[places + view.random_order(draw, sample)] for draw in range(view.draws)]
        found = np.full((len(batch), 2 + view.draws), np.nan)
        kernels.infidelities(
            batch.attention,
            batch.said,
            batch.bias,
            batch.scores,
            batch.starts,
            sample.documents,
            batch.first,
            batch.explained,
            np.column_stack([weights, batch.contribution[sample.units], *shuffled]),
            sample.starts,
            _MASKS,
            view.seed,
            found,
        )
        return {"attention": found[:, 0], "contribution": found[:, 1], "random": found[:, 2:]}

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over the sampled documents."""
        drawn = seen["random"][np.isfinite(seen["random"]).all(axis=1)]
        control = {"random": float(drawn.mean()), "spread": float(drawn.mean(axis=0).std(ddof=1))} if len(drawn) else {}
        return Result(
            "infidelity",
            "Do the numbers foretell what hiding random units does?",
            f"E (β Σ_I φ - (f(x) - f(x \\ I)))² over {_MASKS} random sets I of half the units, with "
            f"the β that makes it "
            "least for each document",
            "lower is better",
            context.source.removal,
            "probability of the predicted class, squared",
            tuple(context.measure(name, seen[name], **control) for name in ("attention", "contribution")),
            (
                context.compare("infidelity", "attention", "random", (seen["attention"], seen["random"].mean(axis=1))),
                context.compare("infidelity", "attention", "contribution", (seen["attention"], seen["contribution"])),
            ),
            notes=("Sets are drawn for a sample of the documents; random: the same weights on other units.",),
            exact=False,
            instead=_MASKS * int(np.isfinite(seen["attention"]).sum()),
        )


class Sensitivity:
    """Max-sensitivity (Yeh et al. 2019): a small change of the numbers must not change the explanation much."""

    name = "sensitivity"
    linear = True

    def measure(self, view: View) -> Seen:
        """Attention and contribution under noise on the two numbers of each unit."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        seen = {name: np.full(len(batch), np.nan) for name in ("attention", "contribution")}
        for doc in view.sample.documents.tolist():
            a, b = batch.starts[doc], batch.starts[doc + 1]
            attention, margin, weights = batch.attention[a:b], batch.margin[a:b], batch.weights[a:b]
            noise = np.random.default_rng([view.seed, 3, batch.first + doc]).uniform(-1, 1, (2, _NOISES, b - a))
            louder = attention + _NOISE * np.sqrt((attention**2).mean()) * noise[0]
            shares = np.exp(louder - louder.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            says = margin + _NOISE * np.sqrt((margin**2).mean()) * noise[1]
            for name, before, after in (
                ("attention", weights, shares),
                ("contribution", weights * margin, shares * says),
            ):
                size = np.linalg.norm(before)
                if size > 0:
                    seen[name][doc] = np.linalg.norm(after - before, axis=1).max() / size
        return seen

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over the sampled documents."""
        return Result(
            "sensitivity",
            "Do the numbers hold still under a little noise?",
            f"max over {_NOISES} draws of |φ(x + e) - φ(x)| / |φ(x)|; e moves each of the two numbers "
            f"of a unit by up to "
            f"{_NOISE:.0%} of their root mean square in the text",
            "lower is better",
            "nothing is removed",
            "weights; contributions to the lead",
            tuple(context.measure(name, values) for name, values in seen.items()),
            notes=("Noise is drawn for a sample of the documents.",),
            exact=False,
            instead=_NOISES * int(np.isfinite(seen["attention"]).sum()),
        )
