"""A bar on standard error for work that takes longer than a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """Says what is being done, and how far it is: a share from 0 to 1."""

    def __call__(self, doing: str, share: float) -> None:
        """Report a step."""


def silent(doing: str, share: float) -> None:
    """Say nothing."""


@contextmanager
def progress_bar(shown: bool) -> Iterator[Report]:
    """A bar, where it is wanted and standard error is a terminal; plain lines where it is not a terminal."""
    if not shown:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=1.0)

        def report(doing: str, share: float) -> None:
            progress.update(task, description=doing, completed=share)

        yield report
