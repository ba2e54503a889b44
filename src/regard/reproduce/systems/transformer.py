"""The Transformer on the tasks of the encoder–decoder, beside the same with plain averages."""

from __future__ import annotations

import numpy as np

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, heat
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import (
    LONG,
    TITLES,
    alignment,
    exact_table,
    learned,
    mean,
    pairs_of,
    shares,
    steps_of,
    verdict,
)
from regard.systems.saving import System
from regard.systems.sequence import exact
from regard.systems.transformer import Transformer

TASKS = ("reversal", "translation", "dates")
SPLIT = ("reversal", "translation")
CLAIM = "attention alone suffices"


def cells_of(asked: Asked) -> list[Cell]:
    """Every task with and without attention, over all seeds."""
    return [
        {"task": task, "attention": attention, "learning_rate": 3e-3, "seed": seed, **steps_of(asked.quick)}
        for seed in seeds(asked)
        for task in TASKS
        for attention in (True, False)
    ]


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, System]]:
    """Train one model, and see how often it is right."""
    result, model = learned(
        lambda source, target: Transformer(source, target, attention=cell["attention"]), cell, report
    )
    if not cell["attention"]:
        return result, {}
    shown = pairs_of(cell["task"], 40, 9)
    place = max(range(len(shown)), key=lambda i: (len(shown.sources[i]) <= 18, len(shown.sources[i])))
    result["picture"] = alignment(model, shown, place, letters=cell["task"] == "dates")
    model.about = {"source": list(shown.source.names), "target": list(shown.target.names)}
    if cell["task"] == "translation":
        test = pairs_of("translation", cell["tests"] // 4, 1000 * (1 + cell["seed"]) + 2)
        result["beam"] = float(np.mean(exact(model, test, width=5)))
        result["greedy"] = float(np.mean(exact(model, test)))
    return result, {cell["task"]: model}


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - as all studies
    """The page."""
    found: dict[tuple[str, bool], list[Result]] = {(task, how): [] for task in TASKS for how in (True, False)}
    for cell, result in zip(cells, results, strict=True):
        found[cell["task"], cell["attention"]].append(result)
    rows = []
    for task in TASKS:
        for part in ("exact", "long") if task in SPLIT else ("exact",):
            title = TITLES[task] + (f", from {LONG} symbols on" if part == "long" else "")
            with_, without = (shares([one[part] for one in found[task, how]]) for how in (True, False))
            rows.append((title, with_, without, CLAIM))
    cell = cells[0]
    about = [
        f"Two blocks each of encoder and decoder, of size 64 with 4 heads, trained on {cell['examples']:,} generated "
        f"pairs for at most {cell['epochs']} epochs of AdamW (batches of {cell['batch_size']}, learning rate at most "
        f"{cell['learning_rate']:g}, gradients no longer than 1), until {100 * cell['enough']:g}% of "
        f"{cell['tests'] // 4} validation answers are exact; the test has {cell['tests']} other pairs. Settings were "
        "chosen on validation data of other seeds.",
        "Without attention every average, in the source, in the target and between them, is over all positions alike; "
        "nothing else differs. Decoding keeps keys and values: a step costs one position.",
    ]
    return Shown(
        about,
        exact_table(rows),
        _reading(found),
        [_picture(t, found[t, True][0]) for t in SPLIT if found[t, True]],
        [_beam(found)],
    )


def _reading(found: dict[tuple[str, bool], list[Result]]) -> str:
    with_, without = (mean([one["long"] for one in found["reversal", how]]) for how in (True, False))
    return (
        f"On reversals of {LONG} to 24 letters the Transformer is exact in {with_:.1f}%, with plain averages in "
        f"{without:.1f}%: the bar (at least 99% against less than 60%) is "
        f"{verdict(with_ >= 99 and without < 60, with_, without)}."
    )


def _picture(task: str, result: Result) -> Picture:
    caption = {
        "reversal": "Reversal: what the last block attends to in the source, the mean of its four heads.",
        "translation": "A translation: what the last block attends to in the source, the mean of its four heads.",
    }
    return drawn(task, caption[task], heat(Heat(**result["picture"])))


def _beam(found: dict[tuple[str, bool], list[Result]]) -> Section:
    results = found["translation", True]
    row = ["with attention", *(shares([one[way] for one in results]) for way in ("greedy", "beam"))]
    text = "Translations that are exact when decoded greedily, and by a beam of five, in percent."
    return Section("Beam search", text, [Table(["", "greedy", "beam of 5"], [row])])


STUDY = Study(cells_of, work, show)
