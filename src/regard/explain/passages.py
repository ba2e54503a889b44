"""What whole sentences contributed: the sums of what their words did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.explain.explanation import Explanation
from regard.tokens.sentences import sentences


@dataclass(frozen=True)
class SentencePart:
    """A sentence of an explained text.

    Attributes
    ----------
    text : str
    start, end : int
        Where it stands.
    weight : float
        How much of the attention its words have; in hierarchical attention that is the sentence's own weight.
    contribution : float
        What it adds to the score.
    """

    text: str
    start: int
    end: int
    weight: float
    contribution: float


def sentence_parts(explanation: Explanation) -> list[SentencePart]:
    """The sentences of an explained text; their contributions and the bias add up to the score, as those of words do.

    A phrase across two sentences belongs to the one in which it begins.

    Parameters
    ----------
    explanation
        Of any model.
    """
    text, found = explanation.text, []
    for start, end in sentences(text):
        inside = [part for part in explanation.parts if start <= part.start < end]
        weight = sum(part.weight for part in inside)
        found.append(SentencePart(text[start:end], start, end, weight, sum(part.contribution for part in inside)))
    return found


def as_lines(parts: Sequence[SentencePart], longest: int = 90) -> str:
    """A line for each sentence: weight, contribution, and how it begins."""
    return "\n".join(
        f"{part.weight:6.3f} {part.contribution:+8.3f}  "
        + (part.text if len(part.text) <= longest else part.text[: longest - 1] + "…").replace("\n", " ")
        for part in parts
    )
