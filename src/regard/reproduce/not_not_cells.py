"""The trainings behind "Attention is not not Explanation": one cell, one network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.audit import kernels
from regard.audit.learning import Read
from regard.audit.trained_adversary import learn_adversary
from regard.models.neural_training import Documents, undisturbed
from regard.reproduce.pooled_networks import (
    JAIN,
    Design,
    Floats,
    PooledNetwork,
    Prepared,
    Reading,
    Recipe,
    measured,
    prepare,
    read,
    train,
    uniform,
)
from regard.reproduce.sweep import Cell

ENCODERS = ("lstm", "average", "cnn")
# Where the imposed weights of the token-wise network come from.
GUIDES = ("uniform", "its own", "base", "adversary", "base, shuffled")
PRICES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05)
GUIDE = 0.01  # λ of the adversary whose weights are imposed: at 0.05 the dev part of SST showed no imitation
SEEDS = 8
_QUICK = 40  # texts of each class
_QUICK_EPOCHS = 2
# At most so many epochs, of which the dev part chooses one; for the adversary, and so many after the one chosen.
_EPOCHS = {"sst": 4, "20news1": 8, "imdb": 4}
_LONGEST = {"sst": (12, 2), "20news1": (20, 3), "imdb": (6, 1)}

Part = Literal["base", "uniform", "seed", "guided", "adversary"]


def cell(data: str, encoder: str, part: Part, *, quick: bool = False, **more: Any) -> Cell:
    """What one training is given; everything that its result depends on."""
    settings: dict[str, Any] = {"epochs": _QUICK_EPOCHS if quick else _EPOCHS[data]}
    if part == "adversary" or more.get("weights") == "adversary":
        most, patience = (_QUICK_EPOCHS, _QUICK_EPOCHS) if quick else _LONGEST[data]
        settings |= {"most": most, "patience": patience}
    return {"data": data, "encoder": encoder, "part": part, "quick": quick, **more, **settings}


def work(cell: Cell) -> dict[str, Any]:
    """Train on the train part, choose the epoch on the dev part, measure on the test part."""
    one = Setting(cell["data"], cell["encoder"], cell["quick"], cell["epochs"])
    torch.set_num_threads(1)
    result: dict[str, Any] = _PARTS[cell["part"]](one, cell)
    return result


@dataclass(frozen=True)
class Setting:
    """What all cells of a page share."""

    data: str
    encoder: str
    quick: bool
    epochs: int

    @property
    def prepared(self) -> Prepared:
        """The data."""
        return prepare(self.data, _QUICK if self.quick else None)

    @property
    def design(self) -> Design:
        """The network."""
        return JAIN[self.encoder]

    @property
    def recipe(self) -> Recipe:
        """How it is trained."""
        return Recipe(epochs=self.epochs)


@dataclass(frozen=True)
class Base:
    """A network, and what it makes of each part."""

    epoch: int
    dev: dict[str, float]
    readings: dict[str, Reading]


@cache
def base(one: Setting) -> Base:
    """The network that is questioned: seed 0. Trained once by a process."""
    trained = train(one.prepared, one.design, 0, recipe=one.recipe)
    return Base(
        trained.epoch,
        trained.dev,
        {role: read(trained.network, one.prepared.part(role)) for role in ("train", "dev", "test")},
    )


# -- the parts -----------------------------------------------------------------------------------------------------


def _base(one: Setting, cell: Cell) -> dict[str, Any]:  # noqa: ARG001 - all parts are called alike
    found = base(one)
    reading = found.readings["test"]
    return {
        "epoch": found.epoch,
        "dev": found.dev,
        "test": measured(reading, one.prepared.test),
        "documents": len(one.prepared.test),
        "largest": _short(reading.largest),
        "says": (reading.scores > 0).astype(int).tolist(),
        "entropy": float(_entropy(reading).mean()),
    }


def _uniform(one: Setting, cell: Cell) -> dict[str, Any]:  # noqa: ARG001 - all parts are called alike
    given = {role: uniform(one.prepared.part(role)) for role in ("train", "dev", "test")}
    trained = train(one.prepared, one.design, 0, recipe=one.recipe, given=given)
    reading = read(trained.network, one.prepared.test, given["test"])
    return {"epoch": trained.epoch, "dev": trained.dev, "test": measured(reading, one.prepared.test)}


def _seed(one: Setting, cell: Cell) -> dict[str, Any]:
    trained = train(one.prepared, one.design, cell["seed"], recipe=one.recipe)
    reading, first = read(trained.network, one.prepared.test), base(one).readings["test"]
    return {
        "epoch": trained.epoch,
        "test": measured(reading, one.prepared.test),
        "jsd": _short(_jsd(first, reading.weights)),
        "moved": _short(np.abs(first.chances - reading.chances)),
    }


def _guided(one: Setting, cell: Cell) -> dict[str, Any]:
    """A network of single words, on which weights are imposed."""
    given = _weights(one, cell)
    trained = train(one.prepared, JAIN["average"], 0, recipe=one.recipe, given=given)
    reading = read(trained.network, one.prepared.test, None if given is None else given["test"])
    return {"epoch": trained.epoch, "dev": trained.dev, "test": measured(reading, one.prepared.test)}


def _adversary(one: Setting, cell: Cell) -> dict[str, Any]:
    found = adversary(one, cell["price"], cell["most"], cell["patience"])
    reading, own = found.readings["test"], base(one).readings["test"]
    return {
        "epochs": found.epoch,
        "test": measured(reading, one.prepared.test),
        "tvd": float(np.abs(reading.chances - own.chances).mean()),
        "jsd": float(_jsd(own, reading.weights).mean()),
        "dev tvd": float(np.abs(found.readings["dev"].chances - base(one).readings["dev"].chances).mean()),
        "dev jsd": float(_jsd(base(one).readings["dev"], found.readings["dev"].weights).mean()),
        "entropy": float(_entropy(reading).mean()),
    }


_PARTS = {"base": _base, "uniform": _uniform, "seed": _seed, "guided": _guided, "adversary": _adversary}


def _weights(one: Setting, cell: Cell) -> dict[str, Floats] | None:
    """Those of each part that are imposed; None where the network learns its own."""
    source, roles = cell["weights"], ("train", "dev", "test")
    if source == "its own":
        return None
    if source == "uniform":
        return {role: uniform(one.prepared.part(role)) for role in roles}
    if source == "adversary":
        found = adversary(one, cell["price"], cell["most"], cell["patience"])
        return {role: found.readings[role].weights for role in roles}
    own = base(one).readings
    if source == "base":
        return {role: own[role].weights for role in roles}
    generator = np.random.default_rng(0)
    return {role: shuffled(own[role], generator) for role in roles}


def shuffled(reading: Reading, generator: np.random.Generator) -> Floats:
    """The weights of each document in random order: as uneven as before, and on any word."""
    lengths = np.diff(reading.starts)
    order = np.lexsort((generator.random(len(reading.weights)), np.repeat(np.arange(len(lengths)), lengths)))
    return np.asarray(reading.weights[order])


# -- the adversary -------------------------------------------------------------------------------------------------


class Attending(nn.Module):
    """A pooled network as the audit's trainings see it."""

    def __init__(self, network: PooledNetwork) -> None:
        super().__init__()
        self.network = network

    def attended(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and what each word says: the score is their weighted sum, for the output is linear."""
        e, keep = self.network.embed(ids)
        h = self.network.encode(e, keep)
        return self.network.attend(h, keep)[0], self.network.output(h)


@lru_cache(maxsize=2)
def adversary(one: Setting, price: float, most: int, patience: int) -> Base:
    """A network of the same design, trained from scratch to say the same and attend elsewhere."""
    prepared, own = one.prepared, base(one).readings
    reads = {role: as_read(prepared.part(role), own[role]) for role in ("train", "dev")}
    with undisturbed(1, torch.device("cpu")):
        torch.manual_seed(1)
        network = PooledNetwork(len(prepared.vocabulary), one.design)
        adam = torch.optim.Adam(network.parameters(), one.recipe.learning_rate, amsgrad=True)
        learned = learn_adversary(
            Attending(network),
            reads["train"],
            reads["dev"],
            price,
            adam,
            epochs=most,
            patience=patience,
            batch_size=one.recipe.batch_size,
            seed=1,
        )
        network.eval()
        readings = {role: read(network, prepared.part(role)) for role in ("train", "dev", "test")}
    epoch = int(np.argmin(learned.course)) + 1
    return Base(epoch, {"objective": min(learned.course)}, readings)


def as_read(documents: Documents, reading: Reading) -> Read:
    """What the base network made of documents, as the audit's trainings see it."""
    chances = np.column_stack([1 - reading.chances, reading.chances])
    return Read(documents.tokens, reading.attention, chances, np.arange(len(documents)))


# -- numbers -------------------------------------------------------------------------------------------------------


def _jsd(one: Reading, weights: Floats) -> Floats:
    out = np.empty(len(one.starts) - 1)
    kernels.divergence(one.weights, weights, one.starts, 0, len(out), out)
    return out


def _entropy(reading: Reading) -> Floats:
    """H(weights) / ln n, 1 for one word."""
    w, n = reading.weights, np.diff(reading.starts)
    parts = -w * np.log(w, where=w > 0, out=np.zeros_like(w))
    found = np.add.reduceat(parts, reading.starts[:-1])
    return np.where(n > 1, found / np.log(np.maximum(n, 2)), 1.0)


def _short(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 4) for value in values]
