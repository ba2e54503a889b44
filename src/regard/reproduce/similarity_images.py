"""The networks that see images, trained on folds of the digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


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
