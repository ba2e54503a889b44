"""The trainings behind the hardmax transformers: one cell, one training."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.attention.hardmax import run
from regard.explain import leader_statistics, leaders
from regard.models import HardmaxClassifier, HardmaxModel
from regard.reproduce.data import DataSet, Part
from regard.reproduce.data import load as load_set
from regard.reproduce.sweep import Cell

LONGEST = 128  # words of a review, in the paper
LAYERS, TEMPERATURE = 8, 0.001
_BATCH = 64
_QUICK = 300  # texts of each class
# Words that the paper's preparation leaves out, as NLTK lists them; it compares them with their case.
_STOP_WORDS = (
    "i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his "
    "himself she she's her hers herself it it's its itself they them their theirs themselves what which who whom this "
    "that that'll these those am is are was were be been being have has had having do does did doing a an the and but "
    "if or because as until while of at by for with about against between into through during before after above below "
    "to from up down in out on off over under again further then once here there when where why how all any both each "
    "few more most other some such no nor not only own same so than too very s t can will just don don't should "
    "should've now d ll m o re ve y ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't "
    "haven haven't isn isn't ma mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't "
    "weren weren't won won't wouldn wouldn't"
)
_STOP = frozenset(_STOP_WORDS.split())


def prepared(text: str, longest: int = LONGEST) -> str:
    """A review as the paper prepares it, but for lemmas: without links, tags, signs and stop words, then its beginning.

    Examples
    --------
    >>> prepared("This is sooooo good!<br />See http://a.b")
    'This soo good See'
    """
    text = re.sub(r"https?://\S+|www\.\S+|<[^>]*>|[^A-Za-z<>]", " ", text)
    text = re.sub(r"([A-Za-z])\1{2,}", r"\1\1", text.replace("<", " ").replace(">", " "))
    return " ".join([word for word in text.split() if word not in _STOP][:longest])


@cache
def protocol(name: str, quick: bool) -> DataSet:
    """IMDB in the paper's protocol (70/30 of all, 128 words; our own order), or in its official split, whole."""
    found = load_set("imdb-official")
    if name == "paper":
        texts = [prepared(text) for text in [*found.train.texts, *found.test.texts]]
        labels = np.concatenate([found.train.labels, found.test.labels])
        order = np.random.default_rng(0).permutation(len(texts))
        first = round(0.7 * len(order))
        train, test = (Part([texts[i] for i in which], labels[which]) for which in (order[:first], order[first:]))
        found = DataSet("imdb-hardmax", "IMDB, 70/30, 128 words", train, found.dev, test, found.files)
    return replace(found, train=found.train.first(_QUICK), test=found.test.first(_QUICK)) if quick else found


def cell(name: str, d: int, seed: int = 0, *, quick: bool = False, **more: Any) -> Cell:
    """What one training is given; everything that its result depends on."""
    return {"protocol": name, "dim": d, "seed": seed, "quick": quick, "settings": more}


def fitted(cell: Cell) -> tuple[DataSet, HardmaxClassifier]:
    """The training itself."""
    data = protocol(cell["protocol"], cell["quick"])
    model = HardmaxClassifier(dim=cell["dim"], random_state=cell["seed"], n_threads=1, **cell["settings"])
    return data, model.fit(data.train.texts, data.train.labels)


def accuracy(cell: Cell) -> dict[str, Any]:
    """Accuracy on the test part, which nothing was chosen on."""
    data, model = fitted(cell)
    assert model.validation_ is not None, "a share was held out"
    return {
        "dev": model.validation_["accuracy"],
        "test": float(model.score(data.test.texts, data.test.labels)),
        "epoch": model.n_iter_,
        "alpha": model.model_.alpha,
    }


def leading(cell: Cell) -> dict[str, Any]:
    """Who leads in test reviews that are predicted rightly and with confidence."""
    data, model = fitted(cell)
    every = leader_statistics(model, data.test.texts)
    sure = leader_statistics(model, data.test.texts, data.test.labels, confidence=0.95)
    side = model.decision_function(data.test.texts) > 0
    shown = {}
    for name, of in (("positive", True), ("negative", False)):
        chosen = [text for text, here in zip(data.test.texts, side, strict=True) if here == of]
        truth = data.test.labels[side == of]
        found = leader_statistics(model, chosen, truth, confidence=0.95)
        shown[name] = found.words.filter(found.words["kind"] == name).head(15).to_dicts()
    return {
        "test": float(model.score(data.test.texts, data.test.labels)),
        "alpha": model.model_.alpha,
        "texts": [every.texts, sure.texts],
        "number": every.number,
        "first": every.first,
        "polar": sure.polar,
        "kinds": sure.kinds.to_dicts(),
        "words": shown,
    }


def reviews(cell: Cell) -> dict[str, Any]:
    """A positive and a negative test review of moderate length, predicted rightly, through the layers."""
    data, model = fitted(cell)
    scores = model.decision_function(data.test.texts)
    found = {}
    for name, label in (("positive", 1), ("negative", 0)):
        places = [
            i
            for i, text in enumerate(data.test.texts)
            if data.test.labels[i] == label and 20 <= len(text.split()) <= 45 and (scores[i] > 0) == label
        ]
        places.sort(key=lambda i: -abs(scores[i]))
        text = data.test.texts[places[len(places) // 4]]
        found[name] = {"text": text, **leaders(model, text).to_dict()}
    return {"alpha": model.model_.alpha, "reviews": found}


# -- the softmax that stands in for it -----------------------------------------------------------------------------


class SoftmaxTransformer(nn.Module):
    """The published model: hardmax softened, padded to 128 words, every place attending and averaged.

    x[i] ← (x[i] + α Σⱼ softmax(x[i]·x[j] / τ)[j] x[j]) / (1 + α),   score = bias + W' (mean of x)
    """

    def __init__(self, words: int, d: int, layers: int = LAYERS, temperature: float = TEMPERATURE) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words + 1, d)
        self.output = nn.Linear(d, 1)
        self.alpha = nn.Parameter(torch.rand(()))
        self.layers, self.temperature = layers, temperature

    def forward(self, ids: Tensor) -> Tensor:
        """Scores (texts,) of ids (texts, places)."""
        x = self.embedding(ids)
        alpha = self.alpha.clamp(min=0)
        for _ in range(self.layers):
            weights = torch.softmax(x @ x.mT / self.temperature, dim=-1)
            x = (x + alpha * (weights @ x)) / (1 + alpha)
        scores: Tensor = self.output(x.mean(dim=1))[:, 0]
        return scores


def padded_ids(rows: Sequence[NDArray[np.int32]], padding: int) -> Tensor:
    """Texts as one tensor of 128 places."""
    ids = np.full((len(rows), LONGEST), padding, np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row[:LONGEST]
    return torch.from_numpy(ids)


def train_softmax(
    model: SoftmaxTransformer, optimizer: torch.optim.Optimizer, ids: Tensor, labels: Tensor, seed: int
) -> None:
    """One epoch, as published: batches of 64, gradients of length 5 at most."""
    generator = torch.Generator().manual_seed(seed)
    for batch in torch.randperm(len(ids), generator=generator).split(_BATCH):  # type: ignore[no-untyped-call]
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids[batch]), labels[batch])
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()


def losses(cell: Cell) -> dict[str, Any]:
    """The training loss by epoch: of the softmax, of the hardmax read off it, and of the hardmax trained itself."""
    data = protocol(cell["protocol"], cell["quick"])
    size, d = cell["texts"], cell["dim"]
    texts, labels = data.train.texts[:size], data.train.labels[:size]
    course: list[dict[str, float]] = []

    def watch(epoch: int, model: HardmaxModel) -> None:
        course.append({"epoch": epoch, "hardmax, trained itself": _loss(model.scores(texts, 1)[:, 0], labels)})

    ours = HardmaxClassifier(
        dim=d, epochs=cell["epochs"], random_state=cell["seed"], min_count=1, validation_fraction=0, n_threads=1
    ).fit(texts, labels, watch=watch)
    vocabulary = ours.model_.vocabulary
    tokens = vocabulary.tokens(texts, 1)
    ids = padded_ids([tokens[i] for i in range(len(texts))], len(vocabulary))
    truth = torch.from_numpy(labels.astype(np.float32))
    torch.manual_seed(cell["seed"])
    soft = SoftmaxTransformer(len(vocabulary), d)
    adam = torch.optim.Adam(soft.parameters(), lr=0.001)
    for epoch in range(cell["epochs"] + 1):
        if epoch:
            train_softmax(soft, adam, ids, truth, cell["seed"] + epoch)
        with torch.inference_mode():
            scores = torch.cat([soft(part) for part in torch.split(ids, 256)]).double().numpy()
        course[epoch]["softmax"] = _loss(scores, labels)
        course[epoch]["hardmax, read off the softmax"] = _loss(_read_off(soft, ids), labels)
    return {"course": course, "alpha": [float(soft.alpha.detach()), ours.model_.alpha]}


def _read_off(soft: SoftmaxTransformer, ids: Tensor) -> NDArray[np.float64]:
    """Scores of the hardmax with the softmax's embeddings, its padding included."""
    embedding = soft.embedding.weight.detach().double().numpy()
    flat = ids.numpy().ravel()
    alpha = max(float(soft.alpha.detach()), 1e-12)
    starts = np.arange(len(ids) + 1) * ids.shape[1]
    final = run(embedding[flat], soft.layers, alpha, starts=starts).points.reshape(len(ids), ids.shape[1], -1)
    weight, bias = soft.output.weight.detach().double().numpy()[0], float(soft.output.bias.detach())
    return np.asarray(final.mean(axis=1) @ weight + bias)


def _loss(scores: NDArray[np.float64], labels: NDArray[Any]) -> float:
    return float(np.logaddexp(0, np.where(labels == 1, -scores, scores)).mean())
