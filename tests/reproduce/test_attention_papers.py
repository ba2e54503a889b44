"""The pages of Jain and Wallace and of Serrano and Smith: published numbers, resuming, quick looks."""

from __future__ import annotations

import json

import pytest

from regard.errors import SettingError
from regard.reproduce import Asked, attention_is_not_explanation, explanation_cells, interpretable_cells, paper
from regard.reproduce.explanation_cells import PAIRS
from regard.reproduce.interpretable_cells import RANKINGS
from regard.reproduce.pooled_networks import LIMITS, prepare

JAIN = paper("attention-is-not-explanation")
SERRANO = paper("is-attention-interpretable")


@pytest.fixture
def there(data, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", str(data))


def agreement(tau: float) -> dict:
    return {
        "mean": tau,
        "interval": [tau - 0.01, tau + 0.01],
        "deviation": 0.2,
        "significant": 0.5,
        "undefined": 3,
        "by class": [tau, tau, tau],
        "random": 0.0,
        "top": 0.4,
    }


def explained(tau: float, accuracy: float) -> dict:
    """What a cell of Jain and Wallace returns."""
    farthest = {"mean": [0.6, 0.6, 0.6], "above 95% of ln 2": 0.1, "bars": [1 / 14] * 14}
    searched = {"documents": 9, "mean": [0.5, 0.47, 0.51], "exact mean": [0.6, 0.6, 0.6], "bars": [1 / 14] * 14}
    box = {"bin": 1, "class": 0, "documents": 9, "mean": 0.2, "quartiles": [0.0, 0.1, 0.2, 0.3, 0.4]}
    return {
        "test": {"accuracy": accuracy, "f1": accuracy},
        "documents": 9,
        "agreement": {pair: agreement(tau) for pair in PAIRS},
        "permutation": {"mean": 0.2, "lead": 1.0, "lead under shuffles": [0.5, 0.2], "bins": [box]},
        "adversarial": {"exact 0.05": farthest, "exact 0.01": farthest, "searched": searched},
    }


def erased(attention: float, product: float, flips: float) -> dict:
    """What a cell of Serrano and Smith returns."""
    row = {"interval": [0.1, 0.9], "of those that flip": 0.2, "never": 0.1, "ratio": 2.0, "changed": [0.0] * 21}
    fractions = dict.fromkeys(RANKINGS, product) | {"attention": attention, "random": 0.9}
    paired = {"fewer": 0.7, "more": 0.1, "p": 0.01}
    return {
        "test": {"accuracy": 0.8},
        "documents": 9,
        "single": {
            "ΔJS": 0.01,
            "ΔJS below zero": 0.2,
            "both": flips / 2,
            "only the largest": flips / 2,
            "only another": 0.0,
            "neither": 1 - flips,
            "by gap": [{"gap": 0.1, "ΔJS": 0.01, "largest": 0.1}],
        },
        "sets": {
            "rankings": {name: {"fraction": fraction, **row} for name, fraction in fractions.items()},
            "against attention": dict.fromkeys(RANKINGS[1:4], paired),
        },
    }


def keep(folder, file, *cells):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"cell": of, "result": result, "seconds": 1.0}) for of, result in cells]
    (folder / file).write_text("\n".join(lines) + "\n")


def test_published_numbers_stand_beside_ours(there, tmp_path):
    cells = [
        (explanation_cells.cell("sst", "lstm tanh", seed), explained(tau, 0.81)) for seed, tau in ((0, 0.3), (1, 0.4))
    ]
    keep(tmp_path / JAIN.name, "explain.jsonl", *cells)
    asked = Asked("page", ("sst",), encoders=("lstm",), seeds=2, out=tmp_path, finished=True)
    text = JAIN.reproduce(asked).read_text()

    assert "| lstm tanh | 0.291 → **0.350** ± 0.050 (+0.059) | 0.351 → **0.350** ± 0.050 (-0.001) |" in text
    assert "| lstm dot | 0.064 → not run |" in text
    assert "0.808 → **0.810**" in text
    assert "0.480 → **0.470** ± 0.000 (-0.010) | 0.493 → **0.510** ± 0.000 (+0.017)" in text
    assert "3 of 9" in text
    assert "average" not in text.split("## Agreement")[1].split("## ")[0]
    assert "--data sst --encoder lstm --seeds 2 --finished" in text


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("TAUS", ("20news1", "average tanh"), (0.721, 0.772, 0.622)),
        ("TAUS", ("imdb", "cnn tanh"), (0.295, 0.452, 0.513)),
        ("SIGNIFICANT", ("imdb", "lstm tanh"), (0.99, 1.0)),
        ("ACCURACIES", ("sst", "cnn tanh"), 0.823),
        ("F1", ("20news1", "lstm tanh"), 0.917),
        ("DIVERGENCES", ("20news1", "average tanh"), (0.675, 0.444)),
    ],
)
def test_published_values_are_those_of_the_papers_files(table, key, value):
    assert getattr(attention_is_not_explanation, table)[key] == value


def test_claims_are_answered_with_numbers(there, tmp_path):
    cells = [
        (interpretable_cells.cell("sst", "none", 0), erased(0.3, 0.2, 0.1)),
        (interpretable_cells.cell("sst", "rnn", 0), erased(0.25, 0.4, 0.7)),
    ]
    keep(tmp_path / SERRANO.name, "erase.jsonl", *cells)
    text = SERRANO.reproduce(Asked("page", ("sst",), seeds=1, out=tmp_path, finished=True)).read_text()

    claims = text.split("## What the paper claims")[1].split("## One weight")[0]
    assert "| **yes**: 0.30 against 0.20 and 0.20 | **no**: 0.25 against 0.40 and 0.40 |" in claims
    assert "| – | **no**: 0.25 against 0.30 |" in claims
    assert "| **yes**: 10.0% flip | **no**: 70.0% flip |" in claims
    assert "**Not run:** `conv` on SST." in text


def test_finished_cells_are_not_worked_out_again(there, tmp_path):
    one = interpretable_cells.cell("sst", "none", 0)
    keep(tmp_path / SERRANO.name, "erase.jsonl", (one, erased(0.3, 0.2, 0.1)))
    before = (tmp_path / SERRANO.name / "erase.jsonl").read_bytes()
    # What the sister papers call the encoder is understood.
    text = SERRANO.reproduce(Asked("page", ("sst",), encoders=("average",), seeds=1, out=tmp_path)).read_text()

    assert (tmp_path / SERRANO.name / "erase.jsonl").read_bytes() == before
    assert "0.30 against 0.20" in text


@pytest.mark.parametrize(
    ("of", "asked", "said"),
    [
        (JAIN, Asked("page", encoders=("lsmt",)), r"encoders average, lstm, cnn; got 'lsmt'. Did you mean 'lstm'"),
        (JAIN, Asked("page", ("20news2",)), "is about the data sst, imdb, 20news1; got '20news2'"),
        (SERRANO, Asked("page", models=("DP",)), "leaves no choice of models"),
        (paper("why-exp"), Asked("page", encoders=("lstm",)), "leaves no choice of encoders; got 'lstm'"),
    ],
)
def test_what_a_paper_does_not_have_is_named(of, asked, said):
    with pytest.raises(SettingError, match=said):
        of.reproduce(asked)


def test_texts_lie_between_the_papers_lengths(there):
    news = prepare("20news1", 40)

    _, above, below = LIMITS["20news1"]
    assert len(news.test) <= 80
    assert set(news.test.codes) == {0, 1}
    for part in ("train", "dev", "test"):
        lengths = [len(text.split()) for text in getattr(news.data, part).texts]
        assert min(lengths) > 1
        assert max(lengths) < below
        assert len(news.part(part)) == len(lengths)
    assert above == 6


def test_a_quick_look_at_jain_and_wallace_draws_every_picture(there, tmp_path):
    path = JAIN.reproduce(Asked("page", ("sst",), ("average tanh",), quick=True, out=tmp_path))
    text = path.read_text()

    assert "A quick look" in text
    assert len(list(path.with_suffix("").glob("*.svg"))) == text.count("![") == 2


def test_a_quick_look_at_serrano_and_smith_draws_every_picture(there, tmp_path):
    path = SERRANO.reproduce(Asked("page", ("sst",), encoders=("conv",), quick=True, out=tmp_path))
    text = path.read_text()

    assert "A quick look" in text
    assert len(list(path.with_suffix("").glob("*.svg"))) == text.count("![") == 2
