"""The memory network on generated stories: how many hops a question takes, and which sentences they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.models.progress import Report
from regard.reproduce.page import Picture, Section, Table, drawn
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat, heat
from regard.reproduce.systems.study import Result, Shown, Study, seeds
from regard.reproduce.systems.translating import shares
from regard.systems.data.stories import FACTS, WORDS, Story, StoryBatch, batch_of, make_stories
from regard.systems.memory_network import MemoryNetwork
from regard.systems.saving import System
from regard.systems.training import Recipe, seeded, train

HOPS = (1, 2, 3)
QUESTIONS = {1: "one fact", 2: "two facts", 3: "three facts"}


def cells_of(asked: Asked) -> list[Cell]:
    """Every number of hops, and the most without attention."""
    return [
        {
            "hops": hops,
            "attention": attention,
            "stories": 600 if asked.quick else 16_000,
            "tests": 150 if asked.quick else 3_000,
            "linear": 1 if asked.quick else 4,
            "epochs": 1 if asked.quick else 11,
            "dim": 48,
            "learning_rate": 0.01,
            "seed": seed,
        }
        for seed in seeds(asked)
        for hops, attention in [*((hops, True) for hops in HOPS), (max(HOPS), False)]
    ]


def learned(cell: Cell, report: Report) -> MemoryNetwork:
    """Train on all three kinds of question at once; only answers are told, never which sentences give them."""
    seed = cell["seed"]
    stories = make_stories(cell["stories"], [seed, 0])
    data, held_out = batch_of(stories), batch_of(make_stories(max(cell["tests"] // 2, 3), [seed, 1]))
    with seeded(seed):
        network = MemoryNetwork(len(WORDS), cell["dim"], hops=cell["hops"], attention=cell["attention"])
    recipe = Recipe(batch_size=128, learning_rate=cell["learning_rate"], clip=5.0, seed=seed)
    lengths = np.array([len(story.sentences) for story in stories])

    def loss(batch: Any) -> Tensor:
        rows = torch.from_numpy(batch)
        return F.cross_entropy(network(data.sentences[rows], data.question[rows]).scores, data.answer[rows])

    def validate() -> float:
        found = network(held_out.sentences, held_out.question)
        return float((found.scores.argmax(-1) == held_out.answer).float().mean())

    network.weigh(linear=True)
    train(network, lengths, loss, replace(recipe, epochs=cell["linear"], schedule="constant"), report=report)
    network.weigh(linear=False)
    train(network, lengths, loss, replace(recipe, epochs=cell["epochs"]), validate=validate, report=report)
    return network


def measured(network: MemoryNetwork, stories: Sequence[Story]) -> dict[str, Any]:
    """By the number of facts: the share of right answers, and of questions all of whose supporting sentences have the
    highest weight in a hop.
    """
    found: dict[str, Any] = {}
    for facts in FACTS:
        batch = batch_of([story for story in stories if len(story.supports) == facts])
        with torch.no_grad():
            said = network(batch.sentences, batch.question)
        right = (said.scores.argmax(-1) == batch.answer).double().mean()
        found[str(facts)] = {"right": float(right), "supports": supported(said.weights, batch)}
    return found


def supported(weights: Tensor, batch: StoryBatch) -> float:
    """The share of stories whose supporting sentences each have the highest weight in one of the hops."""
    highest = F.one_hot(weights.argmax(-1), weights.shape[-1]).bool().any(0)
    return float((highest | ~batch.supports).all(-1).double().mean())


def work(cell: Cell, report: Report) -> tuple[Result, dict[str, System]]:
    """Train one network and ask it about other stories."""
    network = learned(cell, report)
    result: Result = {"by facts": measured(network, make_stories(cell["tests"], [cell["seed"], 5]))}
    systems: dict[str, System] = {}
    if cell["hops"] == max(HOPS) and cell["attention"]:
        result["pictures"] = [_attended(network, facts, cell["seed"]) for facts in FACTS]
        systems["three-hops"] = network
    return result, systems


def _attended(network: MemoryNetwork, facts: int, seed: int) -> dict[str, Any]:
    (story,) = make_stories(1, [seed, 6], [facts], shortest=8, longest=8)
    batch = batch_of([story])
    with torch.no_grad():
        said = network(batch.sentences, batch.question)
    title = f"{story.question}? {WORDS[int(said.scores.argmax())]} ({story.answer})"
    weights = [[round(w, 4) for w in row] for row in said.weights[:, 0].T.tolist()]
    marks = ["→ " if i in story.supports else "" for i in range(len(story.sentences))]
    rows = [mark + sentence for mark, sentence in zip(marks, story.sentences, strict=True)]
    return vars(Heat(weights, rows, [str(hop) for hop in range(1, len(said.weights) + 1)], title))


def show(asked: Asked, cells: list[Cell], results: list[Result]) -> Shown:  # noqa: ARG001 - all studies are asked alike
    """The page."""
    found: dict[tuple[int, bool], list[Result]] = {}
    for cell, result in zip(cells, results, strict=True):
        found.setdefault((cell["hops"], cell["attention"]), []).append(result)

    def one(hops: int, attention: bool, facts: int, what: str) -> list[float]:
        return [result["by facts"][str(facts)][what] for result in found.get((hops, attention), [])]

    most = max(HOPS)
    claims = ("one look is enough", "a second hop finds the second fact", "more hops, better answers")
    rows = [
        [f"{QUESTIONS[facts]}: right answers", shares(one(most, True, facts, "right")),
         shares(one(most, False, facts, "right")), claims[facts - 1]]
        for facts in FACTS
    ]  # fmt: skip
    rows += [
        [f"{QUESTIONS[facts]}: attends to all of them", shares(one(most, True, facts, "supports")), "—",
         "hops attend to supporting facts"]
        for facts in FACTS
    ]  # fmt: skip
    table = Table([f"{most} hops, %", "with attention", "without", "the paper's claim"], rows)
    hops = Table(
        ["right answers, %", *(f"{n} hop{'s' * (n > 1)}" for n in HOPS)],
        [[QUESTIONS[facts], *(shares(one(n, True, facts, "right")) for n in HOPS)] for facts in FACTS],
    )
    supports = Table(
        ["attends to all facts, %", *(f"{n} hop{'s' * (n > 1)}" for n in HOPS)],
        [[QUESTIONS[facts], *(shares(one(n, True, facts, "supports")) for n in HOPS)] for facts in FACTS],
    )
    text = (
        "One network for each number of hops, trained and asked on all three kinds of question. With fewer hops than a "
        "question has facts, a network cannot look from each to the next in turn."
    )
    return Shown(
        _about(cells[0]),
        table,
        _reading({facts: (one(most, True, facts, "right"), one(most, True, facts, "supports")) for facts in FACTS}),
        _pictures(found[most, True][0]["pictures"]) if (most, True) in found else [],
        [Section("Hops and facts", text, [hops, supports])],
    )


def _about(cell: Cell) -> list[str]:
    return [
        f"{cell['stories']:,} generated stories of 6 to 12 sentences, a third with questions that need one, two or "
        "three of them (where is mary; where is the box, which somebody took; where is the ring, which is in a box "
        f"that somebody took); {cell['tests']:,} others are the test. Only the latest sentence about anybody holds. "
        f"The network is told answers alone. Embeddings of {cell['dim']}; AdamW, batches of 128, learning rate "
        f"{cell['learning_rate']:g}; {cell['linear']} epochs without softmax (the paper's linear start), then "
        f"{cell['epochs']} with it, of which the one that answered held-out stories best is kept. Settings were "
        "chosen on held-out stories of seeds 0 and 1, never on the test. Without attention every hop reads the mean "
        "of all sentences.",
        "A question counts as attended to where each supporting sentence has the highest weight of its story in one "
        "of the hops.",
    ]


def _reading(found: dict[int, tuple[list[float], list[float]]]) -> str:
    if not all(values for each in found.values() for values in each):
        return "No network with three hops is finished yet."
    right, supports = ([100 * float(np.mean(found[facts][part])) for facts in FACTS] for part in (0, 1))
    met = min(right[:2]) >= 95 and min(supports[:2]) >= 90
    return (
        f"With three hops {right[0]:.1f}% of questions about one fact, {right[1]:.1f}% about two and {right[2]:.1f}% "
        f"about three are answered rightly, and {supports[0]:.1f}%, {supports[1]:.1f}% and {supports[2]:.1f}% have "
        "all their facts attended to: the bar (95% and 90% on one and two facts) is "
        f"{'met' if met else '**missed**'}. Where more answers are right than have all their facts attended to, a hop "
        "weighed several sentences, or the answer was guessed."
    )


def _pictures(said: Sequence[dict[str, Any]]) -> list[Picture]:
    captions = (
        "A question about one fact: what each hop attends to. The supporting sentence has an arrow.",
        "A question about two facts, who took it and where she or he went; the supporting sentences have arrows.",
        "A question about three facts; the supporting sentences have arrows.",
    )
    order = (1, 0, 2)  # two facts tell most, and come first
    return [
        drawn(
            f"hops-{facts + 1}",
            captions[facts],
            heat(Heat(**said[facts]), row_title="sentence", column_title="hop", cell=30),
        )
        for facts in order
    ]


STUDY = Study(cells_of, work, show)
