"""Whatever is killed at whatever moment leaves whole files behind; run again, it ends as if nothing had been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from regard.corpus import demo
from regard.models import load_model

# `make fire` kills each a hundred times; the default suite only sees that the tests work.
KILLS = int(os.environ.get("REGARD_KILLS", "3"))

SAVING = """
import sys
from regard.models import load_model
one, two, place = load_model(sys.argv[1]), load_model(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
while True:
    one.save(place)
    two.save(place)
"""
SWEEPING = """
import sys, time
from pathlib import Path
from regard.reproduce.sweep import sweep

def work(cell):
    time.sleep(0.002)
    return {"square": cell["n"] ** 2, "text": "x" * 5000}

print("ready", flush=True)
sweep([{"n": n} for n in range(300)], work, Path(sys.argv[1]))
"""


def start(*arguments, cwd):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def kill(process, after):
    """End a process without warning; returns whether it was still running."""
    try:
        process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts, and two models of them as the program trains them."""
    folder = tmp_path_factory.mktemp("fire")
    corpus = demo()
    frame = pl.DataFrame({"review": corpus.texts, "verdict": corpus.labels.tolist()})
    frame[:600].write_csv(folder / "old.csv")
    frame[600:1200].write_csv(folder / "new.csv")
    for name in ("old", "new"):
        done = start("-m", "regard", "train", f"{name}.csv", "--out", f"{name}.regard", "--quiet", cwd=folder)
        assert done.communicate()[1] == ""
    return folder


def test_training_that_is_killed_leaves_the_old_model_or_the_new_one(folder, tmp_path):
    old, new = ((folder / f"{name}.regard").read_bytes() for name in ("old", "new"))
    place = tmp_path / "m.regard"
    command = ("-m", "regard", "train", folder / "new.csv", "--out", place, "--quiet")
    began = time.perf_counter()
    start(*command, cwd=tmp_path).communicate()
    longest = time.perf_counter() - began
    generator, seen = random.Random(0), set()
    for _ in range(KILLS):
        place.write_bytes(old)
        kill(start(*command, cwd=tmp_path), generator.uniform(0.2, 1.1) * longest)
        found = place.read_bytes()
        assert found in (old, new)
        load_model(place)
        seen.add(found == new)
        page = tmp_path / "m.html"
        assert not page.exists() or page.read_text().rstrip().endswith("</html>")
    start(*command, cwd=tmp_path).communicate()

    assert place.read_bytes() == new


def test_saving_that_is_killed_leaves_one_model_whole(folder, tmp_path):
    place = tmp_path / "m.regard"
    known = {(folder / f"{name}.regard").read_bytes() for name in ("old", "new")}
    generator, stopped = random.Random(1), 0
    for _ in range(KILLS):
        process = start("-c", SAVING, folder / "old.regard", folder / "new.regard", place, cwd=tmp_path)
        assert process.stdout.readline() == "ready\n"
        stopped += kill(process, generator.uniform(0.0, 0.2))
        if place.exists():
            assert place.read_bytes() in known

    assert stopped == KILLS
    assert place.exists()


def test_a_sweep_that_is_killed_goes_on_to_the_same_end(tmp_path):
    kept = tmp_path / "cells.jsonl"
    generator, stopped = random.Random(2), 0
    for _ in range(KILLS):
        process = start("-c", SWEEPING, kept, cwd=tmp_path)
        process.stdout.readline()
        stopped += kill(process, generator.uniform(0.0, 0.1))
    out, error = start("-c", SWEEPING, kept, cwd=tmp_path).communicate()
    lines = [json.loads(line) for line in kept.read_text().splitlines()]

    assert stopped
    assert (out, error) == ("ready\n", "")
    assert sorted(line["cell"]["n"] for line in lines) == list(range(300))
    assert all(line["result"]["square"] == line["cell"]["n"] ** 2 for line in lines)


def test_nothing_but_temporary_files_is_left_beside_what_is_killed(folder, tmp_path):
    place = tmp_path / "m.regard"
    process = start("-c", SAVING, folder / "old.regard", folder / "new.regard", place, cwd=tmp_path)
    process.stdout.readline()
    kill(process, 0.05)

    assert all(path.name.startswith(".m.regard.") for path in Path(tmp_path).iterdir() if path != place)
