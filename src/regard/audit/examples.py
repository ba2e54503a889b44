"""Documents worth seeing: where attention explains best, where worst, and where it could be anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.audit.inspection import Seen
from regard.audit.linear import LinearBatch
from regard.audit.result import Example
from regard.audit.source import Floats, Source
from regard.audit.view import View

_SHORTEST, _LONGEST = 12, 150  # units: what fits a page, and says something
_EACH = 2


def candidates(view: View) -> Seen:
    """What documents are chosen by."""
    main = next(iter(view.batch.rankings))
    flip = view.erasure(main).flip.astype(np.float64)
    reached = np.where(flip > 0, flip, view.sizes)
    fewest = view.fewest
    ratio = (
        reached / np.maximum(view.sizes, 1)
        if fewest is None
        else np.where(fewest > 0, reached / np.maximum(fewest, 1), np.nan)
    )
    fitting = (view.sizes >= _SHORTEST) & (view.sizes <= _LONGEST)
    return {"flip": flip, "ratio": np.where(fitting, ratio, np.nan)}


def examples(source: Source, texts: Sequence[str], facts: Seen, farthest: Floats | None = None) -> tuple[Example, ...]:
    """The best, the worst and, where the divergence of the farthest attention is known, the most adversarial."""
    ratio = facts["ratio"]
    known = np.flatnonzero(np.isfinite(ratio) & (facts["flip"] > 0))
    stuck = np.flatnonzero(np.isfinite(ratio) & (facts["flip"] == 0))
    # Of equally good ones the surest, of equally bad ones too.
    sure = facts["confidence"]
    best = known[np.lexsort((-sure[known], ratio[known]))][:_EACH]
    worst = np.concatenate([stuck, known])
    worst = worst[np.lexsort((-sure[worst], -ratio[worst]))][:_EACH]
    chosen = [("best: attention finds a flip as soon as possible", row) for row in best]
    chosen += [("worst: attention finds a flip late or never", row) for row in worst if row not in best]
    if farthest is not None:
        far = np.where(np.isfinite(ratio), np.nan_to_num(farthest, nan=-1.0), -1.0)
        others = [row for row in np.argsort(-far, kind="stable")[: 3 * _EACH].tolist() if far[row] > 0]
        taken = {int(row) for _, row in chosen}
        chosen += [("most adversarial", row) for row in others if row not in taken][:_EACH]
    return tuple(_example(source, texts, facts["flip"], why, int(row)) for why, row in chosen)


def _example(source: Source, texts: Sequence[str], flip: Floats, why: str, row: int) -> Example:
    batch = next(iter(source.batches([texts[row]])))
    main = batch.rankings[next(iter(batch.rankings))]
    attention = getattr(batch, "weights", main)
    contribution = getattr(batch, "contribution", main)
    label = int(batch.explained[0])
    if why == "most adversarial":
        assert isinstance(batch, LinearBatch)
        why += _elsewhere(batch, source, texts[row])
    else:
        why += f" ({f'after {int(flip[row])} removals' if flip[row] else 'never'})"
    return Example(
        why,
        row,
        texts[row],
        str(source.classes[label]),
        float(batch.chances[0, label]),
        [(span.start, span.end) for span in source.spans(texts[row])],
        [float(x) for x in attention],
        [float(x) for x in contribution],
    )


def _elsewhere(batch: LinearBatch, source: Source, text: str) -> str:
    """Where all attention could lie with the same decision."""
    divergence, places, share = batch.adversary(0.01)
    spans = source.spans(text)
    units = [text[spans[place].start : spans[place].end] for place in places[0].tolist() if place >= 0]
    shares = [share[0], 1 - share[0]][: len(units)]
    where = " and ".join(f"{part:.0%} on “{unit}”" for unit, part in zip(units, shares, strict=True))
    return f": the decision would be the same with {where} (JSD {divergence[0]:.3f})"
