"""A convolutional network and a vision transformer of the same size for the digits, each in a few lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.nn import MultiHeadAttention


class Convolutional(nn.Module):
    """Dot products with filters, the most similar patch of four, twice; then a vote."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(192, 10)),
        )

    def forward(self, images: Tensor) -> Tensor:
        """From images (n, 64) to scores (n, 10)."""
        scores: Tensor = self.layers(images.view(-1, 1, 8, 8))
        return scores


class Block(nn.Module):
    """Patches attend to each other, then each thinks for itself."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = MultiHeadAttention(dim, 4)
        self.alone = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, patches: Tensor) -> Tensor:
        """From patches (n, 16, dim) to as many."""
        x = self.first(patches)
        patches = patches + self.attention(x, x, x, need_weights=False).context
        found: Tensor = patches + self.alone(self.second(patches))
        return found


class VisionTransformer(nn.Module):
    """Sixteen patches of two by two pixels, self-attention between them, and the mean of what they say."""

    def __init__(self, dim: int = 28) -> None:
        super().__init__()
        self.embed = nn.Linear(4, dim)
        self.place = nn.Parameter(0.02 * torch.randn(16, dim))
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.out = nn.Linear(dim, 10)

    def forward(self, images: Tensor) -> Tensor:
        """From images (n, 64) to scores (n, 10)."""
        patches = images.view(-1, 4, 2, 4, 2).transpose(2, 3).reshape(-1, 16, 4)
        scores: Tensor = self.out(self.blocks(self.embed(patches) + self.place).mean(1))
        return scores


def accuracies(
    make: Callable[[], nn.Module], X: NDArray[Any], y: NDArray[Any], folds: Any, epochs: int, seed: int = 0
) -> tuple[list[float], int]:
    """The test accuracy on each fold after some epochs of Adam, and the number of parameters."""
    found, parameters = [], 0
    images, labels = torch.tensor(X, dtype=torch.float32) / 8 - 1, torch.tensor(y)
    for train, test in folds:
        torch.manual_seed(seed)
        model = make()
        parameters = sum(p.numel() for p in model.parameters())
        optimiser = torch.optim.Adam(model.parameters(), 3e-3)
        batches = len(train) // 64
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 6e-3, total_steps=epochs * batches)
        for _ in range(epochs):
            order = torch.tensor(train)[torch.randperm(len(train))][: batches * 64]
            for batch in order.view(batches, 64):
                loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
        with torch.no_grad():
            right = model.eval()(images[test]).argmax(1) == labels[test]
        found.append(float(np.mean(right.numpy())))
    return found, parameters
