"""How many words must go before the decision changes, where a word takes its phrases along."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from regard.audit import kernels
from regard.audit.inspection import Context, Seen, conclude_rankings
from regard.audit.linear import LinearBatch
from regard.audit.result import Result
from regard.audit.source import Floats, Places
from regard.audit.view import View

METRICS = ("fraction to flip", "never flips", "ratio to the optimum")


class WordFlips:
    """``flips`` with words in place of words and phrases; the optimum is a dynamic programme over the text."""

    name = "word flips"
    linear = True

    def measure(self, view: View) -> Seen:
        """Three rankings of words, random ones, and the optimum."""
        batch = view.batch
        assert isinstance(batch, LinearBatch)
        assert batch.covers is not None, "the test is for models with phrases"
        starts = batch.covers.starts
        n, fewest = np.diff(starts).astype(np.float64), batch.fewest_words()
        flips = {name: batch.erase_words(_order(keys, starts)) for name, keys in batch.word_rankings().items()}
        seen: Seen = {}
        for name, flip in flips.items():
            for metric, values in _numbers(flip, fewest, n).items():
                seen[f"{metric}: {name}"] = values
        some = np.flatnonzero((batch.first + np.arange(len(view))) % view.stride == 0)
        drawn = [_numbers(batch.erase_words(_shuffled(view, starts, d), some), fewest, n) for d in range(view.draws)]
        for metric in METRICS:
            seen[f"{metric}: random"] = np.stack([each[metric] for each in drawn], axis=1)
        at_best = _numbers(fewest, fewest, n)
        return {**seen, "optimum": at_best[METRICS[0]], "cannot": at_best[METRICS[1]], "words": n}

    def conclude(self, seen: Mapping[str, Floats], context: Context) -> Result:
        """Fractions, never-shares and ratios."""
        ratio = seen[f"{METRICS[2]}: attention"]
        optimum = {
            METRICS[0]: seen["optimum"],
            METRICS[1]: seen["cannot"],
            METRICS[2]: np.where(np.isfinite(ratio), 1.0, np.nan),
        }
        measures, comparisons = conclude_rankings(seen, context, METRICS, optimum)
        rankings = sum(name.startswith(METRICS[0]) for name in seen) - 1
        return Result(
            "word flips",
            "How many words must go before the decision changes?",
            "k / n for the smallest k < n with argmax f(x \\ R_k) ≠ argmax f(x), R_k the first k words of a ranking, "
            "n the words that the model knows; 1 where there is none; k* is the smallest k over all sets of words",
            "lower is better; a ratio k / k* of 1 is perfect",
            "a word is masked: its weight and that of every phrase it is in are zeroed, the others are renormalised",
            "decision",
            (*measures, context.measure("fraction to flip: optimum", seen["optimum"])),
            comparisons,
            notes=(
                "A word is ranked by its own attention or contribution and an even part of that of its phrases. "
                "Removing words is not removing units: `flips` counts words and phrases, each time they occur.",
                "The optimum is exact: a dynamic programme over the text, since a phrase stays with all its words. "
                "Masking is not cutting out, after which the neighbours would meet in a new phrase.",
                "Random rankings are drawn for a sample of the documents.",
            ),
            exact=True,
            instead=(rankings + context.draws) * int(seen["words"].sum()),
        )


def _numbers(flip: Places, fewest: Places, n: Floats) -> dict[str, Floats]:
    """Fraction k / n (1 where it never flips), whether it never flips, k / k* (n / k* where it never does)."""
    known = (n > 0) & (flip >= 0)
    reached = np.where(flip > 0, flip, n)
    return {
        METRICS[0]: np.where(known, reached / np.maximum(n, 1), np.nan),
        METRICS[1]: np.where(known, (flip == 0).astype(np.float64), np.nan),
        METRICS[2]: np.where(known & (fewest > 0), reached / np.maximum(fewest, 1), np.nan),
    }


def _order(keys: Floats, starts: Places) -> NDArray[np.int32]:
    order = np.empty(len(keys), np.int32)
    kernels.rank(keys, starts, 0, len(starts) - 1, order)
    return order


def _shuffled(view: View, starts: Places, draw: int) -> NDArray[np.int32]:
    order = np.empty(int(starts[-1]), np.int32)
    kernels.shuffle(starts, view.batch.first + np.arange(len(starts) - 1), view.seed, draw, order)
    return order
