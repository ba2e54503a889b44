"""Jain and Wallace, "Attention is not Explanation" (NAACL 2019): its correlations, shuffles and adversaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.models.progress import Report
from regard.reproduce import pooled_charts as charts
from regard.reproduce.data import load
from regard.reproduce.explanation_cells import BINS, ENCODERS, MODELS, PAIRS, SEARCHED, cell, explain
from regard.reproduce.page import Note, Page, Picture, Section, Table, beside, drawn
from regard.reproduce.pooled_pages import Found, mean_of, of_all, page_of, worked
from regard.reproduce.request import Asked, Paper

NAME = "attention-is-not-explanation"
SETS = ("sst", "imdb", "20news1")
# Mean tau-b as the paper's code wrote it down: attention with leave one out, attention with the gradient, the gradient
# with leave one out. What is missing was not published.
TAUS: dict[tuple[str, str], tuple[float | None, ...]] = {
    ("sst", "lstm tanh"): (0.291, 0.351, 0.656),
    ("sst", "lstm dot"): (0.064, 0.073, 0.708),
    ("sst", "average tanh"): (0.623, 0.606, 0.558),
    ("sst", "cnn tanh"): (0.352, 0.477, 0.488),
    ("imdb", "lstm tanh"): (0.341, 0.437, 0.517),
    ("imdb", "lstm dot"): (0.092, 0.122, 0.602),
    ("imdb", "average tanh"): (0.576, 0.675, 0.639),
    ("imdb", "cnn tanh"): (0.295, 0.452, 0.513),
    ("20news1", "lstm tanh"): (0.123, 0.130, 0.534),
    ("20news1", "lstm dot"): (0.067, 0.132, 0.499),
    ("20news1", "average tanh"): (0.721, 0.772, 0.622),
    ("20news1", "cnn tanh"): (0.322, 0.446, 0.549),
}
# The share of test texts whose tau differs from zero with p ≤ 0.05, for the first two pairs.
SIGNIFICANT: dict[tuple[str, str], tuple[float, float]] = {
    ("sst", "lstm tanh"): (0.36, 0.49),
    ("imdb", "lstm tanh"): (0.99, 1.0),
    ("20news1", "lstm tanh"): (0.44, 0.48),
}
ACCURACIES: dict[tuple[str, str], float] = {
    ("sst", "lstm tanh"): 0.808,
    ("sst", "average tanh"): 0.807,
    ("sst", "cnn tanh"): 0.823,
    ("imdb", "lstm tanh"): 0.898,
    ("imdb", "average tanh"): 0.883,
    ("imdb", "cnn tanh"): 0.901,
    ("20news1", "lstm tanh"): 0.922,
    ("20news1", "average tanh"): 0.913,
    ("20news1", "cnn tanh"): 0.913,
}
F1: dict[tuple[str, str], float] = {
    ("sst", "lstm tanh"): 0.784,
    ("imdb", "lstm tanh"): 0.896,
    ("20news1", "lstm tanh"): 0.917,
}
# The mean of the largest JSD within 0.05, read off the published histograms: texts predicted negative, and positive.
DIVERGENCES: dict[tuple[str, str], tuple[float, float]] = {
    ("sst", "lstm tanh"): (0.480, 0.493),
    ("imdb", "lstm tanh"): (0.578, 0.567),
    ("20news1", "lstm tanh"): (0.612, 0.378),
    ("sst", "average tanh"): (0.468, 0.490),
    ("imdb", "average tanh"): (0.613, 0.612),
    ("20news1", "average tanh"): (0.675, 0.444),
}
_PROTOCOL = (
    "Embeddings, an encoder, one attention, one linear output. `average` is tanh(M e + m) of each word by itself "
    "(128 numbers), `lstm` reads both ways (128 each), `cnn` has windows of 1, 3, 5 and 7 words with 32 filters "
    "each; attention is q·tanh(A h + c) (`tanh`) or q·h / √|h| (`dot`). Adam (amsgrad) with rate 0.001, batches of "
    "32 texts of like length, classes weighted to balance, at most 8 epochs (5 on IMDB), the last 3 without a better "
    "one; that with the largest area under the curve on the dev part is kept, and the test part is read once.",
    "**What differs.** The published models start from fastText vectors of 300 numbers; none are at hand here, so "
    "embeddings have 100 numbers and start at random. Words are regard's tokens of the train part (IMDB: those that "
    "occur ten times, 20News I: twice); other words are left out, and there are no marks for the beginning and the end "
    "of a text. Texts have more than 5 words on SST, more than 6 on the others, and fewer than 500 on 20News I, as "
    "published.",
    "Leaving out deletes a word and encodes the others anew; D is |p - p without it|. The gradient is |e·∂p/∂e| with "
    "the attention held constant, so it sees the direct path alone. tau is Kendall's tau-b. On 20News I baseball "
    "stands for negative and hockey for positive.",
)
_CORRECTED = (
    "Two columns of the published numbers have each other's name in their file; here they are told apart by the other "
    "files that hold the same numbers.",
    "tau of a constant ranking is undefined. The published means of IMDB `average dot` and 20News `cnn dot` are no "
    "numbers for that reason; here such texts are counted and left out.",
    "The published search holds |Δp| to 0.01 and its result to 0.05. Both bounds are shown here, each with its own "
    "optimum.",
    "The published search for another attention ends wherever 500 steps lead. With two classes the score is linear in "
    "what is attended to, whatever the encoder, so the farthest attention lies on one word or two, and all are tried.",
    "A significant share says that tau is not zero, not that it is large: a random order and the agreement of the top "
    "tenths stand beside it.",
    "The count of p values that differ by 0.05 or less, which the published files call significant, has no meaning and "
    "is left out.",
)


def page(asked: Asked, report: Report) -> Page:
    """Agreement of attention with leaving out and gradients; shuffled and adversarial attention."""
    sets, encoders = asked.sets(SETS), asked.networks(ENCODERS)
    models, _ = asked.columns(MODELS)
    models = [model for model in models if model.split()[0] in encoders]
    found = worked(NAME, asked, [(data, model) for data in sets for model in models], cell, explain, report)
    sections = [_agreement(found, sets, models), *_detail(found, sets, models)]
    sections += [_permutation(found, sets, models), _adversarial(found, sets, models)]
    sections.append(Section("Corrected", "", [Note(line) for line in _CORRECTED]))
    about = (
        *_PROTOCOL,
        "A cell reads published → **ours** (difference); with several seeds, the mean ± its spread.",
    )
    return page_of(NAME, "Attention is not Explanation", asked, about, sections, sets)


def _agreement(found: Found, sets: Sequence[str], models: Sequence[str]) -> Section:
    """The paper's table: tau of three pairs of rankings, and accuracy."""
    tables = []
    for data in sets:
        rows = []
        for model in models:
            results, published = found.get((data, model), []), TAUS.get((data, model), (None,) * 3)
            rows.append(
                [
                    model,
                    *(
                        beside(theirs, of_all(results, "agreement", pair, "mean"), 3)
                        for pair, theirs in zip(PAIRS, published, strict=True)
                    ),
                    beside(ACCURACIES.get((data, model)), of_all(results, "test", "accuracy"), 3),
                    beside(F1.get((data, model)), of_all(results, "test", "f1"), 3),
                ]
            )
        tables.append(Table([f"{load(data).title}, mean tau", *PAIRS, "accuracy", "F1, positive"], rows))
    text = (
        "Does attention rank words as leaving them out does, and as the gradient does? The last column of tau says how "
        "much these two agree with each other: what could be hoped for."
    )
    return Section("Agreement", text, tables)


def _detail(found: Found, sets: Sequence[str], models: Sequence[str]) -> list[Section]:
    """What stands behind a mean of tau."""
    rows = []
    for data in sets:
        for model in models:
            results = found.get((data, model))
            if not results:
                continue
            for k, pair in enumerate(PAIRS):
                published = SIGNIFICANT.get((data, model))
                low, high = results[0]["agreement"][pair]["interval"]
                sides = [mean_of(results, "agreement", pair, "by class", side) for side in (1, 2)]
                rows.append(
                    [
                        load(data).title,
                        model,
                        pair,
                        f"{mean_of(results[:1], 'agreement', pair, 'mean')} ({low:.3f} to {high:.3f})",
                        mean_of(results, "agreement", pair, "deviation"),
                        " / ".join(sides),
                        beside(
                            published[k] if published and k < len(published) else None,
                            of_all(results, "agreement", pair, "significant"),
                            2,
                        ),
                        f"{results[0]['agreement'][pair]['undefined']} of {results[0]['documents']}",
                        mean_of(results, "agreement", pair, "random"),
                        mean_of(results, "agreement", pair, "top", digits=2),
                    ]
                )
    head = [
        "data",
        "model",
        "pair",
        "mean tau of seed 0 (95% interval)",
        "deviation",
        "predicted negative / positive",
        "p ≤ 0.05",
        "undefined",
        "a random order",
        "top tenths in common",
    ]
    text = (
        "Interval: bootstrap over the texts. A random order: mean tau of five of them with the second of the pair. Top "
        "tenths in common: what the two share of either (1 is all). tau over near-equal weights of a long text rewards "
        "noise, so it is no verdict."
    )
    return [Section("Behind the means", text, [Table(head, rows)])] if rows else []


def _permutation(found: Found, sets: Sequence[str], models: Sequence[str]) -> Section:
    """The paper's violins as boxes."""
    shown: list[Table | Picture] = []
    for data in sets:
        of = {model: found[data, model] for model in models if (data, model) in found}
        if not of:
            continue
        boxes = {model: results[0]["permutation"]["bins"] for model, results in of.items()}
        title = load(data).title
        caption = f"{title}, seed 0: median |Δp| over 100 shuffles of the weights, by the largest weight of the text"
        shown.append(drawn(f"permutation-{data}", caption, charts.permutations(boxes, BINS)))
        rows = []
        for model, results in of.items():
            first = results[0]["permutation"]
            mean, deviation = first["lead under shuffles"]
            rows.append(
                [
                    model,
                    f"{first['mean']:.3f}",
                    *(_bin(first["bins"], k) for k in range(BINS)),
                    f"{first['lead']:.2f}",
                    f"{mean:.2f} ± {deviation:.2f}",
                ]
            )
        spans = [f"{k / BINS:g} to {(k + 1) / BINS:g}" for k in range(BINS)]
        head = [f"{title}, seed 0: mean of median |Δp|", "all texts", *spans, "lead", "lead under all shuffles"]
        shown.append(Table(head, rows))
    text = (
        "The weights of a text are shuffled among its words 100 times. The paper shows this as pictures and gives no "
        "numbers: many texts with a large largest weight are hardly moved. Columns by the largest weight, with the "
        "number of texts in brackets. The lead is the score of the predicted side; its mean and deviation over all "
        "shuffles are exact."
    )
    return Section("Shuffled attention", text, shown)


def _bin(found: Sequence[dict[str, Any]], k: int) -> str:
    """The mean over the texts of a span of largest weights."""
    boxes = [box for box in found if box["bin"] == k]
    documents = sum(box["documents"] for box in boxes)
    if not documents:
        return "–"
    return f"{sum(box['mean'] * box['documents'] for box in boxes) / documents:.3f} ({documents})"


def _adversarial(found: Found, sets: Sequence[str], models: Sequence[str]) -> Section:
    """The exact optimum beside the published search, and beside another seed."""
    shown: list[Table | Picture] = []
    for data in sets:
        of = {model: found[data, model] for model in models if (data, model) in found}
        if not of:
            continue
        title = load(data).title
        rows = []
        for model, results in of.items():
            published = DIVERGENCES.get((data, model), (None, None))
            searched = [of_all(results, "adversarial", "searched", "mean", side) for side in (1, 2)]
            rows.append(
                [
                    model,
                    *(beside(theirs, ours, 3) for theirs, ours in zip(published, searched, strict=True)),
                    mean_of(results, "adversarial", "searched", "exact mean", 0),
                    *(mean_of(results, "adversarial", f"exact {eps}", "mean", 0) for eps in ("0.05", "0.01")),
                    mean_of(results, "adversarial", "exact 0.05", "above 95% of ln 2", digits=2),
                    mean_of(results, "seeds", "JSD", 0),
                    mean_of(results, "seeds", "|Δp|", 0),
                ]
            )
        head = [
            f"{title}, mean JSD",
            "search, predicted negative",
            "search, predicted positive",
            "exact, same texts",
            "exact, |Δp| ≤ 0.05",
            "exact, |Δp| ≤ 0.01",
            "above 95% of ln 2",
            "another seed",
            "|Δp| of another seed",
        ]
        shown.append(Table(head, rows))
        bars = {
            model: {
                "exact, |Δp| ≤ 0.05": results[0]["adversarial"]["exact 0.05"]["bars"],
                "published search": results[0]["adversarial"]["searched"]["bars"],
            }
            for model, results in of.items()
        }
        caption = f"{title}, seed 0: the JSD of the farthest attention with the same decision; at most ln 2 = 0.693"
        shown.append(drawn(f"adversarial-{data}", caption, charts.histograms(bars, 0.7, "JSD")))
    text = (
        "How far may attention move while |Δp| ≤ 0.05 holds? The published search (five candidates, 500 steps) is run "
        f"on {SEARCHED} test texts drawn by the seed; beside it stands the exact optimum of the same texts, then that "
        "of all test texts. No JSD exceeds ln 2 = 0.693. `another seed` is the mean JSD between the attention of seed "
        "0 and that of the other seeds: what equally good trainings differ by. Two words of little weight that "
        "balance each other exist in nearly every longer text, so the optimum is a property of the text more than a "
        "failure of the model."
    )
    return Section("Adversarial attention", text, shown)


PAPER = Paper(NAME, "Jain and Wallace, Attention is not Explanation (NAACL 2019)", {"page": page}, ENCODERS)
