"""How every system is studied: cells over seeds, a table, pictures, a page, and its numbers for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import DataError
from regard.lazy import fetch
from regard.models.progress import Report, silent
from regard.models.store import write_whole
from regard.reproduce.data import DataSet
from regard.reproduce.page import Page, Picture, Section, Table, made_with
from regard.reproduce.request import Asked
from regard.reproduce.sweep import Cell, finished, sweep

if TYPE_CHECKING:
    from regard.systems.saving import System

Result = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """What a page says of a system.

    Attributes
    ----------
    about : sequence of str
        The protocol: the task, sizes, what was chosen on which data.
    table : Table
        With attention, without, and the paper's claim.
    reading : str
        What the table says, and which bar was met or missed, in a few sentences.
    pictures : sequence of Picture
        What it attends to; the first also stands on the page of all systems.
    sections : sequence of Section
        Anything more.
    """

    about: Sequence[str]
    table: Table
    reading: str
    pictures: Sequence[Picture]
    sections: Sequence[Section] = ()


@dataclass(frozen=True)
class Study:
    """How a system is trained and shown.

    Attributes
    ----------
    cells : callable
        What was asked for, as cells; each has its "seed" and holds all that its result depends on.
    work : callable
        From a cell, and whom to tell, to a result ready for JSON and the trained systems by the name of their file.
        Those of the first seed are kept.
    show : callable
        From what was asked for, cells and their results to what the page says; not all cells need be finished.
    packages : tuple of str
        Beside torch, whose versions the page names.
    data : callable
        The real data sets that it reads.
    """

    cells: Callable[[Asked], list[Cell]]
    work: Callable[[Cell, Report], tuple[Result, dict[str, System]]]
    show: Callable[[Asked, list[Cell], list[Result]], Shown]
    packages: tuple[str, ...] = ()
    data: Callable[[], Sequence[DataSet]] = field(default=tuple)


@dataclass(frozen=True)
class Entry:
    """A system in the list.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title, paper, formula : str
    claim : str
        What the paper says attention does here, in a sentence.
    home : str
        The module that has its ``STUDY``; imported when it is run.
    """

    name: str
    title: str
    paper: str
    formula: str
    claim: str
    home: str

    def run(self, asked: Asked, report: Report = silent) -> Path:
        """Train and evaluate over the seeds, and write the page, its numbers and the models; the path of the page.

        Everything goes into the folder ``asked.out``: ``NAME.md``, ``NAME.html``, ``NAME.json``, and a folder ``NAME``
        with the pictures, the finished cells and the trained systems of the first seed.
        """
        study: Study = fetch(self.home, "STUDY")
        folder = asked.out / asked.name
        cells = study.cells(asked)
        work = partial(worked, home=self.home, folder=str(folder), first=asked.seed)
        if asked.processes == 1:
            work = partial(work, report=Among(cells, report))
        kept = folder / "cells.jsonl"
        if asked.finished:
            there = finished(cells, kept)
            share = f"{sum(one is not None for one in there)} of {len(cells)} cells"
            if not any(there):
                raise DataError(f"{kept} has no finished cell of {self.name}: run it without --finished first.")
            pairs = [(cell, result) for cell, result in zip(cells, there, strict=True) if result is not None]
            done, results = [cell for cell, _ in pairs], [result for _, result in pairs]
        else:
            results = sweep(cells, work, kept, asked.processes, report)
            done, share = cells, ""
        shown = study.show(asked, done, results)
        if share and len(done) < len(cells):
            shown = replace(shown, about=[*shown.about, f"**Not finished: {share}.**"])
        path = self._page(asked, study, shown).write(asked.out)
        said = {
            "name": self.name,
            "command": command(asked),
            "seeds": seeds(asked),
            "table": {"head": list(shown.table.head), "rows": [list(row) for row in shown.table.rows]},
            "reading": shown.reading,
            "pictures": [{"name": picture.name, "caption": picture.caption} for picture in shown.pictures],
        }
        text = json.dumps(said, ensure_ascii=False, indent=2) + "\n"
        write_whole(asked.out / f"{asked.name}.json", text.encode())
        return path

    def _page(self, asked: Asked, study: Study, shown: Shown) -> Page:
        about = [
            f"`{self.formula}`",
            f"{self.paper}. {self.claim}",
            *shown.about,
            f"Seeds {', '.join(map(str, seeds(asked)))}.",
            *(["**A quick look: the numbers mean nothing.**"] if asked.quick else []),
        ]
        bought = Section("What attention buys", shown.reading, [shown.table])
        attended = [Section("What it attends to", "", shown.pictures)] if shown.pictures else []
        made = made_with(study.data(), "torch", "altair", *study.packages)
        return Page(asked.name, self.title, command(asked), about, [bought, *attended, *shown.sections], made)


def seeds(asked: Asked) -> list[int]:
    """The seeds to take the mean of."""
    return list(range(asked.seed, asked.seed + asked.seeds))


def command(asked: Asked) -> str:
    """What makes the page again."""
    line = f"regard systems run {asked.part}" + (" --quick" if asked.quick else "")
    line += f" --seed {asked.seed}" if asked.seed else ""
    return line + (f" --seeds {asked.seeds}" if asked.seeds != usual_seeds(quick=asked.quick) else "")


def usual_seeds(*, quick: bool) -> int:
    """How many seeds, unless told."""
    return 1 if quick else 3


def worked(cell: Cell, *, home: str, folder: str, first: int, report: Report | Among = silent) -> Result:
    """The result of a cell, on one thread, so that no number depends on how many there are; the systems of the first
    seed are kept.
    """
    import torch

    from regard.models.neural_training import undisturbed

    study: Study = fetch(home, "STUDY")
    say = report.of(cell) if isinstance(report, Among) else report
    with undisturbed(1, torch.device("cpu")):
        result, systems = study.work(cell, say)
    if cell["seed"] == first:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, one in systems.items():
            one.save(Path(folder) / f"{name}.regard")
    return result


class Among:
    """Progress within a cell as progress among all cells."""

    def __init__(self, cells: Sequence[Cell], report: Report) -> None:
        self.cells, self.report = list(cells), report

    def of(self, cell: Cell) -> Report:
        """Whom the work on a cell tells."""
        place = self.cells.index(cell)
        named = ", ".join(str(value) for value in cell.values() if isinstance(value, str | int))

        def say(doing: str, share: float) -> None:
            self.report(f"{named}: {doing}", (place + share) / len(self.cells))

        return say
