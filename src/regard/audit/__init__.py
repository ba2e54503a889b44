"""May I believe this heat map? Tests of what attention explains, exact wherever mathematics allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.audit.auditing import audit
from regard.audit.eraser import read_evidence
from regard.audit.linear import ModelSource
from regard.audit.queried import FunctionSource
from regard.audit.result import Audit, Result, Verdict
from regard.audit.scores_file import FileSource
from regard.audit.source import Batch, Erasure, Source, Span
from regard.lazy import fetch

if TYPE_CHECKING:
    from regard.audit.huggingface import HuggingFaceSource

__all__ = [
    "Audit",
    "Batch",
    "Erasure",
    "FileSource",
    "FunctionSource",
    "HuggingFaceSource",
    "ModelSource",
    "Result",
    "Source",
    "Span",
    "Verdict",
    "audit",
    "read_evidence",
]


def __getattr__(name: str) -> object:
    # It needs PyTorch and Transformers, which are extras and take seconds to import.
    if name != "HuggingFaceSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return fetch("regard.audit.huggingface", name, "hf")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
