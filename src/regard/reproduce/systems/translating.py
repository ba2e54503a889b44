"""What the studies of models from sequences to sequences share: the tasks, a cell, the share of exact answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from regard.models.progress import Report
from regard.reproduce.page import Table
from regard.reproduce.sweep import Cell
from regard.reproduce.systems.charts import Heat
from regard.systems.data.dates import dates
from regard.systems.data.reversal import reversal
from regard.systems.data.symbols import Pairs, padded
from regard.systems.data.translation import translation
from regard.systems.sequence import SequenceToSequence, exact
from regard.systems.training import Recipe, seeded, train

LONG = 20  # from so many symbols on, a source is called long
TITLES = {
    "reversal": "reversal of 5 to 24 letters",
    "dates": "dates to ISO 8601",
    "translation": "translation with other word order",
    "word by word": "translation word by word",
}


def steps_of(quick: bool) -> Cell:
    """How much to train and to test."""
    if quick:
        return {"examples": 1500, "tests": 200, "epochs": 2, "batch_size": 64, "enough": 0.998}
    return {"examples": 16000, "tests": 1600, "epochs": 10, "batch_size": 64, "enough": 0.998}


def pairs_of(task: str, n: int, seed: int) -> Pairs:
    """Examples of a task."""
    makers: dict[str, Callable[[], Pairs]] = {
        "reversal": lambda: reversal(n, seed, shortest=5, longest=24),
        "dates": lambda: dates(n, seed),
        "translation": lambda: translation(n, seed),
        "word by word": lambda: translation(n, seed, reorder=False),
    }
    return makers[task]()


def learned(
    make: Callable[[int, int], SequenceToSequence], cell: Cell, report: Report
) -> tuple[dict[str, Any], SequenceToSequence]:
    """Train a model on the task of a cell, and see how often it answers exactly.

    Training, validation and test are drawn from different seeds, which depend on the cell's.
    """
    seed = cell["seed"]
    training, validation, test = (
        pairs_of(cell["task"], n, 1000 * (1 + seed) + part)
        for part, n in enumerate((cell["examples"], cell["tests"] // 4, cell["tests"]))
    )
    with seeded(seed):
        model = make(len(training.source), len(training.target))
    recipe = Recipe(
        epochs=cell["epochs"],
        batch_size=cell["batch_size"],
        learning_rate=cell["learning_rate"],
        enough=cell["enough"],
        seed=seed,
    )
    course = train(
        model,
        np.array([len(source) for source in training.sources]),
        lambda batch: model.loss([training.sources[i] for i in batch], [training.targets[i] for i in batch]),
        recipe,
        validate=lambda: float(np.mean(exact(model, validation))),
        report=report,
    )
    found = {"epochs": len(course.epochs), "parameters": sum(p.numel() for p in model.parameters())}
    return found | measured(model, test), model


def measured(model: SequenceToSequence, test: Pairs) -> dict[str, Any]:
    """The share of exact answers: in all, of long sources, and by length."""
    right, lengths = np.array(exact(model, test)), np.array([len(source) for source in test.sources])
    by_length = {str(n): float(right[lengths == n].mean()) for n in np.unique(lengths) if (lengths == n).sum() >= 5}
    long = right[lengths >= LONG]
    return {"exact": float(right.mean()), "long": float(long.mean()) if len(long) else None, "by length": by_length}


def alignment(model: SequenceToSequence, pairs: Pairs, place: int, *, letters: bool) -> dict[str, Any]:
    """What the model attends to while it says its answer to one source."""
    source, lengths = padded([pairs.sources[place]], model.device)
    found = model.greedy(source, lengths, longest=len(pairs.targets[place]) + 5)
    assert found.weights is not None
    (said,) = found.sequences()
    rows = [*pairs.target.decode(said), "end"][: found.weights.shape[1]]
    columns = pairs.source.decode(pairs.sources[place])
    weights = [[round(w, 4) for w in row] for row in found.weights[0].tolist()]
    return vars(Heat(weights, rows, [name if name.strip() or not letters else "␣" for name in columns]))


def shares(values: Sequence[float | None]) -> str:
    """Mean and spread in percent."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return "not run" if not values else "—"
    spread = f" ± {np.std(known):.1f}" if len(known) > 1 else ""
    return f"{np.mean(known):.1f}{spread}"


def mean(values: Sequence[float]) -> float:
    """The mean in percent; not a number where there is none."""
    return 100 * float(np.mean(values)) if len(values) else math.nan


def verdict(met: bool, *numbers: float) -> str:
    """Whether a bar was met, where all that it is about was run."""
    return "not decided yet" if any(map(math.isnan, numbers)) else "met" if met else "**missed**"


def exact_table(rows: Sequence[tuple[str, str, str, str]]) -> Table:
    """Exact answers in percent, with attention and without."""
    return Table(["exact answers, %", "with attention", "without", "the paper's claim"], rows)
