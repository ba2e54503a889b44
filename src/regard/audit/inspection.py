"""What a test is: it looks at batches, then says what it saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from regard.audit.result import Comparison, Measure, Result
from regard.audit.sampling import Sampling
from regard.audit.source import Floats, Source
from regard.audit.view import View

Seen = dict[str, Floats]


@dataclass(frozen=True)
class Context:
    """What all tests know.

    Attributes
    ----------
    source : Source
    texts : list of str
    labels : (texts,) or None
        The truth as places among the classes, -1 where it is not one of them.
    sampling : Sampling
    sizes, confidence, explained : (texts,)
        Units, probability of the predicted class, and that class.
    seed, draws : int
        Of random choices; and how many random rankings.
    """

    source: Source
    texts: list[str]
    labels: Any
    sampling: Sampling
    sizes: Floats
    confidence: Floats
    explained: Any
    seed: int
    draws: int

    @property
    def units(self) -> int:
        """Of all documents."""
        return int(self.sizes.sum())

    def measure(self, name: str, values: Floats, **more: Any) -> Measure:
        """The mean over documents with its interval; NaN means that a document has no value."""
        known = np.isfinite(values)
        if not known.any():
            return Measure(name, None, documents=0, undefined=len(values), **more)
        lower, upper = self.sampling.interval(values)
        return Measure(
            name,
            float(values[known].mean()),
            lower if np.isfinite(lower) else None,
            upper if np.isfinite(upper) else None,
            documents=int(known.sum()),
            undefined=int((~known).sum()),
            **more,
        )

    def compare(self, measure: str, one: str, two: str, values: tuple[Floats, Floats]) -> Comparison:
        """The paired test of two rankings; ``p`` is corrected when all tests are done."""
        difference = values[0] - values[1]
        known = np.isfinite(difference)
        mean = float(difference[known].mean()) if known.any() else 0.0
        return Comparison(measure, one, two, mean, self.sampling.difference(*values))


class Inspection(Protocol):
    """A test that looks at each document by itself."""

    @property
    def name(self) -> str:
        """For programs."""
        ...

    @property
    def linear(self) -> bool:
        """Whether it needs a decision that is linear in what is attended to."""
        ...

    def measure(self, view: View) -> Seen:
        """What each document of a batch shows: (documents, ...) arrays by name."""
        ...

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """What all documents show together."""
        ...


@dataclass(frozen=True)
class Metric:
    """A number for each document that an erasure gives.

    Attributes
    ----------
    name : str
    of : function of (view, erasure)
        (documents,)
    """

    name: str
    of: Callable[[View, Any], Floats]


def measure_rankings(view: View, metrics: tuple[Metric, ...]) -> Seen:
    """Each metric under each ranking, (documents,), and under the random ones, (documents, draws)."""
    seen: Seen = {}
    for metric in metrics:
        for ranking in view.batch.rankings:
            seen[f"{metric.name}: {ranking}"] = metric.of(view, view.erasure(ranking))
        seen[f"{metric.name}: random"] = np.stack([metric.of(view, each) for each in view.random_erasures], axis=1)
    return seen


def conclude_rankings(
    seen: Mapping[str, Floats],
    context: Context,
    metrics: Sequence[str],
    optimum: Mapping[str, Floats] | None = None,
) -> tuple[tuple[Measure, ...], tuple[Comparison, ...]]:
    """Each ranking beside the random ones, and attention compared with them and with the others.

    Parameters
    ----------
    optimum
        For some metrics the exact optimum of each document.
    """
    measures, comparisons = [], []
    optimum = optimum or {}
    for metric in metrics:
        rankings = [name.split(": ", 1)[1] for name in seen if name.startswith(f"{metric}: ")]
        drawn = seen[f"{metric}: random"]
        with np.errstate(invalid="ignore"):
            by_document = drawn.mean(axis=1)
            by_draw = np.array(
                [column[np.isfinite(column)].mean() if np.isfinite(column).any() else np.nan for column in drawn.T]
            )
        control = {
            "random": _number(by_draw.mean()),
            "spread": _number(by_draw.std(ddof=1)) if len(by_draw) > 1 else None,
        }
        if metric in optimum:
            best = optimum[metric]
            control["optimum"] = _number(best[np.isfinite(best)].mean()) if np.isfinite(best).any() else None
        measures += [
            context.measure(f"{metric}: {ranking}", seen[f"{metric}: {ranking}"], **control)
            for ranking in rankings
            if ranking != "random"
        ]
        measures.append(context.measure(f"{metric}: random", by_document))
        main = rankings[0]
        comparisons.append(context.compare(metric, main, "random", (seen[f"{metric}: {main}"], by_document)))
        comparisons += [
            context.compare(metric, main, other, (seen[f"{metric}: {main}"], seen[f"{metric}: {other}"]))
            for other in rankings[1:]
            if other == "contribution"
        ]
    return tuple(measures), tuple(comparisons)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
