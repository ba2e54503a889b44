"""Wiegreffe and Pinter, "Attention is not not Explanation" (EMNLP 2019): four tests of what attention could explain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.models.progress import Report
from regard.reproduce import pooled_charts as charts
from regard.reproduce.data import load
from regard.reproduce.not_not_cells import ENCODERS, GUIDE, GUIDES, PRICES, cell, work
from regard.reproduce.page import Note, Page, Section, Table, beside, drawn
from regard.reproduce.pooled_pages import page_of
from regard.reproduce.request import Asked, Paper
from regard.reproduce.sweep import Cell, finished, sweep

NAME = "attention-is-not-not-explanation"
SETS = ("sst", "20news1", "imdb")
# F1 of class 1, from memory of the paper: its own LSTM and the same with equal weights; the network of single words
# under imposed weights; and the adversary, with mean TVD and mean JSD.
PUBLISHED: dict[str, dict[str, float]] = {
    "sst": {"base": 0.831, "uniform": 0.822},
    "imdb": {"base": 0.902, "uniform": 0.879},
    "20news1": {"base": 0.942, "uniform": 0.934},
}
_GUIDED = {
    "sst": {"uniform": 0.812, "its own": 0.817, "base": 0.824, "adversary": 0.592},
    "imdb": {"uniform": 0.863, "its own": 0.888, "base": 0.905, "adversary": 0.700},
}
_ADVERSARIES = {"sst": (0.823, 0.036, 0.514), "imdb": (0.906, 0.014, 0.405)}
_BINS = 4  # of the largest weight, from 0 to 1
_QUICK_PRICES = (0.0, GUIDE)
_PROTOCOL = (
    "The network of Jain and Wallace: embeddings, an encoder (`lstm`, both ways, 128 each; `average`, a layer with "
    "tanh for each word alone; `cnn`), attention v·tanh(A h + b), one linear output; Adam (amsgrad) with rate 0.001, "
    "batches of 32 texts of like length. The embeddings have 100 numbers and start at random, for the paper's word "
    "vectors are not at hand, and at most 4 epochs (8 on 20News I) are made, of 8 in the paper. F1 is that of class 1.",
    "Published numbers are from memory: the paper's repository holds no table of them. A cell reads: published → "
    "**ours** (difference).",
)
_CORRECTED = (
    "The epoch is chosen by the area under the curve on the dev part. The published code has no dev part: it keeps the "
    "epoch that is best on the test part, and stores its attention and predictions.",
    "TVD and KL are means over texts. The published loss adds up sums over a batch, multiplies the total by the weight "
    "of each text's class and adds up again, which ties λ to the batch: no λ of ours is a λ of theirs, so the sweep is "
    "wider. Its file of measures holds sums, which have to be divided by the number of texts.",
    "Places without a word are dropped before a divergence is taken. The published KL takes the logarithm of weights "
    "that are exactly zero there, which today's PyTorch answers with NaN, in the value and in the slope.",
    "Attentions are kept word by word, with the number of words. The published files find the end of a text by its "
    "zeros, which fails where a weight underflows.",
    "The figure of seeds shows divergence beside the move of the probability. The published notebook subtracts the "
    "predicted probability from the divergence by mistake; its script does not.",
    "A control is added to the diagnostic: the weights of the base network, shuffled within each text.",
)


def page(asked: Asked, report: Report) -> Page:
    """Equal weights, other seeds, imposed weights, and adversaries."""
    sets = asked.sets(SETS)
    asked.columns()
    encoders = asked.networks(ENCODERS) if asked.encoders else list(ENCODERS[:1])
    kept = Path(asked.out) / NAME / f"cells{'-quick' if asked.quick else ''}.jsonl"
    wanted = {(data, encoder): cells_of(data, encoder, asked) for data in sets for encoder in encoders}
    if not asked.finished:
        sweep([one for cells in wanted.values() for one in cells], work, kept, asked.processes, report)
    found = {pair: _named(cells, finished(cells, kept)) for pair, cells in wanted.items()}
    sections = [_equal(found), _seeds(found), _imposed(found), _adversaries(found)]
    sections.append(Section("Corrected", "", [Note(line) for line in _CORRECTED]))
    about = (*_PROTOCOL, "One seed (0) for each training but those of the second test; what is not run says so.")
    return page_of(NAME, "Attention is not not Explanation", asked, about, sections, sets)


def cells_of(data: str, encoder: str, asked: Asked) -> list[Cell]:
    """Every training of a data set and an encoder; what others build upon comes first."""
    prices = _QUICK_PRICES if asked.quick else PRICES
    # The adversary whose weights are imposed is at hand right after it was trained.
    first = sorted(prices, key=lambda price: price != GUIDE)
    guided = [
        cell(
            data,
            encoder,
            "guided",
            quick=asked.quick,
            weights=weights,
            **({"price": GUIDE} if weights == "adversary" else {}),
        )
        for weights in GUIDES
    ]
    return [
        *(cell(data, encoder, part, quick=asked.quick) for part in ("base", "uniform")),
        *(one for one in guided if one["weights"] != "adversary"),
        cell(data, encoder, "adversary", quick=asked.quick, price=first[0]),
        *(one for one in guided if one["weights"] == "adversary"),
        *(cell(data, encoder, "seed", quick=asked.quick, seed=seed) for seed in range(1, _other_seeds(asked) + 1)),
        *(cell(data, encoder, "adversary", quick=asked.quick, price=price) for price in first[1:]),
    ]


def _other_seeds(asked: Asked) -> int:
    return 1 if asked.quick else asked.seeds


# What is finished of a data set and an encoder, by part and what tells it from its like.
_Results = Mapping[tuple[str, Any], dict[str, Any]]
_All = Mapping[tuple[str, str], _Results]


def _named(cells: Sequence[Cell], results: Sequence[dict[str, Any] | None]) -> _Results:
    named = {}
    for one, result in zip(cells, results, strict=True):
        if result is not None:
            tells = {"seed": "seed", "guided": "weights", "adversary": "price"}.get(one["part"])
            named[one["part"], one[tells] if tells else None] = result
    return named


# -- sections ------------------------------------------------------------------------------------------------------


def _equal(found: _All) -> Section:
    rows = []
    for (data, encoder), results in found.items():
        base, uniform = results.get(("base", None)), results.get(("uniform", None))
        both = base is not None and uniform is not None
        published = PUBLISHED[data] if encoder == "lstm" else {}
        rows.append(
            [
                load(data).title,
                encoder,
                _f1(published.get("base"), base),
                _f1(published.get("uniform"), uniform),
                f"{base['test']['f1'] - uniform['test']['f1']:+.3f}" if both and base and uniform else "–",
                f"{base['test']['accuracy']:.3f}" if base else "–",
                f"{base['entropy']:.2f}" if base else "–",
            ]
        )
    head = ("data", "encoder", "F1, learned attention", "F1, equal weights", "difference", "accuracy", "entropy")
    text = (
        "Where a network with equal weights does as well, attention is not needed for the task, and nothing can be "
        "shown by it there. Entropy is that of the learned weights, divided by ln n: at 1 they are equal."
    )
    return Section("Is attention needed? Equal weights", text, [Table(head, rows)])


def _seeds(found: _All) -> Section:
    rows, points = [], {}
    for (data, encoder), results in found.items():
        base = results.get(("base", None))
        seeds = [result for (part, _), result in results.items() if part == "seed"]
        if base is None or not seeds:
            rows.append([load(data).title, encoder, "not run", "–", "–", "–", "–"])
            continue
        apart = np.median([result["jsd"] for result in seeds], axis=0)
        moved = np.mean([result["moved"] for result in seeds], axis=0)
        rows.append(
            [
                load(data).title,
                encoder,
                str(len(seeds)),
                f"{apart.mean():.3f}",
                f"{np.quantile(apart, 0.95):.3f}",
                f"{moved.mean():.3f}",
                " / ".join(f"{result['test']['f1']:.3f}" for result in seeds),
            ]
        )
        points[f"{load(data).title}, {encoder}"] = _by_largest(base, apart)
    head = ("data", "encoder", "other seeds", "mean of the median JSD", "95%", "mean |Δp|", "F1 of the seeds")
    text = (
        "The divergence between the attentions of equally good networks is the yardstick for that of an adversary. For "
        f"each text the median over the seeds (the paper has 8); at most ln 2 = {math.log(2):.3f}."
    )
    shown: list[Any] = [Table(head, rows)]
    if points:
        caption = "Divergence from the other seeds, by the largest weight of the text"
        chart = charts.curves(points, "largest weight", "mean median JSD", top=round(math.log(2), 3))
        shown.append(drawn("seeds", caption, chart))
    return Section("How far do seeds differ?", text, shown)


def _by_largest(base: Mapping[str, Any], apart: Any) -> list[dict[str, Any]]:
    """Means in spans of the largest weight, for either predicted class."""
    largest, says = np.array(base["largest"]), np.array(base["says"])
    bins = np.minimum((largest * _BINS).astype(np.int64), _BINS - 1)
    return [
        {"largest weight": (k + 0.5) / _BINS, "mean median JSD": float(apart[of].mean()), "name": f"predicted {side}"}
        for side, of_side in (("0", says == 0), ("1", says == 1))
        for k in range(_BINS)
        if (of := (bins == k) & of_side).any()
    ]


def _imposed(found: _All) -> Section:
    rows = [
        [
            load(data).title,
            encoder,
            *(
                _f1(_GUIDED.get(data, {}).get(weights) if encoder == "lstm" else None, results.get(("guided", weights)))
                for weights in GUIDES
            ),
        ]
        for (data, encoder), results in found.items()
    ]
    text = (
        "A network of single words, h = tanh(M e + m), in which the weights are imposed. If those of the base network "
        "serve it better than equal ones, they point at words that say something by themselves, and so carry more than "
        f"one network's accident. The adversary is that of λ = {GUIDE:g}. "
        "With the encoder `average` this network is the base network's own design, and “its own” is the base network."
    )
    return Section("Do the weights serve another network?", text, [Table(("data", "encoder", *GUIDES), rows)])


def _adversaries(found: _All) -> Section:
    rows, points = [], {}
    for (data, encoder), results in found.items():
        prices = sorted(price for part, price in results if part == "adversary")
        title = f"{load(data).title}, {encoder}"
        published = _ADVERSARIES.get(data) if encoder == "lstm" else None
        if published is not None:
            rows.append([title, "published", *(f"{value:.3f}" for value in published), "–", "–"])
        line = []
        for price in prices:
            result = results["adversary", price]
            rows.append(
                [
                    title,
                    f"{price:g}",
                    *(f"**{value:.3f}**" for value in (result["test"]["f1"], result["tvd"], result["jsd"])),
                    str(result["epochs"]),
                    f"{result['entropy']:.2f}",
                ]
            )
            line.append({"mean TVD": result["tvd"], "mean JSD": result["jsd"], "name": "adversaries"})
        seeds = [result for (part, _), result in results.items() if part == "seed"]
        for result in seeds:
            moved, apart = float(np.mean(result["moved"])), float(np.mean(result["jsd"]))
            rows.append(
                [title, "another seed", f"{result['test']['f1']:.3f}", f"{moved:.3f}", f"{apart:.3f}", "–", "–"]
            )
            line.append({"mean TVD": moved, "mean JSD": apart, "name": "other seeds"})
        if line:
            points[title] = line
        if not prices:
            rows.append([title, "not run", *["–"] * 5])
    head = ("data", "λ", "F1", "mean TVD", "mean JSD", "epochs", "entropy")
    text = (
        "A whole network, trained from scratch to lower the mean over texts of TVD(p', p) − λ KL(α' ‖ α): to say the "
        "same and attend elsewhere. The epoch is that of the lowest objective on the dev part, of at most 12 on SST "
        "(20 on 20News I, 6 on IMDB), of which the last 2 (3, 1) may be worse; the paper makes up to 80, and stops "
        "after 10 without a lower training loss, so ours have had less time to imitate. What counts is how far the "
        "attention goes before the decisions move: an adversary is telling where it is farther than another seed at no "
        "larger TVD. One whose first epoch is kept never learned to imitate: its λ was too dear for the time it had."
    )
    shown: list[Any] = [Table(head, rows)]
    if points:
        chart = charts.curves(points, "mean TVD", "mean JSD", top=round(math.log(2), 3))
        shown.append(drawn("adversaries", "Decisions (TVD) against attention (JSD), over the sweep of λ", chart))
    return Section("Can a network be trained to attend elsewhere?", text, shown)


def _f1(published: float | None, result: Mapping[str, Any] | None) -> str:
    return beside(published, [] if result is None else [result["test"]["f1"]], 3)


PAPER = Paper(
    NAME,
    "Wiegreffe and Pinter, Attention is not not Explanation (EMNLP 2019)",
    {"page": page},
    ENCODERS,
)
