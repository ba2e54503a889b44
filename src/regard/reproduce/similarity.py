"""One similarity, many models: a tour from three persons to the vision transformer, each figure from running code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import correlate2d
from scipy.special import expit, softmax
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from regard.models.progress import Report
from regard.reproduce import similarity_charts as charts
from regard.reproduce.page import Page, Section, Table, drawn, made_with
from regard.reproduce.request import Asked, Paper
from regard.reproduce.sweep import Cell, sweep
from regard.similarity import (
    AttentionSmoother,
    SimilarityClassifier,
    SimilarityRegressor,
    average,
    recommend,
    resolve,
    weights,
)

NAME = "similarity"
Floats = NDArray[np.floating]
SETS = ("moons", "circles", "two clouds", "digits")
FEATURES = ("height", "weight", "age", "hobby", "occupation", "shopping", "commute")
PERSONS = np.array([[179, 70, 25, 1, 1, 1, 1], [180, 70, 26, 1, 1, 1, 1], [185, 80, 54, 2, 2, 2, 2]], dtype=np.float64)
ITEMS = ("basketball shoes", "bicycle lamp", "keyboard", "newspaper", "car wash")
# What they like already, as their table suggests: B has not met the lamp and the keyboard, nor A the shoes.
LIKES = np.array([[0, 1, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 1]], dtype=np.float64)


def models(seed: int = 0) -> dict[str, Callable[[], Any]]:
    """Classifiers, each after the same scaling."""
    made: dict[str, Callable[[], Any]] = {
        "k nearest neighbours (attention, top_k)": lambda: SimilarityClassifier(weigh="top_k", n_neighbors=5),
        "kernel (attention, exp)": SimilarityClassifier,
        "logistic regression": lambda: LogisticRegression(max_iter=1000),
        "support vectors": lambda: SVC(),
        "decision tree": lambda: DecisionTreeClassifier(random_state=seed),
        "random forest": lambda: RandomForestClassifier(100, random_state=seed),
        "network": lambda: MLPClassifier((32, 32), max_iter=400, random_state=seed),
    }
    return made


def load(name: str) -> tuple[Floats, NDArray[np.intp]]:
    """Objects and classes."""
    if name == "digits":
        return datasets.load_digits(return_X_y=True)  # type: ignore[no-any-return]
    if name == "two clouds":
        return cats_and_dogs(300)
    make = {"moons": datasets.make_moons, "circles": datasets.make_circles}[name]
    options = {"factor": 0.5} if name == "circles" else {}
    return make(300, noise=0.25 if name == "moons" else 0.15, random_state=0, **options)  # type: ignore[no-any-return]


def cats_and_dogs(n: int) -> tuple[Floats, NDArray[np.intp]]:
    """Nose size and ear shape of cats (0) and dogs (1)."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    middles = np.array([[0.35, 0.65], [0.65, 0.35]])
    return middles[y] + rng.normal(size=(n, 2)) * 0.14, y


# -- cells ---------------------------------------------------------------------------------------------------------


def fold_accuracy(cell: Cell) -> dict[str, Any]:
    """A model's accuracy on each of the folds, which are the same for all."""
    X, y = load(cell["data"])
    folds = list(StratifiedKFold(cell["folds"], shuffle=True, random_state=cell["seed"]).split(X, y))
    if cell["model"] in ("convolutional network", "vision transformer"):
        from regard.reproduce.similarity_images import accuracies
        from regard.systems.vision import Convolutional, VisionTransformer

        kind = Convolutional if cell["model"] == "convolutional network" else VisionTransformer
        found, parameters = accuracies(kind, X, y, folds, cell["epochs"], cell["seed"])
        return {"accuracy": found, "parameters": parameters}
    model = make_pipeline(StandardScaler(), models(cell["seed"])[cell["model"]]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the network stops after so many rounds everywhere
        return {"accuracy": [float(model.fit(X[a], y[a]).score(X[b], y[b])) for a, b in folds]}


# -- the tour ------------------------------------------------------------------------------------------------------


def persons() -> Section:
    """The three persons and what their likeness recommends."""
    distances = -resolve("euclidean").compare(PERSONS, PERSONS)
    model = SimilarityRegressor(bandwidth=10.0).fit(PERSONS, LIKES)
    best = recommend(model, PERSONS, known=LIKES, n=2)
    shares = model.speakers(PERSONS, 3)
    rows = []
    for i, name in enumerate("ABC"):
        others = [(j, w) for j, w in zip(shares.indices[i], shares.weights[i], strict=True) if j != i]
        listened = ", ".join(f"{'ABC'[j]} {w:.2f}" for j, w in others)
        trusted = [ITEMS[k] for k in best[i] if model.predict(PERSONS)[i, k] > 0.1]
        rows.append([name, *(f"{value:g}" for value in PERSONS[i]), listened, ", ".join(trusted) or "nothing"])
    apart = ", ".join(f"{a}–{b} {distances['ABC'.index(a), 'ABC'.index(b)]:.2f}" for a, b in ("AB", "AC", "BC"))
    text = (
        f"Similar things should be close. Distances: {apart}. Attention with `exp(-d²/10)` lets each person listen to "
        "those who are close: what A likes is recommended to B and the other way round; C, who resembles nobody, gets "
        "no recommendation worth the name (a share of likes above 0.1)."
    )
    return Section("Three persons", text, [Table(["", *FEATURES, "listens to", "is recommended"], rows)])


def least_squares() -> Section:
    """The vertical distance against the distance from the line."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = 0.8 * x + 0.6 * rng.normal(size=40)
    new_x = rng.normal(size=4000)
    new_y = 0.8 * new_x + 0.6 * rng.normal(size=4000)
    centre = np.array([x.mean(), y.mean()])
    vertical = float(np.polyfit(x, y, 1)[0])
    direction = np.linalg.svd(np.stack([x, y], 1) - centre)[2][0]
    slopes = {"vertical": vertical, "orthogonal": float(direction[1] / direction[0])}
    rows = []
    for name, slope in slopes.items():
        error = y - centre[1] - slope * (x - centre[0])
        foretold = new_y - centre[1] - slope * (new_x - centre[0])
        squares = (error @ error, error @ error / (1 + slope**2), np.mean(foretold**2))
        rows.append([name, f"{slope:.3f}", *(f"{value:.3f}" for value in squares)])
    head = ["least squares of", "slope", "vertical squares", "orthogonal squares", "squared error on new y"]
    text = (
        "Each line is the best by its own distance. To foretell y from x only the shift along y matters: the vertical "
        "line is the one that is right on new points (whose slope is 0.8), the orthogonal one is too steep."
    )
    chart = charts.fits(x, y, centre, slopes)
    return Section(
        "Which distance from the line?", text, [drawn("least-squares", "Both lines.", chart), Table(head, rows)]
    )


def sigmoid_distance() -> Section:
    """The logit is the signed distance from the line, times |w|."""
    X, y = cats_and_dogs(120)
    model = LogisticRegression(C=10).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    distance = (X @ w + b) / np.linalg.norm(w)
    p = model.predict_proba(X)[:, 1]
    off = float(np.abs(p - expit(np.linalg.norm(w) * distance)).max())
    order = np.argsort(np.abs(distance))
    picked = [*order[:2], *order[-2:]]
    rows = [[("cat", "dog")[y[i]], f"{distance[i]:+.3f}", f"{p[i]:.3f}"] for i in picked]
    text = (
        f"`P(dog) = σ(w·x + b) = σ(|w| · distance)`: here |w| = {np.linalg.norm(w):.1f}, and the two sides differ by "
        f"at most {off:.0e}. Near the line an animal may be either; far from it, its features are plain."
    )
    chart = charts.sigmoid(X, y, p, distance, float(np.linalg.norm(w)), w, float(b))
    return Section(
        "The sigmoid is a distance",
        text,
        [drawn("sigmoid", "Cats and dogs, and how sure the model is.", chart), Table(["", "distance", "P(dog)"], rows)],
    )


def boundaries() -> Section:
    """Where each model changes its mind."""
    X, y = load("moons")
    axes = [np.linspace(X[:, k].min() - 0.4, X[:, k].max() + 0.4, 64) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*axes), -1)
    points = []
    for name, make in models().items():
        model = make_pipeline(StandardScaler(), make())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        side = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        for axis in (0, 1):
            for i, j in np.argwhere(np.diff(side, axis=axis) != 0):
                place = (grid[i, j] + grid[(i + 1, j) if axis == 0 else (i, j + 1)]) / 2
                points.append({"model": name, "x": round(float(place[0]), 3), "y": round(float(place[1]), 3)})
    caption = "Half of the 300 points, and where each model changes its mind."
    text = "Every model knows what is similar to what; they differ in what they do with it."
    picture = drawn("boundaries", caption, charts.boundaries(X[::2], y[::2], points))
    return Section("Decision boundaries", text, [picture])


def dense_of(kernel: Floats, height: int, width: int) -> Floats:
    """The dense layer (pixels, pixels) that a convolution with a kernel is, zeros around the image."""
    half = kernel.shape[0] // 2
    dense = np.zeros((height, width, height, width))
    for i in range(height):
        for j in range(width):
            for a, b in np.ndindex(*kernel.shape):
                row, column = i + a - half, j + b - half
                if 0 <= row < height and 0 <= column < width:
                    dense[i, j, row, column] = kernel[a, b]
    return dense.reshape(height * width, height * width)


def convolution() -> Section:
    """A convolution is a dense layer with nine weights, used again and again."""
    rng = np.random.default_rng(0)
    kernel, image = rng.normal(size=(3, 3)), rng.normal(size=(28, 28))
    dense = dense_of(kernel, 28, 28)
    off = float(np.abs(dense @ image.ravel() - correlate2d(image, kernel, mode="same").ravel()).max())
    rows = [
        ["weights of the dense layer", f"{dense.size:,}"],
        ["of these not zero", f"{np.count_nonzero(dense):,}"],
        ["of these different", f"{len(np.unique(dense[dense != 0]))}"],
        ["largest difference of the outputs", f"{off:.0e}"],
    ]
    text = "From 28 × 28 pixels to 28 × 28. Below, the same for 6 × 6: nine weights, one colour each; the rest is zero."
    small = charts.matrix(dense_of(np.arange(1.0, 10).reshape(3, 3), 6, 6))
    picture = drawn("convolution", "The dense layer that a 3 × 3 filter is (6 × 6 pixels).", small)
    return Section("A convolution is part of a dense layer", text, [Table(["", ""], rows), picture])


def max_pooling() -> Section:
    """The largest dot product is the most similar patch."""
    X, y = datasets.load_digits(return_X_y=True)
    image = X[np.flatnonzero(y == 7)[0]].reshape(8, 8) / 16
    kernel = np.array([[-1.0, 0, 1], [-1, 0, 1], [-1, 0, 1]])
    found = correlate2d(image, kernel, mode="valid")
    pooled = found.reshape(3, 2, 3, 2).max(axis=(1, 3))
    patches = np.lib.stride_tricks.sliding_window_view(image, (3, 3)).reshape(3, 2, 3, 2, 9).transpose(0, 2, 1, 3, 4)
    chosen = [
        average(kernel.reshape(1, 9), four, four @ kernel.ravel(), similarity="dot", weigh="top_k", n_neighbors=1)[0]
        for four in patches.reshape(9, 4, 9)
    ]
    off = float(np.abs(np.array(chosen) - pooled.ravel()).max())
    text = (
        "A filter is a query, patches are keys. Where their dot product is large they are alike; max pooling keeps the "
        "most similar patch of four, which is attention with all weight on the best (`top_k`, one neighbour): "
        f"the two differ by {off:.0e}."
    )
    panels = {"a seven": image, "filter": kernel, "dot products": found, "most similar of four": pooled}
    picture = drawn("max-pooling", "From the image to what is kept.", charts.grids(panels))
    return Section("Max pooling is the most similar patch", text, [picture])


def attention() -> Section:
    """Attention, self-attention and several heads on the digits."""
    X, y = datasets.load_digits(return_X_y=True)
    X = X / 16
    q, k, v = X[:5], X[100:400], np.eye(10)[y[100:400]]
    off = np.abs(average(q, k, v, similarity="scaled_dot") - softmax(q @ k.T / np.sqrt(64), axis=1) @ v).max()
    smoother = AttentionSmoother(own=False).fit(X)
    w = weights(resolve("squared_euclidean").compare(X, X) / smoother.bandwidth_ - 1e9 * np.eye(len(X)))
    heard = np.array([[w[np.ix_(y == a, y == b)].sum(axis=1).mean() for b in range(10)] for a in range(10)])
    rng = np.random.default_rng(0)
    noisy = X + 0.35 * rng.normal(size=X.shape)
    smooth = AttentionSmoother(own=False).fit_transform(noisy)
    halves = np.array([(row // 4) * 2 + column // 4 for row in range(8) for column in range(8)])
    heads = np.empty_like(noisy)
    for head in range(4):
        heads[:, halves == head] = AttentionSmoother(own=False).fit_transform(noisy[:, halves == head])
    images = {"clean": X, "noisy": noisy, "one head": smooth, "four heads": heads}
    errors = {name: float(np.square(found - X).mean()) for name, found in images.items() if name != "clean"}
    panels = {
        f"{name} {digit}": source[np.flatnonzero(y == digit)[0]].reshape(8, 8)
        for name, source in images.items()
        for digit in (0, 3, 7)
    }
    text = (
        f"`average(q, k, v)` is `softmax(QK'/√d) V`: they differ by {off:.0e}. With Q = K = V every digit becomes an "
        f"average of those like it, itself left out: {100 * np.trace(heard) / 10:.0f}% of the weight goes to the same "
        "class. Four heads look at a quarter of the image each, and their results are laid side by side; without "
        "learned projections a quarter knows less of what is similar, so that one head takes more of the noise away."
    )
    rows = [[name, f"{error:.4f}"] for name, error in errors.items()]
    return Section(
        "Attention, self-attention, several heads",
        text,
        [
            drawn("self-attention", "Who listens to whom: mean weight from class to class.", charts.heat(heard)),
            drawn("heads", "Noise before and after self-attention.", charts.grids(panels, columns=3)),
            Table(["", "mean squared error against the clean digits"], rows),
        ],
    )


def accuracies(cells: list[Cell], results: list[dict[str, Any]]) -> Section:
    """All models on the same folds."""
    found = {(c["model"], c["data"]): r for c, r in zip(cells, results, strict=True)}
    sets = list(dict.fromkeys(c["data"] for c in cells))
    names = list(dict.fromkeys(c["model"] for c in cells))
    rows = []
    for name in names:
        line = []
        for data in sets:
            one = found.get((name, data))
            line.append(f"{100 * np.mean(one['accuracy']):.1f} ± {100 * np.std(one['accuracy']):.1f}" if one else "")
        parameters = next((str(r["parameters"]) for (m, _), r in found.items() if m == name and "parameters" in r), "")
        rows.append([name, *line, parameters])
    networks = [np.mean(found[name, "digits"]["accuracy"]) for name in ("convolutional network", "vision transformer")]
    text = (
        f"Mean and spread over the same {cells[0]['folds']} folds. On the digits the vision transformer and the "
        "convolutional network have about the same number of weights, and both see images by dot products; on these "
        "few and small images the convolution, which knows what is beside what, is "
        f"{100 * (networks[0] - networks[1]):+.1f} points from the transformer."
    )
    return Section("Side by side", text, [Table(["model", *sets, "parameters"], rows)])


def tastes(persons: int = 1200, items: int = 60, seed: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
    """A taste set: persons and what they like. Six tastes, which items serve more or less, some items loved by all."""
    rng = np.random.default_rng(seed)
    taste = rng.dirichlet(np.full(6, 0.3), size=persons)
    serves = rng.gamma(0.5, size=(6, items))
    popular = rng.normal(size=items)
    odds = 3.0 * (taste @ serves) + popular - 3.2
    return taste, rng.random((persons, items)) < expit(odds)


def recommendation() -> Section:
    """Recommending by similar persons' likes against recommending what is popular."""
    _, likes = tastes()
    rng = np.random.default_rng(1)
    train, test = likes[:900].astype(float), likes[900:]
    described = train * (rng.random(train.shape) < 0.5)
    known = test & (rng.random(test.shape) < 0.5)
    hidden = test & ~known
    some = hidden.any(axis=1) & known.any(axis=1)
    known, hidden = known[some].astype(float), hidden[some]
    found = {"by chance": rng.permuted(np.tile(np.arange(likes.shape[1]), (len(known), 1)), axis=1)}
    popular = np.where(known > 0, -np.inf, train.mean(axis=0))
    found["popularity"] = np.argsort(-popular, axis=1, kind="stable")
    ways: dict[str, dict[str, Any]] = {
        "similar persons (cosine, exp)": {"similarity": "cosine"},
        "similar persons (cosine, the 50 nearest)": {"similarity": "cosine", "weigh": "top_k", "n_neighbors": 50},
        "similar persons (squared distance, exp)": {},
    }
    for name, options in ways.items():
        found[name] = recommend(SimilarityRegressor(**options).fit(described, train), known, known=known, n=10)
    rows = []
    for name, items in found.items():
        hits = np.take_along_axis(hidden, items[:, :5], axis=1)
        shares = (hits[:, 0].mean(), hits.mean(), hits.any(axis=1).mean())
        rows.append([name, *(f"{100 * share:.1f}%" for share in shares)])
    text = (
        f"1,200 generated persons with six tastes, 60 items, some of them loved by all; 900 persons to learn from, "
        f"{len(known)} to recommend to. Everybody is described by a random half of what they like. A hit is an item "
        "of the other half of a person to recommend to."
    )
    head = ["recommended", "the first is a hit", "hits among five", "at least one of five"]
    return Section("Recommendation", text, [Table(head, rows)])


def cells_of(quick: bool) -> Iterator[Cell]:
    """Every model on every data set, and the two networks for images on the digits."""
    folds, epochs = (2, 1) if quick else (5, 40)
    for data in SETS:
        for name in models():
            yield {"data": data, "model": name, "folds": folds, "seed": 0}
    for name in ("convolutional network", "vision transformer"):
        yield {"data": "digits", "model": name, "folds": folds, "seed": 0, "epochs": epochs}


def page(asked: Asked, report: Report) -> Page:
    """The tour."""
    asked.sets(())
    cells = list(cells_of(asked.quick))
    kept = Path(asked.out) / f"{NAME}-cells{'-quick' if asked.quick else ''}.jsonl"
    results = sweep(cells, fold_accuracy, kept, asked.processes, report)
    makers = (persons, least_squares, sigmoid_distance, boundaries, convolution, max_pooling, attention)
    sections = [make() for make in makers]
    sections += [accuracies(cells, results), recommendation()]
    about = [
        "To classify, to recommend, to look at an image or a text is to know what is similar to what. Every figure and "
        "number on this page comes from code that ran when the page was made. Seed 0.",
        *(["**A quick look: the numbers mean nothing.**"] if asked.quick else []),
    ]
    name = NAME + ("-quick" if asked.quick else "")
    command = f"regard reproduce {NAME}" + (" --quick" if asked.quick else "")
    made = made_with([], "scikit-learn", "torch", "altair")
    return Page(name, "One similarity, many models", command, about, sections, made)


PAPER = Paper(NAME, "Similarity measure in neural networks: one similarity, many models", {"page": page})
