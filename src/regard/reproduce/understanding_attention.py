"""Sun and Lu, "Understanding Attention for Text Classification" (ACL 2020): its table and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.models.progress import Report
from regard.reproduce import charts
from regard.reproduce.data import load
from regard.reproduce.page import Page, Picture, Section, Table, beside, drawn, made_with
from regard.reproduce.request import Asked, Paper
from regard.reproduce.sweep import Cell, sweep
from regard.reproduce.understanding_cells import (
    CLOSED,
    MODELS,
    NETWORKS,
    PAIRS,
    SCALES,
    TABLE,
    cell,
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
_QUICK_SCALES = (0.001, 10, 10_000)
_PROTOCOL = (
    "Every model is trained on the train part, with λ as in the first column; the epoch is chosen on the dev part, and "
    "accuracy is measured once, on the test part. DP is the dot product, DP-A has an affine layer before it, DP-L a "
    "bidirectional LSTM, AD is additive attention. Embeddings of 100 numbers start evenly in ±0.1, dropout 0.5 on them "
    "and on the attended vector, Adagrad with rate 0.02 and decay 0.001, batches of 100, at most 40 epochs (15 on "
    "IMDB), the last 10 (4) without a better one; squares of the encoder's weights and of A are penalised. Words are "
    "regard's own tokens, those of the train part.",
    "20News II's split is unpublished: ours is drawn by chance with the paper's sizes.",
)


def table_2(asked: Asked, report: Report) -> Page:
    """Accuracy by model and scale on four data sets."""
    sets = asked.sets(SETS)
    scales = _QUICK_SCALES if asked.quick else SCALES
    seeds = range(1 if asked.quick else asked.seeds)
    cells = [
        cell(data, model, scale, seed, quick=asked.quick)
        for data in sets
        for seed in seeds
        for model in MODELS
        for scale in scales
    ]
    results = _sweep(cells, train, asked, report)
    found = {
        (c["data"], c["model"], c["scale"], c["seed"]): 100 * result["test"]
        for c, result in zip(cells, results, strict=True)
    }
    sections = [_accuracies(data, scales, seeds, found) for data in sets]
    sections += [_best(sets, scales, seeds, found), _separation(sets, scales, cells, results)]
    title = "Understanding Attention for Text Classification, Table 2"
    about = (
        *_PROTOCOL,
        "A cell reads: published → **ours**, the mean over the seeds ± its spread (difference). "
        f"`{CLOSED}` is the paper's model by the closed form (`AttentionClassifier(width=100, ngrams=1)`), `{TABLE}` "
        "is `AttentionClassifier()` with its own settings: two numbers a word or pair.",
    )
    return _page(asked, title, about, sections)


def _accuracies(data: str, scales: Sequence[float], seeds: Sequence[int], found: dict[Any, float]) -> Section:
    rows = [
        [
            f"{scale:g}",
            *(
                beside(PUBLISHED[data].get((model, scale)), [found[data, model, scale, seed] for seed in seeds])
                for model in MODELS
            ),
        ]
        for scale in scales
    ]
    return Section(load(data).title, "", [Table(["λ", *MODELS], rows)])


def _best(sets: Sequence[str], scales: Sequence[float], seeds: Sequence[int], found: dict[Any, float]) -> Section:
    """The best cell of each column, the paper's and ours; and how flat a column is."""
    best, flat = [], []
    for data in sets:
        means = {
            (model, scale): float(np.mean([found[data, model, scale, seed] for seed in seeds]))
            for model in MODELS
            for scale in scales
        }
        title = load(data).title
        published = PUBLISHED[data]
        row = [title]
        for model in MODELS:
            ours = max(means[model, scale] for scale in scales)
            theirs = max((value for (name, _), value in published.items() if name == model), default=None)
            row.append(beside(theirs if theirs is not None else max(published.values()), [ours]))
        best.append(row)
        flat.append(
            [
                title,
                *(
                    f"{means[model, scales[0]]:.1f} / {np.ptp([means[model, s] for s in scales if s >= 10]):.1f}"
                    for model in MODELS
                ),
            ]
        )
    text = (
        "The best cell of each column, published → **ours**. The last two columns stand beside the best of all the "
        "paper's cells for the data. Choosing a cell by its test accuracy flatters both sides alike."
    )
    shape = (
        f"Accuracy at λ = {scales[0]:g}, and the range (largest less smallest) from λ = 10 on: the models with "
        "embeddings fall at the first and lie on a plateau afterwards; the table does not fall."
    )
    return Section(
        "Best cells, and the shape",
        text,
        [Table(["", *MODELS], best), Table([shape, *MODELS], flat)],
    )


def _separation(
    sets: Sequence[str], scales: Sequence[float], cells: Sequence[Cell], results: Sequence[dict[str, Any]]
) -> Section:
    """How often a polar word is louder than a neutral one; V·W."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for c, result in zip(cells, results, strict=True):
        found.setdefault((c["data"], c["model"], c["scale"]), []).append(result)
    tables = []
    for data in sets:
        rows = []
        for scale in scales:
            row = [f"{scale:g}"]
            for model in MODELS:
                of = found[data, model, scale]
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
    sets = asked.sets(("sst", "imdb", "20news1"))
    text = "Positive and negative words should lie apart in polarity, and both above the neutral ones in attention."
    return _word_figure(asked, report, "Figure 2", text, [(data, "DP", 10.0) for data in sets])


def figure_3(asked: Asked, report: Report) -> Page:
    """Where attention becomes hard to read: SST with λ = 100; and three classes."""
    asked.sets(("sst", "20news2"))
    text = (
        "With λ = 100 on SST attention scores of positive words fall to those of neutral ones or below, and polarity "
        "still decides. On 20News II, with three classes, polar words are louder than neutral ones."
    )
    return _word_figure(asked, report, "Figure 3", text, [("sst", "DP", 100.0), ("20news2", "DP", 10.0)])


def figure_4(asked: Asked, report: Report) -> Page:
    """Additive attention, λ = 10."""
    asked.sets(("sst",))
    return _word_figure(asked, report, "Figure 4", "The same with additive attention.", [("sst", "AD", 10.0)])


def figure_5(asked: Asked, report: Report) -> Page:
    """The attention weights that words of each kind get in test texts."""
    asked.sets(("sst",))
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
    names = [f"{one}·{other}" for one, other in PAIRS]
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
    return _page(asked, title, about, [Section("V·W by balance", text, [picture, Table(head, rows)])])


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
    kept = Path(asked.out) / NAME / f"{work.__name__}{'-quick' if asked.quick else ''}.jsonl"
    return sweep(cells, work, kept, asked.processes, report)


def _page(asked: Asked, title: str, about: Sequence[str], sections: Sequence[Section]) -> Page:
    command = f"regard reproduce {NAME} --{asked.part}"
    command += "".join(f" --data {name}" for name in asked.data)
    command += f" --seeds {asked.seeds}" if asked.part == "table 2" and not asked.quick else ""
    command += " --quick" if asked.quick else ""
    about = [*about, *(["**A quick look: few texts and epochs; the numbers mean nothing.**"] if asked.quick else [])]
    used = asked.data or (SETS if asked.part == "table 2" else _SETS_OF.get(asked.part, ()))
    made = made_with([load(name) for name in used], "torch", "numba", "altair")
    return Page(f"{NAME}-{asked.name}", title, command, about, sections, made)


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
