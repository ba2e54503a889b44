"""The trainings behind "Understanding Attention for Text Classification": one cell, one training."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from regard.explain import directions, weights_by_kind
from regard.explain.course import Course
from regard.explain.findings import area_under_curve
from regard.models import AttentionClassifier, NeuralAttentionClassifier
from regard.models.estimator import TextClassifier
from regard.models.kinds import kind_names, kinds_of
from regard.models.table import TableModel
from regard.reproduce.data import DataSet, load
from regard.reproduce.sweep import Cell
from regard.reproduce.synthetic import synthetic
from regard.tokens import tokenize

SCALES = (0.001, 1, 10, 20, 50, 100, 10_000)
# The paper's models, as settings. What it does not say was chosen on dev parts: how strong the penalty on squares is,
# the size of the LSTM (its published code has as many units each way as the embedding), and dropout of whole words.
NETWORKS: dict[str, dict[str, Any]] = {
    "DP": {},
    "DP-L": {"encoder": "lstm", "hidden": 200, "l2": 0.03, "word_dropout": 0.3},
    "DP-A": {"encoder": "affine", "l2": 0.01},
    "AD": {"score": "additive", "l2": 0.03},
}
CLOSED, TABLE = "DP, closed form", "table"
MODELS = (*NETWORKS, CLOSED, TABLE)
# Words of synthetic texts whose embeddings' dot products are followed.
PAIRS = (
    ("good0", "good1"),
    ("bad0", "bad1"),
    ("word0", "word1"),
    ("good0", "bad0"),
    ("good0", "word0"),
    ("bad0", "word0"),
)
_SPACES = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', " "))


def _by_spaces(text: str) -> list[str]:
    """Keras' words, which the papers' selection of IMDB was made with; apostrophes stay."""
    return text.lower().translate(_SPACES).split()


def _numbers_alike(text: str) -> list[str]:
    """Words cut at apostrophes too, marks as words, and one word for all that holds a digit, as Jain and Wallace do."""
    return ["qqq" if any(c.isdigit() for c in word) else word for word in re.findall(r"\w+|[^\w\s]", text.lower())]


# Ways to cut texts into words: the number of polar words depends on it.
CUTS: dict[str, Callable[[str], list[str]]] = {
    "regard": lambda text: [token.text for token in tokenize(text)],
    "spaces and marks (Keras)": _by_spaces,
    "apostrophes too, numbers as one": _numbers_alike,
}
_SAMPLE = 250  # words of a kind that a figure shows
_QUICK = 150  # texts of each class


def cell(data: str, model: str, scale: float, seed: int, *, quick: bool = False, **more: Any) -> Cell:
    """What one training is given; everything that its result depends on."""
    longest = {"epochs": 40, "patience": 10}
    if data.startswith("imdb"):
        longest = {"epochs": 15, "patience": 4}
    elif model == "DP-L":  # it is at its best after a few epochs
        longest = {"epochs": 25, "patience": 5}
    how = {"epochs": 3, "patience": 3} if quick else longest
    settings = {} if model == TABLE else {**NETWORKS.get(model, {}), **how}
    return {"data": data, "model": model, "scale": scale, "seed": seed, "quick": quick, "settings": settings, **more}


def train(cell: Cell) -> dict[str, Any]:
    """Train on the train part, choose the epoch on the dev part, measure on the test part."""
    data, fitted = _fitted(cell)
    table: TableModel = fitted.model_.word_table
    way = directions(fitted)
    assert fitted.validation_ is not None, "a dev part was given"
    return {
        "dev": fitted.validation_["accuracy"],
        "test": float(fitted.score(data.test.texts, data.test.labels)),
        "epoch": fitted.n_iter_,
        "V·W": way.dot.tolist(),
        "|V|": way.attention_norm,
        "|W|": way.output_norm.tolist(),
        "kinds": _kinds(table),
    }


def words(cell: Cell) -> dict[str, Any]:
    """The same training; a sample of the words of each kind, for figures, and the weights they get in test texts."""
    data, fitted = _fitted(cell)
    table: TableModel = fitted.model_.word_table
    codes, names = table.kind_codes(), table.kind_names()
    generator = np.random.default_rng(0)
    vocabulary = table.vocabulary.names()
    found = {}
    for code in range(1, len(names)):
        rows = np.flatnonzero(codes == code)
        chosen = np.sort(generator.permutation(rows)[:_SAMPLE])
        found[names[code]] = [
            [vocabulary[row], float(table.attention[row]), *table.polarity[row].astype(float).tolist()]
            for row in chosen
        ]
    shares = weights_by_kind(fitted, data.test.texts, 1)
    return {
        "test": float(fitted.score(data.test.texts, data.test.labels)),
        "kinds": _kinds(table),
        "words": found,
        "weights": shares.summary.to_dicts(),
    }


def counted(cell: Cell) -> dict[str, Any]:
    """How many words of each kind the train part has, by several ways to cut texts into words."""
    train = _data(cell["data"], cell["quick"]).train
    classes, codes = np.unique(train.labels, return_inverse=True)
    found = {}
    for way, cut in CUTS.items():
        rows: dict[str, int] = {}
        ids = [[rows.setdefault(word, len(rows)) for word in cut(text)] for text in train.texts]
        counts = np.zeros((len(rows), len(classes)), np.int64)
        for row, code in zip(ids, codes, strict=True):
            np.add.at(counts[:, code], row, 1)
        numbers = np.bincount(kinds_of(counts), minlength=2 + len(classes))
        found[way] = dict(zip(kind_names(classes)[1:], numbers[1:].tolist(), strict=True))
    return found


def synthetic_course(cell: Cell) -> dict[str, Any]:
    """Train DP on synthetic texts by plain gradient descent; what becomes of the groups' scores, and why."""
    texts = synthetic(cell["positive"], cell["negative"], cell["swapped"], cell["seed"])
    occurring = {word for text in texts.texts for word in text.split()}
    groups = {name: [word for word in words if word in occurring] for name, words in texts.groups.items()}
    pairs = [pair for pair in PAIRS if occurring.issuperset(pair)]
    course = Course(texts.texts, texts.labels, groups=groups, pairs=pairs, n_threads=1)
    every = max(1, cell["epochs"] // 25)

    def watch(epoch: int, model: Any) -> None:
        if epoch % every == 0 or epoch == cell["epochs"]:
            course(epoch, model)

    fitted = NeuralAttentionClassifier(
        optimizer="sgd",
        batch_size=200,
        epochs=cell["epochs"],
        patience=None,
        validation_fraction=0,
        penalty=cell["penalty"],
        random_state=cell["seed"],
        n_threads=1,
    ).fit(texts.texts, texts.labels, watch=watch)
    return {
        "accuracy": float(fitted.score(texts.texts, texts.labels)),
        "loss": fitted.course_[-1]["loss"],
        "groups": course.groups.to_dicts(),
        "epochs": course.epochs.to_dicts(),
    }


@cache
def _data(name: str, quick: bool) -> DataSet:
    """Read once by a process."""
    return load(name).smaller(_QUICK) if quick else load(name)


def _fitted(cell: Cell) -> tuple[DataSet, TextClassifier]:
    data = _data(cell["data"], cell["quick"])
    common = {"scale": cell["scale"], "random_state": cell["seed"], "n_threads": 1}
    model: TextClassifier
    if cell["model"] == TABLE:
        model = AttentionClassifier(**common)
    elif cell["model"] == CLOSED:
        model = AttentionClassifier(width=100, ngrams=1, min_count=1, epochs=cell["settings"]["epochs"], **common)
    else:
        model = NeuralAttentionClassifier(**cell["settings"], **common)
    model.fit(data.train.texts, data.train.labels, validation=(data.dev.texts, data.dev.labels))
    return data, model


def _kinds(table: TableModel) -> dict[str, Any]:
    """For each kind of word: how many, mean and spread of both scores, how often one is louder than a neutral one."""
    codes, names = table.kind_codes(), table.kind_names()
    found = {}
    neutral = table.attention[codes == 1]
    for code in range(1, len(names)):
        of = codes == code
        if not of.any():
            continue
        attention, polarity = table.attention[of].astype(float), table.polarity[of].astype(float)
        found[names[code]] = {
            "words": int(of.sum()),
            "attention": [float(attention.mean()), float(attention.std())],
            "polarity": [polarity.mean(axis=0).tolist(), polarity.std(axis=0).tolist()],
            **({"auc": area_under_curve(attention, neutral)} if code > 1 and len(neutral) else {}),
        }
    polar = table.attention[codes > 1]
    if len(polar) and len(neutral):
        found["polar"] = {"words": len(polar), "auc": area_under_curve(polar, neutral)}
    return found
