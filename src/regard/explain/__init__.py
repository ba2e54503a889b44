"""What the model attended to, what each word contributed, and whether the scores of words can be read."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.explain.course import Course
    from regard.explain.explaining import explain
    from regard.explain.explanation import Explanation, Explanations, Part, Word
    from regard.explain.findings import Directions, Finding, directions, reading
    from regard.explain.gathering import Gathering, LeaderStatistics, leader_statistics, leaders
    from regard.explain.passages import SentencePart, sentence_parts
    from regard.explain.terms import Terms, gradient_terms, vector_terms
    from regard.explain.words import KindWeights, token_kinds, weights_by_kind, word_scores

# Explaining a text needs the standard library and NumPy alone; the rest is imported when it is asked for.
_HOMES = {
    "Course": "course",
    "Directions": "findings",
    "Explanation": "explanation",
    "Explanations": "explanation",
    "Finding": "findings",
    "Gathering": "gathering",
    "KindWeights": "words",
    "LeaderStatistics": "gathering",
    "Part": "explanation",
    "SentencePart": "passages",
    "Terms": "terms",
    "Word": "explanation",
    "directions": "findings",
    "explain": "explaining",
    "gradient_terms": "terms",
    "leader_statistics": "gathering",
    "leaders": "gathering",
    "reading": "findings",
    "sentence_parts": "passages",
    "token_kinds": "words",
    "vector_terms": "terms",
    "weights_by_kind": "words",
    "word_scores": "words",
}

__all__ = [
    "Course",
    "Directions",
    "Explanation",
    "Explanations",
    "Finding",
    "Gathering",
    "KindWeights",
    "LeaderStatistics",
    "Part",
    "SentencePart",
    "Terms",
    "Word",
    "directions",
    "explain",
    "gradient_terms",
    "leader_statistics",
    "leaders",
    "reading",
    "sentence_parts",
    "token_kinds",
    "vector_terms",
    "weights_by_kind",
    "word_scores",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
