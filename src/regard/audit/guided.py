"""A diagnostic of single words: a network without neighbours, on which the weights of others are imposed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.audit.inspection import Context
from regard.audit.learning import Read, fit, read, reread, sampled, shared, spread
from regard.audit.linear import ModelSource
from regard.audit.result import Measure, Result
from regard.audit.source import Floats
from regard.models.model import Model
from regard.models.network import PADDING
from regard.models.neural import padded
from regard.models.neural_training import loss_of, undisturbed

_DIM = 32
_EPOCHS, _PATIENCE, _BATCH, _STEP = 20, 3, 50, 0.1
_LEAST = 0.005  # of macro-F1, between equal and learned weights, for a quotient to say anything
_TITLE = "Do its weights point at words that say something by themselves?"


class Guided(nn.Module):
    """h = tanh(M e + m),  score = W'(Σⱼ g[j] h[j]) + b;  its own g is softmax(v·tanh(A h + c)).

    Parameters
    ----------
    rows, sides : int
    """

    def __init__(self, rows: int, sides: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(rows, _DIM, sparse=True)
        self.encoder = nn.Linear(_DIM, _DIM)
        self.key, self.query = nn.Linear(_DIM, _DIM), nn.Linear(_DIM, 1, bias=False)
        self.output = nn.Linear(_DIM, sides)
        nn.init.normal_(self.embedding.weight, std=0.1)

    def attended(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Each unit by itself."""
        h = torch.tanh(self.encoder(self.embedding(ids.clamp_min(0))))
        logits: Tensor = self.query(torch.tanh(self.key(h)))[..., 0]
        return logits, self.output(h)

    def forward(self, ids: Tensor, given: Tensor | None) -> Tensor:
        """Scores (texts, sides), under given weights (texts, T) or its own."""
        logits, said = self.attended(ids)
        weights = shared(logits, ids != PADDING)[0] if given is None else given
        return torch.einsum("bt,bts->bs", weights, said)


def learn_guided(
    rows: int,
    sides: int,
    training: Read,
    held_out: Read,
    codes: tuple[NDArray[np.intp], NDArray[np.intp]],
    given: tuple[Floats, Floats] | None,
    seed: int,
) -> Guided:
    """Train by log loss, and keep the epoch in which it is lowest on held-out texts.

    Parameters
    ----------
    codes
        The class of each text of either part.
    given
        Weights, (units,) of either part; None to learn them.
    """
    torch.manual_seed(seed)
    network = Guided(rows, sides)
    labels = [torch.from_numpy(each) for each in codes]
    even = torch.ones(max(2, sides))

    def loss(batch: NDArray[np.intp]) -> Tensor:
        weights = None if given is None else spread(given[0], training.tokens, batch)
        scores = network(padded(training.tokens, batch), weights)
        return loss_of(scores, labels[0][torch.from_numpy(batch)], even)

    def judge() -> float:
        chances = reread(network, held_out.tokens, None if given is None else given[1])[1]
        return float(F.nll_loss(torch.from_numpy(np.log(np.maximum(chances, 1e-300))), labels[1]))

    fit(
        network,
        training.lengths,
        loss,
        judge,
        torch.optim.Adagrad(network.parameters(), _STEP),
        epochs=_EPOCHS,
        patience=_PATIENCE,
        batch_size=_BATCH,
        seed=seed,
    )
    return network


def guided(
    context: Context,
    model: Model,
    texts: Sequence[str],
    labels: NDArray[Any],
    adversary: Mapping[str, Floats],
    n_threads: int | None,
) -> Result:
    """Impose equal weights, those of the model, the same shuffled, those of an adversary; and let it learn its own.

    Parameters
    ----------
    texts, labels
        Those of the training; up to 5,000 are learned from.
    adversary
        Its weights for "training", "held out" and "test".
    """
    if context.labels is None:
        return Result("guided", _TITLE, "", "", _REMOVAL, "", skipped="the labels of the texts were not given")
    began = time.perf_counter()
    source = ModelSource(model, n_threads=n_threads)
    training, held_out = sampled(source, texts)
    test = read(source, context.texts)
    places = np.searchsorted(model.classes, labels)
    codes = places[training.places], places[held_out.places]
    parts = {"training": training, "held out": held_out, "test": test}
    truth = np.asarray(context.labels)[test.places]
    known = truth >= 0
    imposed: dict[str, dict[str, Floats] | None] = {
        "equal": {name: _equal(part) for name, part in parts.items()},
        "its own": None,
        "the model's": {name: part.weights for name, part in parts.items()},
        "the model's, shuffled": {name: _shuffled(part, context.seed) for name, part in parts.items()},
        "the adversary's": dict(adversary),
    }
    measures, right, f1 = [], {}, {}
    for name, weights in imposed.items():
        with undisturbed(1, torch.device("cpu")):
            given = None if weights is None else (weights["training"], weights["held out"])
            network = learn_guided(len(model.word_table), model.sides, training, held_out, codes, given, context.seed)
            chances = reread(network, test.tokens, None if weights is None else weights["test"])[1]
        said = chances.argmax(axis=1)
        right[name] = np.full(len(context.texts), np.nan)
        right[name][test.places] = np.where(known, (said == truth).astype(np.float64), np.nan)
        f1[name] = float(f1_score(truth[known], said[known], average="macro")) if known.any() else 0.0
        measures.append(context.measure(f"accuracy: {name}", right[name]))
        measures.append(Measure(f"macro-F1: {name}", f1[name], documents=int(known.sum())))
    room = f1["its own"] - f1["equal"]
    gain = (f1["the model's"] - f1["equal"]) / room if abs(room) >= _LEAST else None
    measures.append(Measure("gain", gain))
    comparisons = tuple(
        context.compare("accuracy", "the model's", other, (right["the model's"], right[other]))
        for other in ("equal", "the model's, shuffled", "the adversary's")
    )
    return Result(
        "guided",
        _TITLE,
        "a network of single units, score = W'(Σ g h) + b with h = tanh(M e + m), is trained and tested with weights "
        "g imposed on it: equal ones, the model's, the same at random places of the text, an adversary's; and with its "
        "own. gain = (F1 of the model's - F1 of equal) / (F1 of its own - F1 of equal), undefined where those differ "
        f"by less than {_LEAST:g}",
        "higher is better: the model's weights should serve it better than equal, shuffled and the adversary's do",
        _REMOVAL,
        "accuracy; macro-F1",
        tuple(measures),
        comparisons,
        notes=(
            f"One seed each; learned from {len(training):,} training texts, the epoch chosen by {len(held_out):,} "
            "others. The control is one shuffle of every text, not twenty rankings: each would be a training.",
        ),
        exact=False,
        seconds=time.perf_counter() - began,
        evaluations=len(training) + len(held_out) + len(imposed) * len(test),
    )


_REMOVAL = "nothing is removed; a network is trained with weights imposed"


def _equal(read: Read) -> Floats:
    return np.repeat(1.0 / read.lengths, read.lengths)


def _shuffled(read: Read, seed: int) -> Floats:
    """The weights of each text in random order."""
    generator = np.random.default_rng([seed, 9])
    order = np.lexsort((generator.random(len(read.logits)), np.repeat(np.arange(len(read)), read.lengths)))
    return read.weights[order]
