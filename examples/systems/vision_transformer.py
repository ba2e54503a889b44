"""Teach a vision transformer digits, and see which patches it looks at."""

from __future__ import annotations

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from regard.systems import VisionTransformer
from regard.systems.training import Recipe, seeded, train


def main(quick: bool = False) -> None:
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(torch.tensor(X / 8 - 1, dtype=torch.float32), torch.tensor(y), stratify=y, random_state=0)
    images, test_images, labels, test_labels = parts
    with seeded(0):
        model = VisionTransformer()
    train(
        model,
        np.zeros(len(labels)),
        lambda batch: torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]),
        Recipe(epochs=1 if quick else 40, learning_rate=6e-3, warmup=0.2),
    )
    with torch.no_grad():
        right = (model(test_images).argmax(1) == test_labels).float().mean()
        seen = model.attended(test_images[:1])[-1].mean((0, 1, 2)).view(4, 4)
    print(f"{100 * right:.1f}% of new digits are recognised. How much each patch of the first is attended to:")
    for row in seen.tolist():
        print("  ", " ".join(f"{100 * share:5.1f}%" for share in row))


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
