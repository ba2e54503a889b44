"""Logs as lines of JSON on standard error. No text, no query and no name that a client chose is ever in them."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from functools import lru_cache
from typing import Any

_DELAY = 0.05  # seconds that the line of a request may wait for others
_waiting: list[str] = []
LOG = logging.getLogger("regard.serve")


class JsonLines(logging.Formatter):
    """One object a line: time, level, event, and what belongs to the event."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        line: dict[str, Any] = {
            "time": _written(record.created),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def begin() -> None:
    """Send the logs of the server to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("regard.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "regard.serve" else logging.ERROR)


def log_request(method: str, path: str, status: int, seconds: float, counts: dict[str, int]) -> None:
    """Write the line of a request: as ``log`` would, in a fraction of the time, for this is most of what is written.

    ``method`` and ``path`` are among a few words, so nothing needs an escape.
    """
    if not LOG.isEnabledFor(logging.INFO):
        return
    more = "".join(f', "{name}": {count}' for name, count in counts.items())
    _waiting.append(
        f'{{"time": "{_written(time.time())}", "level": "info", "event": "request", "method": "{method}", '
        f'"path": "{path}", "status": {status}, "ms": {1000 * seconds:.3f}{more}}}\n'
    )
    if len(_waiting) == 1:
        asyncio.get_running_loop().call_later(_DELAY, flush)


def flush() -> None:
    """Write the lines of requests that wait: several at a time, so that the system is not called for each."""
    lines = "".join(_waiting)
    _waiting.clear()
    sys.stderr.write(lines)
    sys.stderr.flush()


def _written(moment: float) -> str:
    return f"{_second(int(moment))}.{int(moment % 1 * 1000):03d}Z"


@lru_cache(maxsize=2)
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


def log(event: str, level: int = logging.INFO, *, traceback: bool = False, **facts: Any) -> None:
    """Write a line."""
    flush()
    LOG.log(level, event, extra={"facts": facts}, exc_info=traceback)
