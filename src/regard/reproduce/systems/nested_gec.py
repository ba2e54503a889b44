"""Correcting sentences: words by attention over words, rare words letter by letter by attention within them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, heat
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import shares
from regard.systems.data.errors_in_sentences import (
    KINDS,
    UNSEEN,
    Corrected,
    common_words,
    make_corrections,
)
from regard.systems.edits import Edit, Tally, edits, tally
from regard.systems.nested_gec import NestedCorrector, Written
from regard.systems.saving import System
from regard.systems.training import Recipe, seeded, train

NESTED, WORDS_ALONE, WITHOUT = "nested", "words", None
_TITLES = {NESTED: "nested attention", WORDS_ALONE: "attention over words", WITHOUT: "without attention"}


def cells_of(asked: Asked) -> list[Cell]:
    """With nested attention, with attention over words alone, and without."""
    return [
        {
            "attention": attention,
            "sentences": 200 if asked.quick else 6_000,
            "tests": 40 if asked.quick else 2_000,
            "epochs": 1 if asked.quick else 10,
            "learning_rate": 0.005,
            "seed": seed,
        }
        for seed in seeds(asked)
        for attention in (NESTED, WORDS_ALONE, WITHOUT)
    ]


def learned(cell: Cell, report: Report) -> NestedCorrector:
    """Train on sentences with mistakes put in; the epoch is chosen on others."""
    seed = cell["seed"]
    data = make_corrections(cell["sentences"], [seed, 0])
    held_out = make_corrections(max(cell["tests"] // 4, 10), [seed, 1])
    with seeded(seed):
        model = NestedCorrector(common_words(), attention=cell["attention"])
    recipe = Recipe(epochs=cell["epochs"], learning_rate=cell["learning_rate"], seed=seed)

    def loss(batch: NDArray[np.intp]) -> Tensor:
        return model.loss([data[i].source for i in batch], [data[i].target for i in batch])

    def validate() -> float:
        written = model.correct([one.source for one in held_out])
        return float(np.mean([said.words == one.target for said, one in zip(written, held_out, strict=True)]))

    train(model, np.array([len(one.source) for one in data]), loss, recipe, validate=validate, report=report)
    return model


def measured(model: NestedCorrector, data: Sequence[Corrected]) -> dict[str, Any]:
    """Precision, recall and F₀.₅ of edits: of words in the vocabulary, and of rare words, a matter of spelling.

    And how many mistakes of each kind were corrected, and how many rare words stand right in what was written.
    """
    written = [said.words for said in model.correct([one.source for one in data])]
    tallies = {"words": Tally(), "spelling": Tally()}
    kinds = {kind: Tally() for kind in KINDS}
    rare = Tally()
    misspelt = Tally()
    for one, said in zip(data, written, strict=True):
        wanted, made = edits(one.source, one.target), edits(one.source, said)
        for name in tallies:
            tallies[name] += tally(
                *([edit for edit in some if _kind(model, one, edit) == name] for some in (wanted, made))
            )
        if len(one.kinds) == 1:
            kinds[one.kinds[0]] += tally(wanted, made)
        for word in one.target:
            if not model.known(word):
                right = Tally(1, 1, int(word in said))
                rare += right
                misspelt += right if word not in one.source else Tally()
    exact = float(np.mean([said == one.target for one, said in zip(data, written, strict=True)]))
    return {
        **{name: {"p": one.precision, "r": one.recall, "f": one.f} for name, one in tallies.items()},
        "kinds": {kind: one.recall for kind, one in kinds.items()},
        "rare": rare.recall,
        "misspelt": misspelt.recall,
        "exact": exact,
    }


def _kind(model: NestedCorrector, one: Corrected, edit: Edit) -> str:
    """Whether an edit is about rare words."""
    touched = (*one.source[edit.start : edit.end], *edit.words)
    return "words" if all(model.known(word) for word in touched) else "spelling"


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, System]]:
    """Train one model, and let it correct other sentences."""
    model = learned(cell, report)
    seed, tests = cell["seed"], cell["tests"]
    result: Result = {
        "test": measured(model, make_corrections(tests, [seed, 2])),
        "unseen": measured(model, make_corrections(tests // 2, [seed, 3], rare=UNSEEN, share=1.0)),
    }
    if cell["attention"] != NESTED:
        return result, {}
    some = [one for one in make_corrections(200, [seed, 4]) if len(one.kinds) > 1 and "spelling" in one.kinds]
    shown = zip(some, model.correct([one.source for one in some]), strict=True)
    right = [pair for pair in shown if pair[1].words == pair[0].target and pair[1].letters]
    result["pictures"] = _attended(*right[0]) if right else None
    return result, {"nested": model}


def _attended(one: Corrected, said: Written) -> list[dict[str, Any]]:
    """What the words attended to, and what the letters of the first word that was spelled did."""
    place = min(said.letters)
    source = one.source[int(said.weights[place].argmax())]
    weights = [[[round(w, 4) for w in row] for row in of.tolist()] for of in (said.weights, said.letters[place])]
    rows = [*said.words, "end"], [*said.words[place], "end"]
    return [
        vars(Heat(weights[0], rows[0][: len(weights[0])], one.source)),
        vars(Heat([row[: len(source)] for row in weights[1]], rows[1][: len(weights[1])], list(source))),
    ]


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - all studies are asked alike
    """The page."""
    found: dict[str | None, list[Result]] = {name: [] for name in _TITLES}
    for cell, result in zip(cells, results, strict=True):
        found[cell["attention"]].append(result)

    def row(title: str, claim: str, *path: str) -> list[str]:
        return [title, *(shares([_at(one, path) for one in found[name]]) for name in _TITLES), claim]

    head = ["%", *_TITLES.values(), "the paper's claim"]
    spelling = "letters within words correct spelling"
    table = Table(
        head,
        [
            row("edits of common words: F₀.₅", "attention corrects grammar", "test", "words", "f"),
            row("precision", "", "test", "words", "p"),
            row("recall", "", "test", "words", "r"),
            row("edits of rare words: F₀.₅", spelling, "test", "spelling", "f"),
            row("rare words that are right", spelling, "test", "rare"),
            row("of those that were misspelt", spelling, "test", "misspelt"),
            row("whole sentences that are right", "", "test", "exact"),
        ],
    )
    kinds = Table(head[:-1], [row(kind, "", "test", "kinds", kind)[:-1] for kind in KINDS])
    unseen = Table(
        head[:-1],
        [
            row("rare words that are right", "", "unseen", "rare")[:-1],
            row("of those that were misspelt", "", "unseen", "misspelt")[:-1],
        ],
    )
    sections = [
        Section("Kinds of mistakes", "The share of mistakes corrected, in sentences with that mistake alone.", [kinds]),
        Section(
            "Words that never occurred in training",
            "Ten rare words were kept for this. To leave such a word as it is takes copying letter by letter; to "
            "correct it would take knowing it, but for slips that show, such as a letter written three times.",
            [unseen],
        ),
    ]
    return Shown(
        _about(cells[0]),
        table,
        _reading(found),
        _pictures(found[NESTED][0]["pictures"] if found[NESTED] else None),
        sections,
    )


def _at(result: Any, path: Sequence[str]) -> float:
    for name in path:
        result = result[name]
    return float(result)


def _about(cell: Cell) -> list[str]:
    return [
        f"{cell['sentences']:,} sentences of a small grammar, into which mistakes are put: agreement, articles, "
        "prepositions, word order, and one slip in half of the rare words; a quarter or so have none. Each mistake "
        f"has one correction in that grammar. {cell['tests']:,} others are the test. Rare words, in half of the "
        "sentences, are not in the vocabulary. One layer of 64 units both ways over words, one of 48 over letters; "
        f"AdamW, batches of 64, {cell['epochs']} epochs, learning rate {cell['learning_rate']:g}, the epoch that "
        "corrects most held-out sentences. Decoding is greedy.",
        "Edits are the fewest that lead from the source to a sentence, two neighbours exchanged being one; an edit "
        "is right if span and words are. With attention over words alone, a word that the decoder does not know is "
        "copied from the source word attended to most; without attention there is nothing to copy.",
    ]


def _reading(found: dict[str | None, list[Result]]) -> str:
    def mean(name: str | None, *path: str) -> float:
        return 100 * float(np.mean([_at(one, ("test", *path)) for one in found[name]]))

    if not all(found.values()):
        return "Not all three kinds of attention are finished yet."
    f, without = mean(NESTED, "words", "f") / 100, mean(WITHOUT, "words", "f") / 100
    spelled, copied = mean(NESTED, "rare"), mean(WORDS_ALONE, "rare")
    return (
        f"F₀.₅ on edits of common words is {f:.3f} with nested attention, {without:.3f} without: the bar of 0.85 is "
        f"{'met' if f >= 0.85 else '**missed**'}. Of the rare words {spelled:.1f}% are right when spelled by nested "
        f"attention and {copied:.1f}% when copied: the bar of 20 points more is "
        f"{'met' if spelled - copied >= 20 else '**missed**'}."
    )


def _pictures(said: list[dict[str, Any]] | None) -> list[Picture]:
    if said is None:
        return []
    captions = (
        "Each word of the correction, and the source words it attends to.",
        "The rare word, letter by letter, and the letters of the misspelt source word it attends to.",
    )
    return [
        drawn(name, caption, heat(Heat(**one)))
        for name, caption, one in zip(("words", "letters"), captions, said, strict=True)
    ]


STUDY = Study(cells_of, work, show)
