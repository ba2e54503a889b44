"""What may be asked of a reproduction, and what a paper offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import SettingError, nearest
from regard.models.progress import Report, silent
from regard.reproduce.page import Page


@dataclass(frozen=True)
class Asked:
    """What was asked for.

    Attributes
    ----------
    part : str
        "table 2", "figure 3", ...
    data : sequence of str
        Names of data sets; all that the part has, if empty.
    models : sequence of str
        Names of models, those of the table; all, if empty.
    scales : sequence of float
        λ, those of the table; all, if empty.
    seeds : int
        How many.
    quick : bool
        Fewer texts, epochs and cells: to see that it works, not what comes out.
    out : Path
        The folder of the page, and of the finished cells.
    processes : int
        Cells to work on at a time.
    finished : bool
        Show what is finished, and work out nothing.
    encoders : sequence of str
        Names of encoders, of a paper that compares them; all, if empty.
    seed : int
        The first, where a part counts them from another than 0.
    """

    part: str
    data: Sequence[str] = ()
    models: Sequence[str] = ()
    scales: Sequence[float] = ()
    seeds: int = 3
    quick: bool = False
    out: Path = Path("reproduced")
    processes: int = 1
    finished: bool = False
    encoders: Sequence[str] = ()
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the page's files."""
        return self.part.replace(" ", "-") + ("-quick" if self.quick else "")

    def sets(self, known: Sequence[str]) -> list[str]:
        """The data sets, each one that this part has."""
        return self._chosen("data", self.data, known)

    def columns(self, models: Sequence[str] = (), scales: Sequence[float] = ()) -> tuple[list[str], list[float]]:
        """The models and the scales to work on, each one that this part has."""
        return self._chosen("models", self.models, models), self._chosen("scales", self.scales, scales)

    def networks(self, known: Sequence[str]) -> list[str]:
        """The encoders, each one that this paper has."""
        return self._chosen("encoders", self.encoders, known)

    def _chosen(self, what: str, asked: Sequence[Any], known: Sequence[Any]) -> list[Any]:
        names = [f"{one:g}" if isinstance(one, float | int) else one for one in known]
        for one in asked:
            if one not in known:
                said = f"{one:g}" if isinstance(one, float | int) else one
                has = f"is about the {what} {', '.join(names)}" if names else f"leaves no choice of {what}"
                raise SettingError(f"{self.part} {has}; got {said!r}.{nearest(said, names)}")
        return [one for one in known if not asked or one in asked]


@dataclass(frozen=True)
class Paper:
    """A paper's tables and figures.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
    parts : dict of str to function
        Each makes a page of what was asked for.
    encoders : sequence of str
        What it compares, if it compares encoders.
    """

    name: str
    title: str
    parts: dict[str, Callable[[Asked, Report], Page]]
    encoders: Sequence[str] = ()

    def reproduce(self, asked: Asked, report: Report = silent) -> Path:
        """Make a page and write it; returns where it is."""
        if asked.part not in self.parts:
            raise SettingError(
                f"{self.name} has {', '.join(self.parts)}; got {asked.part!r}.{nearest(asked.part, self.parts)}"
            )
        asked.networks(self.encoders)
        return self.parts[asked.part](asked, report).write(asked.out)
