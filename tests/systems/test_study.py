"""The frame around all systems: what is kept, what goes on where it was, what the pages say."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import DataError, SettingError
from regard.reproduce.page import Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.systems import SYSTEMS, Entry, Shown, Study, system
from regard.reproduce.systems.charts import Heat, by_length, heat, heats
from regard.reproduce.systems.study import command, seeds
from regard.reproduce.systems.translating import measured, shares
from regard.systems.data.reversal import reversal
from regard.systems.vision import Dense

WORKED = []


def cells_of(asked):
    return [{"kind": kind, "seed": seed} for seed in seeds(asked) for kind in ("with", "without")]


def work(cell, report):
    WORKED.append((cell["kind"], cell["seed"], torch.get_num_threads()))
    report("half", 0.5)
    return {"right": 0.5 + cell["seed"] / 10}, {cell["kind"]: Dense(hidden=2 + cell["seed"])}


def show(asked, cells, results):
    rows = [[cell["kind"], f"{result['right']:.1f}"] for cell, result in zip(cells, results, strict=True)]
    picture = drawn("seen", "What was seen.", heat(Heat([[0.0, 1.0]], ["x"], ["a", "b"])))
    return Shown(["The protocol."], Table(["kind", "right"], rows), "What it says.", [picture])


STUDY = Study(cells_of, work, show)
ENTRY = Entry("tiny", "A tiny system", "Nobody 2026", "a = b", "It helps.", __name__)


def test_a_study_is_run_once_and_all_of_it_is_written(tmp_path):
    WORKED.clear()
    told = []
    asked = Asked("tiny", seeds=2, out=tmp_path, seed=5)

    page = ENTRY.run(asked, lambda doing, share: told.append((doing, share)))
    ENTRY.run(asked)

    assert [one[:2] for one in WORKED] == [("with", 5), ("without", 5), ("with", 6), ("without", 6)]
    assert all(threads == 1 for *_, threads in WORKED)
    assert ("without, 5: half", (1 + 0.5) / 4) in told
    text = page.read_text()
    assert "Made by `regard systems run tiny --seed 5 --seeds 2`." in text
    assert "Seeds 5, 6." in text
    assert "| with | 1.0 |" in text
    assert "![What was seen.](tiny/seen.svg)" in text
    numbers = json.loads((tmp_path / "tiny.json").read_text())
    assert numbers["table"]["rows"][0] == ["with", "1.0"]
    assert numbers["pictures"] == [{"name": "seen", "caption": "What was seen."}]
    assert sorted(path.name for path in (tmp_path / "tiny").glob("*.regard")) == ["with.regard", "without.regard"]
    assert Dense.load(tmp_path / "tiny" / "with.regard").settings["hidden"] == 7  # of the first seed


def test_what_is_finished_can_be_shown_and_nothing_else_is_worked_out(tmp_path):
    with pytest.raises(DataError, match="no finished cell of tiny: run it without --finished first"):
        ENTRY.run(Asked("tiny", seeds=2, out=tmp_path, finished=True))
    ENTRY.run(Asked("tiny", seeds=1, out=tmp_path))
    WORKED.clear()

    text = ENTRY.run(Asked("tiny", seeds=2, out=tmp_path, finished=True)).read_text()

    assert not WORKED
    assert "**Not finished: 2 of 4 cells.**" in text
    assert "| without | 0.5 |" in text


def test_a_page_of_any_part_of_the_cells_can_be_made():
    """Those of our own four systems; a cell at a time, with what its work would return."""
    share = {"exact": 0.5, "long": 0.25, "by length": {"5": 0.5}, "parameters": 3, "epochs": 1, "accuracy": 0.9}
    heard = dict.fromkeys(("validation", "as long as in training", "twice as long", "two in one"), 0.1)
    drawn_ = {"weights": [[0.5, 0.5]], "rows": ["a"], "columns": ["b", "c"], "title": ""}
    images = {"images": [[[0.0] * 8] * 8], "seen": [[[0.25] * 4] * 4]}
    result = {**share, **heard, **images, "picture": drawn_, "beam": 0.5, "greedy": 0.5}
    for name in ("encoder-decoder", "transformer", "vision-transformer", "recogniser"):
        study = __import__(SYSTEMS[name].home, fromlist=["STUDY"]).STUDY
        asked = Asked(name, seeds=1)
        cells = study.cells(asked)
        for part in (cells[:1], cells[-1:], cells):
            shown = study.show(asked, part, [result] * len(part))
            assert shown.table.rows
            assert ("not decided yet" in shown.reading) == (part is not cells)


def test_a_command_says_what_was_asked():
    assert command(Asked("tiny")) == "regard systems run tiny"
    assert command(Asked("tiny", seeds=1, quick=True)) == "regard systems run tiny --quick"
    assert command(Asked("tiny", seeds=3, quick=True, seed=2)) == "regard systems run tiny --quick --seed 2 --seeds 3"


def test_every_system_has_its_study_and_is_listed():
    shown = CliRunner().invoke(app, ["systems"], env={"COLUMNS": "200"})

    assert shown.exit_code == 0
    for name, entry in SYSTEMS.items():
        assert name in shown.output
        study = __import__(entry.home, fromlist=["STUDY"]).STUDY
        for quick in (True, False):
            cells = study.cells(Asked(name, seeds=2, quick=quick))
            assert {cell["seed"] for cell in cells} == {0, 1}
            assert len({json.dumps(cell, sort_keys=True) for cell in cells}) == len(cells)


def test_an_unknown_system_is_an_error_with_a_hint():
    with pytest.raises(SettingError, match="Did you mean 'transformer'"):
        system("transformers")
    run = CliRunner().invoke(app, ["systems", "run", "transfomer"])
    assert run.exit_code == 1


def test_a_heat_map_names_every_row_and_column_though_words_come_twice():
    one = Heat([[0.0, 0.5, 1.0], [0.1, 0.2, 0.3]], ["x", "x"], ["the", "dog", "the"], "A title")
    svg = drawn("heat", "", heat(one)).svg

    assert svg.count(">the<") == 2
    assert svg.count(">x<") == 2
    assert "A title" in svg
    assert svg.count("#08306b") + svg.count("rgb(8, 48, 107)") >= 1  # the greatest weight is the darkest
    assert "svg" in drawn("two", "", heats([one, one])).svg
    assert "svg" in drawn("lines", "", by_length([{"name": "a", "length": 1, "value": 2.0}], "x", "y")).svg


def test_shares_are_means_and_spreads_in_percent():
    assert shares([0.5, 0.7]) == "60.0 ± 10.0"
    assert shares([0.5]) == "50.0"
    assert shares([None]) == "—"
    assert shares([]) == "not run"


def test_exact_answers_are_counted_by_length():
    test = reversal(40, 0, shortest=19, longest=20)

    class Half:
        device = torch.device("cpu")

        def eval(self):
            return self

        def greedy(self, source, lengths, *, longest):
            rows = [
                row[: int(length)][::-1] if length == 20 else [3]
                for row, length in zip(source.tolist(), lengths, strict=True)
            ]
            return type("Said", (), {"sequences": lambda _: rows})()

    found = measured(Half(), test)
    assert found["long"] == 1.0
    assert found["by length"] == {"19": 0.0, "20": 1.0}
    assert found["exact"] == np.mean([len(source) == 20 for source in test.sources])


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_quick_look_makes_a_page(name, tmp_path):
    page = system(name).run(Asked(name, seeds=1, quick=True, out=tmp_path))

    assert "the numbers mean nothing" in page.read_text()
    assert list((tmp_path / page.stem).glob("*.svg"))
