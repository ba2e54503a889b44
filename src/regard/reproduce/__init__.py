"""The papers' tables and figures, one file each, from the rooms before this one."""

from __future__ import annotations

from regard.lazy import fetch
from regard.reproduce.request import Asked, Paper

# What the command line calls a paper, and where it is reproduced.
_HOMES = {
    "hardmax": "regard.reproduce.hardmax",
    "understanding-attention": "regard.reproduce.understanding_attention",
    "attention-is-not-explanation": "regard.reproduce.attention_is_not_explanation",
    "is-attention-interpretable": "regard.reproduce.is_attention_interpretable",
    "attention-is-not-not-explanation": "regard.reproduce.attention_is_not_not_explanation",
    "why-exp": "regard.reproduce.why_exp",
    "similarity": "regard.reproduce.similarity",
}
PAPERS = tuple(_HOMES)

__all__ = ["PAPERS", "Asked", "Paper", "paper"]


def paper(name: str) -> Paper:
    """A paper by its name."""
    from regard.errors import SettingError, nearest

    if name not in _HOMES:
        raise SettingError(f"Unknown paper {name!r}; known: {', '.join(PAPERS)}.{nearest(name, PAPERS)}")
    found: Paper = fetch(_HOMES[name], "PAPER")
    return found
