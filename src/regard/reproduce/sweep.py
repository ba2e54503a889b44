"""Many cells of a table, each worked out once: stopped at any moment, a sweep goes on where it was."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.models.progress import Report, silent

Cell = dict[str, Any]


def sweep(
    cells: Sequence[Cell],
    work: Callable[[Cell], dict[str, Any]],
    kept: str | os.PathLike[str],
    processes: int = 1,
    say: Report = silent,
) -> list[dict[str, Any]]:
    """The result of every cell, in the order of the cells.

    A finished cell is one line of the file ``kept``: ``{"cell": ..., "result": ..., "seconds": ...}``. Cells found
    there are not worked out again, so that a sweep that was killed goes on where it was.

    Parameters
    ----------
    cells
        What each piece of work is given, ready for JSON; a cell holds all that its result depends on, the seed too.
    work
        A function of a module; it must import what it needs by itself, for it may run in a process of its own.
    kept
        The file of finished cells.
    processes
        How many cells are worked on at a time, each on one thread; 1 works in this process.
    say
        Is told what was finished, and the share that is done.
    """
    kept = Path(kept)
    done = _read(kept)
    todo = [cell for cell in cells if _key(cell) not in done]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        for cell, result, seconds in _worked(todo, work, processes):
            done[_key(cell)] = result
            line = json.dumps({"cell": cell, "result": result, "seconds": round(seconds, 3)}, ensure_ascii=False)
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
            say(", ".join(map(str, cell.values())), sum(_key(c) in done for c in cells) / len(cells))
    return [done[_key(cell)] for cell in cells]


def finished(cells: Sequence[Cell], kept: str | os.PathLike[str]) -> list[dict[str, Any] | None]:
    """The result of every cell that a sweep has finished; None for the others."""
    done = _read(Path(kept))
    return [done.get(_key(cell)) for cell in cells]


def _worked(
    cells: Sequence[Cell], work: Callable[[Cell], dict[str, Any]], processes: int
) -> Iterator[tuple[Cell, dict[str, Any], float]]:
    if processes == 1 or len(cells) < 2:
        yield from (_timed(work, cell) for cell in cells)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(cells)), context, initializer=_one_thread) as pool:
        futures = [pool.submit(_timed, work, cell) for cell in cells]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _timed(work: Callable[[Cell], dict[str, Any]], cell: Cell) -> tuple[Cell, dict[str, Any], float]:
    began = time.perf_counter()
    return cell, work(cell), time.perf_counter() - began


def _one_thread() -> None:
    """Before the libraries that read these are imported: as many processes as cores need one thread each."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True, ensure_ascii=False)


def _read(kept: Path) -> dict[str, dict[str, Any]]:
    """Finished cells; a last line that was being written when the sweep was killed is cut off."""
    if not kept.exists():
        return {}
    content = kept.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with kept.open("r+b") as file:
            file.truncate(len(whole))
    done = {}
    for number, line in enumerate(whole.decode("utf-8").splitlines(), 1):
        try:
            entry = json.loads(line)
            done[_key(entry["cell"])] = entry["result"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{kept} should hold one finished cell a line; line {number} is not one: mend it or move the file away."
            ) from error
    return done
