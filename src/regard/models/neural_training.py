"""How a network is learned: batches of like length, Adagrad or AdamW, the epoch that serves held-out texts best."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import DataError, SettingError
from regard.models import store
from regard.models.measure import measure
from regard.models.network import AttentionNetwork
from regard.models.neural import NeuralModel, load_network, network_arrays, padded
from regard.models.progress import Report
from regard.tokens import Tokens

# Texts of like length are looked for among so many batches' worth of shuffled texts.
_POOL = 50
# A batch is cut into several tensors where one would be filled up to so many times its words; what a tensor costs
# beside its words, and what each of its steps costs, in words.
_WASTE = 1.1
_TENSOR = 500
_STEP = 4
_CHECKPOINT = "NeuralCheckpoint"
_LR_DECAY = 0.001  # of Adagrad, as in the paper's code

Watch = Callable[[int, NeuralModel], None]


@dataclass(frozen=True)
class Documents:
    """Texts as words, and the class of each: (documents,)."""

    tokens: Tokens
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Recipe:
    """What the optimiser does, each setting in its range.

    ``class_weight`` has one positive number for each class; ``patience`` may be None, to go through all epochs.
    """

    optimizer: Literal["adagrad", "adamw", "sgd"]
    learning_rate: float
    l2: float
    penalty: float
    epochs: int
    patience: int | None
    batch_size: int
    class_weight: NDArray[np.float64]
    seed: int

    def fingerprint(self, network: AttentionNetwork, *parts: Documents | None) -> str:
        """The same for the same training, so that a checkpoint is not taken for that of another."""
        said = {**vars(self), "class_weight": self.class_weight.tolist(), "shape": network.shape.to_dict()}
        digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
        texts = [array for part in parts if part for array in (part.tokens.ids, part.tokens.starts, part.codes)]
        for array in [*texts, *network_arrays(network).values()]:
            digest.update(str((array.dtype.str, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


@dataclass
class Progress:
    """How far a training has come.

    Attributes
    ----------
    epoch : int
        Finished.
    best_epoch : int
        The one whose parameters are kept; 0 before any.
    best : (accuracy, minus log loss) on held-out texts, at that epoch
    course : list of dict
        Loss on the training texts, accuracy and log loss on the held-out ones, by epoch.
    parameters : dict of arrays
        Those kept.
    """

    epoch: int
    best_epoch: int
    best: tuple[float, float]
    course: list[dict[str, float]]
    parameters: dict[str, NDArray[Any]]


def measured(model: NeuralModel, documents: Documents) -> dict[str, Any]:
    """Accuracy, macro-F1 and log loss."""
    return measure(model.token_scores(documents.tokens), documents.codes, np.arange(len(model.classes)))


def learn(
    model: NeuralModel,
    training: Documents,
    held_out: Documents | None,
    recipe: Recipe,
    *,
    report: Report,
    watch: Watch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Progress:
    """Train until the epochs are over or, for ``patience`` epochs, held-out texts were not served better.

        loss = mean over texts of weight · (− log P(label))  +  penalty Σₖ |V·Wₖ|  +  l2/2 |encoder, A|²

    Every epoch draws its order and its dropout from the seed and its own number, so a training that goes on from a
    checkpoint ends where an uninterrupted one ends.

    Parameters
    ----------
    model
        Its network is changed, and ends with the parameters that are kept.
    training
        Each with one known word at least.
    held_out
        Texts to choose the epoch by: the most accurate one, and of several the one with the lowest log loss. Without
        them the last epoch is kept.
    report
        Is told of every batch.
    watch
        Is given the number of every finished epoch and the model; 0 before the first.
    checkpoint
        The file to go on from, and to write after every epoch.
    """
    network = model.network
    optimizer = _optimizer(network, recipe)
    progress = Progress(0, 0, (-np.inf, -np.inf), [], _copies(network))
    fingerprint = recipe.fingerprint(network, training, held_out) if checkpoint is not None else ""
    if checkpoint is not None and Path(checkpoint).exists():
        progress = _restore(checkpoint, fingerprint, network, optimizer)
    if watch is not None and progress.epoch == 0:
        watch(0, model.with_about({}))
    patience = recipe.patience if held_out is not None else None
    while progress.epoch < recipe.epochs and (
        patience is None or progress.epoch - progress.best_epoch < patience or progress.epoch == 0
    ):
        epoch = progress.epoch + 1
        before = f", held-out accuracy {progress.course[-1]['accuracy']:.4f}" if held_out and progress.course else ""

        def say(loss: float, share: float, epoch: int = epoch, before: str = before) -> None:
            doing = f"Epoch {epoch} of at most {recipe.epochs}, loss {loss:.4f}{before}"
            report(doing, (epoch - 1 + share) / recipe.epochs)

        step = {"loss": _epoch(network, optimizer, training, recipe, epoch, say)}
        better = True
        if held_out is not None:
            found = measured(model, held_out)
            step |= {"accuracy": found["accuracy"], "log_loss": found["log_loss"]}
            better = (found["accuracy"], -found["log_loss"]) > progress.best
        if better:
            progress.best = (step.get("accuracy", 0.0), -step.get("log_loss", 0.0))
            progress.best_epoch, progress.parameters = epoch, _copies(network)
        progress.epoch = epoch
        progress.course.append(step)
        if watch is not None:
            watch(epoch, model.with_about({}))
        if checkpoint is not None:
            _keep(checkpoint, fingerprint, network, optimizer, progress)
    load_network(network, progress.parameters)
    return progress


def _copies(network: AttentionNetwork) -> dict[str, NDArray[Any]]:
    return {name: array.copy() for name, array in network_arrays(network).items()}


def _epoch(
    network: AttentionNetwork,
    optimizer: torch.optim.Optimizer,
    training: Documents,
    recipe: Recipe,
    epoch: int,
    say: Callable[[float, float], None],
) -> float:
    """One pass over the texts; the mean loss. The network is left in evaluation mode."""
    tokens, codes = training.tokens, training.codes
    generator = np.random.default_rng([recipe.seed, epoch])
    torch.manual_seed(int(generator.integers(2**63)))
    network.train()
    device = network.output.weight.device
    labels = torch.from_numpy(codes).to(device)
    weight = torch.tensor(recipe.class_weight, dtype=torch.float32, device=device)
    total, done = 0.0, 0
    lengths = np.diff(tokens.starts)
    for batch in batches(lengths, recipe.batch_size, generator):
        optimizer.zero_grad()
        for part in parts(batch, lengths):  # whose gradients add up to that of the batch
            scores = network(padded(tokens, part).to(device))
            loss = loss_of(scores, labels[torch.from_numpy(part)], weight) * (len(part) / len(batch))
            total += float(loss.detach()) * len(batch)
            loss.backward()  # type: ignore[no-untyped-call]
        if recipe.penalty:
            (recipe.penalty * network.overlap().abs().sum()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        done += len(batch)
        say(total / done, done / len(codes))
    network.eval()
    if not np.isfinite(total):
        raise SettingError(
            f"Training left the range of numbers in epoch {epoch}: lower `learning_rate` (now {recipe.learning_rate})."
        )
    return total / len(codes)


def loss_of(scores: Tensor, codes: Tensor, weight: Tensor) -> Tensor:
    """The mean log loss of scores (texts, sides), each text with the weight of its class."""
    if scores.shape[1] == 1:
        losses = F.binary_cross_entropy_with_logits(scores[:, 0], codes.to(scores.dtype), reduction="none")
    else:
        losses = F.cross_entropy(scores, codes, reduction="none")
    return (losses * weight[codes]).mean()


def batches(lengths: NDArray[np.int64], size: int, generator: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Texts of like length together, in random order: little is filled up, and every text comes once.

    Parameters
    ----------
    lengths : (texts,)
    size : int
        Texts in a batch, at most.
    """
    order = generator.permutation(len(lengths))
    pools = [order[i : i + _POOL * size] for i in range(0, len(order), _POOL * size)]
    runs = []
    for pool in pools:
        by_length = pool[np.argsort(lengths[pool], kind="stable")]
        runs += [by_length[i : i + size] for i in range(0, len(by_length), size)]
    for place in generator.permutation(len(runs)):
        yield runs[place]


def parts(batch: NDArray[np.intp], lengths: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Cut a batch where filling up its texts would cost more than reading them in several tensors.

    A tensor costs (its texts + ``_STEP``) · its longest text + ``_TENSOR``, in words; the cheapest cuts are found from
    the shortest text on. A few very long texts would otherwise make hundreds of short ones as long.

    Parameters
    ----------
    batch : (texts,)
        The shortest first.
    lengths : (all texts,)
    """
    long = lengths[batch]
    if len(batch) * long[-1] <= _WASTE * long.sum():
        return [batch]
    cost = np.zeros(len(batch) + 1)
    cut = np.zeros(len(batch) + 1, np.intp)
    for stop in range(1, len(batch) + 1):
        whole = cost[:stop] + (stop - np.arange(stop) + _STEP) * long[stop - 1] + _TENSOR
        cut[stop] = np.argmin(whole)
        cost[stop] = whole[cut[stop]]
    found, stop = [], len(batch)
    while stop:
        found.append(batch[cut[stop] : stop])
        stop = int(cut[stop])
    return found[::-1]


def _optimizer(network: AttentionNetwork, recipe: Recipe) -> torch.optim.Optimizer:
    """The penalty on squares is on the encoder and on A alone."""
    shrunk = network.regularised()
    chosen = {id(parameter) for parameter in shrunk}
    free = [parameter for parameter in network.parameters() if id(parameter) not in chosen]
    groups = [{"params": free, "weight_decay": 0.0}]
    if shrunk:
        groups.append({"params": shrunk, "weight_decay": recipe.l2})
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, recipe.learning_rate)
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, recipe.learning_rate)
    return torch.optim.Adagrad(groups, recipe.learning_rate, lr_decay=_LR_DECAY)


# -- checkpoints ---------------------------------------------------------------------------------------------------


def _keep(
    path: str | os.PathLike[str],
    fingerprint: str,
    network: AttentionNetwork,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    tensors = {
        **network_arrays(network),
        **{f"kept.{name}": array for name, array in progress.parameters.items()},
        **{
            f"optimizer.{parameter}.{name}": value.detach().cpu().numpy()
            for parameter, state in optimizer.state_dict()["state"].items()
            for name, value in state.items()
        },
    }
    about = {
        "fingerprint": fingerprint,
        "epoch": progress.epoch,
        "best_epoch": progress.best_epoch,
        "best": list(progress.best),
        "course": progress.course,
    }
    store.write(path, _CHECKPOINT, about, tensors)


def _restore(
    path: str | os.PathLike[str], fingerprint: str, network: AttentionNetwork, optimizer: torch.optim.Optimizer
) -> Progress:
    kind, about, tensors = store.read(path)
    if kind != _CHECKPOINT:
        raise DataError(f"`checkpoint` must be a file that training wrote; {path} holds a {kind}: name another file.")
    if about["fingerprint"] != fingerprint:
        raise DataError(
            f"The checkpoint {path} is of a training with other data or settings; remove it to start anew, or name "
            "another file."
        )
    load_network(network, tensors)
    state: dict[int, dict[str, Tensor]] = {}
    for name, array in tensors.items():
        if name.startswith("optimizer."):
            _, parameter, what = name.split(".")
            state.setdefault(int(parameter), {})[what] = torch.from_numpy(array.copy())
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    accuracy, minus_loss = about["best"]
    kept = {name.removeprefix("kept."): array for name, array in tensors.items() if name.startswith("kept.")}
    return Progress(about["epoch"], about["best_epoch"], (accuracy, minus_loss), about["course"], kept)


@contextmanager
def undisturbed(n_threads: int, device: torch.device) -> Iterator[None]:
    """Leave PyTorch's random numbers and threads as they were."""
    threads = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    unchecked = torch.sparse.check_sparse_tensor_invariants(False)  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices), unchecked:
        torch.set_num_threads(n_threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
