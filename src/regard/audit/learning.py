"""The small trainings of an audit: texts as a model has read them, and a loop that keeps the epoch which serves best.

Needs the extra torch; tests import it only when they train.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.audit.linear import LinearBatch, ModelSource
from regard.audit.source import Floats, Places
from regard.models.network import PADDING
from regard.models.neural import padded
from regard.models.neural_training import batches
from regard.tokens import Tokens

_TEXTS = 5000  # that are learned from
_HELD_OUT = 10  # one in so many chooses the epoch
_AT_ONCE = 1 << 15  # padded units that are read at a time


@dataclass(frozen=True)
class Read:
    """Texts as a model has read them; those without a unit are left out.

    Attributes
    ----------
    tokens : Tokens
        The row of each unit, and where documents start.
    logits : (units,)
        Of the model's attention.
    chances : (documents, classes)
        What the model says.
    places : (documents,)
        Which of the texts these are.
    """

    tokens: Tokens
    logits: Floats
    chances: Floats
    places: Places

    def __len__(self) -> int:
        return len(self.places)

    @property
    def lengths(self) -> Places:
        """Units of each document."""
        return np.diff(self.tokens.starts)

    @property
    def weights(self) -> Floats:
        """Shares of the attention: (units,)."""
        return softmax(self.logits, self.tokens.starts)

    def part(self, documents: Places) -> Read:
        """Some of them."""
        lengths = self.lengths[documents]
        starts = np.append(0, np.cumsum(lengths))
        units = np.repeat(self.tokens.starts[documents] - starts[:-1], lengths) + np.arange(starts[-1])
        tokens = Tokens(self.tokens.ids[units], starts)
        return Read(tokens, self.logits[units], self.chances[documents], self.places[documents])


def read(source: ModelSource, texts: Sequence[str]) -> Read:
    """Show texts to a model."""
    ids, logits, chances, places, lengths = [], [], [], [], []
    for batch in source.batches(texts):
        assert isinstance(batch, LinearBatch)
        sizes = np.diff(batch.starts)
        some = np.flatnonzero(sizes)
        ids.append(batch.rows)
        logits.append(batch.attention)
        chances.append(batch.chances[some])
        places.append(batch.first + some)
        lengths.append(sizes[some])
    starts = np.append(0, np.cumsum(np.concatenate(lengths)))
    tokens = Tokens(np.concatenate(ids).astype(np.int32), starts)
    return Read(tokens, np.concatenate(logits), np.concatenate(chances), np.concatenate(places))


def softmax(logits: Floats, starts: Places) -> Floats:
    """In each document: (units,)."""
    lengths = np.diff(starts)
    exps = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts[:-1]), lengths))
    return np.asarray(exps / np.repeat(np.add.reduceat(exps, starts[:-1]), lengths))


class Attends(Protocol):
    """A module whose score is a weighted sum of what its units say."""

    def attended(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (texts, T), any number where nothing stands, and what is said (texts, T, sides)."""
        ...


def sampled(source: ModelSource, texts: Sequence[str]) -> tuple[Read, Read]:
    """Up to 5,000 of the training texts, evenly spaced, as a model reads them: to learn, and to choose the epoch by."""
    chosen = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), _TEXTS)).astype(np.int64))
    found = read(source, [texts[i] for i in chosen])
    found = replace(found, places=chosen[found.places])
    order = np.random.default_rng(0).permutation(len(found))
    apart = max(1, len(found) // _HELD_OUT)
    return found.part(np.sort(order[apart:])), found.part(np.sort(order[:apart]))


class TableNetwork(nn.Module):
    """A table: two numbers a row, or one more a class.

    Parameters
    ----------
    rows, sides : int
    """

    def __init__(self, rows: int, sides: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, 1 + sides, sparse=True)
        self.bias = nn.Parameter(torch.zeros(sides))
        nn.init.normal_(self.table.weight, std=0.01)

    def attended(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Each unit reads its row."""
        numbers = self.table(ids.clamp_min(0))
        return numbers[..., 0], numbers[..., 1:] + self.bias


def shared(logits: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Weights, and their logarithms; both zero where nothing stands, so that no divergence meets log 0."""
    total = logits.masked_fill(~keep, -torch.inf).logsumexp(-1, keepdim=True)
    logs = torch.where(keep, logits - total, 0.0)
    return torch.where(keep, logs.exp(), 0.0), logs


def chances_of(scores: Tensor) -> Tensor:
    """Sigmoid of one side, softmax of several: (texts, sides) to (texts, classes)."""
    if scores.shape[1] == 1:
        p = torch.sigmoid(scores)
        return torch.cat([1 - p, p], 1)
    return torch.softmax(scores, 1)


def spread(values: Floats, tokens: Tokens, documents: NDArray[np.intp]) -> Tensor:
    """What units have, laid out as ``padded`` lays out their rows, zero elsewhere: (documents, longest)."""
    starts, ends = tokens.starts[documents], tokens.starts[documents + 1]
    place = np.arange((ends - starts).max())
    real = place < (ends - starts)[:, None]
    found = np.zeros(real.shape, np.float32)
    found[real] = values[(starts[:, None] + place)[real]]
    return torch.from_numpy(found)


def runs(tokens: Tokens) -> Any:
    """Documents of like length together, in batches that fit the memory: their places."""
    lengths = np.diff(tokens.starts)
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= _AT_ONCE:
            stop += 1
        yield order[start:stop]
        start = stop


def reread(network: Attends, tokens: Tokens, given: Floats | None = None) -> tuple[Floats, Floats]:
    """Weights (units,) and probabilities (documents, classes) of a network; under given weights, if there are any."""
    weights = np.empty(len(tokens.ids))
    chances: list[Floats] = []
    order: list[NDArray[np.intp]] = []
    with torch.inference_mode():
        for documents in runs(tokens):
            ids = padded(tokens, documents)
            keep = ids != PADDING
            logits, said = network.attended(ids)
            w = shared(logits.double(), keep)[0] if given is None else spread(given, tokens, documents).double()
            scores = torch.einsum("bt,bts->bs", w, said.double())
            lengths = np.diff(tokens.starts)[documents]
            units = np.repeat(tokens.starts[documents], lengths) + np.concatenate([np.arange(n) for n in lengths])
            weights[units] = w.numpy()[keep.numpy()]
            chances.append(chances_of(scores).numpy())
            order.append(documents)
    out = np.empty((len(tokens), chances[0].shape[1]))
    out[np.concatenate(order)] = np.concatenate(chances)
    return weights, out


def fit(
    network: nn.Module,
    lengths: Places,
    loss: Callable[[NDArray[np.intp]], Tensor],
    judge: Callable[[], float],
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    patience: int,
    batch_size: int,
    seed: int,
) -> list[float]:
    """Go through documents in batches of like length; keep the epoch that ``judge`` finds lowest.

    Parameters
    ----------
    network
        Is changed, and ends with the parameters that are kept, in evaluation mode.
    lengths : (documents,)
    loss
        Of the documents of a batch.
    judge
        On held-out documents, after an epoch.
    epochs, patience
        At most so many, and no more than the latter after the best.

    Returns
    -------
    course : list of float
        What ``judge`` said after each epoch.
    """
    course: list[float] = []
    best, kept = np.inf, {name: tensor.clone() for name, tensor in network.state_dict().items()}
    for epoch in range(epochs):
        network.train()
        torch.manual_seed(seed * 1_000_003 + epoch)
        for batch in batches(lengths, batch_size, np.random.default_rng([seed, epoch])):
            optimizer.zero_grad()
            loss(batch).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        network.eval()
        course.append(judge())
        if course[-1] < best:
            best = course[-1]
            kept = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        elif epoch - int(np.argmin(course)) >= patience:
            break
    network.load_state_dict(kept)
    network.requires_grad_(False)
    return course
