"""What is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from regard.errors import MissingExtraError

# The packages that come with an extra, by the name they are imported by.
_EXTRAS = {
    "torch": "torch",
    "transformers": "hf",
    "fastapi": "serve",
    "pydantic": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
}


def fetch(module: str, name: str, extra: str | None = None) -> Any:
    """``module.name``; where a package of an extra is missing, an error that names the extra, or the one given."""
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        raise MissingExtraError(name, extra or _EXTRAS[error.name]) from error
