"""The trainings behind "Is Attention Interpretable?": one cell, one network whose weights are erased."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.audit.flips import Flips
from regard.audit.linear import LinearBatch
from regard.audit.sampling import Sampling
from regard.audit.source import Floats
from regard.audit.view import View
from regard.models.neural_training import Documents
from regard.reproduce.pooled_networks import FLAN, Recipe, measured, prepare, read, train
from regard.reproduce.sweep import Cell
from regard.tokens import Tokens

# Serrano and Smith's rankings, those that need no attention, and the best that there is.
RANKINGS = (
    "attention",
    "gradient",
    "attention × gradient",
    "sign of the gradient × attention",
    "attention, ascending",
    "random",
    "optimum",
)
STEPS = 20  # of the fraction removed, from 0 to 1
_GAPS = 8  # spans of the difference of two weights, with as many texts each
_DRAWS = 20
_QUICK = 40  # texts of each class


def cell(data: str, encoder: str, seed: int, *, quick: bool = False) -> Cell:
    """What one training is given; everything that its result depends on."""
    epochs = 2 if quick else (5 if data == "imdb" else 15)
    return {"data": data, "model": encoder, "seed": seed, "quick": quick, "epochs": epochs}


def erase(cell: Cell) -> dict[str, Any]:
    """Train on the train part, choose the epoch on the dev part, and erase weights in the test part."""
    prepared = prepare(cell["data"], _QUICK if cell["quick"] else None)
    recipe = Recipe(cell["epochs"], choose="accuracy")
    trained = train(prepared, FLAN[cell["model"]], cell["seed"], recipe=recipe)
    documents = longer(prepared.test)
    reading = read(trained.network, documents)
    batch = reading.batch()
    view = View(batch, cell["seed"], _DRAWS)
    return {
        "epoch": trained.epoch,
        "dev": trained.dev,
        "test": measured(read(trained.network, prepared.test), prepared.test),
        "documents": len(documents),
        "units": len(reading.rows),
        "single": single(batch.single(_DRAWS, cell["seed"])),
        "sets": sets(view),
    }


def longer(documents: Documents) -> Documents:
    """Those with two words or more: in the others no weight can be erased and another one stay."""
    lengths = np.diff(documents.tokens.starts)
    kept = np.repeat(lengths > 1, lengths)
    starts = np.append(0, np.cumsum(lengths[lengths > 1]))
    return Documents(Tokens(documents.tokens.ids[kept], starts), documents.codes[lengths > 1])


def single(found: Floats) -> dict[str, Any]:
    """One weight erased: the largest, or another.

    Parameters
    ----------
    found : (documents, 5)
        What ``kernels.single`` writes.
    """
    top, other, flips, others, gap = found.T
    apart = top - other
    order = np.argsort(gap, kind="stable")
    return {
        "ΔJS": float(apart.mean()),
        "ΔJS below zero": float((apart < 0).mean()),
        "both": float((flips * others).mean()),
        "only the largest": float((flips * (1 - others)).mean()),
        "only another": float(((1 - flips) * others).mean()),
        "neither": float(((1 - flips) * (1 - others)).mean()),
        "by gap": [
            {"gap": float(gap[of].mean()), "ΔJS": float(apart[of].mean()), "largest": float(apart[of].max())}
            for of in np.array_split(order, _GAPS)
            if len(of)
        ],
    }


def sets(view: View) -> dict[str, Any]:
    """Weights erased one after another until the decision changes, along each ranking."""
    batch = view.batch
    assert isinstance(batch, LinearBatch)
    seen = Flips().measure(view)
    signed = view.ordered(np.sign(batch.gradient) * batch.weights)
    upwards = view.ordered(-batch.attention)
    fractions = {name: seen[f"fraction to flip: {name}"] for name in RANKINGS[:3]}
    never = {name: seen[f"never flips: {name}"] for name in RANKINGS[:3]}
    for name, order in (("sign of the gradient × attention", signed), ("attention, ascending", upwards)):
        flip = batch.erase(order).flip
        fractions[name] = np.where(flip > 0, flip / view.sizes, 1.0)
        never[name] = (flip == 0).astype(np.float64)
    fractions |= {"random": seen["fraction to flip: random"], "optimum": seen["optimum"]}
    never |= {"random": seen["never flips: random"], "optimum": seen["cannot"]}
    sampling = Sampling(len(view), view.seed)
    possible = never["optimum"] == 0
    rows = {}
    for name in RANKINGS:
        share, censored = fractions[name], never[name]
        flipped = censored == 0
        by_text = share if share.ndim == 1 else share.mean(axis=1)
        rows[name] = {
            "fraction": float(share.mean()),
            "interval": sampling.interval(by_text),
            "of those that flip": float(share[flipped].mean()) if flipped.any() else None,
            "never": float(censored.mean()),
            "ratio": float((by_text[possible] / fractions["optimum"][possible]).mean()) if possible.any() else None,
            "changed": [round(float((flipped & (share <= k / STEPS + 1e-9)).mean()), 4) for k in range(STEPS + 1)],
        }
    mass = seen["mass"]
    return {
        "rankings": rows,
        "attention erased at the flip": float(np.nanmean(mass)) if np.isfinite(mass).any() else None,
        "against attention": {
            name: {
                "fewer": float((fractions[name] < fractions["attention"]).mean()),
                "more": float((fractions[name] > fractions["attention"]).mean()),
                "p": sampling.difference(fractions[name], fractions["attention"]),
            }
            for name in RANKINGS[1:4]
        },
    }
