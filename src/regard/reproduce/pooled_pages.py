"""What the pages of the papers on attention as explanation have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.models.progress import Report
from regard.reproduce.data import load
from regard.reproduce.page import Page, Section, made_with
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell, finished, sweep

# What is finished, by data set and model: a result for each seed.
Found = dict[tuple[str, str], list[dict[str, Any]]]


def worked(
    paper: str,
    asked: Asked,
    wanted: Sequence[tuple[str, str]],
    cell: Callable[..., Cell],
    work: Callable[[Cell], dict[str, Any]],
    report: Report,
) -> Found:
    """Work out what is wanted, (data, model), and has not been; with ``finished`` take what there is.

    Parameters
    ----------
    cell
        Makes a cell of data, model, seed and ``quick``.
    work
        Works it out.
    """
    seeds = range(1 if asked.quick else asked.seeds)
    # Seeds stand together: what they are compared with is then at hand.
    cells = [cell(data, model, seed, quick=asked.quick) for data, model in wanted for seed in seeds]
    kept = Path(asked.out) / paper / f"{work.__name__}{'-quick' if asked.quick else ''}.jsonl"
    if not asked.finished:
        sweep(cells, work, kept, asked.processes, report)
    found: Found = {}
    for one, result in zip(cells, finished(cells, kept), strict=True):
        if result is not None:
            found.setdefault((one["data"], one["model"]), []).append(result)
    return found


def page_of(
    paper: str, title: str, asked: Asked, about: Sequence[str], sections: Sequence[Section], sets: Sequence[str]
) -> Page:
    """The page, with the command that makes it again."""
    command = f"regard reproduce {paper}" + "".join(f" --data {name}" for name in asked.data)
    command += "".join(f" --model '{name}'" for name in asked.models)
    command += "".join(f" --encoder {name}" for name in asked.encoders)
    command += " --quick" if asked.quick else f" --seeds {asked.seeds}"
    command += " --finished" if asked.finished else ""
    about = [*about, *(["**A quick look: few texts and epochs; the numbers mean nothing.**"] if asked.quick else [])]
    seeds = "Seed 0" if asked.quick or asked.seeds == 1 else f"Seeds 0 to {asked.seeds - 1}, as far as they were run"
    made = made_with([load(name) for name in sets], "torch", "numba", "altair")
    return Page(paper + ("-quick" if asked.quick else ""), title, command, about, sections, f"{seeds}. {made}")


def of_all(results: Sequence[dict[str, Any]], *path: str | int) -> list[float]:
    """A number of each result, where it has one: ``of_all(results, "test", "accuracy")``."""
    found = []
    for result in results:
        value: Any = result
        for step in path:
            if value is None or (isinstance(step, str) and step not in value):
                value = None
                break
            value = value[step]
        if value is not None:
            found.append(float(value))
    return found


def mean_of(results: Sequence[dict[str, Any]], *path: str | int, digits: int = 3) -> str:
    """The mean over the seeds of such a number, ready to read."""
    found = of_all(results, *path)
    return f"{np.mean(found):.{digits}f}" if found else "–"
