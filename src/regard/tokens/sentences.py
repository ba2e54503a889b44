"""Where the sentences of a text stand: one pass of one regular expression, and a rule for each full stop."""

from __future__ import annotations

from typing import NamedTuple

import regex

from regard.tokens.rule import MARKUP


class Sentence(NamedTuple):
    """A sentence is ``text[start:end]``, without the space around it."""

    start: int
    end: int


# A tag hides the stops inside it; a blank line ends a sentence; stops take the quotes that close behind them.
_FIND = regex.compile(rf"(?P<tag>{MARKUP})|(?P<gap>\n\s*\n)|(?P<stop>[.!?…]+)(?P<close>[\"'”’»)\]]*)(?=\s|<|$)")
_BREAK = regex.compile(r"</?(?:br|p|div|li|ul|ol|h[1-6]|tr|hr|blockquote)\b", regex.IGNORECASE)
_NEXT = regex.compile(rf"(?:\s|{MARKUP}|[\"'“‘«(\[])*(.)", regex.DOTALL)
_OPENING = "\"'“‘«(["
_LAST = regex.compile(r"\S+$")
_INITIALS = regex.compile(r"(?:\p{L}\.)*\p{L}")

# Never the last word of a sentence, and the last one where a capital follows.
# fmt: off
_NEVER = frozenset(
    {
        "mr", "mrs", "ms", "dr", "prof", "st", "gen", "col", "capt", "lt", "sgt", "rev", "hon", "sen",
        "rep", "gov", "vs", "cf", "eg", "ie", "e.g", "i.e", "fig", "vol", "approx"
    }
)
_SELDOM = frozenset(
    {
        "jr", "sr", "etc", "inc", "ltd", "co", "corp", "dept", "a.m", "p.m"
    }
)
# fmt: on


def sentences(text: str) -> list[Sentence]:
    """Cut a text into sentences.

    A sentence ends at a line break of HTML, at a blank line, and at ``.``, ``!``, ``?`` or ``…`` before a space, with
    the quotes that close there; but not after an abbreviation (Mr., e.g.), an initial (J. R. R.) or a number in front
    of a small letter, nor where dots or a closed quotation go on with a small letter (well... maybe; "Why?" he asked).

    Examples
    --------
    >>> text = 'Mr. Lee said "Stop!" and left.<br />Why? no idea... none.'
    >>> [text[a:b] for a, b in sentences(text)]
    ['Mr. Lee said "Stop!" and left.', 'Why?', 'no idea... none.']
    """
    found: list[Sentence] = []
    start = 0
    for match in _FIND.finditer(text):
        if match["stop"] is not None:
            if _ends(text, match):
                _add(found, text, start, match.end())
                start = match.end()
        elif match["gap"] is not None or _BREAK.match(match["tag"]):
            _add(found, text, start, match.start())
            start = match.end()
    _add(found, text, start, len(text))
    return found


def _add(found: list[Sentence], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if stripped := piece.strip():
        start += len(piece) - len(piece.lstrip())
        found.append(Sentence(start, start + len(stripped)))


def _ends(text: str, match: regex.Match[str]) -> bool:
    """Whether the stop that was found ends a sentence, from the words on both sides of it."""
    ahead = _NEXT.match(text, match.end())
    following = "" if ahead is None else ahead[1]
    goes_on = following.islower()
    if goes_on and (match["close"] or match["stop"] == "…" or set(match["stop"][1:]) == {"."}):
        return False
    if match["stop"] != "." or match["close"]:
        return True
    last = _LAST.search(text, max(0, match.start() - 30), match.start())
    if last is None:
        return True
    written = last[0].lstrip(_OPENING)
    word = written.lower()
    if word in _NEVER or (goes_on and (word in _SELDOM or word[-1:].isdigit())):
        return False
    initials = _INITIALS.fullmatch(written) is not None and written != "I"
    return not initials or (word in _SELDOM and not goes_on)
