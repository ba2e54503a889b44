import os
import time

import pytest

from regard.errors import DataError
from regard.reproduce.sweep import finished, sweep

CELLS = [{"model": model, "seed": seed} for model in ("a", "b") for seed in range(3)]


def square(cell):
    return {"value": cell["seed"] ** 2, "process": os.getpid()}


def slow(cell):
    time.sleep(0.2)
    return {"threads": os.environ["OMP_NUM_THREADS"]}


class StoppedError(Exception):
    pass


def values(results):
    return [result["value"] for result in results]


def test_results_come_in_the_order_of_the_cells(tmp_path):
    assert values(sweep(CELLS, square, tmp_path / "kept.jsonl")) == [0, 1, 4, 0, 1, 4]


def test_what_is_finished_is_not_done_again(tmp_path):
    kept, asked = tmp_path / "kept.jsonl", []

    def stop_at_four(cell):
        if len(asked) == 4:
            raise StoppedError
        asked.append(cell)
        return square(cell)

    with pytest.raises(StoppedError):
        sweep(CELLS, stop_at_four, kept)

    def watched(cell):
        asked.append(cell)
        return square(cell)

    assert values(sweep(CELLS, watched, kept)) == [0, 1, 4, 0, 1, 4]
    assert asked == CELLS


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_line_torn_by_a_kill_is_worked_out_again(tmp_path, cut):
    kept = tmp_path / "kept.jsonl"
    sweep(CELLS, square, kept)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-cut])
    assert values(sweep(CELLS, square, kept)) == [0, 1, 4, 0, 1, 4]
    assert len(kept.read_text().splitlines()) == len(CELLS)


def test_cells_are_worked_on_in_processes_of_one_thread_each(tmp_path):
    results = sweep(CELLS, square, tmp_path / "a.jsonl", processes=2)
    assert values(results) == [0, 1, 4, 0, 1, 4]
    assert os.getpid() not in {result["process"] for result in results}
    assert {r["threads"] for r in sweep(CELLS[:2], slow, tmp_path / "b.jsonl", processes=2)} == {"1"}


def test_progress_says_what_is_finished(tmp_path):
    said = []
    sweep(CELLS, square, tmp_path / "kept.jsonl", say=lambda doing, share: said.append((doing, share)))
    assert said[0] == ("a, 0", pytest.approx(1 / 6))
    assert said[-1] == ("b, 2", 1.0)


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    kept = tmp_path / "kept.jsonl"
    kept.write_text('{"cell": {}}\n')
    with pytest.raises(DataError, match="line 1"):
        sweep(CELLS, square, kept)
    assert kept.read_text() == '{"cell": {}}\n'


def test_what_is_finished_can_be_had_without_working(tmp_path):
    kept = tmp_path / "kept.jsonl"
    sweep(CELLS[:2], square, kept)

    assert [result and result["value"] for result in finished(CELLS[:3], kept)] == [0, 1, None]
    assert finished(CELLS[:1], tmp_path / "none.jsonl") == [None]
