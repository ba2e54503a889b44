"""The pages of studies of reading: they can be shown before every cell is finished."""

import json
from itertools import chain, combinations
from pathlib import Path

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from regard.reproduce.request import Asked
from regard.reproduce.systems import dattn, han, memory_network, nested_gec

HEAT = {"weights": [[0.5, 0.5]], "rows": ["a"], "columns": ["b", "c"], "title": ""}
EDITS = {"p": 0.9, "r": 0.8, "f": 0.88}
GEC = {
    "words": EDITS,
    "spelling": EDITS,
    "kinds": dict.fromkeys(nested_gec.KINDS, 0.7),
    "rare": 0.6,
    "misspelt": 0.5,
    "exact": 0.4,
}
DATTN = {f"{name} {what}": 0.5 for name in ("user", "item") for what in ("words", "chance")}
REVIEW = {"label": "1", "sentences": [{"weight": 1.0, "words": [["good", 1.0]]}] * 3}
RESULTS = {
    memory_network: {
        "by facts": {str(n): {"right": 0.99, "supports": 0.95} for n in (1, 2, 3)},
        "pictures": [HEAT] * 3,
    },
    dattn: {"rmse": 0.6, "mean": 1.1, "ridge": 1.0, "user picture": HEAT, "item picture": HEAT, **DATTN},
    nested_gec: {"test": GEC, "unseen": GEC, "pictures": [HEAT] * 2},
    han: {
        "accuracy": 0.9,
        "validation": 0.9,
        "epoch": 2,
        "words": 1000,
        "review": REVIEW,
        "polar": {"lowest": ["bad"], "highest": ["good"]},
    },
}


@pytest.mark.parametrize("study", RESULTS, ids=lambda study: study.__name__.rsplit(".", 1)[-1])
def test_a_page_is_shown_from_whatever_is_finished(study):
    asked = Asked("any", seeds=1, quick=True, out=Path())
    cells = study.STUDY.cells(asked)

    for some in chain.from_iterable(combinations(cells, n) for n in {1, len(cells)}):
        results = json.loads(json.dumps([RESULTS[study]] * len(some)))
        shown = study.STUDY.show(asked, list(some), results)
        assert all(len(row) == len(shown.table.head) for row in shown.table.rows)
        assert ("finished yet" in shown.reading) == (len(some) < len(cells) and "bar" not in shown.reading)
        assert not any("{" in text for text in (*shown.about, shown.reading, *(s.text for s in shown.sections)))


def test_bars_are_said_to_be_met_or_missed():
    asked = Asked("any", seeds=1, quick=True, out=Path())
    cells = memory_network.STUDY.cells(asked)
    good = RESULTS[memory_network]
    poor = {**good, "by facts": {str(n): {"right": 0.94, "supports": 0.95} for n in (1, 2, 3)}}

    assert "**missed**" not in memory_network.STUDY.show(asked, cells, [good] * len(cells)).reading
    assert "**missed**" in memory_network.STUDY.show(asked, cells, [poor] * len(cells)).reading
