"""Recommendations from histories, half of which are accidents: attention learns which items speak for a person."""

from __future__ import annotations

import torch

from regard.reproduce.systems.collaborative import RECIPES, attended, learned, measured, people_of


def main(quick: bool = False) -> None:
    """Train, say how often an item that was left out is among ten recommended ones, and read one history."""
    size = {"people": 100, "epochs": 1} if quick else {"people": 2000}
    cell = {"kind": "attention", "seed": 0, **RECIPES["attention"], **size}
    data = people_of(cell)
    model = learned(cell, data, print_nothing)
    print(f"hit rate@10: {measured(model, data.history, data.test)['hit']:.1%}")
    found = attended(model, data)
    print(f"items by taste: {found['share of items']:.1%} of histories, {found['items']:.1%} of the attention")
    history = torch.from_numpy(data.history[:1])
    with torch.no_grad():
        weights = model.read(torch.tensor([0]), history).weights[0].tolist()
    for item, taste, weight in sorted(
        zip(history[0].tolist(), data.by_taste[0], weights, strict=True), key=lambda x: -x[2]
    ):
        print(f"  item {item:3d} {weight:.2f} {'by taste' if taste else 'by accident'}")


def print_nothing(doing: str, share: float) -> None:
    """Whoever wants to see the progress prints it here."""


if __name__ == "__main__":
    main()
