"""The pointer network: sorting, convex hulls and short tours, at the sizes it was trained on and beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, heat
from regard.reproduce.systems.plane_charts import Ring, rings
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import shares
from regard.systems.data.pointer import (
    Problems,
    from_the_lowest,
    is_simple,
    make,
    nearest_first,
    polygon_area,
    tour_length,
    widened,
)
from regard.systems.pointer import PointerNetwork, PositionDecoder, VocabularyDecoder
from regard.systems.saving import System
from regard.systems.training import Recipe, seeded, train

TRAINED = {"sorting": range(5, 11), "hull": range(5, 11), "tour": range(5, 9)}
TESTED = {"sorting": (10, 15), "hull": (10, 15), "tour": (8, 12)}
TITLES = {"sorting": "sorting", "hull": "convex hull", "tour": "shortest tour"}
# Found on problems of seeds of their own, for the pointer network; the decoder without attention gets the same.
RECIPES: dict[str, Cell] = {
    "sorting": {"problems": 3_000, "epochs": 4, "hidden": 64, "learning_rate": 0.003},
    "hull": {"problems": 22_000, "epochs": 6, "hidden": 96, "learning_rate": 0.003},
    "tour": {"problems": 8_000, "epochs": 5, "hidden": 64, "learning_rate": 0.003},
}


def cells_of(asked: Asked) -> list[Cell]:
    """Every task, by pointing and from a vocabulary."""
    small = {"problems": 100, "epochs": 1, "hidden": 16} if asked.quick else {}
    return [
        {"task": task, "attention": attention, **recipe, **small, "tests": 60 if asked.quick else 1000, "seed": seed}
        for seed in seeds(asked)
        for task, recipe in RECIPES.items()
        for attention in (True, False)
    ]


def learned(cell: Cell, report: Report) -> PositionDecoder:
    """Train on all sizes at once; the epoch that answers most validation problems of the largest of them is kept."""
    task, seed = cell["task"], cell["seed"]
    sizes = TRAINED[task]
    problems = make(task, cell["problems"], sizes, [seed, 0])
    held_out = make(task, max(cell["tests"] // 2, 1), [max(sizes)], [seed, 1])
    with seeded(seed):
        model = build(cell)
    inputs, lengths, answers = tensors(problems)

    def loss(batch: NDArray[np.intp]) -> Tensor:
        rows = torch.from_numpy(batch)
        size = int(lengths[rows].max())
        return model.loss(inputs[rows, :size], answers[rows, :size], lengths[rows])

    train(
        model,
        problems.lengths,
        loss,
        Recipe(cell["epochs"], 128, cell["learning_rate"], clip=2.0, seed=seed),
        validate=lambda: measured(model, task, held_out)["exact"],
        report=report,
    )
    return model


def build(cell: Cell) -> PositionDecoder:
    """The model of a cell, as drawn."""
    task = cell["task"]
    dim, every = 1 if task == "sorting" else 2, task != "hull"
    if cell["attention"]:
        return PointerNetwork(dim, cell["hidden"], every=every)
    return VocabularyDecoder(dim, cell["hidden"], positions=max(TRAINED[task]), every=every)


def tensors(problems: Problems) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, lengths, answers."""
    return (
        torch.from_numpy(problems.inputs).float(),
        torch.from_numpy(problems.lengths),
        torch.from_numpy(problems.answers),
    )


def pointed(model: PositionDecoder, problems: Problems) -> NDArray[np.int64]:
    """The answers of a model, as wide as the right ones."""
    inputs, lengths, _ = tensors(problems)
    positions: NDArray[np.int64] = model.point(inputs, lengths).positions.numpy()
    return widened(positions, problems.answers.shape[1])


def measured(model: PositionDecoder, task: str, problems: Problems) -> dict[str, float]:
    """The share of exact answers, and how good the others are.

    A hull is exact if it is the same polygon, wherever it starts; one whose sides cross covers nothing.
    """
    said, right = pointed(model, problems), problems.answers
    if task == "hull":
        exact = (from_the_lowest(said) == right).all(1)
        covered = np.where(is_simple(problems.inputs, said), np.abs(polygon_area(problems.inputs, said)), 0.0)
        return {
            "exact": float(exact.mean()),
            "area": float((covered / polygon_area(problems.inputs, right)).mean()),
        }
    exact = (said == right).all(1)
    if task == "sorting":
        return {"exact": float(exact.mean())}
    best = tour_length(problems.inputs, right)
    return {
        "exact": float(exact.mean()),
        "ratio": float((tour_length(problems.inputs, said) / best).mean()),
        "nearest": float((tour_length(problems.inputs, nearest_first(problems.inputs)) / best).mean()),
        "any": float(
            (tour_length(problems.inputs, np.broadcast_to(np.arange(said.shape[1]), said.shape)) / best).mean()
        ),
    }


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, System]]:
    """Train, and test at the largest size of the training and at one and a half times that."""
    model = learned(cell, report)
    task = cell["task"]
    result: Result = {"parameters": sum(p.numel() for p in model.parameters())}
    for size in TESTED[task]:
        if cell["attention"] or size <= max(TRAINED[task]):
            result[str(size)] = measured(model, task, make(task, cell["tests"], [size], [cell["seed"], 2]))
    if cell["attention"]:
        result["shown"] = example(model, task)
    return result, {f"{task}-{'pointer' if cell['attention'] else 'vocabulary'}": model}


def example(model: PositionDecoder, task: str) -> dict[str, Any]:
    """One problem larger than any of the training: what is pointed at, step by step."""
    problems = make(task, 1, [max(TESTED[task])], [7, 3])
    found = model.point(*tensors(problems)[:2])
    said = [j for j in found.positions[0].tolist() if j >= 0]
    names = [f"{round(100 * x[0])}" if task == "sorting" else str(j + 1) for j, x in enumerate(problems.inputs[0])]
    weights = found.weights[0]
    if model.every:
        weights = weights[: len(said), 1:]
    columns = names if model.every else ["end", *names]
    rows = [f"{t + 1}." for t in range(len(weights))]
    ring = Ring(problems.inputs[0].tolist(), said, names) if task != "sorting" else None
    return {
        "heat": vars(Heat([[round(w, 4) for w in row] for row in weights.tolist()], rows, columns)),
        "ring": None if ring is None else vars(ring),
        "right": problems.answers[0][problems.answers[0] >= 0].tolist(),
    }


def show(_: Asked, cells: list[Cell], results: list[Result]) -> Shown:
    """The table, what it says, and the pictures; of what there is."""

    def values(task: str, attention: bool, size: int, what: str) -> list[float]:
        pairs = zip(cells, results, strict=True)
        mine = [found for cell, found in pairs if (cell["task"], cell["attention"]) == (task, attention)]
        return [found[str(size)][what] for found in mine if str(size) in found]

    rows = []
    for task, what, unit in ROWS:
        for size in TESTED[task]:
            beyond = size > max(TRAINED[task])
            without = "no words for them" if beyond else shares(values(task, False, size, what))
            name = f"{TITLES[task]}, {size} inputs: {unit}"
            rows.append([name, shares(values(task, True, size, what)), without, CLAIMS.get((task, what, size), "")])
    shown: dict[str, dict[str, Any]] = {}
    for cell, found in zip(cells, results, strict=True):
        if cell["attention"]:
            shown.setdefault(cell["task"], found["shown"])
    pictures = [picture for task in RECIPES if task in shown for picture in pictures_of(task, shown[task])]
    recipes = "; ".join(
        f"{TITLES[task]}: {min(sizes)} to {max(sizes)} inputs, {RECIPES[task]['problems'] * len(sizes):,} problems, "
        f"{RECIPES[task]['epochs']} epochs"
        for task, sizes in TRAINED.items()
    )
    about = [
        f"Numbers and points are drawn anew for training, validation and test. Training has {recipes}. The right "
        "answers are exact: gift wrapping, and the recursion of Held and Karp. Numbers to sort are different whole "
        "numbers below 100.",
        "Both decoders have the same encoder, training and mask: what is in the answer already cannot be said again, "
        "in training and decoding alike (beside the paper, and a help to both; with it sorting only asks for the "
        "smallest that is left). Decoding is greedy. Sizes and rates were chosen on problems of other seeds.",
        "A hull is exact if it is the same polygon, wherever it starts; a polygon whose sides cross covers nothing. "
        "The decoder without attention has words for the positions of the training, and none for larger problems.",
    ]
    more = [Section("Beside simple rules", beside_rules(values))] if values("tour", True, 8, "nearest") else []
    return Shown(about, Table(HEAD, rows), reading_of(values), pictures, more)


ROWS = (
    ("sorting", "exact", "exact, %"),
    ("hull", "exact", "exact, %"),
    ("hull", "area", "area covered, %"),
    ("tour", "ratio", "length, optimum = 100"),
)
HEAD = ["", "with attention (pointer)", "without (fixed vocabulary)", "the paper's claim"]
CLAIMS = {
    ("sorting", "exact", 10): "named as such a problem, not measured",
    ("hull", "exact", 10): "approximate solutions",
    ("hull", "exact", 15): "generalises beyond the sizes of training",
    ("tour", "ratio", 8): "approximate solutions",
}


Values = Callable[[str, bool, int, str], list[float]]


def reading_of(values: Values) -> str:
    """Which bars are met, in sentences; of what there is."""

    def bar(what: str, of: tuple[str, bool, int, str], wanted: float) -> str:
        found = values(*of)
        if not found:
            return f"{what}: not measured, {wanted:g}% asked for."
        mean = 100 * float(np.mean(found))
        return f"{what}: {mean:.1f}%, {wanted:g}% asked for ({'met' if mean >= wanted else 'missed'})."

    said = [
        bar("Sorted exactly, as many numbers as in training", ("sorting", True, 10, "exact"), 99),
        bar("One and a half times as many", ("sorting", True, 15, "exact"), 90),
        bar("Convex hulls of 10 points, exact", ("hull", True, 10, "exact"), 70),
        bar("Their area", ("hull", True, 10, "area"), 99),
    ]
    if values("tour", True, 8, "ratio"):
        longer = [100 * float(np.mean(values("tour", True, size, "ratio"))) - 100 for size in TESTED["tour"]]
        said.append(f"Tours of 8 cities are {longer[0]:.1f}% longer than the shortest, of 12 cities {longer[1]:.1f}%.")
    said.append("Without attention, problems larger than those of the training cannot be answered at all.")
    return " ".join(said)


def beside_rules(values: Values) -> str:
    """What tours by rule are like."""
    nearest, given = (
        [100 * float(np.mean(values("tour", True, size, what))) for size in TESTED["tour"]]
        for what in ("nearest", "any")
    )
    return (
        f"Always going on to the nearest city gives tours of {nearest[0]:.1f} with 8 cities and {nearest[1]:.1f} with "
        f"12, the optimum being 100; cities in the order given, {given[0]:.0f} and {given[1]:.0f}."
    )


def pictures_of(task: str, shown: dict[str, Any]) -> list[Picture]:
    """The steps, and the plane."""
    said = shown["heat"]
    right = "as it should" if shown["ring"] is None or shown["ring"]["order"] == shown["right"] else "not quite right"
    caption = (
        f"{TITLES[task].capitalize()} of {len(said['columns']) - (said['columns'][0] == 'end')} inputs, more than any "
        f"of the training: each step and what it points at."
    )
    pictures = [drawn(task, caption, heat(Heat(**said), "step", "points at"))]
    if shown["ring"]:
        pictures.append(drawn(f"{task}-plane", f"The same in the plane; {right}.", rings([Ring(**shown["ring"])])))
    return pictures


STUDY = Study(cells_of, work, show)
