"""How well words are found that people marked, by the measures of the ERASER benchmark (DeYoung et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.audit.eraser import WordSpans, word_places
from regard.audit.inspection import Context, Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Measure, Result
from regard.audit.source import Batch, Floats, Source, Span
from regard.audit.view import View

HARD = "hard"  # what the model itself marked, rather than the top of a ranking
_SAME = 0.5  # of the union, for spans to count as the same
# Of a document: F1 of its words; how many words were rightly chosen, chosen, marked; precision and recall of spans, and
# whether there are any; how many spans were rightly chosen, chosen, marked; area under the curve; average precision.
_COLUMNS = 13
_F1, _WORDS, _SPANS_MEAN, _SPANS, _AREA, _AVERAGE = 0, (1, 2, 1, 3), (4, 5, 6, 7), (8, 9, 8, 10), 11, 12


class Rationales:
    """Token F1, IOU F1 and AUPRC over words between spaces.

    Parameters
    ----------
    source : Source
    texts : sequence of str
    evidence : sequence of (spans or None)
        What people marked in each text: see ``eraser.read_evidence``.
    hard : sequence of (spans or None), optional
        What a model marked.
    """

    name = "rationales"
    linear = False

    def __init__(
        self,
        source: Source,
        texts: Sequence[str],
        evidence: Sequence[WordSpans | None],
        hard: Sequence[WordSpans | None] | None = None,
    ) -> None:
        self._source, self._texts, self._evidence, self._hard = source, texts, evidence, hard
        shares = [
            _inside(spans, n).mean()
            for text, spans in zip(texts, evidence, strict=True)
            if spans and (n := len(text.split()))
        ]
        self._share = float(np.mean(shares)) if shares else 0.0

    def measure(self, view: View) -> Seen:
        """Each ranking of units, as scores of words; random ones; and what the model marked."""
        values = _scores(view.batch)
        names = [*values, *([HARD] if self._hard is not None else [])]
        seen: Seen = {name: np.full((len(view), _COLUMNS), np.nan) for name in names}
        seen["random"] = np.full((len(view), view.draws, _COLUMNS), np.nan)
        for d in range(len(view)):
            row = view.batch.first + d
            text, marked = self._texts[row], self._evidence[row]
            places = word_places(text)
            if marked is None or not places:
                continue
            spans = self._source.spans(text)
            for name, scores in values.items():
                of_words = to_words(scores[view.batch.starts[d] : view.batch.starts[d + 1]], spans, places)
                seen[name][d] = self._ranked(of_words, marked)
            generator = np.random.default_rng([view.seed, 8, row])
            for draw in range(view.draws):
                seen["random"][d, draw] = self._ranked(generator.permutation(len(places)).astype(np.float64), marked)
            if self._hard is not None:
                seen[HARD][d] = agreement(self._hard[row] or (), marked, len(places))
        return seen

    def _ranked(self, scores: Floats, marked: WordSpans) -> Floats:
        """As many words from the top as people mark on average, and the whole ranking."""
        k = max(1, round(self._share * len(scores)))
        chosen = np.zeros(len(scores), np.bool_)
        chosen[np.argsort(-scores, kind="stable")[:k]] = True
        return agreement(_runs(chosen), marked, len(scores), scores)

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Means over documents, and F1 of means and of sums."""
        measures, comparisons = [], []
        drawn = seen["random"]
        rankings = [name for name in seen if name not in ("random", HARD)]
        for title, columns in _MEASURES.items():
            by_draw = [_value(drawn[:, draw], columns) for draw in range(drawn.shape[1])]
            known = [value for value in by_draw if value is not None]
            control = {
                "random": float(np.mean(known)) if known else None,
                "spread": float(np.std(known, ddof=1)) if len(known) > 1 else None,
            }
            for name in [*rankings, HARD] if HARD in seen else rankings:
                if name == HARD and columns in (_AREA, _AVERAGE):
                    continue  # a set ranks nothing
                measures.append(_measure(context, f"{title}: {name}", seen[name], columns, control))
            if isinstance(columns, int):
                one, two = seen[rankings[0]][:, columns], drawn[:, :, columns].mean(axis=1)
                comparisons.append(context.compare(title, rankings[0], "random", (one, two)))
        return Result(
            "rationales",
            "Does it find the words that people marked?",
            "over words between spaces, as many chosen from the top as people mark on average "
            f"({self._share:.1%} of a text): token F1, the mean over texts, and of all texts together (micro); IOU F1, "
            "in which a chosen run counts where it shares at least half of the union with a marked span, from mean "
            "precision and mean recall, and of all together (micro); AUPRC, the area under the curve of precision and "
            f"recall by trapezoids; average precision. “{HARD}” is what the model marked itself",
            "higher is better; a model may decide by other things than people do, so this says nothing of faithfulness",
            "nothing is removed",
            "agreement with ERASER's evidence",
            tuple(measures),
            tuple(comparisons),
            notes=(
                "A word has the scores of the units that touch it, each divided evenly among the words it touches.",
                "Texts of which the file says nothing are left out and counted as undefined.",
            ),
            exact=True,
        )


_MEASURES: dict[str, int | tuple[int, int, int, int]] = {
    "token F1": _F1,
    "token F1, micro": _WORDS,
    "IOU F1": _SPANS_MEAN,
    "IOU F1, micro": _SPANS,
    "AUPRC": _AREA,
    "average precision": _AVERAGE,
}


def agreement(chosen: WordSpans, marked: WordSpans, words: int, scores: Floats | None = None) -> Floats:
    """What one text adds to every measure: see ``_COLUMNS``."""
    mine, theirs = _inside(chosen, words), _inside(marked, words)
    hit, p, r = float((mine & theirs).sum()), float(mine.sum()), float(theirs.sum())
    same = float(sum(any(_iou(one, two) >= _SAME for two in marked) for one in chosen))
    area, average = (np.nan, np.nan) if scores is None or not 0 < r < words else curve(scores, theirs)
    return np.array(
        [
            _f1(hit, p, hit, r),
            *(hit, p, r),
            *(same / max(1, len(chosen)), float(len(chosen) > 0), same / max(1, len(marked)), float(len(marked) > 0)),
            *(same, len(chosen), len(marked)),
            *(area, average),
        ]
    )


def curve(scores: Floats, marked: NDArray[np.bool_]) -> tuple[float, float]:
    """The area under precision over recall by trapezoids, from (0, 1) on, and average precision.

    Equal scores are one point of the curve.
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(marked[order])[ends]
    precision = np.append(1.0, hits / (ends + 1))
    recall = np.append(0.0, hits / marked.sum())
    steps = np.diff(recall)
    return float(steps @ (precision[1:] + precision[:-1]) / 2), float(steps @ precision[1:])


def to_words(scores: Floats, spans: Sequence[Span], places: Sequence[tuple[int, int]]) -> Floats:
    """Scores of units as scores of words: each is divided evenly among the words that the unit touches."""
    starts, ends = np.array(places).T
    out = np.zeros(len(places))
    for score, (start, end) in zip(scores.tolist(), spans, strict=True):
        a, b = np.searchsorted(ends, start, "right"), np.searchsorted(starts, end, "left")
        if b > a:
            out[a:b] += score / (b - a)
    return out


def _scores(batch: Batch) -> dict[str, Floats]:
    """Numbers that may be added up, where rankings are only to be compared."""
    if isinstance(batch, LinearBatch):
        return {"attention": batch.weights, "contribution": batch.contribution, "leave one out": batch.left_out[0]}
    return batch.rankings


def _measure(
    context: Context,
    name: str,
    columns: Floats,
    which: int | tuple[int, int, int, int],
    control: Mapping[str, Any],
) -> Measure:
    if isinstance(which, int):
        return context.measure(name, columns[:, which], **control)
    known = np.isfinite(columns[:, 0])
    value = _value(columns, which)
    if value is None:
        return Measure(name, None, undefined=len(columns), **control)
    lower, upper = context.sampling.interval_of(np.where(known[:, None], columns, 0.0)[:, list(which)], _f1_of_sums)
    return Measure(name, value, lower, upper, documents=int(known.sum()), undefined=int((~known).sum()), **control)


def _value(columns: Floats, which: int | tuple[int, int, int, int]) -> float | None:
    known = np.isfinite(columns[:, which if isinstance(which, int) else 0])
    if not known.any():
        return None
    if isinstance(which, int):
        return float(columns[known, which].mean())
    return float(_f1_of_sums(columns[known][:, list(which)].sum(axis=0)[None])[0])


def _f1_of_sums(sums: Floats) -> Floats:
    """F1 of precision = first / second and recall = third / fourth: (resamples, 4) to (resamples,)."""
    a, b, c, d = sums.T
    p, r = a / np.maximum(b, 1e-300), c / np.maximum(d, 1e-300)
    return np.asarray(2 * p * r / np.maximum(p + r, 1e-300))


def _f1(a: float, b: float, c: float, d: float) -> float:
    return float(_f1_of_sums(np.array([[a, b, c, d]]))[0])


def _inside(spans: WordSpans, words: int) -> NDArray[np.bool_]:
    found = np.zeros(words, np.bool_)
    for start, end in spans:
        found[start:end] = True
    return found


def _runs(chosen: NDArray[np.bool_]) -> WordSpans:
    """Neighbouring words that are chosen."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen, [0]])))
    return tuple((int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True))


def _iou(one: tuple[int, int], two: tuple[int, int]) -> float:
    common = max(0, min(one[1], two[1]) - max(one[0], two[0]))
    return common / (one[1] - one[0] + two[1] - two[0] - common)
