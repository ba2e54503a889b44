"""The networks of three papers on attention as explanation: embeddings, an encoder, one attention, one linear output.

Jain and Wallace (2019), Serrano and Smith (2019), and Wiegreffe and Pinter (2019) all ask questions of this network, so
it is defined and trained here once. Whatever the encoder, the score is linear in what is attended to: one reading of
the texts gives a ``LinearBatch``, of which the audit's exact tests can be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.audit.linear import LinearBatch
from regard.errors import SettingError
from regard.models.network import PADDING, ConvEncoder, GruEncoder, LstmEncoder, Shape, thinned
from regard.models.neural import drop_unknown, padded
from regard.models.neural_training import Documents, batches, undisturbed
from regard.models.progress import Report, silent
from regard.nn.pool import PoolAttention
from regard.reproduce.data import DataSet, Part, load
from regard.tokens import Tokens, Vocabulary

Floats = NDArray[np.float64]
Encoder = Literal["none", "average", "lstm", "gru", "cnn"]
_AT_ONCE = 1 << 14  # padded tokens that are read at a time
# By data set: how often a word must occur, and the lengths in tokens between which a text must lie (both left out).
LIMITS = {"sst": (1, 5, np.inf), "imdb": (10, 6, np.inf), "20news1": (2, 6, 500)}


@dataclass(frozen=True)
class Design:
    """What a network is made of.

    Attributes
    ----------
    encoder
        h = e; h = tanh(M e + m), which its paper calls "average"; an LSTM or gated recurrent units, both ways;
        convolutions of ``widths``.
    score
        a = q·tanh(A h + c), or q·h / √hidden.
    hidden : int
        The size of h.
    inner : int
        The size of q where the score is "tanh".
    widths : tuple of int
    dim : int
        The size of e.
    dropout : float
        On e and on what is attended to, in training.
    """

    encoder: Encoder
    score: Literal["tanh", "dot"]
    hidden: int
    inner: int
    widths: tuple[int, ...] = ()
    dim: int = 100
    dropout: float = 0.0

    @property
    def shape(self) -> Shape:
        """The same for the encoders of ``regard.models``."""
        return Shape(0, 1, self.dim, self.hidden, "none", True, self.widths, "dot", 1.0, 0.0)

    @property
    def contextual(self) -> bool:
        """Whether a word is read among its neighbours."""
        return self.encoder in ("lstm", "gru", "cnn")


# Jain and Wallace (2019) and Wiegreffe and Pinter (2019), by encoder; the latter use "lstm" and, as a diagnostic of
# single words, "average".
JAIN: dict[str, Design] = {
    "average": Design("average", "tanh", 128, 64),
    "lstm": Design("lstm", "tanh", 256, 128),
    "cnn": Design("cnn", "tanh", 128, 64, (1, 3, 5, 7)),
}
# The flat networks of Serrano and Smith (2019), by encoder.
FLAN: dict[str, Design] = {
    "none": Design("none", "tanh", 100, 100, dropout=0.5),
    "rnn": Design("gru", "tanh", 100, 100, dropout=0.5),
    "conv": Design("cnn", "tanh", 100, 100, (3, 5), dropout=0.5),
}


@dataclass(frozen=True)
class Recipe:
    """How it is trained: Adam (amsgrad), like-length batches, the epoch that serves the dev part best.

    Attributes
    ----------
    epochs : int
        At most.
    patience : int
        Stop after so many that did not serve the dev part better.
    batch_size : int
    learning_rate : float
    decay : float
        Of the encoder's and the output's weights.
    choose : "auc" or "accuracy"
        What the epoch is chosen by.
    """

    epochs: int = 8
    patience: int = 3
    batch_size: int = 32
    learning_rate: float = 0.001
    decay: float = 1e-5
    choose: Literal["auc", "accuracy"] = "auc"


# -- texts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """A data set as known words, in its roles.

    Attributes
    ----------
    data : DataSet
    vocabulary : Vocabulary
        Words of the train part.
    train, dev, test : Documents
        Each document with one known word at least; words outside the vocabulary are left out.
    """

    data: DataSet
    vocabulary: Vocabulary
    train: Documents
    dev: Documents
    test: Documents

    def part(self, name: str) -> Documents:
        """One of the three."""
        found: Documents = getattr(self, name)
        return found


@cache
def prepare(name: str, texts: int | None = None) -> Prepared:
    """Read and tokenise a data set once; ``texts`` of each class and role at most."""
    data = load(name)
    data = data.smaller(texts) if texts else data
    parts = {role: _within(getattr(data, role), name) for role in ("train", "dev", "test")}
    vocabulary, _ = Vocabulary.learn(parts["train"].texts, ngrams=1, min_count=LIMITS.get(name, (1, 0, 0))[0])
    classes = np.unique(data.train.labels)
    if len(classes) != 2:
        raise SettingError(f"These networks tell two classes apart; {name} has {len(classes)}.")
    known = {role: _documents(vocabulary, part, np.searchsorted(classes, part.labels)) for role, part in parts.items()}
    kept = replace(data, train=parts["train"], dev=parts["dev"], test=parts["test"])
    return Prepared(kept, vocabulary, known["train"], known["dev"], known["test"])


def _within(part: Part, name: str) -> Part:
    """The texts of the lengths that the papers keep."""
    from regard.tokens import tokenize

    _, above, below = LIMITS.get(name, (1, 0, np.inf))
    kept = np.array([above < len(tokenize(text)) < below for text in part.texts])
    return Part([text for text, keep in zip(part.texts, kept, strict=True) if keep], part.labels[kept])


def _documents(vocabulary: Vocabulary, part: Part, codes: NDArray[np.intp]) -> Documents:
    tokens = drop_unknown(vocabulary.tokens(part.texts))
    spoken = np.diff(tokens.starts) > 0
    return Documents(Tokens(tokens.ids, np.append(0, np.cumsum(np.diff(tokens.starts)[spoken]))), codes[spoken])


def uniform(documents: Documents) -> Floats:
    """Equal weights: (units,)."""
    lengths = np.diff(documents.tokens.starts)
    return np.repeat(1.0 / lengths, lengths)


# -- the network ---------------------------------------------------------------------------------------------------


class PooledNetwork(nn.Module):
    """h = encoder(e),  a = softmax(u·q / λ),  score = W'(Σⱼ a[j] h[j]) + b,   u = tanh(A h + c), or h with λ = √|h|.

    Parameters
    ----------
    words : int
        How many have an embedding.
    design : Design
    """

    def __init__(self, words: int, design: Design) -> None:
        super().__init__()
        self.design = design
        self.embedding = nn.Embedding(words, design.dim)
        self.encoder = _ENCODERS[design.encoder](design.shape)
        if design.score == "tanh":
            self.attention = PoolAttention(design.hidden, design.inner)
        else:
            self.attention = PoolAttention(design.hidden, score="dot", scale=design.hidden**0.5)
        self.output = nn.Linear(design.hidden, 1)
        nn.init.normal_(self.embedding.weight, std=0.1)

    def embed(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """``e`` (texts, T, dim), zero where there is no word, and where there is one (texts, T)."""
        keep = ids != PADDING
        return self.embedding(ids.clamp_min(0)) * keep[..., None], keep

    def encode(self, e: Tensor, keep: Tensor) -> Tensor:
        """``h`` (texts, T, hidden)."""
        h: Tensor = self.encoder(self._thinned(e), keep)
        return h

    def attend(self, h: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and weights of the attention (texts, T); a logit of -inf where there is no word."""
        found = self.attention(h, mask=keep)
        assert found.scores is not None, "scores come with the weights"
        assert found.weights is not None, "they were asked for"
        return found.scores.masked_fill(~keep, -torch.inf), found.weights

    def read(self, h: Tensor, weights: Tensor) -> Tensor:
        """The score of each text: (texts,)."""
        context = torch.einsum("bt,bth->bh", weights, h)
        score: Tensor = self.output(self._thinned(context))[:, 0]
        return score

    def forward(self, ids: Tensor, given: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scores (texts,) and weights (texts, T).

        Parameters
        ----------
        ids : (texts, T)
            Filled up with ``PADDING``; every text has one word at least.
        given : (texts, T), optional
            Weights to use in place of those of the attention.
        """
        e, keep = self.embed(ids)
        h = self.encode(e, keep)
        weights = self.attend(h, keep)[1] if given is None else given
        return self.read(h, weights), weights

    def _thinned(self, x: Tensor) -> Tensor:
        return thinned(x, self.design.dropout) if self.training and self.design.dropout else x


class _Alone(nn.Module):
    """h = e."""

    def __init__(self, shape: Shape) -> None:  # noqa: ARG002 - all encoders are made alike
        super().__init__()

    def forward(self, e: Tensor, keep: Tensor) -> Tensor:  # noqa: ARG002 - and called alike
        return e


class _Tanh(nn.Module):
    """h = tanh(M e + m)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.linear = nn.Linear(shape.dim, shape.hidden)

    def forward(self, e: Tensor, keep: Tensor) -> Tensor:  # noqa: ARG002 - all encoders are called alike
        return torch.tanh(self.linear(e))


_ENCODERS: dict[str, type[nn.Module]] = {
    "none": _Alone,
    "average": _Tanh,
    "lstm": LstmEncoder,
    "gru": GruEncoder,
    "cnn": ConvEncoder,
}


# -- reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What a network makes of documents: unit ``j`` of document ``d`` is ``starts[d] + j``.

    Attributes
    ----------
    starts : (documents + 1,)
    attention, weights : (units,)
        Logits, and shares of the attention. With given weights the logits are their logarithms.
    said : (units,)
        W' h + b: the score of a document is the weighted sum of these.
    rows : (units,)
        Of the vocabulary.
    """

    starts: NDArray[np.int64]
    attention: Floats
    weights: Floats
    said: Floats
    rows: NDArray[np.int32]
    bias: float

    @property
    def scores(self) -> Floats:
        """The score of each document: (documents,)."""
        return np.asarray(np.add.reduceat(self.weights * self.said, self.starts[:-1]))

    @property
    def chances(self) -> Floats:
        """The probability of the second class: (documents,)."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.scores)))

    @property
    def largest(self) -> Floats:
        """The largest weight of each document."""
        return np.asarray(np.maximum.reduceat(self.weights, self.starts[:-1]))

    def batch(self) -> LinearBatch:
        """For the tests of the audit."""
        units = np.arange(len(self.rows))
        polarity = (self.said - self.bias)[:, None]
        return LinearBatch(0, self.starts, units, self.attention, polarity, np.array([self.bias]), self.rows)


def read(network: PooledNetwork, documents: Documents, given: Floats | None = None) -> Reading:
    """Read documents, under the network's own attention or under given weights (units,)."""
    tokens = documents.tokens
    attention, weights, said = (np.empty(len(tokens.ids)) for _ in range(3))
    for _, ids, places in runs(tokens):
        with torch.inference_mode():
            e, keep = network.embed(ids)
            h = network.encode(e, keep)
            logits = network.attend(h, keep)[0].double()
            own = torch.softmax(logits, -1)
            says = h.double() @ network.output.weight[0].double()
        real = keep.numpy()
        units = places[real]
        if given is None:
            attention[units], weights[units] = logits.numpy()[real], own.numpy()[real]
        said[units] = says.numpy()[real]

    bias = float(network.output.bias[0].detach())
    if given is not None:
        with np.errstate(divide="ignore"):
            attention, weights = np.log(given), given
    return Reading(tokens.starts, attention, weights, said + bias, tokens.ids, bias)


def runs(tokens: Tokens) -> Iterator[tuple[NDArray[np.intp], Tensor, NDArray[np.int64]]]:
    """Documents of like length together: which, their words (documents, T), and the unit of each place."""
    lengths = np.diff(tokens.starts)
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= _AT_ONCE:
            stop += 1
        batch = order[start:stop]
        places = tokens.starts[batch][:, None] + np.arange(lengths[batch].max())
        yield batch, padded(tokens, batch), places
        start = stop


def padded_weights(weights: Floats, tokens: Tokens, documents: NDArray[np.intp]) -> Tensor:
    """The weights (units,) of some documents as ``padded`` lays them out: (documents, longest)."""
    starts, ends = tokens.starts[documents], tokens.starts[documents + 1]
    place = np.arange((ends - starts).max())
    real = place < (ends - starts)[:, None]
    found = np.zeros(real.shape, np.float32)
    found[real] = weights[(starts[:, None] + place)[real]]
    return torch.from_numpy(found)


# -- training ------------------------------------------------------------------------------------------------------

# What training lowers: a function of scores (texts,), weights (texts, T), and the documents of the batch.
Objective = Callable[[Tensor, Tensor, NDArray[np.intp]], Tensor]


@dataclass(frozen=True)
class Trained:
    """A network as training left it, at the epoch that served the dev part best.

    Attributes
    ----------
    network : PooledNetwork
        In evaluation mode.
    epoch : int
        Counted from 1.
    course : list of dict
        Loss, and area under the curve and accuracy on the dev part, by epoch.
    """

    network: PooledNetwork
    epoch: int
    course: list[dict[str, float]] = field(default_factory=list)

    @property
    def dev(self) -> dict[str, float]:
        """At the epoch kept."""
        return self.course[self.epoch - 1]


def train(
    prepared: Prepared,
    design: Design,
    seed: int,
    *,
    recipe: Recipe | None = None,
    given: Mapping[str, Floats] | None = None,
    objective: Objective | None = None,
    report: Report = silent,
) -> Trained:
    """Train on the train part, and keep the epoch that serves the dev part best.

        loss = mean over the texts of a batch of weight[label] · (− log P(label)),   weight[1] / weight[0] = n₀ / n₁

    Parameters
    ----------
    given
        Weights to use in place of learned attention, (units,) for each of "train" and "dev": ``uniform``, or those of
        another network.
    objective
        What to lower in place of the loss.
    """
    recipe = recipe or Recipe()
    training = prepared.train
    codes = torch.from_numpy(training.codes)
    shares = np.bincount(training.codes, minlength=2)
    balance = torch.tensor(shares[0] / shares[1], dtype=torch.float32)

    def log_loss(scores: Tensor, weights: Tensor, documents: NDArray[np.intp]) -> Tensor:  # noqa: ARG001 - as all
        labels = codes[torch.from_numpy(documents)].float()
        return F.binary_cross_entropy_with_logits(scores, labels, pos_weight=balance)

    lower = objective or log_loss
    with undisturbed(1, torch.device("cpu")):
        torch.manual_seed(seed)
        network = PooledNetwork(len(prepared.vocabulary), design)
        decayed = [*network.encoder.parameters(), *network.output.parameters()]
        free = [*network.embedding.parameters(), *network.attention.parameters()]
        groups: list[dict[str, Any]] = [{"params": free}, {"params": decayed, "weight_decay": recipe.decay}]
        adam = torch.optim.Adam(groups, recipe.learning_rate, amsgrad=True, fused=True)
        course: list[dict[str, float]] = []
        best, kept, parameters = -np.inf, 0, network.state_dict()
        for epoch in range(1, recipe.epochs + 1):
            network.train()
            generator = np.random.default_rng([seed, epoch])
            total = 0.0
            for batch in batches(np.diff(training.tokens.starts), recipe.batch_size, generator):
                weights = None if given is None else padded_weights(given["train"], training.tokens, batch)
                scores, used = network(padded(training.tokens, batch), weights)
                loss = lower(scores, used, batch)
                adam.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step()
                total += float(loss.detach()) * len(batch)
            network.eval()
            found = measured(read(network, prepared.dev, None if given is None else given["dev"]), prepared.dev)
            course.append({"loss": total / len(training), **found})
            if found[recipe.choose] > best:
                best, kept = found[recipe.choose], epoch
                parameters = {name: tensor.clone() for name, tensor in network.state_dict().items()}
            report(f"Epoch {epoch}, {recipe.choose} {found[recipe.choose]:.4f}", epoch / recipe.epochs)
            if epoch - kept >= recipe.patience:
                break
        network.load_state_dict(parameters)
    if not kept:
        raise SettingError(f"Training left the range of numbers: lower the learning rate ({recipe.learning_rate}).")
    return Trained(network.requires_grad_(False), kept, course)


def measured(reading: Reading, documents: Documents) -> dict[str, float]:
    """Area under the curve, accuracy, and the F1 of the second class."""
    truth, said = documents.codes == 1, reading.scores > 0
    found: dict[str, Any] = {
        "auc": float(roc_auc_score(truth, reading.scores)),
        "accuracy": float((truth == said).mean()),
        "f1": float(2 * (truth & said).sum() / max(1, truth.sum() + said.sum())),
    }
    return found
