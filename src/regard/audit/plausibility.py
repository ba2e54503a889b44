"""How well a ranking agrees with what people marked: nice to look at, and no evidence of faithfulness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.audit.inspection import Context, Seen, conclude_rankings
from regard.audit.result import Result
from regard.audit.source import Floats, Source
from regard.audit.view import View

Marks = Sequence[Sequence[tuple[int, int]]]
METRICS = ("token F1", "IOU F1", "average precision")
_TOGETHER = 0.5  # of the union, for spans to count as the same


class Plausibility:
    """Token F1, IOU F1 and average precision against marked spans (DeYoung et al. 2020)."""

    name = "plausibility"
    linear = False

    def __init__(self, source: Source, texts: Sequence[str], marks: Marks) -> None:
        self._source, self._texts, self._marks = source, texts, marks

    def measure(self, view: View) -> Seen:
        """Of each document that has a mark, with as many units chosen as are marked."""
        marked = [self._marked(view.batch.first + doc, int(view.sizes[doc])) for doc in range(len(view))]
        rankings = {name: view.order(name) for name in view.batch.rankings}
        seen: Seen = {}
        for name, order in rankings.items():
            found = np.array([self._agree(view, doc, order, marked[doc]) for doc in range(len(view))])
            for i, metric in enumerate(METRICS):
                seen[f"{metric}: {name}"] = found[:, i]
        orders = [view.random_order(draw) for draw in range(view.draws)]
        drawn = np.array([[self._agree(view, doc, each, marked[doc]) for doc in range(len(view))] for each in orders])
        for i, metric in enumerate(METRICS):
            seen[f"{metric}: random"] = drawn[:, :, i].T
        return seen

    def _marked(self, row: int, units: int) -> Floats:
        """Which units overlap a marked span: (units,)."""
        out = np.zeros(units)
        for unit, span in enumerate(self._source.spans(self._texts[row])):
            out[unit] = any(span.start < end and start < span.end for start, end in self._marks[row])
        return out

    @staticmethod
    def _agree(view: View, doc: int, order: NDArray[np.int32], marked: Floats) -> tuple[float, float, float]:
        """Token F1, IOU F1 and average precision; NaN without a mark."""
        k = int(marked.sum())
        if k == 0:
            return (np.nan,) * 3
        places = order[view.batch.starts[doc] : view.batch.starts[doc + 1]]
        hits = marked[places]
        chosen = np.zeros(len(marked))
        chosen[places[:k]] = 1
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        return float(hits[:k].mean()), _iou_f1(_runs(chosen), _runs(marked)), float(precision[hits > 0].mean())

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over the documents that have a mark."""
        measures, comparisons = conclude_rankings(seen, context, METRICS)
        return Result(
            "plausibility",
            "Does it mark what people would mark?",
            "as many units as are marked are taken from the top: their F1; the F1 of runs of units that share at least "
            "half of their union with a marked run; average precision of the whole ranking",
            "higher is better; a model may decide by other things than people do, so this says nothing of faithfulness",
            "nothing is removed",
            "agreement with marked spans",
            measures,
            comparisons,
        )


def _runs(chosen: Floats) -> list[tuple[int, int]]:
    """Neighbouring units that are chosen."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen, [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _iou_f1(found: list[tuple[int, int]], marked: list[tuple[int, int]]) -> float:
    def same(one: tuple[int, int], two: tuple[int, int]) -> bool:
        common = max(0, min(one[1], two[1]) - max(one[0], two[0]))
        return common / (one[1] - one[0] + two[1] - two[0] - common) >= _TOGETHER

    precision = np.mean([any(same(one, two) for two in marked) for one in found])
    recall = np.mean([any(same(one, two) for one in found) for two in marked])
    return float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0
