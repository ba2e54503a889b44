"""Wiegreffe and Pinter's experiments: the cells are what they say, and the page shows what is finished."""

from __future__ import annotations

import json

import numpy as np
import pytest

from regard.errors import SettingError
from regard.reproduce import Asked, paper

torch = pytest.importorskip("torch")

from regard.audit.learning import reread  # noqa: E402 - only where torch is there
from regard.reproduce.attention_is_not_not_explanation import cells_of  # noqa: E402
from regard.reproduce.not_not_cells import (  # noqa: E402
    GUIDE,
    Attending,
    Setting,
    as_read,
    base,
    cell,
    shuffled,
    work,
)
from regard.reproduce.pooled_networks import JAIN, PooledNetwork, read  # noqa: E402

NAME = "attention-is-not-not-explanation"


@pytest.fixture
def known(data, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", str(data))
    return Setting("sst", "average", True, 2)


def test_the_audits_trainings_see_the_network_as_it_is(known):
    """Its own reading is in double precision too, so the two must agree."""
    torch.manual_seed(0)
    documents = known.prepared.dev
    network = PooledNetwork(len(known.prepared.vocabulary), JAIN["average"]).eval()
    with torch.no_grad():
        network.attention.query.mul_(20)
        network.embedding.weight.mul_(10)
    reading = read(network, documents)

    weights, chances = reread(Attending(network), documents.tokens)

    np.testing.assert_allclose(weights, reading.weights, atol=1e-7)
    np.testing.assert_allclose(chances[:, 1], reading.chances, atol=1e-6)


def test_what_an_adversary_is_held_against_is_the_base(known):
    own = base(known).readings["dev"]

    found = as_read(known.prepared.dev, own)

    np.testing.assert_allclose(found.weights, own.weights, atol=1e-7)
    np.testing.assert_allclose(found.chances[:, 1], own.chances)


def test_shuffled_weights_are_as_uneven_in_each_text(known):
    own = base(known).readings["dev"]

    found = shuffled(own, np.random.default_rng(0))

    for a, b in zip(own.starts[:-1], own.starts[1:], strict=True):
        np.testing.assert_array_equal(np.sort(found[a:b]), np.sort(own.weights[a:b]))
    assert not np.array_equal(found, own.weights)


def test_a_quick_look_works_out_every_cell_and_goes_on_from_what_is_finished(known, tmp_path):
    asked = Asked("page", ("sst",), encoders=("average",), seeds=1, quick=True, out=tmp_path)

    text = paper(NAME).reproduce(asked).read_text()
    lines = (tmp_path / NAME / "cells-quick.jsonl").read_text().splitlines()
    again = paper(NAME).reproduce(asked).read_text()

    assert len(lines) == len(cells_of("sst", "average", asked)) == 10
    assert text == again
    assert (tmp_path / NAME / "cells-quick.jsonl").read_text().splitlines() == lines
    assert "→ not run" not in text
    assert "the numbers mean nothing" in text
    assert (tmp_path / f"{NAME}-quick" / "adversaries.svg").is_file()


def test_an_adversary_of_no_price_is_nearer_in_what_it_says_than_a_dear_one(known):
    results = [
        work({**cell("sst", "average", "adversary", quick=True, price=price), "most": 12, "patience": 12})
        for price in (0.0, 0.5)
    ]

    assert results[0]["tvd"] <= results[1]["tvd"] + 0.01
    assert results[0]["jsd"] < results[1]["jsd"]


def test_the_page_shows_published_numbers_beside_ours_and_says_what_was_not_run(data, monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_DATA", str(data))
    test = {"f1": 0.821, "accuracy": 0.8, "auc": 0.9}
    done = [
        (cell("sst", "lstm", "base"), {"test": test, "entropy": 0.5, "largest": [0.2, 0.9], "says": [0, 1]}),
        (cell("sst", "lstm", "uniform"), {"test": {**test, "f1": 0.819}}),
        (cell("sst", "lstm", "seed", seed=1), {"test": test, "jsd": [0.1, 0.3], "moved": [0.0, 0.2]}),
        (cell("sst", "lstm", "seed", seed=2), {"test": test, "jsd": [0.3, 0.3], "moved": [0.0, 0.2]}),
        (
            cell("sst", "lstm", "adversary", price=GUIDE),
            {"test": test, "tvd": 0.04, "jsd": 0.45, "epochs": 7, "entropy": 0.3},
        ),
        (cell("sst", "lstm", "guided", weights="base"), {"test": {**test, "f1": 0.83}}),
    ]
    (tmp_path / NAME).mkdir()
    lines = [json.dumps({"cell": one, "result": result, "seconds": 1.0}) for one, result in done]
    (tmp_path / NAME / "cells.jsonl").write_text("\n".join(lines) + "\n")

    text = paper(NAME).reproduce(Asked("page", ("sst",), seeds=2, out=tmp_path, finished=True)).read_text()

    assert "| SST | lstm | 0.831 → **0.821** (-0.010) | 0.822 → **0.819** (-0.003) | +0.002 | 0.800 | 0.50 |" in text
    assert "| SST | lstm | 2 | 0.250 |" in text  # medians over the seeds: 0.2 and 0.3
    assert "0.812 → not run" in text
    assert "0.824 → **0.830** (+0.006)" in text
    assert "| SST, lstm | published | 0.823 | 0.036 | 0.514 |" in text
    assert f"| SST, lstm | {GUIDE:g} | **0.821** | **0.040** | **0.450** | 7 | 0.30 |" in text


def test_an_unknown_encoder_is_refused():
    with pytest.raises(SettingError, match="encoders"):
        paper(NAME).reproduce(Asked("page", ("sst",), encoders=("gru",)))
