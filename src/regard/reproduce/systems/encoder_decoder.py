"""The encoder–decoder on three tasks: every attention of Bahdanau and Luong, beside the model without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, by_length, heat
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import (
    LONG,
    TITLES,
    alignment,
    exact_table,
    learned,
    mean,
    pairs_of,
    shares,
    steps_of,
    verdict,
)
from regard.systems.encoder_decoder import EncoderDecoder
from regard.systems.saving import System
from regard.systems.sequence import exact

Found = dict[tuple[str, str | None], list[Result]]
CLAIM = {
    "reversal": "long sources are no harder than short ones",
    "dates": "the alignment is learned, not given",
    "translation": "words are found where the other language has them",
    "word by word": "local-m suits monotone alignments",
}
# Which attention works on which task beside the model without; local-m where target and source run in step.
MAIN: dict[str, tuple[str | None, ...]] = {
    "reversal": ("bahdanau", "luong_general", None),
    "translation": ("luong_general", None),
    "dates": ("luong_general", None),
    "word by word": ("luong_local_m", None),
}
SPLIT = ("reversal", "translation")  # tasks with long sources enough to speak of them alone
VARIANTS = (
    ("luong_dot", False, "gru"),
    ("luong_concat", False, "gru"),
    ("luong_location", False, "gru"),
    ("luong_local_p", False, "gru"),
    ("luong_general", True, "gru"),
    ("luong_general", False, "lstm"),
)


def cells_of(asked: Asked) -> list[Cell]:
    """The main table over all seeds; the variants, on reversal, with the first."""
    cells = [
        _cell(asked, task, attention, seed=seed)
        for seed in seeds(asked)
        for task, attentions in MAIN.items()
        for attention in attentions
    ]
    variants = VARIANTS[:1] if asked.quick else VARIANTS
    cells += [
        _cell(asked, "reversal", attention, feeding=feeding, cell=cell, seed=asked.seed)
        for attention, feeding, cell in variants
    ]
    return cells


def _cell(
    asked: Asked, task: str, attention: str | None, *, seed: int, feeding: bool = False, cell: str = "gru"
) -> Cell:
    return {
        "task": task,
        "attention": attention,
        "input_feeding": feeding,
        "cell": cell,
        "hidden": 96,
        "learning_rate": 8e-3,
        "seed": seed,
        **steps_of(asked.quick),
    }


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, System]]:
    """Train one model, and see how often it is right."""

    def make(source: int, target: int) -> EncoderDecoder:
        return EncoderDecoder(
            source,
            target,
            attention=cell["attention"],
            input_feeding=cell["input_feeding"],
            cell=cell["cell"],
            hidden=cell["hidden"],
            window=2 if cell["attention"] == "luong_local_m" else 4,
        )

    result, model = learned(make, cell, report)
    systems: dict[str, System] = {}
    if cell["attention"] == MAIN[cell["task"]][0] and not cell["input_feeding"] and cell["cell"] == "gru":
        shown = pairs_of(cell["task"], 40, 9)
        place = max(range(len(shown)), key=lambda i: (len(shown.sources[i]) <= 18, len(shown.sources[i])))
        result["picture"] = alignment(model, shown, place, letters=cell["task"] == "dates")
        model.about = {"source": list(shown.source.names), "target": list(shown.target.names)}
        systems[cell["task"].replace(" ", "-")] = model
    if cell["task"] == "translation":
        test = pairs_of("translation", cell["tests"] // 4, 1000 * (1 + cell["seed"]) + 2)
        result["beam"] = float(np.mean(exact(model, test, width=5)))
        result["greedy"] = float(np.mean(exact(model, test)))
    return result, systems


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - as all studies
    """The page."""
    found: Found = {(task, attention): [] for task, attentions in MAIN.items() for attention in attentions}
    variants = []
    for cell, result in zip(cells, results, strict=True):
        if cell["input_feeding"] or cell["cell"] != "gru" or (cell["task"], cell["attention"]) not in found:
            variants.append((cell, result))
        else:
            found[cell["task"], cell["attention"]].append(result)

    rows = []
    for task, attentions in MAIN.items():
        for part in ("exact", "long") if task in SPLIT else ("exact",):
            title = TITLES[task] + (f", from {LONG} symbols on" if part == "long" else "")
            scores = {name: shares([one[part] for one in found[task, name]]) for name in attentions}
            with_ = ", ".join(f"{score} (`{name}`)" for name, score in scores.items() if name)
            rows.append((title, with_, scores[None], CLAIM[task]))
    drawable = [(task, found[task, attentions[0]]) for task, attentions in MAIN.items()]
    pictures = [_picture(task, ones[0]) for task, ones in drawable if ones]
    sections = [_by_length(found), _variants(variants, found), _beam(found)]
    return Shown(_about(cells[0]), exact_table(rows), _reading(found), pictures, sections)


def _about(cell: Cell) -> list[str]:
    return [
        f"Each model has one layer of {cell['hidden']} units (embeddings of 32) and is trained on "
        f"{cell['examples']:,} generated pairs for at most {cell['epochs']} epochs of AdamW (batches of "
        f"{cell['batch_size']}, learning rate at most {cell['learning_rate']:g}, gradients no longer than 1), until "
        f"{100 * cell['enough']:g}% of {cell['tests'] // 4} validation answers are exact; the test has {cell['tests']} "
        "other pairs. Settings were chosen on validation data of other seeds.",
        "Without attention the decoder sees, at every step, what the encoder remembers at its two ends, and nothing "
        "else differs. An answer is right if every symbol of it is, and its length.",
    ]


def _reading(found: Found) -> str:
    means = {name: mean([one["long"] for one in found["reversal", name]]) for name in MAIN["reversal"]}
    run = [name for name in ("luong_general", "bahdanau") if found["reversal", name]] or ["luong_general"]
    best = max(run, key=lambda name: means[name])
    with_, without = means[best], means[None]
    return (
        f"On reversals of {LONG} to 24 letters `{best}` is exact in {with_:.1f}%, the model without attention in "
        f"{without:.1f}%: the bar (at least 99% against less than 60%) is "
        f"{verdict(with_ >= 99 and without < 60, with_, without)}. "
        "`luong_local_m` looks at position t in step t: it cannot reverse, and is shown where word stands by word."
    )


def _picture(task: str, result: Result) -> Picture:
    one = Heat(**result["picture"])
    caption = {
        "reversal": "Reversal: each letter is read where it stands, from the last to the first.",
        "dates": "A date: the year is found first, wherever it was written; then the month, then the day.",
        "translation": "A translation: verbs go to the end, nouns before adjectives, clauses before their noun.",
        "word by word": "Local-m, word by word: a window that moves one word a step.",
    }
    return drawn(task.replace(" ", "-"), caption[task], heat(one))


def _by_length(found: Found) -> Section:
    rows = [
        {"name": name, "length": int(length), "value": 100 * float(np.mean(values))}
        for attention, name in (
            ("bahdanau", "bahdanau"),
            ("luong_general", "luong_general"),
            (None, "without attention"),
        )
        for length, values in _gathered(found["reversal", attention]).items()
    ]
    if not rows:
        return Section("Long sources", "Not run.")
    chart = by_length(sorted(rows, key=lambda row: row["length"]), "letters", "exact answers, %")
    caption = "Exact reversals by length, mean over the seeds; as Figure 2 of Bahdanau et al. does for sentences."
    return Section("Long sources", "", [drawn("by-length", caption, chart)])


def _gathered(results: Sequence[Result]) -> dict[str, list[float]]:
    gathered: dict[str, list[float]] = {}
    for result in results:
        for length, value in result["by length"].items():
            gathered.setdefault(length, []).append(value)
    return gathered


def _variants(variants: Sequence[tuple[Cell, Result]], found: Found) -> Section:
    rows = [
        [
            cell["attention"] + (", input feeding" if cell["input_feeding"] else ""),
            cell["cell"].upper(),
            f"{100 * one['exact']:.1f}",
            f"{100 * one['long']:.1f}",
            str(one["parameters"]),
        ]
        for cell, one in variants
    ]
    for attention in MAIN["reversal"]:
        for one in found["reversal", attention][:1]:
            name = attention or "without attention"
            rows.append([name, "GRU", f"{100 * one['exact']:.1f}", f"{100 * one['long']:.1f}", str(one["parameters"])])
    head = ["attention", "cell", "exact, %", f"exact from {LONG} letters on, %", "parameters"]
    text = "Every other attention of the papers on the same reversals, with the first seed and the same settings."
    return Section("Variants", text, [Table(head, rows)])


def _beam(found: Found) -> Section:
    rows = [
        [attention or "without attention", *(shares([one[way] for one in results]) for way in ("greedy", "beam"))]
        for (task, attention), results in found.items()
        if task == "translation"
    ]
    text = "Translations that are exact when decoded greedily, and by a beam of five, in percent."
    return Section("Beam search", text, [Table(["attention", "greedy", "beam of 5"], rows)])


STUDY = Study(cells_of, work, show)
