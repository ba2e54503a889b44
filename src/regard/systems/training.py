"""One training loop for all systems: batches of like length, bounded gradients, the epoch that validates best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import SettingError
from regard.models.neural_training import batches
from regard.models.progress import Report, silent

Loss = Callable[[NDArray[np.intp]], Tensor]


@dataclass(frozen=True)
class Recipe:
    """How a system is trained, by AdamW.

    Attributes
    ----------
    epochs, batch_size : int
    learning_rate : float
        The highest.
    warmup : float
        The share of all steps over which the rate rises from zero.
    schedule : "constant", "linear" or "cosine"
        How it falls afterwards; the last two to zero at the last epoch.
    clip : float
        The longest gradient, over all parameters; longer ones are shortened to it.
    weight_decay : float
    patience : int, optional
        Stop after so many epochs that did not validate better; None goes through all.
    enough : float
        Stop as soon as this validates.
    seed : int
        Of the order of the examples and of dropout.
    """

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 3e-3
    warmup: float = 0.05
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    clip: float = 1.0
    weight_decay: float = 0.0
    patience: int | None = None
    enough: float = math.inf
    seed: int = 0

    def rate(self, share: float) -> float:
        """The learning rate when this share of all steps is done."""
        if self.schedule not in ("constant", "linear", "cosine"):
            raise SettingError(f"`schedule` must be 'constant', 'linear' or 'cosine'; got {self.schedule!r}.")
        if share < self.warmup:
            return self.learning_rate * share / self.warmup
        gone = (share - self.warmup) / max(1 - self.warmup, 1e-9)
        left = {"constant": 1.0, "linear": 1 - gone, "cosine": (1 + math.cos(math.pi * gone)) / 2}
        return self.learning_rate * left[self.schedule]


@dataclass(frozen=True)
class Course:
    """How a training went.

    Attributes
    ----------
    epochs : list of dict
        The loss of each epoch, and what it validated to.
    best_epoch : int
        Whose parameters are kept, from 1.
    """

    epochs: list[dict[str, float]]
    best_epoch: int


def train(
    model: nn.Module,
    lengths: NDArray[Any],
    loss: Loss,
    recipe: Recipe,
    *,
    validate: Callable[[], float] | None = None,
    report: Report = silent,
) -> Course:
    """Change the parameters of a model until they serve; it is left in evaluation mode.

    Parameters
    ----------
    lengths : (examples,)
        How long each example is: those of a batch are alike. All equal where length means nothing.
    loss : callable
        From the indices of a batch to its mean loss.
    validate : callable, optional
        How good the model is on held-out data, more is better; asked after every epoch, in evaluation mode and
        without gradients. The parameters of the best epoch are kept; without it, those of the last.
    report : callable
        Is told of every batch.
    """
    lengths = np.asarray(lengths)
    if not len(lengths):
        raise SettingError("Training needs one example at least; got none.")
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=recipe.weight_decay)
    steps = math.ceil(len(lengths) / recipe.batch_size) * recipe.epochs
    course: list[dict[str, float]] = []
    best, best_epoch, kept = -math.inf, 0, _copy(model)
    with seeded(recipe.seed):
        generator = np.random.default_rng(recipe.seed)
        done = 0
        for epoch in range(1, recipe.epochs + 1):
            model.train()
            total, seen = 0.0, 0
            before = f", validation {course[-1]['validation']:.4f}" if course and validate else ""
            for batch in batches(lengths, recipe.batch_size, generator):
                for group in optimizer.param_groups:
                    group["lr"] = recipe.rate((done + 1) / steps)
                value = loss(batch)
                optimizer.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
                optimizer.step()
                done, seen = done + 1, seen + len(batch)
                total += float(value.detach()) * len(batch)
                report(f"Epoch {epoch} of at most {recipe.epochs}, loss {total / seen:.4f}{before}", done / steps)
            if not math.isfinite(total):
                raise SettingError(
                    f"Training left the range of numbers in epoch {epoch}: lower `learning_rate` "
                    f"(now {recipe.learning_rate})."
                )
            course.append({"loss": total / seen})
            model.eval()
            if validate is not None:
                with torch.no_grad():
                    course[-1]["validation"] = validate()
            score = course[-1].get("validation", float(epoch))
            if score > best:
                best, best_epoch, kept = score, epoch, _copy(model)
            waited = recipe.patience is not None and epoch - best_epoch >= recipe.patience
            if validate is not None and (best >= recipe.enough or waited):
                break
    model.load_state_dict(kept)
    return Course(course, best_epoch)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """PyTorch's random numbers from a seed, and afterwards as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _copy(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
