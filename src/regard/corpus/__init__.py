"""Tables of texts: read whole, read in pieces, or made on the spot.

Nothing heavy is imported before it is used, so that ``regard --help`` is quick. The modules are called
``reading``, ``streaming`` and ``demonstration`` because a submodule named like a function would hide it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.corpus.corpus import Corpus, Source
    from regard.corpus.demonstration import DemoCorpus, Truth, demo
    from regard.corpus.reading import read
    from regard.corpus.streaming import Stream, stream

__all__ = ["Corpus", "DemoCorpus", "Source", "Stream", "Truth", "demo", "read", "stream"]

_HOMES = {
    "Corpus": "corpus",
    "DemoCorpus": "demonstration",
    "Source": "corpus",
    "Stream": "streaming",
    "Truth": "demonstration",
    "demo": "demonstration",
    "read": "reading",
    "stream": "streaming",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
