"""A whole model, trained from scratch to decide as the audited one does while it attends elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from torch import Tensor, nn

from regard.audit import kernels
from regard.audit.inspection import Context
from regard.audit.learning import Read, TableNetwork, chances_of, fit, read, reread, sampled, shared, spread
from regard.audit.linear import ModelSource
from regard.audit.result import Measure, Result
from regard.audit.source import Floats
from regard.models.model import Model
from regard.models.network import PADDING, AttentionNetwork
from regard.models.neural import NeuralModel, padded
from regard.models.neural_training import undisturbed

PRICES = (0.0, 0.01, 0.05)
IMPOSED = 0.05  # λ of the adversary whose weights the guided test imposes
_AGREES, _AS_GOOD = 0.05, 0.01  # mean TVD, and loss of macro-F1, up to which a model decides alike
_EPOCHS, _PATIENCE, _BATCH = 20, 3, 50
_TABLE_STEP, _NETWORK_STEP = 0.5, 0.003


@dataclass(frozen=True)
class Adversary:
    """What came of one price.

    Attributes
    ----------
    price : float
        λ.
    network : module
        In evaluation mode.
    course : list of float
        The objective on held-out texts, by epoch.
    """

    price: float
    network: Any
    course: list[float]


def objective(
    logits: Tensor, said: Tensor, keep: Tensor, base_logits: Tensor, base_chances: Tensor, price: float
) -> Tensor:
    """Per text, TVD(p', p) − λ KL(α' ‖ α): (texts,).

    Parameters
    ----------
    logits, said, keep
        Of the adversary: (texts, T), (texts, T, sides), and where a unit stands. Places without one are dropped before
        the divergence, in which they would be 0 · log 0.
    base_logits : (texts, T)
        Of the audited model's attention.
    base_chances : (texts, classes)
        What it says.
    price : float
        λ.
    """
    weights, logs = shared(logits, keep)
    base_logs = shared(base_logits, keep)[1]
    chances = chances_of(torch.einsum("bt,bts->bs", weights, said))
    tvd = (chances - base_chances).abs().sum(1) / 2
    return tvd - price * (weights * (logs - base_logs)).sum(1)


def learn_adversary(
    network: nn.Module,
    training: Read,
    held_out: Read,
    price: float,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    patience: int,
    batch_size: int,
    seed: int,
) -> Adversary:
    """Train with ``objective`` and keep the epoch in which it is lowest on held-out texts.

    Its mean is over texts, whatever the size of a batch, and labels play no part.

    Parameters
    ----------
    network
        An untrained module that ``Attends``; is changed.
    training, held_out
        As the audited model reads them.
    """
    attends: Any = network

    def of(read: Read, documents: NDArray[np.intp]) -> Tensor:
        ids = padded(read.tokens, documents)
        logits, said = attends.attended(ids)
        base = spread(read.logits, read.tokens, documents)
        chances = torch.from_numpy(read.chances[documents]).float()
        return objective(logits, said, ids != PADDING, base, chances, price)

    def judge() -> float:
        weights, chances = reread(attends, held_out.tokens)
        apart = np.abs(chances - held_out.chances).sum(axis=1) / 2
        return float(np.mean(apart - price * divergence(weights, held_out)))

    course = fit(
        network,
        training.lengths,
        lambda batch: of(training, batch).mean(),
        judge,
        optimizer,
        epochs=epochs,
        patience=patience,
        batch_size=batch_size,
        seed=seed,
    )
    return Adversary(price, network, course)


def divergence(weights: Floats, base: Read) -> Floats:
    """KL(α' ‖ α) of each document, 0 · log 0 being 0: (documents,)."""
    starts = base.tokens.starts
    lengths = base.lengths
    top = np.repeat(np.maximum.reduceat(base.logits, starts[:-1]), lengths)
    total = np.log(np.add.reduceat(np.exp(base.logits - top), starts[:-1]))
    logs = base.logits - top - np.repeat(total, lengths)
    own = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
    return np.asarray(np.add.reduceat(weights * (own - logs), starts[:-1]))


def apart(adversary: Adversary, base: Read) -> tuple[Floats, Floats, Floats]:
    """TVD of the decisions and JSD of the attentions, (documents,) each, and the adversary's probabilities."""
    weights, chances = reread(adversary.network, base.tokens)
    jsd = np.empty(len(base))
    kernels.divergence(weights, base.weights, base.tokens.starts, 0, len(base), jsd)
    return np.abs(chances - base.chances).sum(axis=1) / 2, jsd, chances


# -- as a test -----------------------------------------------------------------------------------------------------


class _Network(nn.Module):
    """A network of regard's own, untrained."""

    def __init__(self, model: NeuralModel) -> None:
        super().__init__()
        self.network = AttentionNetwork(model.network.shape)

    def attended(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Its words in their places."""
        h, found = self.network.attend(ids)
        assert found.scores is not None, "scores come with the weights"
        return found.scores, self.network.read(h)


def untrained(model: Model) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A model of the same design, and what moves it."""
    if isinstance(model, NeuralModel):
        network: nn.Module = _Network(model)
        return network, torch.optim.Adam(network.parameters(), _NETWORK_STEP)
    network = TableNetwork(len(model.word_table), model.sides)
    return network, torch.optim.Adagrad(network.parameters(), _TABLE_STEP)


def trained_adversary(
    context: Context, model: Model, texts: Sequence[str], n_threads: int | None
) -> tuple[Result, dict[str, Floats]]:
    """Train at every price; also the weights of one adversary for the guided test, by part.

    Parameters
    ----------
    texts
        Those of the training; up to 5,000 of them are learned from.
    """
    began = time.perf_counter()
    source = ModelSource(model, n_threads=n_threads)
    training, held_out = sampled(source, texts)
    test = read(source, context.texts)
    truth = None if context.labels is None else np.asarray(context.labels)
    measures: list[Measure] = []
    if truth is not None:
        measures += _quality(context, "the model", test.chances, truth, test)
    agreeing: list[float] = []
    weights: dict[str, Floats] = {}
    for price in PRICES:
        with undisturbed(1, torch.device("cpu")):
            torch.manual_seed(context.seed)
            network, optimizer = untrained(model)
            found = learn_adversary(
                network,
                training,
                held_out,
                price,
                optimizer,
                epochs=_EPOCHS,
                patience=_PATIENCE,
                batch_size=_BATCH,
                seed=context.seed,
            )
            moved, far, chances = apart(found, test)
            if price == IMPOSED:
                parts = {"training": training, "held out": held_out, "test": test}
                weights = {name: reread(found.network, part.tokens)[0] for name, part in parts.items()}
        name = f"λ = {price:g}"
        measures.append(context.measure(f"TVD of the decisions: {name}", _of_all(context, moved, test)))
        measures.append(context.measure(f"JSD of the attention: {name}", _of_all(context, far, test)))
        lost = 0.0
        if truth is not None:
            quality = _quality(context, name, chances, truth, test)
            lost = (measures[1].value or 0.0) - (quality[1].value or 0.0)
            measures += quality
        if moved.mean() <= _AGREES and lost <= _AS_GOOD:
            agreeing.append(float(far.mean()))
    measures.append(Measure("largest mean JSD that decides alike", max(agreeing) if agreeing else None))
    result = Result(
        "trained adversary",
        "Can another model decide alike and attend elsewhere?",
        "a model of the same design is trained from scratch to lower the mean over texts of TVD(p', p) - λ KL(w' ‖ w), "
        "without labels, for a sweep of λ; on the audited texts, the mean TVD of the decisions and the mean JSD of the "
        f"attentions; decides alike: mean TVD at most {_AGREES:g} and macro-F1 at most {_AS_GOOD:g} lower",
        "lower JSD at a low TVD is better, beside the divergence between seeds: another model that says the same for "
        "other reasons takes nothing from this one's, but such a map was not forced by the data",
        "nothing is removed; models are trained anew",
        "probability; nats, at most ln 2 = 0.693; accuracy",
        tuple(measures),
        notes=(
            f"One seed a price; learned from {len(training):,} training texts, the epoch chosen by {len(held_out):,} "
            "others. Places without a unit are dropped before any divergence.",
        ),
        exact=False,
        seconds=time.perf_counter() - began,
        evaluations=len(training) + len(held_out) + (1 + len(PRICES)) * len(test),
    )
    return result, weights


def _of_all(context: Context, values: Floats, read: Read) -> Floats:
    """Of every text, NaN where it has no unit."""
    out = np.full(len(context.texts), np.nan)
    out[read.places] = values
    return out


def _quality(context: Context, name: str, chances: Floats, truth: NDArray[Any], read: Read) -> list[Measure]:
    """Accuracy with its interval, and macro-F1, on the texts that have a unit and a known label."""
    known = truth[read.places]
    said = chances.argmax(axis=1)
    right = np.where(known >= 0, (said == known).astype(np.float64), np.nan)
    of = known >= 0
    value = float(f1_score(known[of], said[of], average="macro")) if of.any() else None
    return [
        context.measure(f"accuracy: {name}", _of_all(context, right, read)),
        Measure(f"macro-F1: {name}", value, documents=int(of.sum())),
    ]
