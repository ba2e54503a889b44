"""A pointer network learns to sort by pointing at what comes next, and sorts longer lists than it has seen."""

from __future__ import annotations

import torch

from regard.reproduce.systems.pointer import RECIPES, learned, measured
from regard.systems.data.pointer import make


def main(quick: bool = False) -> None:
    """Train on 5 to 10 numbers, test on 10 and on 15, and sort a list."""
    size = {"problems": 100, "epochs": 1, "hidden": 16, "tests": 50} if quick else {"tests": 1000}
    network = learned({"task": "sorting", "attention": True, "seed": 0, **RECIPES["sorting"], **size}, print_nothing)
    for numbers in (10, 15):
        found = measured(network, "sorting", make("sorting", size["tests"], [numbers], seed=1))
        print(f"{numbers} numbers: {found['exact']:.1%} sorted without a mistake")
    mine = [42, 7, 99, 23]
    said = network.point(torch.tensor(mine)[None, :, None] / 100)
    print(mine, "->", [mine[place] for place in said.positions[0].tolist()])


def print_nothing(doing: str, share: float) -> None:
    """Whoever wants to see the progress prints it here."""


if __name__ == "__main__":
    main()
