"""Logs as lines of JSON on standard error. No text, no query and no name that a client chose is ever in them."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

LOG = logging.getLogger("regard.serve")


class JsonLines(logging.Formatter):
    """One object a line: time, level, event, and what belongs to the event."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
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


def log(event: str, level: int = logging.INFO, *, traceback: bool = False, **facts: Any) -> None:
    """Write a line."""
    LOG.log(level, event, extra={"facts": facts}, exc_info=traceback)
