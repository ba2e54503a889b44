"""The pointer network: sorting, convex hulls and short tours, at the sizes it was trained on and beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.models.progress import Report
from regard.reproduce.page import Note, Picture, Section, Table, drawn
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
    "tour": {"problems": 10_000, "epochs": 6, "hidden": 96, "learning_rate": 0.003},
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
    """The table, what it says, and the pictures."""

    def values(task: str, attention: bool, size: int, what: str) -> list[float]:
        pairs = zip(cells, results, strict=True)
        mine = [found for cell, found in pairs if (cell["task"], cell["attention"]) == (task, attention)]
        return [found[str(size)][what] for found in mine if str(size) in found]

    rows = []
    for task, what, unit in (
        ("sorting", "exact", "exact, %"),
        ("hull", "exact", "exact, %"),
        ("hull", "area", "area covered, %"),
        ("tour", "ratio", "length, optimum = 100"),
    ):
        for size in TESTED[task]:
            with_it, without = (values(task, attention, size, what) for attention in (True, False))
            none = "no words for them" if size > max(TRAINED[task]) else "—"
            rows.append(
                [
                    f"{TITLES[task]}, {size} inputs: {unit}",
                    shares(with_it),
                    shares(without) if without else none,
                    CLAIMS.get((task, what, size), ""),
                ]
            )
    shown = [found["shown"] for cell, found in zip(cells, results, strict=True) if "shown" in found][:3]
    pictures = [picture for task, one in zip(RECIPES, shown, strict=True) for picture in pictures_of(task, one)]
    nearest = np.mean(values("tour", True, max(TESTED["tour"]), "nearest"))
    recipe = RECIPES["hull"]
    about = [
        "Numbers and points are drawn anew for training, validation and test. Training holds "
        + "; ".join(f"{TITLES[task]}: {min(sizes)} to {max(sizes)} inputs" for task, sizes in TRAINED.items())
        + ". The right answers are exact: gift wrapping, and the recursion of Held and Karp. Numbers to sort are "
        "different whole numbers below 100.",
        f"For hulls {recipe['problems'] * len(TRAINED['hull']):,} problems and {recipe['epochs']} epochs. Both "
        "decoders have the same encoder, training and mask: what is in the answer already cannot be said again, in "
        "training and decoding alike (beside the paper, and a help to both; with it sorting only asks for the "
        "smallest that is left). Decoding is greedy. Sizes and rates were chosen on problems of other seeds.",
        "A hull is exact if it is the same polygon, wherever it starts; a polygon whose sides cross covers nothing. "
        "The decoder without attention has words for the positions of the training, and none for larger problems.",
    ]
    reading = reading_of(values)
    more = Section(
        "Beside simple rules",
        "",
        [
            Note(
                f"Always going on to the nearest city gives tours of {100 * float(nearest):.1f} with "
                f"{max(TESTED['tour'])} cities, the optimum being 100; cities in the order given, "
                f"{100 * float(np.mean(values('tour', True, max(TESTED['tour']), 'any'))):.0f}."
            )
        ],
    )
    return Shown(about, Table(HEAD, rows), reading, pictures, [more])


HEAD = ["", "with attention (pointer)", "without (fixed vocabulary)", "the paper's claim"]
CLAIMS = {
    ("sorting", "exact", 10): "named as such a problem, not measured",
    ("hull", "exact", 10): "87.0 (trained on 5 to 50 points)",
    ("hull", "area", 10): "99.8",
    ("tour", "ratio", 8): "“competitive” with approximate solvers",
}


def reading_of(values: Any) -> str:
    """Which bars are met, in sentences."""

    def mean(*of: Any) -> float:
        return 100 * float(np.mean(values(*of)))

    def met(reached: bool) -> str:
        return "met" if reached else "missed"

    sorted_, longer = mean("sorting", True, 10, "exact"), mean("sorting", True, 15, "exact")
    exact, area = mean("hull", True, 10, "exact"), mean("hull", True, 10, "area")
    return (
        f"Sorting: {sorted_:.1f}% exact with as many numbers as in training, where 99 were asked for "
        f"({met(sorted_ >= 99)}), and {longer:.1f}% with one and a half times as many, 90 asked for "
        f"({met(longer >= 90)}). Convex hulls of 10 points: {exact:.1f}% exact, 70 asked for ({met(exact >= 70)}), "
        f"and {area:.2f}% of the area, 99 asked for ({met(area >= 99)}). Tours of 8 cities are "
        f"{mean('tour', True, 8, 'ratio') - 100:.1f}% longer than the shortest, of 12 cities "
        f"{mean('tour', True, 12, 'ratio') - 100:.1f}%. Without attention, {mean('sorting', False, 10, 'exact'):.1f}% "
        f"of the sorted lists and {mean('hull', False, 10, 'exact'):.1f}% of the hulls are exact, and larger problems "
        "cannot be answered at all."
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
