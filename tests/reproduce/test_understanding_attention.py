import json

import pytest

from regard.errors import DataError, SettingError
from regard.reproduce import Asked, paper
from regard.reproduce.understanding_cells import CUTS, cell, counted

PAPER = paper("understanding-attention")


def keep(folder, *cells):
    """Write cells as if they had been worked out, with the accuracies given."""
    kept = folder / "understanding-attention" / "train.jsonl"
    kept.parent.mkdir(parents=True)
    kinds = {"polar": {"words": 2, "auc": 0.9}}
    with kept.open("w") as file:
        for of, accuracy in cells:
            result = {"test": accuracy, "dev": accuracy, "V·W": [-1.5], "kinds": kinds}
            file.write(json.dumps({"cell": of, "result": result, "seconds": 1.0}) + "\n")


@pytest.fixture
def finished(data, monkeypatch, tmp_path):
    """Some cells of SST: DP at two scales, one of them with two seeds."""
    monkeypatch.setenv("REGARD_DATA", str(data))
    cells = [(cell("sst", "DP", 10, seed), accuracy) for seed, accuracy in ((0, 0.81), (1, 0.82))]
    keep(tmp_path, *cells, (cell("sst", "DP", 0.001, 0), 0.56))
    return tmp_path


def test_the_table_shows_what_is_finished_and_says_what_was_not_run(finished):
    asked = Asked("table 2", ("sst",), seeds=2, out=finished, finished=True)
    text = PAPER.reproduce(asked).read_text()

    assert "| 10 | 82.2 → **81.5** ± 0.5 (-0.7) | 81.7 → not run |" in text
    assert "| 0.001 | 55.3 → **56.0** (+0.7) |" in text
    assert "| SST | 82.2 → **81.5** (-0.7), 2 of 7 cells | 82.0 → not run |" in text
    assert "0.90 (-1.5)" in text
    assert text.count("not run") == 7 * 6 - 2 + 5


def test_only_the_cells_that_are_asked_for_are_worked_out(finished):
    asked = Asked("table 2", ("sst",), ("DP",), (10.0, 0.001), seeds=1, out=finished)
    before = (finished / "understanding-attention" / "train.jsonl").read_bytes()
    text = PAPER.reproduce(asked).read_text()

    assert "**81.0** (-1.2)" in text
    assert (finished / "understanding-attention" / "train.jsonl").read_bytes() == before
    assert "--table 2 --data sst --model DP --scale 10 --scale 0.001 --seeds 1" in text


def test_a_figure_without_its_cells_says_how_to_work_them_out(finished):
    with pytest.raises(DataError, match=r"1 are not in .*run it without --finished"):
        PAPER.reproduce(Asked("figure 4", out=finished, finished=True))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked("table 2", models=("DPL",)), r"is about the models DP, DP-L, .*; got 'DPL'. Did you mean 'DP-L'"),
        (Asked("table 2", scales=(5.0,)), r"is about the scales 0.001, 1, 10, .*; got '5'"),
        (Asked("figure 4", models=("DP",)), "leaves no choice of models; got 'DP'"),
        (Asked("figure 4", ("imdb",)), "is about the data sst; got 'imdb'"),
    ],
)
def test_what_a_part_does_not_have_is_named(asked, said):
    with pytest.raises(SettingError, match=said):
        PAPER.reproduce(asked)


def test_a_quick_look_at_synthetic_texts_draws_every_picture(tmp_path):
    path = PAPER.reproduce(Asked("figure synthetic", quick=True, out=tmp_path))
    text = path.read_text()

    assert "A quick look" in text
    assert len(list(path.with_suffix("").glob("*.svg"))) == text.count("![") == 5


def test_words_of_each_kind_are_those_of_the_paper_where_words_are(data, monkeypatch):
    monkeypatch.setenv("REGARD_DATA", str(data))
    found = counted({"data": "sst", "quick": False})

    assert found["regard"] == {"positive": 412, "negative": 265, "neutral": 1384}
    assert found["apostrophes too, numbers as one"] != found["regard"]


def test_ways_to_cut_words_differ_in_apostrophes_numbers_and_marks():
    text = "Don't see it: 4.5<br />stars, 1999!"

    assert {way: cut(text) for way, cut in CUTS.items()} == {
        "regard": ["don't", "see", "it", "4.5", "stars", "1999", "!"],
        "spaces and marks (Keras)": ["don't", "see", "it", "4", "5", "br", "stars", "1999"],
        "apostrophes too, numbers as one": [
            *["don", "'", "t", "see", "it", ":", "qqq", ".", "qqq", "<", "br", "/", ">", "stars", ",", "qqq", "!"]
        ],
    }
