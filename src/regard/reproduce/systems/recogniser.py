"""The recogniser by content, by location and by both, on utterances longer than any that it was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, heats
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import mean, shares, verdict
from regard.systems.data.sound import BANDS, TONES, Utterances, concatenated, errors, utterances
from regard.systems.recogniser import Recogniser, beside
from regard.systems.saving import System
from regard.systems.training import Recipe, seeded, train

SETS = ("as long as in training", "twice as long", "two in one")
WAYS = (
    ("hybrid", "softmax"),
    ("content", "softmax"),
    ("hybrid", "average"),
    ("location", "softmax"),
    ("hybrid", "sharpened"),
    ("content", "sharpened"),
    ("hybrid", "smoothed"),
    ("content", "smoothed"),
)
LONGEST = 10  # tones in training


def cells_of(asked: Asked) -> list[Cell]:
    """The main ways with every seed, the others with the first."""
    sizes = (
        {"examples": 200, "tests": 30, "epochs": 2} if asked.quick else {"examples": 1000, "tests": 100, "epochs": 8}
    )

    def cell(way: tuple[str, str], seed: int) -> Cell:
        return {"mode": way[0], "weighing": way[1], "seed": seed, "learning_rate": 1e-2, "noise": 0.5, **sizes}

    others = [] if asked.quick else WAYS[3:]
    return [
        *(cell(way, seed) for seed in seeds(asked) for way in WAYS[:3]),
        *(cell(way, asked.seed) for way in others),
    ]


def sets_of(cell: Cell) -> dict[str, Utterances]:
    """Training, validation and the three tests, from different seeds."""
    first, noise, n = 1000 * (1 + cell["seed"]), cell["noise"], cell["tests"]
    alike = utterances(n, first + 2, longest=LONGEST, noise=noise)
    return {
        "training": utterances(cell["examples"], first, longest=LONGEST, noise=noise),
        "validation": utterances(n // 2, first + 1, longest=LONGEST, noise=noise),
        SETS[0]: alike,
        SETS[1]: utterances(n, first + 3, shortest=2 * LONGEST, longest=2 * LONGEST, noise=noise),
        SETS[2]: concatenated(utterances(2 * n, first + 4, shortest=LONGEST, longest=LONGEST, noise=noise), 2),
    }


def error_rate(model: Recogniser, heard: Utterances) -> float:
    """Symbols to put in, take out or change, for each that there was."""
    wrong = 0
    for first in range(0, len(heard), 100):
        part = slice(first, first + 100)
        sounds, lengths = beside(heard.sounds[part], model.device)
        targets = heard.targets[part]
        said = model.greedy(sounds, lengths, longest=3 * max(map(len, targets))).sequences()
        wrong += sum(errors(a, b) for a, b in zip(said, targets, strict=True))
    return wrong / sum(map(len, heard.targets))


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, System]]:
    """Train one recogniser, and count its errors."""
    sets = sets_of(cell)
    training = sets["training"]
    with seeded(cell["seed"]):
        model = Recogniser(BANDS, len(TONES), mode=cell["mode"], weighing=cell["weighing"])
    recipe = Recipe(epochs=cell["epochs"], batch_size=32, learning_rate=cell["learning_rate"], seed=cell["seed"])
    train(
        model,
        np.array([len(sound) for sound in training.sounds]),
        lambda batch: model.loss([training.sounds[i] for i in batch], [training.targets[i] for i in batch]),
        recipe,
        validate=lambda: -error_rate(model, sets["validation"]),
        report=report,
    )
    result: Result = {name: error_rate(model, sets[name]) for name in ("validation", *SETS)}
    result["picture"] = _heard(model, utterances(1, 9, shortest=2 * LONGEST, longest=2 * LONGEST, noise=cell["noise"]))
    model.about = {"symbols": list(TONES.names)}
    return result, {f"{cell['mode']}-{cell['weighing']}": model}


def _heard(model: Recogniser, one: Utterances) -> dict[str, Any]:
    """Where the model listens in one utterance, symbol by symbol."""
    sounds, lengths = beside(one.sounds, model.device)
    found = model.greedy(sounds, lengths, longest=25)
    assert found.weights is not None
    rows = [*TONES.decode(found.sequences()[0]), "end"][: found.weights.shape[1]]
    columns = [""] * found.weights.shape[2]
    for start, tone in zip(one.starts[0], TONES.decode(one.targets[0]), strict=True):
        columns[start // model.stride] = tone
    return vars(Heat([[round(w, 3) for w in row] for row in found.weights[0].tolist()], rows, columns))


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - as all studies
    """The page."""
    found: dict[tuple[str, str], list[Result]] = {way: [] for way in WAYS}
    for cell, result in zip(cells, results, strict=True):
        found[cell["mode"], cell["weighing"]].append(result)

    def rates(way: tuple[str, str], name: str) -> str:
        return shares([one[name] for one in found[way]])

    hybrid, content, none = WAYS[:3]
    claim = "content alone fails on long utterances, location does not"
    rows = [(f"{name}", rates(hybrid, name), rates(content, name), rates(none, name), claim) for name in SETS]
    head = ["symbol error rate, %", "hybrid", "content only", "without attention", "the paper's claim"]
    every = [[mode, weighing, *(rates((mode, weighing), name) for name in SETS)] for mode, weighing in found]
    cell = cells[0]
    about = [
        "Melodies of eight tones, each of 3 to 8 frames with 1 to 3 frames of silence after it, in white noise; three "
        f"tones in ten are the one before once more. In training there are 4 to {LONGEST} tones; the tests have as "
        f"many, {2 * LONGEST}, and two melodies of {LONGEST} one after another: {cell['tests']} of each. An error is "
        "a tone put in, left out or changed.",
        f"64 units, frames in pairs, {cell['examples']:,} melodies, {cell['epochs']} epochs of AdamW (batches of 32, "
        f"learning rate at most {cell['learning_rate']:g}); the epoch by validation melodies of training length. "
        "Settings were chosen on validation data of other seeds. Without attention, everything is heard at once, all "
        "alike.",
    ]
    section = Section(
        "Every way to attend",
        "Symbol error rates in percent; the ways below the first three with the first seed alone.",
        [Table(["mode", "weighing", *SETS], every)],
    )
    return Shown(about, Table(head, rows), _reading(found), [_picture(found)], [section])


def _reading(found: dict[tuple[str, str], list[Result]]) -> str:
    hybrid, content = (mean([one[SETS[1]] for one in found[way]]) for way in WAYS[:2])
    return (
        f"On melodies twice as long as any in training the hybrid makes {hybrid:.1f}% errors, content alone "
        f"{content:.1f}%: the bar (at most half as many) is "
        f"{verdict(hybrid <= content / 2, hybrid, content)}."
    )


def _picture(found: dict[tuple[str, str], list[Result]]) -> Picture:
    panels = []
    for way, title in ((WAYS[0], "hybrid"), (WAYS[1], "content only")):
        if not found[way]:
            continue
        panels.append(Heat(**{**found[way][0]["picture"], "title": title}))
    caption = (
        "A melody twice as long as in training: rows are the tones written down, columns frames, each tone named where "
        "it begins. The hybrid moves on tone by tone; content alone loses its place and leaves tones out."
    )
    return drawn("listening", caption, heats(panels, columns=1, cell=11, row_title="writes", column_title="listens to"))


STUDY = Study(cells_of, work, show)
