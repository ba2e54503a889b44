"""Serrano and Smith, "Is Attention Interpretable?" (ACL 2019): erasing one weight, and erasing many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from regard.models.progress import Report
from regard.reproduce import pooled_charts as charts
from regard.reproduce.data import load
from regard.reproduce.interpretable_cells import RANKINGS, STEPS, cell, erase
from regard.reproduce.page import Note, Page, Picture, Section, Table, beside, drawn
from regard.reproduce.pooled_networks import FLAN
from regard.reproduce.pooled_pages import Found, mean_of, of_all, page_of, worked
from regard.reproduce.request import Asked, Paper

NAME = "is-attention-interpretable"
SETS = ("sst", "imdb", "20news1")
# What the sister papers call these encoders is understood, too.
ALSO = {"average": "none", "lstm": "rnn", "cnn": "conv"}
_PROTOCOL = (
    "The paper's flat networks (FLAN): embeddings, an encoder, attention u·tanh(W h + b), one linear output. `none` "
    "has no encoder, `rnn` is one layer of gated recurrent units (50 each way), `conv` has windows of 3 and 5 words "
    "with 100 filters in all. Dropout 0.5 on embeddings and on the attended vector, Adam (amsgrad) with rate 0.001, "
    "batches of 32 texts of like length; of at most 15 epochs (5 on IMDB) the one most accurate on the dev part is "
    "kept, and the test part is read once.",
    "**What differs.** The paper's data (Yahoo, Amazon, Yelp, IMDB with ten classes) are not at hand, so its tests are "
    "made on SST, IMDB and 20News I, with two classes: no number can be compared, and the paper's claims stand beside "
    "ours instead, from memory. Its word vectors were trained on train and dev texts; here embeddings of 100 numbers "
    "start at random, and the vocabulary is that of the train part.",
    "To erase is to set weights to zero and divide the others by their sum; hidden vectors stay. Texts have two words "
    "or more.",
)
_CORRECTED = (
    "Another weight than the largest is drawn evenly from all others (20 draws, averaged). The published code draws "
    "a rank and uses it as a place, so the first word is never drawn and the largest weight sometimes is.",
    "`sign of the gradient × attention` has the sign that it says; a chained assignment made the published one "
    "attention in ascending order, which is its own row here.",
    "Texts whose decision never changes count as 1, and their share is shown. The published means of random orders "
    "include the code −1 for them, the other means leave them out.",
    "One definition of a flip holds for all rows: the decision differs once the first k weights of a ranking are gone, "
    "k smaller than the number of words.",
    "The optimum is exact: no set of weights smaller than it changes the decision.",
)


def page(asked: Asked, report: Report) -> Page:
    """One weight erased, sets erased until the decision changes, and what the paper claims."""
    sets = asked.sets(SETS)
    asked.columns()
    encoders = {ALSO.get(name, name) for name in asked.networks((*FLAN, *ALSO))}
    models = [name for name in FLAN if name in encoders]
    found = worked(NAME, asked, [(data, model) for data in sets for model in models], cell, erase, report)
    run = [(data, model) for data in sets for model in models if (data, model) in found]
    sections = [_claims(found, run), _single(found, run), _sets(found, run)]
    sections.append(Section("Corrected", "", [Note(line) for line in _CORRECTED]))
    missing = [f"`{model}` on {load(data).title}" for data in sets for model in models if (data, model) not in found]
    about = [*_PROTOCOL, "Numbers are means over the seeds; with several of them ± is their spread."]
    about += [f"**Not run:** {', '.join(missing)}."] if missing else []
    return page_of(NAME, "Is Attention Interpretable?", asked, about, sections, sets)


# What the paper says, as remembered, and whether it holds: a function of one network's results, and of those of the
# network without an encoder, that returns yes or no and the numbers.
_Check = Callable[[list[dict[str, Any]], list[dict[str, Any]]], tuple[bool, str] | None]


def _fraction(results: Sequence[dict[str, Any]], ranking: str) -> float:
    return float(np.mean(of_all(results, "sets", "rankings", ranking, "fraction")))


def _gradients_are_faster(results: list[dict[str, Any]], plain: list[dict[str, Any]]) -> tuple[bool, str] | None:  # noqa: ARG001
    attention, gradient, product = (_fraction(results, name) for name in RANKINGS[:3])
    return max(gradient, product) < attention, f"{attention:.2f} against {gradient:.2f} and {product:.2f}"


def _context_needs_more(results: list[dict[str, Any]], plain: list[dict[str, Any]]) -> tuple[bool, str] | None:
    if not plain or results is plain:
        return None
    with_context, without = _fraction(results, "attention"), _fraction(plain, "attention")
    return with_context > without, f"{with_context:.2f} against {without:.2f}"


def _one_weight_flips_little(results: list[dict[str, Any]], plain: list[dict[str, Any]]) -> tuple[bool, str] | None:  # noqa: ARG001
    flips = np.mean(of_all(results, "single", "both")) + np.mean(of_all(results, "single", "only the largest"))
    return bool(flips < 0.5), f"{100 * flips:.1f}% flip"


CLAIMS: dict[str, _Check] = {
    "Along the gradient, and along gradient × attention, a smaller fraction has to go than along attention": (
        _gradients_are_faster
    ),
    "With an encoder that reads neighbours a larger fraction has to go along attention": _context_needs_more,
    "Erasing the largest weight alone mostly leaves the decision as it is": _one_weight_flips_little,
}


def _claims(found: Found, run: Sequence[tuple[str, str]]) -> Section:
    rows = []
    for said, check in CLAIMS.items():
        row = [said]
        for data, model in run:
            holds = check(found[data, model], found.get((data, "none"), []))
            row.append("–" if holds is None else f"{'**yes**' if holds[0] else '**no**'}: {holds[1]}")
        rows.append(row)
    head = ["the paper (from memory)", *(f"{load(data).title}, {model}" for data, model in run)]
    text = "Published → ours, as claims: fractions are means over all texts, those that never flip counted as 1."
    return Section("What the paper claims", text, [Table(head, rows)] if run else [])


def _single(found: Found, run: Sequence[tuple[str, str]]) -> Section:
    """S1: the largest weight erased, or another."""
    rows = []
    for data, model in run:
        results = found[data, model]
        rows.append(
            [
                load(data).title,
                model,
                beside(None, [100 * value for value in of_all(results, "test", "accuracy")]),
                mean_of(results, "single", "ΔJS", digits=4),
                _percent(results, "single", "ΔJS below zero"),
                *(
                    _percent(results, "single", name)
                    for name in ("both", "only the largest", "only another", "neither")
                ),
            ]
        )
    head = [
        "data",
        "encoder",
        "test accuracy",
        "mean ΔJS",
        "ΔJS below 0",
        "both flip",
        "only the largest flips",
        "only another flips",
        "neither flips",
    ]
    curves = {
        f"{load(data).title}, {model}": [
            {"difference of the weights": one["gap"], "ΔJS": one[name], "name": called}
            for name, called in (("ΔJS", "mean"), ("largest", "largest"))
            for one in found[data, model][0]["single"]["by gap"]
        ]
        for data, model in run
    }
    caption = "Seed 0: ΔJS by the difference of the two weights, in eight groups with as many texts each"
    picture = [drawn("single", caption, charts.curves(curves, "difference of the weights", "ΔJS"))] if run else []
    text = (
        "ΔJS = JS(p, p without the largest weight) - JS(p, p without another one): above zero, attention points at "
        "what matters more. The last four columns are the paper's table of decision flips."
    )
    return Section("One weight erased", text, [Table(head, rows), *picture])


def _sets(found: Found, run: Sequence[tuple[str, str]]) -> Section:
    """S2: weights erased along a ranking until the decision changes."""
    rows, paired = [], []
    for data, model in run:
        results = found[data, model]
        for name in RANKINGS:
            low, high = results[0]["sets"]["rankings"][name]["interval"]
            way = ("sets", "rankings", name)
            rows.append(
                [
                    load(data).title,
                    model,
                    f"**{name}**" if name == "optimum" else name,
                    mean_of(results, *way, "fraction"),
                    f"{low:.3f} to {high:.3f}",
                    _percent(results, *way, "never"),
                    mean_of(results, *way, "of those that flip"),
                    mean_of(results, *way, "ratio", digits=2),
                ]
            )
        for name in RANKINGS[1:4]:
            way = ("sets", "against attention", name)
            p = max(of_all(results, *way, "p"))
            paired.append(
                [
                    load(data).title,
                    model,
                    name,
                    _percent(results, *way, "fewer"),
                    _percent(results, *way, "more"),
                    "< 0.001" if p < 0.001 else f"{p:.3f}",
                ]
            )
    head = [
        "data",
        "encoder",
        "ranking",
        "fraction erased until the flip",
        "95% interval, seed 0",
        "never flips",
        "fraction of those that flip",
        "ratio to the optimum",
    ]
    shown: list[Table | Picture | Note] = [Table(head, rows)]
    if run:
        curves = {
            f"{load(data).title}, {model}": [
                {"fraction erased": k / STEPS, "decisions changed": share, "name": name}
                for name in RANKINGS
                for k, share in enumerate(found[data, model][0]["sets"]["rankings"][name]["changed"])
            ]
            for data, model in run
        }
        caption = "Seed 0: share of the texts whose decision has changed, by the fraction of the weights erased"
        shown.append(
            drawn(
                "sets",
                caption,
                charts.curves(curves, "fraction erased", "decisions changed", behind="optimum", top=1.0),
            )
        )
        note = "Text by text: how often a ranking needs fewer weights, or more, than attention does (sign-flip test)."
        shown += [Note(note), Table(["data", "encoder", "ranking", "fewer", "more", "p"], paired)]
    text = (
        "Weights are erased in the order of a ranking until the decision changes. The gradient is ∂p/∂weight, signed, "
        "as in the paper. A text whose decision never changes counts as 1; the third number leaves such texts out, as "
        "the paper does, and is to be read beside their share. The random row is the mean of 20 orders. Weight × "
        "gradient is what a word adds to the score, but for the output's bias: that it comes close to the optimum "
        "follows from the network, whatever it has learned."
    )
    return Section("Sets erased", text, shown)


def _percent(results: Sequence[dict[str, Any]], *path: str) -> str:
    values = of_all(results, *path)
    return f"{100 * np.mean(values):.1f}%" if values else "–"


PAPER = Paper(NAME, "Serrano and Smith, Is Attention Interpretable? (ACL 2019)", {"page": page}, (*FLAN, *ALSO))
