"""What can go wrong, in one sentence each: what was expected, what came, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RegardError(Exception):
    """The base of every error that regard raises on purpose."""


class DataError(RegardError, ValueError):
    """The data cannot be used as they are."""


class SettingError(RegardError, ValueError):
    """A parameter has a value that it cannot have."""


class ModelFileError(RegardError, ValueError):
    """A file is not a model, or not one that this version can read."""


class MissingExtraError(RegardError, ImportError):
    """A part of regard needs a package that is not installed."""

    def __init__(self, part: str, extra: str) -> None:
        super().__init__(f"{part} needs packages that are not installed: run `pip install 'regard[{extra}]'`.")


def nearest(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` where one of the known names is close, otherwise nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
