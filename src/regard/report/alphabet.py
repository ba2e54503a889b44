"""The tokeniser's rule for another engine: the same regular expression, with every class of characters spelled out.

A browser has its own edition of the Unicode data, and its own lower-casing. The page therefore asks the browser about
no character: the classes, the lower case and the extent of NFC come from this process, like the tables of the byte
loops in ``regard.tokens.characters``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

import regex

from regard.tokens import rule

_CLASSES = {
    "letter": rule.LETTER,
    "digit": rule.DIGIT,
    "mark": rule.MARK,
    "decimal": rule.DECIMAL,
    "unspaced": f"[{rule.UNSPACED}]",
    "anymark": r"\p{M}",
    "picture": rule.PICTURE,
    "flag": r"\p{RI}",
}


@cache
def alphabet() -> dict[str, Any]:
    """What a second implementation of ``tokenize`` needs, ready for JSON.

    Returns
    -------
    rule : str
        The regular expression; ``«letter»`` stands for a class.
    classes : dict of list of int
        Each class as runs: the gap since the last run, the length, and so on.
    lower : list of (int, str)
        Characters that lower-casing changes.
    new : list of int
        Characters of the classes that this Python's Unicode data do not know yet, as runs: NFC passes them by.
    same : list of (str, str)
        What is replaced at the end.
    """
    plane = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    source = rule.RULE
    for name, pattern in _CLASSES.items():
        source = source.replace(pattern, f"«{name}»")
    assert r"\p" not in source.lower()
    members = {name: _found(pattern, plane) for name, pattern in _CLASSES.items()}
    everything = sorted(set().union(*members.values()))
    return {
        "rule": source,
        "classes": {name: _runs(map(ord, found)) for name, found in members.items()},
        "lower": [(ord(c), c.lower()) for c in plane if c.lower() != c],
        "new": _runs(ord(c) for c in everything if unicodedata.category(c) == "Cn"),
        "same": [
            (c, rule.normalise(c))
            for c in plane
            if c.lower() == c and unicodedata.is_normalized("NFC", c) and rule.normalise(c) != c
        ],
    }


def _found(pattern: str, plane: str) -> str:
    return "".join(regex.findall(pattern, plane))


def _runs(codes: Iterable[int]) -> list[int]:
    """Ascending numbers as gap, length, gap, length, ...

    Examples
    --------
    >>> _runs([3, 4, 5, 9])
    [3, 3, 3, 1]
    """
    runs: list[int] = []
    after = 0
    for code in codes:
        if runs and code == after:
            runs[-1] += 1
        else:
            runs += [code - after, 1]
        after = code + 1
    return runs
