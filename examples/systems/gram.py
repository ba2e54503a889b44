"""GRAM predicts what comes next for codes of a tree, and says when it thinks of a code as one of its kind."""

from __future__ import annotations

import torch

from regard.reproduce.systems.gram import NAMES, RECIPES, learned, measured
from regard.systems.data.ontology import LEVELS, make_patients


def main(quick: bool = False) -> None:
    """Train, say how well the next codes are predicted by their rarity, and what a rare one attends to."""
    size = {"patients": 60, "tests": 60, "epochs": 1} if quick else {"patients": 1000, "tests": 4000, "epochs": 44}
    model, world, counts = learned({"kind": "attention", "seed": 0, **RECIPES["attention"], **size}, print_nothing)
    found = measured(model, make_patients(world, size["tests"], 1), counts)
    for name, share in zip(NAMES, found["fifths"], strict=True):
        print(f"{name}: {share:.1%} of the next codes are among the 20 most probable")
    rare = int(counts.argmin())
    with torch.no_grad():
        weights = model.represent().weights[rare].tolist()
    said = ", ".join(f"{level} {weight:.2f}" for level, weight in zip(LEVELS, weights, strict=True))
    print(f"code {rare} was seen {counts[rare]} times; it attends to {said}")


def print_nothing(doing: str, share: float) -> None:
    """Whoever wants to see the progress prints it here."""


if __name__ == "__main__":
    main()
