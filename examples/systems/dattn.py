"""D-Attn reads what people wrote and what was written about things, and says what they would give them."""

from __future__ import annotations

import numpy as np
import torch

from regard.reproduce.systems.dattn import baselines, gates_of, learned, predicted, reviews_of, rmse
from regard.systems.data.reviews import WORDS, documents


def main(quick: bool = False) -> None:
    """Train, compare the errors with those of simpler models, and show the words that a user's gates open for."""
    size = {"users": 40, "items": 20, "each": 10, "epochs": 2} if quick else {}
    cell = {"users": 400, "items": 60, "each": 20, "epochs": 120, "longest": 40, "attention": True, "seed": 0, **size}
    cell |= {"learning_rate": 0.01, "penalty": 0.2}
    reviews = reviews_of(cell)
    model = learned(cell, reviews, print_nothing)
    users, items = (documents(of, cell["longest"]) for of in (reviews.user_documents, reviews.item_documents))
    test = reviews.rows(2)
    error = rmse(predicted(model, users, items, reviews, test), reviews.ratings[test])
    print(f"test error {error:.3f}; {', '.join(f'{name} {value:.3f}' for name, value in baselines(reviews).items())}")
    with torch.no_grad():
        gates = gates_of(model.pairs(users, items, np.arange(1), np.arange(1)), "user")[0]
    for place in gates.topk(5).indices.tolist():
        print(f"  {float(gates[place]):.2f}  {WORDS[int(users[0, place])]}")


def print_nothing(doing: str, share: float) -> None:
    """Whoever wants to see the progress prints it here."""


if __name__ == "__main__":
    main()
