"""The model that answers, and how another takes its place."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from regard.errors import ModelFileError, RegardError
from regard.explain import explain
from regard.models.model import Model, load_model
from regard.models.table import TableModel, probabilities
from regard.serve.bodies import as_json
from regard.serve.logs import log
from regard.serve.metrics import Metrics

T = TypeVar("T")
Signature = tuple[int, int, int]
_TRIAL = "Not good at all!"
_QUICK = 2000  # characters that a table scores in less time than it takes to hand them to a thread


class Served:
    """A model that has been loaded, checked and tried.

    Parameters
    ----------
    path
        Its file.
    """

    def __init__(self, path: Path) -> None:
        self.signature = signature(path)
        self.model: Model = load_model(path)
        self.digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        if signature(path) != self.signature:
            raise ModelFileError(f"{path} was written while it was read; it is read again when it has come to rest.")
        self.name = path.stem
        self.loaded = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.labels: list[Any] = self.model.classes.tolist()
        self.names = [str(label) for label in self.labels]
        self.table: TableModel | None = self.model.word_table if self.model.exact else None
        self._page: bytes | None = None
        self.about: bytes = self._about()
        # Before anybody asks: loops are compiled or read, indices made, and a model that cannot predict never serves.
        self.predict([_TRIAL, ""], 1)
        self.explain([_TRIAL])
        if self.table is not None:
            self.predict_quickly([_TRIAL])

    def is_quick(self, texts: Sequence[str]) -> bool:
        """Whether the texts can be predicted while others wait."""
        return self.table is not None and sum(map(len, texts)) + 50 * len(texts) <= _QUICK

    def predict_quickly(self, texts: Sequence[str]) -> bytes:
        """The answer to few short texts, from a table."""
        assert self.table is not None
        return self._predictions([_chances(self.table.quick_scores(text).tolist()) for text in texts])

    def predict(self, texts: Sequence[str], threads: int | None = None) -> bytes:
        """The answer to any texts."""
        return self._predictions(probabilities(self.model.scores(texts, threads)).tolist())

    def _predictions(self, chances: list[list[float]]) -> bytes:
        predictions = []
        for each in chances:
            best = max(each)
            place = each.index(best)
            predictions.append(
                {
                    "prediction": self.labels[place],
                    "probability": best,
                    "probabilities": dict(zip(self.names, each, strict=True)),
                }
            )
        return as_json({"model": self.digest, "predictions": predictions})

    def explain(self, texts: Sequence[str]) -> bytes:
        """The answer to texts that shall be explained."""
        return as_json({"model": self.digest, "explanations": [each.to_dict() for each in explain(self.model, texts)]})

    def page(self) -> bytes:
        """The report, made when it is first asked for."""
        from regard.report import report

        if self._page is None:
            self._page = report(self.model, name=self.name).to_html().encode("utf-8", "replace")
        return self._page

    def _about(self) -> bytes:
        """What is served."""
        return as_json(
            {
                "model": self.digest,
                "name": self.name,
                "kind": self.model.kind,
                "classes": self.labels,
                "rows": len(self.model.word_table),
                "exact": self.model.exact,
                "loaded": self.loaded,
                "about": self.model.about,
            }
        )


class Current:
    """The model of the moment; a file that is replaced takes over, once it is loaded whole.

    A request takes ``served`` once and keeps it to its end, so none is dropped, and none is answered by two models.
    """

    def __init__(self, path: Path, metrics: Metrics) -> None:
        self.path = path
        self.served = Served(path)
        self.problem: str | None = None
        self._seen = self.served.signature
        self._metrics = metrics

    async def watch(self, every: float) -> None:
        """Look at the file again and again."""
        while True:
            await asyncio.sleep(every)
            await self.look()

    async def look(self) -> None:
        """Load the file if it has changed; if it is no whole model, say so and keep the old one."""
        now = signature(self.path)
        if now == self._seen:
            return
        self._seen = now
        if now == self.served.signature:
            self.problem = None
            return
        try:
            served = await asyncio.to_thread(Served, self.path)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a file, the old model goes on
            what = str(error) if isinstance(error, RegardError | OSError) else f"The file could not be used ({error})."
            self.problem = what.replace(str(self.path), self.path.name)
            self._metrics.failures += 1
            log("model refused", logging.ERROR, problem=self.problem, model=self.served.digest)
            return
        self.served, self.problem = served, None
        self._seen = served.signature
        self._metrics.loads += 1
        log("model replaced", model=served.digest)


def signature(path: Path) -> Signature | None:
    """What changes when a file is replaced; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _chances(scores: list[float]) -> list[float]:
    """``probabilities`` of one text, where arrays would take longer than the sum."""
    if len(scores) == 1:
        scores = [-scores[0] / 2, scores[0] / 2]
    top = max(scores)
    exps = [math.exp(score - top) for score in scores]
    total = sum(exps)
    return [each / total for each in exps]


class Busy(Exception):  # noqa: N818 - it is a state, and no error
    """More work waits than can be done in time."""


class Jobs:
    """Work that takes longer than others should wait for goes to threads; there is a bound to how much may wait.

    Parameters
    ----------
    threads
        How many.
    most
        How many jobs may wait or run; one that nobody waits for any longer still counts until it ends.
    """

    def __init__(self, threads: int, most: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="regard")
        self._places = threading.BoundedSemaphore(most)

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do it in a thread."""
        if not self._places.acquire(blocking=False):
            raise Busy
        future = self._pool.submit(work, *arguments)
        future.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
