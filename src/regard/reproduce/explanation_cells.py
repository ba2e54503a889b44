"""The trainings behind "Attention is not Explanation": one cell, one network and all that is asked of it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from regard.audit import kernels
from regard.audit.linear import LinearBatch
from regard.audit.sampling import Sampling
from regard.audit.view import View
from regard.reproduce.pooled_measures import gradients, left_out, searched
from regard.reproduce.pooled_networks import JAIN, Floats, Reading, Recipe, Trained, measured, prepare, read, train
from regard.reproduce.sweep import Cell

ENCODERS = ("average", "lstm", "cnn")
MODELS = tuple(f"{encoder} {score}" for score in ("tanh", "dot") for encoder in ENCODERS)
PAIRS = ("attention, leave one out", "attention, gradient", "gradient, leave one out")
EPS = (0.01, 0.05)
BINS = 4  # of the largest weight, from 0 to 1
BARS = 14  # of the histogram of JSD, from 0 to 0.7
SEARCHED = 300  # documents, drawn by the seed; in a quick look a tenth
_SHUFFLES = 100
_SIGNIFICANT = 0.05
_TOP = 0.1
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_QUICK = 40  # texts of each class


def cell(data: str, model: str, seed: int, *, quick: bool = False) -> Cell:
    """What one training is given; everything that its result depends on."""
    epochs = 2 if quick else (5 if data == "imdb" else 8)
    return {"data": data, "model": model, "seed": seed, "quick": quick, "epochs": epochs}


def explain(cell: Cell) -> dict[str, Any]:
    """Train on the train part, choose the epoch on the dev part, and ask everything of the test part."""
    said = cell["data"], cell["model"], cell["quick"], cell["epochs"]
    documents = prepare(cell["data"], _QUICK if cell["quick"] else None).test
    trained = _trained(cell["seed"], *said)
    reading = read(trained.network, documents)
    batch = reading.batch()
    rankings = {
        "attention": reading.weights,
        "gradient": gradients(trained.network, documents),
        "leave one out": left_out(trained.network, documents, reading),
    }
    result = {
        "epoch": trained.epoch,
        "dev": trained.dev,
        "test": measured(reading, documents),
        "documents": len(documents),
        "units": len(reading.rows),
        "agreement": _agreement(rankings, batch, cell["seed"]),
        "permutation": _permutation(batch, reading.largest, cell["seed"]),
        "adversarial": _adversarial(reading, batch, SEARCHED // 10 if cell["quick"] else SEARCHED, cell["seed"]),
    }
    if cell["seed"]:
        # Seeds come in their order, so the first one's network is at hand.
        first = read(_trained(0, *said).network, documents)
        apart = np.empty(len(documents))
        kernels.divergence(first.weights, reading.weights, reading.starts, 0, len(documents), apart)
        result["seeds"] = {
            "JSD": _means(apart, batch.explained),
            "|Δp|": _means(moved(first, reading), batch.explained),
        }
    return result


def moved(one: Reading, two: Reading) -> Floats:
    """How far the probabilities of two readings are from each other: (documents,)."""
    return np.abs(one.chances - two.chances)


@lru_cache(maxsize=2)
def _trained(seed: int, data: str, model: str, quick: bool, epochs: int) -> Trained:
    encoder, score = model.split()
    design = replace(JAIN[encoder], score="tanh" if score == "tanh" else "dot")
    return train(prepare(data, _QUICK if quick else None), design, seed, recipe=Recipe(epochs=epochs))


# -- agreement -----------------------------------------------------------------------------------------------------


def _agreement(rankings: dict[str, Floats], batch: LinearBatch, seed: int) -> dict[str, Any]:
    """Kendall's tau-b of each pair of rankings, what a random order has, and how far the tops agree."""
    view, sampling = View(batch, seed), Sampling(len(batch), seed)
    orders = {name: view.ordered(values) for name, values in rankings.items()}
    found = {}
    for pair in PAIRS:
        one, two = pair.split(", ")
        tau = view.tau(rankings[one], rankings[two])
        known = np.isfinite(tau)
        certain = np.where(known, significant(rankings[one], rankings[two], batch.starts), np.nan)
        random = [view.tau(view.random_order(draw).astype(np.float64), rankings[two]) for draw in range(5)]
        found[pair] = {
            "mean": float(tau[known].mean()) if known.any() else None,
            "interval": sampling.interval(tau),
            "deviation": float(tau[known].std()) if known.any() else None,
            "significant": float(certain[known].mean()) if known.any() else None,
            "undefined": int((~known).sum()),
            "by class": _means(tau, batch.explained),
            "random": float(np.nanmean(random)) if known.any() else None,
            "top": float(np.nanmean(view.overlap(orders[one], orders[two], _TOP))),
        }
    return found


def significant(one: Floats, two: Floats, starts: NDArray[np.int64]) -> Floats:
    """Whether tau differs from zero with p ≤ 0.05, for each document; NaN where it is undefined."""
    found = np.full(len(starts) - 1, np.nan)
    for doc in range(len(found)):
        x, y = one[starts[doc] : starts[doc + 1]], two[starts[doc] : starts[doc + 1]]
        if len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0:
            found[doc] = kendalltau(x, y).pvalue <= _SIGNIFICANT
    return found


# -- moving the weights --------------------------------------------------------------------------------------------


def _permutation(batch: LinearBatch, largest: Floats, seed: int) -> dict[str, Any]:
    """The median move of the probability over shuffles of the weights, by the largest weight."""
    found = np.full((len(batch), _SHUFFLES), np.nan)
    documents = np.arange(len(batch))
    kernels.permute(batch.weights, batch.said, batch.scores, batch.starts, documents, 0, batch.explained, seed, found)
    median = np.median(found, axis=1)
    mean, variance = np.empty(len(batch)), np.empty(len(batch))
    kernels.permutation_moments(batch.weights, batch.margin, batch.starts, 0, len(batch), mean, variance)
    bins = np.minimum((largest * BINS).astype(np.int64), BINS - 1)
    return {
        "mean": float(median.mean()),
        "lead": float(np.add.reduceat(batch.contribution, batch.starts[:-1]).mean()),
        "lead under shuffles": [float(mean.mean()), float(np.sqrt(variance).mean())],
        "bins": [
            {
                "bin": k,
                "class": side,
                "documents": int(of.sum()),
                "mean": float(median[of].mean()),
                "quartiles": np.quantile(median[of], _QUARTILES).tolist(),
            }
            for k in range(BINS)
            for side in (0, 1)
            if (of := (bins == k) & (batch.explained == side)).any()
        ],
    }


def _adversarial(reading: Reading, batch: LinearBatch, sample: int, seed: int) -> dict[str, Any]:
    """The farthest attention with the same decision: the exact one, and the one that the published search finds."""
    found: dict[str, Any] = {}
    for eps in EPS:
        exact = batch.adversary(eps)[0]
        found[f"exact {eps:g}"] = {
            "mean": _means(exact, batch.explained),
            "above 95% of ln 2": float((exact > 0.95 * np.log(2)).mean()),
            "bars": _bars(exact),
        }
    # What the search is run on: a sample, for it reads every text five hundred times over.
    chosen = np.random.default_rng([seed, 5]).permutation(len(batch))[:sample]
    some = _some(reading, np.sort(chosen))
    part = some.batch()
    by_search = searched(some, EPS[-1], seed)
    exact = part.adversary(EPS[-1])[0]
    found["searched"] = {
        "documents": len(some.starts) - 1,
        "mean": _means(by_search, part.explained),
        "exact mean": _means(exact, part.explained),
        "most above exact": float((by_search - exact).max()),
        "nothing found": float((by_search == 0).mean()),
        "bars": _bars(by_search),
    }
    return found


def _some(reading: Reading, documents: NDArray[np.intp]) -> Reading:
    """Some documents of a reading."""
    lengths = np.diff(reading.starts)
    units = np.flatnonzero(np.isin(np.repeat(np.arange(len(lengths)), lengths), documents))
    starts = np.append(0, np.cumsum(lengths[documents]))
    return Reading(
        starts, reading.attention[units], reading.weights[units], reading.said[units], reading.rows[units], reading.bias
    )


def _means(values: Floats, explained: NDArray[np.int64]) -> list[float | None]:
    """Over all documents, over those predicted to be of the first class, and over the others; NaN is left out."""
    known = np.isfinite(values)
    groups = (known, known & (explained == 0), known & (explained == 1))
    return [float(values[of].mean()) if of.any() else None for of in groups]


def _bars(values: Floats) -> list[float]:
    """The share of the documents in each bar."""
    heights = np.histogram(values, np.linspace(0, 0.7, BARS + 1))[0]
    return [round(float(height), 4) for height in heights / len(values)]
