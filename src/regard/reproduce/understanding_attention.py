"""Sun and Lu, "Understanding Attention for Text Classification" (ACL 2020): its table and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import DataError
from regard.models.progress import Report
from regard.reproduce import charts
from regard.reproduce.data import load
from regard.reproduce.page import Note, Page, Picture, Section, Table, beside, drawn, made_with
from regard.reproduce.request import Asked, Paper
from regard.reproduce.sweep import Cell, finished, sweep
from regard.reproduce.understanding_cells import (
    CLOSED,
    MODELS,
    NETWORKS,
    PAIRS,
    SCALES,
    TABLE,
    cell,
    counted,
    synthetic_course,
    train,
    words,
)

NAME = "understanding-attention"
SETS = ("sst", "imdb", "20news1", "20news2")
# Table 2: accuracy in percent on the test part, for DP, DP-L, DP-A and AD.
_COLUMNS = ("DP", "DP-L", "DP-A", "AD")
_ACCURACIES = {
    "sst": (
        (55.3, 79.8, 67.9, 62.8),
        (74.4, 81.2, 73.4, 73.4),
        (82.2, 81.7, 80.8, 80.3),
        (81.4, 80.9, 81.0, 81.2),
        (80.8, 82.0, 81.5, 79.9),
        (81.2, 81.1, 80.7, 80.8),
        (79.6, 81.4, 79.3, 80.8),
    ),
    "imdb": (
        (55.5, 87.7, 73.3, 69.8),
        (79.5, 88.2, 85.4, 83.7),
        (89.2, 87.8, 89.6, 88.2),
        (89.6, 88.1, 89.6, 89.6),
        (89.8, 87.2, 89.1, 88.5),
        (89.3, 88.3, 89.2, 88.8),
        (89.3, 88.4, 88.9, 88.9),
    ),
    "20news1": (
        (54.8, 88.6, 78.6, 49.4),
        (88.4, 93.0, 85.3, 87.6),
        (92.8, 91.2, 92.8, 92.0),
        (93.5, 92.2, 93.5, 91.2),
        (93.3, 92.3, 92.2, 91.7),
        (92.8, 91.2, 92.8, 93.3),
        (92.8, 92.0, 93.0, 92.0),
    ),
    "20news2": (
        (31.8, 90.1, 64.6, 59.2),
        (85.4, 92.3, 88.3, 86.7),
        (93.4, 93.4, 91.7, 90.0),
        (94.9, 94.2, 93.3, 92.1),
        (94.9, 92.3, 92.9, 93.8),
        (94.9, 93.1, 92.9, 92.9),
        (94.5, 93.8, 92.5, 92.9),
    ),
}
PUBLISHED = {
    data: {(model, scale): row[k] for scale, row in zip(SCALES, rows, strict=True) for k, model in enumerate(_COLUMNS)}
    for data, rows in _ACCURACIES.items()
}
# How many words of each kind the paper found in the train parts.
_KINDS = ("positive", "negative", "neutral")
_COUNTS = {
    "sst": {"positive": 412, "negative": 265, "neutral": 1384},
    "imdb": {"positive": 2163, "negative": 1900, "neutral": 5968},
    "20news1": {"positive": 957, "negative": 557, "neutral": 1011},
}
_QUICK_SCALES = (0.001, 10, 10_000)
_PROTOCOL = (
    "Every model is trained on the train part, with the λ that is said; the epoch is chosen on the dev part, and "
    "accuracy is measured once, on the test part. DP is the dot product, DP-A has an affine layer before it, DP-L a "
    "bidirectional LSTM, AD is additive attention. Embeddings of 100 numbers start evenly in ±0.1, dropout 0.5 on them "
    "and on the attended vector, Adagrad with rate 0.02 and decay 0.001, batches of 100, at most 40 epochs (25 for "
    "DP-L, 15 on IMDB), the last 10 (5, 4) without a better one; squares of the encoder's weights and of A are "
    "penalised. The LSTM has 100 units each way, and dropout leaves out three in ten of its words altogether: this and "
    "the strength of the penalties is not in the paper and was chosen on dev parts. Words are regard's own tokens, "
    "those of the train part.",
    "20News II's split is unpublished: ours is drawn by chance with the paper's sizes.",
)


def table_2(asked: Asked, report: Report) -> Page:
    """Accuracy by model and scale on four data sets."""
    sets = asked.sets(SETS)
    models, chosen = asked.columns(MODELS, SCALES)
    if asked.quick and not asked.scales:
        chosen = list(_QUICK_SCALES)
    scales = chosen if asked.quick else SCALES
    seeds = range(1 if asked.quick else asked.seeds)
    cells = [
        cell(data, model, scale, seed, quick=asked.quick)
        for data in sets
        for seed in seeds
        for model in MODELS
        for scale in scales
    ]
    if not asked.finished:
        _sweep([c for c in cells if c["model"] in models and c["scale"] in chosen], train, asked, report)
    found: _Found = {}
    for c, result in zip(cells, finished(cells, _kept(train, asked)), strict=True):
        if result is not None:
            found.setdefault((c["data"], c["model"], c["scale"]), []).append(result)
    sections = [_accuracies(data, scales, found) for data in sets]
    sections += [_best(sets, scales, found), _separation(sets, scales, found)]
    title = "Understanding Attention for Text Classification, Table 2"
    about = (
        *_PROTOCOL,
        "A cell reads: published → **ours**, the mean over the seeds ± its spread (difference); without a spread it is "
        f"of one seed. `{CLOSED}` is the paper's model by the closed form "
        f"(`AttentionClassifier(width=100, ngrams=1)`), `{TABLE}` is `AttentionClassifier()` with its own settings: "
        "two numbers a word or pair.",
    )
    return _page(asked, title, about, sections, len(seeds))


# What is finished, by data set, model and scale: a result for each seed.
_Found = dict[tuple[str, str, float], list[dict[str, Any]]]


def _accuracies(data: str, scales: Sequence[float], found: _Found) -> Section:
    rows = [
        [
            f"{scale:g}",
            *(
                beside(PUBLISHED[data].get((model, scale)), _percents(found.get((data, model, scale), [])))
                for model in MODELS
            ),
        ]
        for scale in scales
    ]
    return Section(load(data).title, "", [Table(["λ", *MODELS], rows)])


def _percents(results: Sequence[dict[str, Any]]) -> list[float]:
    return [100 * result["test"] for result in results]


def _best(sets: Sequence[str], scales: Sequence[float], found: _Found) -> Section:
    """The best cell of each column, the paper's and ours; and how flat a column is."""
    best, flat = [], []
    for data in sets:
        title = load(data).title
        published = PUBLISHED[data]
        best_row, flat_row = [title], [title]
        for model in MODELS:
            means = {s: float(np.mean(_percents(found[data, model, s]))) for s in scales if (data, model, s) in found}
            theirs = max((value for (name, _), value in published.items() if name == model), default=None)
            ours = [max(means.values())] if means else []
            shown = beside(theirs if theirs is not None else max(published.values()), ours)
            best_row.append(
                shown if len(means) in (0, len(scales)) else f"{shown}, {len(means)} of {len(scales)} cells"
            )
            plateau = [means[s] for s in scales if s >= 10 and s in means]
            lowest = f"{means[scales[0]]:.1f}" if scales[0] in means else "–"
            flat_row.append(f"{lowest} / {np.ptp(plateau):.1f}" if len(plateau) > 1 else f"{lowest} / –")
        best.append(best_row)
        flat.append(flat_row)
    text = (
        f"The best cell of each column, published → **ours**. `{CLOSED}` and `{TABLE}` stand beside the best of all "
        "the paper's cells for the data. Choosing a cell by its test accuracy flatters both sides alike."
    )
    shape = (
        f"The shape of a column: its accuracy at λ = {scales[0]:g}, and the range (largest less smallest) of those "
        "from λ = 10 on. The models with embeddings alone fall at the first and lie on a plateau afterwards; the table "
        "does not fall."
    )
    return Section(
        "Best cells, and the shape",
        text,
        [Table(["best cell", *MODELS], best), Note(shape), Table(["lowest λ / plateau", *MODELS], flat)],
    )


def _separation(sets: Sequence[str], scales: Sequence[float], found: _Found) -> Section:
    """How often a polar word is louder than a neutral one; V·W."""
    tables = []
    for data in sorted({data for data, _, _ in found}, key=list(sets).index):
        rows = []
        for scale in scales:
            row = [f"{scale:g}"]
            for model in MODELS:
                of = found.get((data, model, scale), [])
                areas = [r["kinds"]["polar"]["auc"] for r in of if "polar" in r["kinds"]]
                dots = [r["V·W"][0] for r in of if len(r["V·W"]) == 1]
                auc = f"{np.mean(areas):.2f}" if areas else "–"
                row.append(f"{auc} ({np.mean(dots):+.1f})" if dots and model != TABLE else auc)
            rows.append(row)
        tables.append(Table([f"{load(data).title}, λ", *MODELS], rows))
    return Section(
        "Are polar words louder?",
        "How often a polar word has a higher attention score than a neutral one (the area under the curve; 0.5 is a "
        "coin), and in brackets V·W, both means over the seeds.",
        tables,
    )


# -- figures -------------------------------------------------------------------------------------------------------


def figure_2(asked: Asked, report: Report) -> Page:
    """Polarity and attention scores by kind of word: DP, λ = 10."""
    asked.columns()
    sets = asked.sets(("sst", "imdb", "20news1"))
    text = "Positive and negative words should lie apart in polarity, and both above the neutral ones in attention."
    page = _word_figure(asked, report, "Figure 2", text, [(data, "DP", 10.0) for data in sets])
    return replace(page, sections=[*page.sections, _counts(asked, report, sets)])


def _counts(asked: Asked, report: Report, sets: Sequence[str]) -> Section:
    """How many words are polar, published and by several ways to cut words."""
    results = _sweep([{"data": data, "quick": asked.quick} for data in sets], counted, asked, report)
    rows = []
    for data, result in zip(sets, results, strict=True):
        rows.append([load(data).title, "published", *(f"{_COUNTS[data][kind]:,}" for kind in _KINDS)])
        rows += [["", way, *(f"{numbers[kind]:,}" for kind in _KINDS)] for way, numbers in result.items()]
    text = (
        "How many words of the train part are of each kind depends on what a word is. SST is published as words, and "
        "the counts are the same. How the paper cut the other texts is not published; its counts lie among those of "
        "several ways to cut the same texts."
    )
    return Section("Words of each kind", text, [Table(["data", "words cut by", *_KINDS], rows)])


def figure_3(asked: Asked, report: Report) -> Page:
    """Where attention becomes hard to read: SST with λ = 100; and three classes."""
    asked.sets(("sst", "20news2"))
    asked.columns()
    text = (
        "With λ = 100 on SST attention scores of positive words fall to those of neutral ones or below, and polarity "
        "still decides. On 20News II, with three classes, polar words are louder than neutral ones."
    )
    return _word_figure(asked, report, "Figure 3", text, [("sst", "DP", 100.0), ("20news2", "DP", 10.0)])


def figure_4(asked: Asked, report: Report) -> Page:
    """Additive attention, λ = 10."""
    asked.sets(("sst",))
    asked.columns()
    return _word_figure(asked, report, "Figure 4", "As Figure 2, with additive attention.", [("sst", "AD", 10.0)])


def figure_5(asked: Asked, report: Report) -> Page:
    """The attention weights that words of each kind get in test texts."""
    asked.sets(("sst",))
    asked.columns()
    which = [("sst", "DP", 10.0), ("sst", TABLE, 10.0)]
    cells = [cell(data, model, scale, 0, quick=asked.quick) for data, model, scale in which]
    results = _sweep(cells, words, asked, report)
    shown: list[Table | Picture] = []
    for (_, model, _), result in zip(which, results, strict=True):
        chart = charts.boxes(result["weights"], "mean attention weight in test texts")
        shown.append(drawn(f"weights-{_file(model)}", f"{model}: mean attention weight by kind", chart))
        rows = [
            [str(one["kind"]), *(_number(one[name]) for name in charts.QUARTILES), str(one["words"])]
            for one in result["weights"]
        ]
        shown.append(Table(["kind", *charts.QUARTILES, "words"], rows))
    text = (
        "For each word the mean of its attention weight over its occurrences in the test texts; the box holds the "
        "middle half of the words, the whiskers reach to the smallest and the largest."
    )
    title = "Understanding Attention for Text Classification, Figure 5"
    return _page(asked, title, _PROTOCOL[:1], [Section("SST, λ = 10", text, shown)])


def _word_figure(asked: Asked, report: Report, figure: str, text: str, which: Sequence[tuple[str, str, float]]) -> Page:
    cells = [cell(data, model, scale, 0, quick=asked.quick) for data, model, scale in which]
    results = _sweep(cells, words, asked, report)
    sections = []
    for (data, model, scale), result in zip(which, results, strict=True):
        title = f"{load(data).title}, {model}, λ = {scale:g}"
        chart = charts.scores(result["words"])
        rows = [
            [
                kind,
                str(one["words"]),
                " / ".join(f"{value:+.2f}" for value in one["polarity"][0]),
                f"{one['attention'][0]:+.3f} ± {one['attention'][1]:.3f}",
                f"{one['auc']:.2f}" if "auc" in one else "",
            ]
            for kind, one in result["kinds"].items()
            if "attention" in one
        ]
        head = ["kind", "words", "mean polarity", "mean attention", "louder than a neutral word"]
        caption = "Polarity and attention scores of words, by kind; the line is the median."
        sections.append(
            Section(
                title,
                f"Test accuracy {100 * result['test']:.1f}%.",
                [drawn(f"{data}-{_file(model)}-{scale:g}", caption, chart), Table(head, rows)],
            )
        )
    title = f"Understanding Attention for Text Classification, {figure}"
    return _page(asked, title, (text, _PROTOCOL[0]), sections)


# -- synthetic texts -----------------------------------------------------------------------------------------------


def _synthetic_cell(
    epochs: int, positive: int = 6000, negative: int = 6000, swapped: float = 0.0, penalty: float = 0.0, seed: int = 0
) -> Cell:
    return {
        "synthetic": True,
        "positive": positive,
        "negative": negative,
        "swapped": swapped,
        "penalty": penalty,
        "epochs": epochs,
        "seed": seed,
    }


def figure_synthetic(asked: Asked, report: Report) -> Page:
    """The course of training on synthetic texts, and the terms that drive it."""
    asked.sets(())
    asked.columns()
    long, short = (10, 10) if asked.quick else (500, 300)
    size = 300 if asked.quick else 6000
    cases = {
        "data I": _synthetic_cell(long, size, size),
        "data I, V·W penalised": _synthetic_cell(short, size, size, penalty=0.001),
        "data II: polar words of a tenth of the texts swapped": _synthetic_cell(short, size, size, swapped=0.1),
    }
    expected = {
        "data I": "+15.1 / −15.0 / −0.07; 0.71 / 0.66 / −0.07; V·W 3.2; loss 0.017",
        "data I, V·W penalised": "attention 0.47 / 0.49; V·W 0.00",
        "data II: polar words of a tenth of the texts swapped": "±7.7; attention 0.30 / 0.26; accuracy 90.1%",
    }
    results = dict(zip(cases, _sweep(list(cases.values()), synthetic_course, asked, report), strict=True))
    rows = [[name, str(cases[name]["epochs"]), *_ended(result), expected[name]] for name, result in results.items()]
    head = ["", "epochs", "polarity +/−/0", "attention +/−/0", "V·W", "loss", "accuracy", "an earlier measurement"]
    shown: list[Table | Picture] = [Table(head, rows)]
    for name, result in results.items():
        shown.append(
            drawn(f"course-{_file(name)}", f"{name}: mean scores of each group, by epoch", charts.course(result))
        )
    first = results["data I"]
    shown.append(drawn("terms", "Data I: mean of each term that moves the scores, by epoch", charts.terms(first)))
    names = [name for one, other in PAIRS if (name := f"{one}·{other}") in first["epochs"][0]]
    shown.append(
        drawn("products", "Data I: dot products of embeddings, by epoch", charts.lines(first["epochs"], names))
    )
    text = (
        "1,000 neutral words, 50 positive and 50 negative ones; a text has ten of the first and two that agree with "
        "its label. DP with λ = 10, d = 100, dropout 0.5, plain gradient descent with rate 0.015 in batches of 200."
    )
    title = "Understanding Attention for Text Classification: synthetic texts"
    return _page(asked, title, (text,), [Section("Scores and what moves them", "", shown)])


def figure_imbalance(asked: Asked, report: Report) -> Page:
    """V·W follows the balance of the classes."""
    asked.sets(())
    asked.columns()
    total, epochs = (600, 10) if asked.quick else (12_000, 300)
    ratios = ((1, 5), (2, 5), (1, 2), (1, 1), (2, 1), (5, 2), (5, 1))
    seeds = range(1 if asked.quick else max(asked.seeds, 4))
    cells = [
        _synthetic_cell(
            epochs, round(total * plus / (plus + minus)), total - round(total * plus / (plus + minus)), seed=s
        )
        for plus, minus in ratios
        for s in seeds
    ]
    results = _sweep(cells, synthetic_course, asked, report)
    earlier = {(1, 5): "V·W −12.2; attention 0.19 / 0.52", (5, 1): "V·W +17.5; attention 0.57 / 0.16"}
    rows, points = [], []
    for i, (plus, minus) in enumerate(ratios):
        of = results[i * len(seeds) : (i + 1) * len(seeds)]
        dots = [result["epochs"][-1]["V·W"] for result in of]
        attention = [[_last(result, group)["attention"] for result in of] for group in ("positive", "negative")]
        rows.append(
            [
                f"{plus}:{minus}",
                ", ".join(f"{dot:+.1f}" for dot in dots),
                *(f"{np.mean(values):.2f} ± {np.std(values):.2f}" for values in attention),
                earlier.get((plus, minus), ""),
            ]
        )
        points += [{"ratio": f"{plus}:{minus}", "place": i, "V·W": dot} for dot in dots]
    head = [
        "positive : negative",
        "V·W, by initialisation",
        "attention, positive",
        "attention, negative",
        "an earlier measurement",
    ]
    picture = drawn("imbalance", "V·W at the end of training, by the balance of the classes", charts.dots(points))
    text = "Where one class is larger, V·W leaves zero, and the attention of the two sides parts."
    title = "Understanding Attention for Text Classification: V·W and the balance of the classes"
    about = (f"The synthetic texts, {total:,} in all, {epochs} epochs, four or more initialisations each.",)
    return _page(asked, title, about, [Section("V·W by balance", text, [picture, Table(head, rows)])], len(seeds))


def _ended(result: dict[str, Any]) -> list[str]:
    groups = [_last(result, group) for group in ("positive", "negative", "neutral")]
    return [
        " / ".join(f"{group['polarity']:+.2f}" for group in groups),
        " / ".join(f"{group['attention']:.2f}" for group in groups),
        f"{result['epochs'][-1]['V·W']:+.2f}",
        f"{result['loss']:.3f}",
        f"{100 * result['accuracy']:.1f}%",
    ]


def _last(result: dict[str, Any], group: str) -> dict[str, Any]:
    found: dict[str, Any] = [one for one in result["groups"] if one["group"] == group][-1]
    return found


# -- pages ---------------------------------------------------------------------------------------------------------


def _sweep(
    cells: Sequence[Cell], work: Callable[[Cell], dict[str, Any]], asked: Asked, report: Report
) -> list[dict[str, Any]]:
    kept = _kept(work, asked)
    if not asked.finished:
        return sweep(cells, work, kept, asked.processes, report)
    found = finished(cells, kept)
    if missing := found.count(None):
        raise DataError(
            f"{asked.part} needs {len(cells)} finished cells; {missing} are not in {kept}: run it without --finished."
        )
    return [result for result in found if result is not None]


def _kept(work: Callable[[Cell], dict[str, Any]], asked: Asked) -> Path:
    """The file of finished cells."""
    return Path(asked.out) / NAME / f"{work.__name__}{'-quick' if asked.quick else ''}.jsonl"


def _page(asked: Asked, title: str, about: Sequence[str], sections: Sequence[Section], seeds: int = 1) -> Page:
    command = f"regard reproduce {NAME} --{asked.part}"
    command += "".join(f" --data {name}" for name in asked.data)
    command += "".join(f" --model '{name}'" if " " in name else f" --model {name}" for name in asked.models)
    command += "".join(f" --scale {scale:g}" for scale in asked.scales)
    command += f" --seeds {asked.seeds}" if asked.part == "table 2" and not asked.quick else ""
    command += " --quick" if asked.quick else ""
    command += " --finished" if asked.finished and asked.part.startswith("table") else ""
    about = [*about, *(["**A quick look: few texts and epochs; the numbers mean nothing.**"] if asked.quick else [])]
    used = asked.data or (SETS if asked.part == "table 2" else _SETS_OF.get(asked.part, ()))
    made = made_with([load(name) for name in used], "torch", "numba", "altair")
    drawn_from = "Seed 0" if seeds == 1 else f"Seeds 0 to {seeds - 1}"
    return Page(f"{NAME}-{asked.name}", title, command, about, sections, f"{drawn_from}. {made}")


_SETS_OF = {
    "figure 2": ("sst", "imdb", "20news1"),
    "figure 3": ("sst", "20news2"),
    "figure 4": ("sst",),
    "figure 5": ("sst",),
}


def _file(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")


def _number(value: float) -> str:
    return f"{value:.4f}"


PAPER = Paper(
    NAME,
    "Sun and Lu, Understanding Attention for Text Classification (ACL 2020)",
    {
        "table 2": table_2,
        "figure 2": figure_2,
        "figure 3": figure_3,
        "figure 4": figure_4,
        "figure 5": figure_5,
        "figure synthetic": figure_synthetic,
        "figure imbalance": figure_imbalance,
    },
)
assert set(NETWORKS) == set(_COLUMNS), "a column of the table is a network"
