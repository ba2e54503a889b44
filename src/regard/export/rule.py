r"""The tokeniser's rule as the regular expressions of databases: every class of characters spelled out, in ASCII.

Every engine has its own edition of the Unicode data, so none is asked about any character: ``\p{L}`` of one is not
that of another. What a letter is comes from this process, as it does for the page of a report.
"""

from __future__ import annotations

import re
from functools import cache

from regard.report.alphabet import alphabet

Runs = list[tuple[int, int]]

_LAST = 0x10FFFF
_FEW = 4  # runs that are tried one after another
# What the rule writes as alternatives is one class: «begin» a word, and what may be «inside».
_MERGED = {
    "(?:«letter»|«digit»|«mark»)": ("inside", ("letter", "digit", "mark")),
    "(?:«letter»|«digit»)": ("begin", ("letter", "digit")),
}


@cache
def pattern(backtracks: bool) -> str:
    """The regular expression that finds tokens and markup; markup alone begins with ``<``.

    Parameters
    ----------
    backtracks
        Whether the engine is like Java's. It tries the runs of a class one after another, and remembers where each
        repetition might have ended; so classes become search trees, and repetitions keep what they have taken, which
        changes nothing, because what follows one never begins with what it repeats.
    """
    known = alphabet()
    classes = {name: _pairs(runs) for name, runs in known["classes"].items()}
    rule = known["rule"]
    for alternatives, (name, parts) in _MERGED.items():
        rule = rule.replace(alternatives, f"«{name}»")
        classes[name] = _union([classes[part] for part in parts])
    markup, _, tokens = rule.partition("|")
    rule = f"{markup}|{tokens.removeprefix('(').removesuffix(')')}"
    if backtracks:
        rule = re.sub(r"(?<=[\])»])[*+]", r"\g<0>+", rule)
    rule = rule.replace(r"\u200d", "\u200d")
    rule = "".join(c if c.isascii() or c in "«»" else _spelled(ord(c)) for c in rule)
    written = _tree if backtracks else _list
    return re.sub(r"«(\w+)»", lambda found: written(classes[found[1]]), rule)


def _pairs(runs: list[int]) -> Runs:
    """Gap, length, gap, length, ... as first and last of each run.

    Examples
    --------
    >>> _pairs([3, 3, 3, 1])
    [(3, 5), (9, 9)]
    """
    pairs, at = [], 0
    for gap, length in zip(runs[::2], runs[1::2], strict=True):
        at += gap + length
        pairs.append((at - length, at - 1))
    return pairs


def _union(classes: list[Runs]) -> Runs:
    together: Runs = []
    for first, last in sorted(run for runs in classes for run in runs):
        if together and first <= together[-1][1] + 1:
            together[-1] = (together[-1][0], max(last, together[-1][1]))
        else:
            together.append((first, last))
    return together


def _spelled(code: int) -> str:
    return rf"\x{{{code:X}}}"


def _list(runs: Runs) -> str:
    return f"[{''.join(_run(*run) for run in runs)}]"


def _run(first: int, last: int) -> str:
    return _spelled(first) if first == last else f"{_spelled(first)}-{_spelled(last)}"


def _tree(runs: Runs, first: int = 0, last: int = _LAST) -> str:
    """A class as halves, each behind its bounds: about ten comparisons instead of hundreds, and fewest for ASCII."""
    if len(runs) <= _FEW:
        return _list(runs)
    ascii_runs = sum(run[1] < 0x80 for run in runs)
    half = ascii_runs if 0 < ascii_runs < len(runs) else len(runs) // 2
    middle = runs[half][0]
    left, right = _tree(runs[:half], first, middle - 1), _tree(runs[half:], middle, last)
    return f"[[{_run(first, middle - 1)}&&{left}][{_run(middle, last)}&&{right}]]"
