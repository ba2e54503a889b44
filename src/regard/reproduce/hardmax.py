"""Alcalde, Fantuzzi and Zuazua, clustering in pure-attention hardmax transformers (2024): its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.attention.hardmax import run
from regard.errors import DataError
from regard.models.progress import Report
from regard.reproduce import hardmax_charts as charts
from regard.reproduce.data import load
from regard.reproduce.hardmax_cells import accuracy, cell, leading, losses, reviews
from regard.reproduce.page import Page, Picture, Section, Table, beside, drawn, made_with
from regard.reproduce.request import Asked, Paper
from regard.reproduce.sweep import Cell, finished, sweep

NAME = "hardmax"
_SETS = ("imdb-official",)
_NAMED = 8  # words in a cell
# The best test accuracy in percent of any epoch, by dimension: the paper chose the epoch on the test part.
PUBLISHED = {2: 79.14, 4: 82.28, 8: 85.05, 16: 88.21}
_PROTOCOL = (
    "The paper's protocol: 70% of all 50,000 reviews to train on, 30% to test on (in an order drawn by chance, for the "
    "published one is that of another file), links, tags, signs, digits and stop words taken out, then the first 128 "
    "words; no lemmas here. The epoch is chosen on a tenth of the training part; nothing is chosen on the test part. "
    "Eight layers. The hardmax itself is trained, and the model that is trained is the model that is measured.",
)


def dynamics(asked: Asked, report: Report) -> Page:
    """Points of the plane going through layers, from four beginnings."""
    _check(asked, ())
    rng = np.random.default_rng(0)
    n = 60
    angles = rng.uniform(0, 2 * np.pi, n)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cases = {
        "evenly in a square": rng.uniform(-1, 1, (n, 2)),
        "normal": rng.normal(size=(n, 2)) / 2,
        "around a ring": ring * rng.uniform(0.7, 1.0, (n, 1)),
        "all on one side": rng.normal(size=(n, 2)) / 4 + [0.8, 0.5],
    }
    shown: list[Table | Picture] = []
    rows = []
    layers, alpha = (0, 1, 2, 4, 8), 1.0
    for k, (name, x) in enumerate(cases.items()):
        found = run(x, 8, alpha, path=True)
        assert found.path is not None, "it was asked for"
        chart = charts.paths({layer: found.path[layer] for layer in layers}, found.became, found.cluster)
        caption = f"{name}: 60 points in the layers {', '.join(map(str, layers))}, α = 1; leaders in orange"
        shown.append(drawn(f"dynamics-{k + 1}", caption, chart))
        sizes = [str(int((found.cluster == i).sum())) for i in found.leaders]
        rows.append([name, str(len(sizes)), ", ".join(sizes), str(found.settled[0])])
        report(name, (k + 1) / len(cases))
    head = ["beginning", "leaders", "points that end at each", "nothing changes from layer"]
    text = (
        "Every point goes half of its way to the point that it likes best, the one with the largest product with it. "
        "Points that like themselves best are leaders; the others end at leaders, or between some. The four beginnings "
        "are ours: a square, a normal cloud, a ring, and a cloud beside the origin."
    )
    return _page(asked, "dynamics", (), [Section("Clusters and leaders", text, [Table(head, rows), *shown])])


def figure_losses(asked: Asked, report: Report) -> Page:
    """Training losses of the softmax, of the hardmax read off it, and of the hardmax trained itself."""
    _check(asked, _SETS)
    size, epochs = (400, 3) if asked.quick else (4000, 6)
    cells: list[Cell] = [
        {"protocol": "paper", "dim": d, "seed": 0, "quick": asked.quick, "texts": size, "epochs": epochs}
        for d in ((2,) if asked.quick else (2, 16))
    ]
    results = _sweep(cells, losses, asked, report)
    names = ("softmax", "hardmax, read off the softmax", "hardmax, trained itself")
    sections = []
    for c, result in zip(cells, results, strict=True):
        course = result["course"]
        rows = [[str(one["epoch"]), *(f"{one[name]:.3f}" for name in names)] for one in course]
        chart = charts.lines(course, names)
        caption = f"d = {c['dim']}: mean log loss of the training reviews by epoch"
        alphas = f"α ends at {result['alpha'][0]:.2f} for the softmax and at {result['alpha'][1]:.3f} for ours."
        sections.append(
            Section(
                f"d = {c['dim']}",
                alphas,
                [drawn(f"losses-{c['dim']}", caption, chart), Table(["epoch", *names], rows)],
            )
        )
    about = (
        f"The first {size:,} training reviews of the paper's protocol, {epochs} epochs. The softmax (temperature "
        "0.001, 128 padded places, Adam with rate 0.001, batches of 64) is trained as published, which took 101 epochs "
        "on all reviews and ended at 0.160 for it and for the hardmax read off it alike (d = 2): six "
        "epochs on a few reviews "
        "are the beginning of that. The third column is `HardmaxClassifier`, which starts from log "
        "ratios of counts and "
        "trains the hardmax itself: nothing has to be read off. Epoch 0 is before training.",
    )
    return _page(asked, "losses", about, sections)


def figure_accuracy(asked: Asked, report: Report) -> Page:
    """Test accuracy by dimension, in the paper's protocol and in the official split."""
    _check(asked, _SETS)
    dims = (2,) if asked.quick else tuple(PUBLISHED)
    seeds = range(1 if asked.quick else asked.seeds)
    kinds: dict[str, dict[str, Any]] = {
        "words": {},
        "words, α starts at 1": {"alpha": 1.0},
        "words and pairs": {"ngrams": 2},
    }
    wanted = [
        (name, kind, d)
        for name in ("paper", "official")
        for kind in kinds
        for d in dims
        if kind == "words" or d == 2  # the variations at the smallest size
    ]
    cells = [cell(name, d, seed, quick=asked.quick, **kinds[kind]) for name, kind, d in wanted for seed in seeds]
    results = _sweep(cells, accuracy, asked, report)
    of: dict[Any, list[dict[str, Any]]] = {}
    for i, result in enumerate(results):
        of.setdefault(wanted[i // len(seeds)], []).append(result)
    sections = []
    titles = {"paper": "The paper's protocol", "official": "The official split, whole reviews"}
    for name, title in titles.items():
        rows = []
        for kind in kinds:
            for d in dims:
                if (name, kind, d) not in of:
                    continue
                found = of[name, kind, d]
                published = PUBLISHED[d] if name == "paper" else None
                tested = [100 * one["test"] for one in found]
                rows.append(
                    [
                        kind,
                        str(d),
                        beside(published, tested),
                        beside(None, [100 * one["dev"] for one in found]),
                        f"{np.mean([one['alpha'] for one in found]):.3f}",
                    ]
                )
        head = ["points", "d", "test accuracy", "held-out accuracy", "learned α"]
        sections.append(Section(title, "", [Table(head, rows)]))
    about = (
        *_PROTOCOL,
        f"A cell reads published → **ours** (difference), the mean of {len(seeds)} "
        f"{'seed' if len(seeds) == 1 else 'seeds'}. The published numbers are the best of any epoch on the test part.",
    )
    return _page(asked, "accuracy", about, sections)


def figure_leaders(asked: Asked, report: Report) -> Page:
    """How many leaders a review has, which words lead, and whether by chance."""
    _check(asked, _SETS)
    cells = [cell("paper", 2, quick=asked.quick), cell("paper", 2, quick=asked.quick, alpha=1.0)]
    results = _sweep(cells, leading, asked, report)
    sections = []
    for k, result in enumerate(results):
        start = "0.03" if k == 0 else "1"
        numbers = [
            ["leaders a review", *(f"{value:.2f}" for value in result["number"])],
            ["share that were leaders before layer 1", *(f"{value:.2f}" for value in result["first"])],
        ]
        polar = result["polar"]
        lift = [
            polar["leaders"] / polar[name] if polar[name] else float("nan") for name in ("occurrences", "vocabulary")
        ]
        kinds = [
            [one["kind"], *(f"{100 * one[name]:.1f}%" for name in ("leaders", "occurrences", "vocabulary"))]
            for one in result["kinds"]
        ]
        total = [f"{100 * polar[name]:.1f}%" for name in ("leaders", "occurrences", "vocabulary")]
        times = ["times as many among leaders", "", *(f"{value:.1f}" for value in lift)]
        kinds += [["polar (positive or negative)", *total], times]
        words = [
            Table(
                [f"{name} word", "leads in reviews", "of reviews with it"],
                [[one["word"], str(one["leads"]), str(one["texts"])] for one in result["words"][name]],
            )
            for name in ("positive", "negative")
        ]
        bars = [{"side": name, **one} for name in ("positive", "negative") for one in result["words"][name]]
        caption = "The positive words that lead most often in positive reviews, and the negative in negative ones"
        sections.append(
            Section(
                f"d = 2, α starts at {start}",
                f"Test accuracy {100 * result['test']:.1f}%, learned α {result['alpha']:.3f}; {result['texts'][0]:,} "
                f"test reviews, of which {result['texts'][1]:,} are predicted rightly with a probability above 0.95: "
                "the shares of kinds and the words are about these.",
                [
                    Table(["", "mean", "deviation", "least", "most"], numbers),
                    Table(["kind", "of leaders", "of all words in the reviews", "of the vocabulary"], kinds),
                    drawn(f"leaders-{k + 1}", caption, charts.bars(bars)),
                    *words,
                ],
            )
        )
    about = (
        *_PROTOCOL,
        "A leader is a word that likes itself best in some layer; it stays where it is. Polar and neutral words are "
        "those of Sun and Lu (2020), by their counts in the training reviews. Most leaders are of no "
        "kind: words that lie "
        "far out across the direction that decides. The lists below show the polar ones alone.",
    )
    return _page(asked, "leaders", about, sections)


def figure_review(asked: Asked, report: Report) -> Page:
    """A positive and a negative review through the layers."""
    _check(asked, _SETS)
    cells = [cell("paper", 2, quick=asked.quick, alpha=1.0)]
    (result,) = _sweep(cells, reviews, asked, report)
    sections = []
    for name, told in result["reviews"].items():
        points, path = told["points"], np.array(told["path"])
        led = np.array([-1 if point["leader"] is None else point["leader"] for point in points])
        cluster = np.array([-1 if point["cluster"] is None else point["cluster"] for point in points])
        words = [point["text"] for point in points]
        chart = charts.paths({layer: path[layer] for layer in (0, 1, 2, 4, 8)}, led, cluster, words)
        rows = []
        for i in np.flatnonzero(led >= 0):
            point = points[i]
            drawn_to = [words[j] for j in np.flatnonzero(cluster == i) if j != i]
            rows.append(
                [
                    f"**{point['text']}**",
                    point["kind"],
                    str(led[i]),
                    f"{point['share']:.3f}",
                    f"{point['contribution']:+.2f}",
                    _few(drawn_to),
                ]
            )
        head = ["leader", "kind", "since layer", "share", "contribution", "who gathers around it"]
        caption = f"The words of a {name} review in the layers 0, 1, 2, 4 and 8; leaders are named"
        score = f"Score {told['score']:+.2f} = bias {told['bias']:+.2f} and the contributions of all words."
        sections.append(
            Section(
                f"A {name} review",
                f"*{told['text']}* {score}",
                [drawn(f"review-{name}", caption, chart), Table(head, rows)],
            )
        )
    about = (
        *_PROTOCOL,
        f"d = 2; α started at 1 and was learned to {result['alpha']:.2f}, so that after eight layers leaders decide.",
    )
    return _page(asked, "review", about, sections)


def _check(asked: Asked, sets: Sequence[str]) -> None:
    """There is one data set, one model, and no scale."""
    asked.sets(sets)
    asked.columns()


def _few(words: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return (", ".join(words[:_NAMED]) + (f" and {len(words) - _NAMED} more" * (len(words) > _NAMED))) or "–"


def _sweep(
    cells: Sequence[Cell], work: Callable[[Cell], dict[str, Any]], asked: Asked, report: Report
) -> list[dict[str, Any]]:
    kept = Path(asked.out) / NAME / f"{work.__name__}{'-quick' if asked.quick else ''}.jsonl"
    if not asked.finished:
        return sweep(cells, work, kept, asked.processes, report)
    found = finished(cells, kept)
    if missing := found.count(None):
        raise DataError(
            f"{asked.part} needs {len(cells)} finished cells; {missing} are not in {kept}: run it without --finished."
        )
    return [result for result in found if result is not None]


def _page(asked: Asked, part: str, about: Sequence[str], sections: Sequence[Section]) -> Page:
    command = f"regard reproduce {NAME} --{asked.part}"
    command += f" --seeds {asked.seeds}" if part == "accuracy" and not asked.quick else ""
    command += " --quick" if asked.quick else ""
    about = [*about, *(["**A quick look: few texts and epochs; the numbers mean nothing.**"] if asked.quick else [])]
    used = [] if part == "dynamics" else [load(name) for name in _SETS]
    title = f"Clustering in hardmax transformers: {part}"
    seeds = f"Seeds 0 to {asked.seeds - 1}" if part == "accuracy" and asked.seeds > 1 and not asked.quick else "Seed 0"
    made = f"{seeds}. {made_with(used, 'numba', 'torch', 'altair')}"
    return Page(f"{NAME}-{asked.name}", title, command, about, sections, made)


PAPER = Paper(
    NAME,
    "Alcalde, Fantuzzi and Zuazua, Clustering in pure-attention hardmax transformers (2024)",
    {
        "figure dynamics": dynamics,
        "figure losses": figure_losses,
        "figure accuracy": figure_accuracy,
        "figure leaders": figure_leaders,
        "figure review": figure_review,
    },
)
