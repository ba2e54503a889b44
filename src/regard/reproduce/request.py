"""What may be asked of a reproduction, and what a paper offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    seeds : int
        How many.
    quick : bool
        Fewer texts, epochs and cells: to see that it works, not what comes out.
    out : Path
        The folder of the page, and of the finished cells.
    processes : int
        Cells to work on at a time.
    """

    part: str
    data: Sequence[str] = ()
    seeds: int = 3
    quick: bool = False
    out: Path = Path("reproduced")
    processes: int = 1

    @property
    def name(self) -> str:
        """Of the page's files."""
        return self.part.replace(" ", "-") + ("-quick" if self.quick else "")

    def sets(self, known: Sequence[str]) -> list[str]:
        """The data sets, each one that this part has."""
        for name in self.data:
            if name not in known:
                raise SettingError(
                    f"{self.part} is about the data {', '.join(known)}; got {name!r}.{nearest(name, known)}"
                )
        return [name for name in known if not self.data or name in self.data]


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
    """

    name: str
    title: str
    parts: dict[str, Callable[[Asked, Report], Page]]

    def reproduce(self, asked: Asked, report: Report = silent) -> Path:
        """Make a page and write it; returns where it is."""
        if asked.part not in self.parts:
            raise SettingError(
                f"{self.name} has {', '.join(self.parts)}; got {asked.part!r}.{nearest(asked.part, self.parts)}"
            )
        return self.parts[asked.part](asked, report).write(asked.out)
