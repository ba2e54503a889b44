"""Why weights are exponential: Alam, Hossain, Islam, Rahman and Kreinovich, "Attention in machine learning"."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from regard.models.progress import Report
from regard.reproduce import similarity_charts as charts
from regard.reproduce.page import Page, Picture, Section, Table, drawn, made_with
from regard.reproduce.request import Asked, Paper
from regard.reproduce.sweep import Cell, sweep
from regard.similarity.averages import rows_of
from regard.similarity.bandwidth import leave_one_out
from regard.similarity.families import FAMILIES, Family, exp, power, weights
from regard.similarity.measures import Dot, ScaledDot, SquaredEuclidean, squares

NAME = "why-exp"
Floats = NDArray[np.floating]
SETS = ("digits", "wine", "breast-cancer", "cats-and-dogs")
CLASSIFIERS = {"nearest neighbour": lambda: KNeighborsClassifier(1), "ridge": RidgeClassifier}
PLAIN = "no smoothing"
# What each family may be tuned by: what scores are divided by, or an exponent.
SETTINGS: dict[str, tuple[float, ...]] = {
    "exp": (1, 2, 4),
    "power": (3, 4, 8),
    "sigmoid": (1, 2),
    "softplus": (1, 2),
    "linear": (1,),
    "quadratic": (1,),
    "rank": (1,),
}
SIZES = (0.5, 1.0, 1.125, 1.25, 2.0)
# The common part of the noise is as large as the local one, feature by feature.
KINDS = {"local": 0.0, "common": 1.0}
ABOUT = (
    "Each object is replaced by the average of all other objects, `y[i] = Σⱼ w[i, j] x[j]`, "
    "`w[i, j] = F(v[i, j]) / Σₗ F(v[i, l])`, with `v[i, j] = x[i]·x[j] / √d` of noisy objects. Noise with a common "
    "component raises all dot products together, by the same m on average; weights that do not move then must come "
    "from `F(v + m) = g(m) F(v)`, and that is exp alone.",
    "A rank is not a function of one dot product, so that the argument does not speak of it: it does not move either, "
    "but forgets how far apart the dot products are.",
)


def load(name: str) -> tuple[Floats, NDArray[np.intp]]:
    """Objects with centred features of unit variance (digits: of unit variance on the whole), and their classes."""
    if name == "cats-and-dogs":
        return cats_and_dogs()
    read = {"digits": datasets.load_digits, "wine": datasets.load_wine, "breast-cancer": datasets.load_breast_cancer}
    X, y = read[name](return_X_y=True)
    X = X - X.mean(axis=0)
    return X / (X.std() if name == "digits" else X.std(axis=0)), y


def cats_and_dogs(seed: int = 0) -> tuple[Floats, NDArray[np.intp]]:
    """Two classes of six breeds each, which differ more among themselves than cats from dogs on average."""
    rng = np.random.default_rng(seed)
    sides = rng.normal(size=(2, 32)) * 0.4
    breeds = sides.repeat(6, axis=0) + rng.normal(size=(12, 32))
    X = breeds.repeat(50, axis=0) + 0.3 * rng.normal(size=(600, 32))
    return (X - X.mean(axis=0)) / X.std(), np.arange(12).repeat(50) // 6


def noisy(X: Floats, size: float, common: float, seed: int) -> Floats:
    """x[i] + size (n[i] + common · c): noise of each object's own, and noise that all of them share."""
    rng = np.random.default_rng(seed)
    return X + size * (rng.normal(size=X.shape) + common * rng.normal(size=X.shape[1]))


def settings() -> Iterator[tuple[str, Family, float, float]]:
    """Each family with each of its settings: name, F, what scores are divided by, the setting."""
    for name, values in SETTINGS.items():
        for value in values:
            of = partial(power, exponent=value) if name == "power" else FAMILIES[name]
            yield name, of, 1.0 if name == "power" else value, value


def averaging(cell: Cell) -> dict[str, Any]:
    """Accuracy on each fold, by classifier, family and setting; and on a third of two training parts, to choose by."""
    X, y = load(cell["data"])
    X = noisy(X, cell["size"], cell["common"], cell["seed"]).astype(np.float32)
    outer = StratifiedKFold(cell["folds"], shuffle=True, random_state=cell["seed"]).split(X, y)
    found: dict[str, dict[str, dict[str, list[float]]]] = {name: {} for name in CLASSIFIERS}
    for fold, (train, test) in enumerate(outer):
        fit, choose = next(StratifiedKFold(3, shuffle=True, random_state=0).split(train, y[train]))
        parts = {"test": (train, test)} | ({"chosen by": (train[fit], train[choose])} if fold < 2 else {})
        for part, (a, b) in parts.items():
            among, new = ScaledDot().compare(X[a], X[a]), ScaledDot().compare(X[b], X[a])
            others = among.copy()
            np.fill_diagonal(others, np.finfo(among.dtype).min / 4)  # nobody's own noise speaks for it
            _note(found, PLAIN, part, X[a], y[a], X[b], y[b])
            for name, of, scale, value in settings():
                known = weights(others / np.float32(scale), of) @ X[a]
                _note(found, f"{name} {value:g}", part, known, y[a], weights(new / np.float32(scale), of) @ X[a], y[b])
    return found


def _note(found: Any, key: str, part: str, known: Floats, y: Any, new: Floats, z: Any) -> None:
    size = known.std() or 1.0
    for name, make in CLASSIFIERS.items():
        accuracy = float(make().fit(known / size, y).score(new / size, z))
        found[name].setdefault(key, {}).setdefault(part, []).append(accuracy)


def chosen(found: dict[str, dict[str, list[float]]], by: dict[str, dict[str, list[float]]], family: str) -> list[float]:
    """The test accuracy of each fold, with the setting that was best on the training parts of ``by``."""
    keys = [key for key in found if key == family or key.split(" ")[0] == family]
    best = max(keys, key=lambda key: float(np.mean(by[key]["chosen by"])))
    return found[best]["test"]


def shifted(v: Floats, of: Family, m: float) -> float:
    """How much of a row's weight moves when all its scores rise by m, on average: Σⱼ |w(v + m) - w(v)| / 2."""
    return float(np.abs(weights(v + m, of) - weights(v, of)).sum(axis=1).mean() / 2)


def sensitivity(v: Floats, of: Family) -> float:
    """Σⱼ |dw[j]/dm| at m = 0, by differences of both sides, on average over the rows."""
    step = 1e-4
    return float(np.abs(weights(v + step, of) - weights(v - step, of)).sum(axis=1).mean() / (2 * step))


def constant_squares(X: Floats) -> dict[str, float]:
    """How far |x|² is from a constant, and what that does to weights.

    Half the absolute differences of weights by distance and by dot product, with the bias of each key and without.
    """
    value = SquaredEuclidean()
    tau = leave_one_out(X, rows_of(X), value, exp) / 2
    rows = X[:: max(1, len(X) // 300)]
    by_distance = weights(value.compare(rows, X) / (2 * tau))
    dots = Dot().compare(rows, X)
    by_bias, by_dot = weights((dots - squares(X) / 2) / tau), weights(dots / tau)

    def apart(w: Floats) -> float:
        return float(np.abs(w - by_distance).sum(axis=1).mean() / 2)

    length = squares(X)
    return {"spread": float(length.std() / length.mean()), "bias": apart(by_bias), "dot": apart(by_dot)}


def page(asked: Asked, report: Report) -> Page:
    """All of it."""
    sets = asked.sets(SETS)
    sizes, folds = ((0.5, 1.25), 2) if asked.quick else (SIZES, 10)
    cells: list[Cell] = [
        {"data": data, "size": size, "common": common, "folds": folds, "seed": 0}
        for data in sets
        for common in KINDS.values()
        for size in sizes
    ]
    kept = Path(asked.out) / f"{NAME}-cells{'-quick' if asked.quick else ''}.jsonl"
    results = sweep(cells, averaging, kept, asked.processes, report)
    found = {(c["data"], c["common"], c["size"]): result for c, result in zip(cells, results, strict=True)}
    sections = [_moving(), _constant(), _eighty(sets, sizes, found)]
    sections += [section for data in sets for section in _accuracies(data, sizes, found)]
    command = f"regard reproduce {NAME}" + "".join(f" --data {name}" for name in asked.data)
    command += " --quick" if asked.quick else ""
    about = [*ABOUT, *(["**A quick look: the numbers mean nothing.**"] if asked.quick else []), "Seed 0."]
    name = NAME + ("-quick" if asked.quick else "")
    made = made_with([], "scikit-learn", "altair")
    return Page(name, "Why exp", command, about, sections, made)


def _moving() -> Section:
    X, _ = load("digits")
    v = ScaledDot().compare(X[::6], X[::6])
    steps = np.linspace(0, 8, 17)
    chosen_ones = [(n, of, s, value) for n, of, s, value in settings() if value == SETTINGS[n][len(SETTINGS[n]) // 3]]
    curves = [
        {"family": name, "m": float(m), "moved": 100 * shifted(v / scale, of, m / scale)}
        for name, of, scale, _ in chosen_ones
        for m in steps
    ]
    rows = [
        [
            f"{name}" + (f" ({value:g})" if len(SETTINGS[name]) > 1 else ""),
            f"{sensitivity(v / scale, of) / scale:.1e}",
            *(f"{100 * shifted(v / scale, of, m / scale):.2g}%" for m in (0.1, 1.0, 8.0)),
        ]
        for name, of, scale, value in chosen_ones
    ]
    text = (
        "Dot products of clean digits, all raised by the same m. `Σⱼ |dw[j]/dm|` is zero for exp and rank up to "
        "rounding; for every other F weight moves from some objects to others."
    )
    caption = "Weight that moves when all dot products rise by m (digits)."
    return Section(
        "Weights under a common shift",
        text,
        [
            drawn("shift", caption, charts.curves(curves, "m", "moved", "family", "m", "weight moved, %")),
            Table(["F", "Σ dw/dm at m = 0", "m = 0.1", "m = 1", "m = 8"], rows),
        ],
    )


def _constant() -> Section:
    rows = []
    for name in ("digits", "wine", "breast-cancer"):
        raw = {"digits": datasets.load_digits, "wine": datasets.load_wine, "breast-cancer": datasets.load_breast_cancer}
        X = raw[name](return_X_y=True)[0]
        deviation = X.std(axis=0)
        standard = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
        unit = standard / np.sqrt(squares(standard))[:, None]
        for how, points in {"raw": X, "standardised": standard, "of length one": unit}.items():
            one = constant_squares(points)
            rows.append([name, how, f"{one['spread']:.2f}", f"{one['bias']:.1e}", f"{100 * one['dot']:.1f}%"])
    head = ["data", "", "spread of the squares / their mean", "with the bias of each key", "without"]
    text = (
        "Where all |x|² are the same, a distance is a dot product: |x - z|² ≈ 2C - 2 x·z. The last two columns are how "
        "much weight moves from one to the other, at the bandwidth that leaving one out chooses: with the bias "
        "`-|z|²/2` of each key none does on any data; without it, only objects of length one keep their weights."
    )
    return Section("Is |x|² a constant?", text, [Table(head, rows)])


def _tuned(found: Any, data: str, classifier: str, common: float, size: float, by: float) -> dict[str, float]:
    """Accuracy in percent without smoothing and with each F, its setting chosen with ``by`` of common noise."""
    here, there = found[data, common, size][classifier], found[data, by, size][classifier]
    accuracy = {F: 100 * float(np.mean(chosen(here, there, F))) for F in SETTINGS}
    return {PLAIN: 100 * float(np.mean(here[PLAIN]["test"]))} | accuracy


def at_eighty(found: Any, data: str, classifier: str, sizes: Any, by: float) -> dict[str, float] | None:
    """Accuracies under noise with a common component at the size where there is 80% without smoothing.

    Between the two sizes around it, in a straight line; nothing where there is none.
    """
    rows = [_tuned(found, data, classifier, KINDS["common"], size, by) for size in sizes]
    for above, below in zip(rows[:-1], rows[1:], strict=True):
        if above[PLAIN] >= 80 > below[PLAIN]:
            share = (above[PLAIN] - 80) / (above[PLAIN] - below[PLAIN])
            return {name: (1 - share) * above[name] + share * below[name] for name in above}
    return None


def _eighty(sets: Any, sizes: Any, found: Any) -> Section:
    rows = []
    for data in sets:
        for classifier in CLASSIFIERS:
            for how, by in {"this noise": KINDS["common"], "local noise": KINDS["local"]}.items():
                if one := at_eighty(found, data, classifier, sizes, by):
                    rows.append([data, classifier, how, *_bold(list(one.values()))])
    head = ["data", "classifier", "setting chosen under", PLAIN, *SETTINGS]
    text = (
        "Noise with a common component, of the size at which accuracy without smoothing is 80%, where there is such a "
        "size among those below. A common component c raises all dot products by |c|², and adds c·x[j] to those with "
        "x[j]: its mean over c is zero, but with one c it is a bias of each object, which no F can see through."
    )
    return Section("Where plain accuracy is 80%", text, [Table(head, rows)])


def _accuracies(data: str, sizes: Any, found: Any) -> Iterator[Section]:
    for classifier in CLASSIFIERS:
        shown: list[Table | Picture] = []
        points: list[dict[str, Any]] = []
        tables: dict[str, list[list[str]]] = {"this noise": [], "local noise": []}
        for kind, common in KINDS.items():
            for size in sizes:
                own = _tuned(found, data, classifier, common, size, common)
                points += [{"noise": kind, "size": size, "family": F, "accuracy": value} for F, value in own.items()]
                tables["this noise"].append([kind, f"{size:g}", *_bold(list(own.values()))])
                if common:
                    calm = _tuned(found, data, classifier, common, size, 0.0)
                    tables["local noise"].append([kind, f"{size:g}", *_bold(list(calm.values()))])
        caption = f"{data}, {classifier}: accuracy after averaging with each F, by the size of the noise."
        shown.append(drawn(f"{data}-{classifier.replace(' ', '-')}", caption, charts.noise(points, [PLAIN, *SETTINGS])))
        shown += [
            Table(["noise", "size", PLAIN, *SETTINGS], tables["this noise"]),
            Table(["noise, F set under local noise", "size", PLAIN, *SETTINGS], tables["local noise"]),
        ]
        text = (
            "In the figure and the first table each F has the setting that was best on training objects under the same "
            "noise; in the second the one that was best without the common component, as if nobody knew of it."
        )
        yield Section(f"{data}, {classifier}", text, shown)


def _bold(values: list[float]) -> list[str]:
    best = max(values)
    return [f"**{value:.1f}**" if value == best else f"{value:.1f}" for value in values]


PAPER = Paper(
    NAME,
    "Alam, Hossain, Islam, Rahman and Kreinovich, Attention in machine learning: how to explain the empirical formula",
    {"page": page},
)
