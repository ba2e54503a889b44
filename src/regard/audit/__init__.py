"""May I believe this heat map? Tests of what attention explains, exact wherever mathematics allows."""

from __future__ import annotations

from regard.audit.auditing import audit
from regard.audit.eraser import read_evidence
from regard.audit.linear import ModelSource
from regard.audit.queried import FunctionSource
from regard.audit.result import Audit, Result, Verdict
from regard.audit.scores_file import FileSource
from regard.audit.source import Batch, Erasure, Source, Span

__all__ = [
    "Audit",
    "Batch",
    "Erasure",
    "FileSource",
    "FunctionSource",
    "ModelSource",
    "Result",
    "Source",
    "Span",
    "Verdict",
    "audit",
    "read_evidence",
]
