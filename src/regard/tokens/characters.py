"""What the byte loops know of each character, worked out from the rule itself.

The tables cover the basic plane and are made once a process, from the same classes as the regular expression, so the
two cannot drift apart when the Unicode data are updated.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from regard.tokens import rule
from regard.tokens.kernels import CHARACTER, DECIMAL, DIGIT, EXCLAMATION, HARD, JOINER, LETTER

_PLANE = 0x10000
_SURROGATES = range(0xD800, 0xE000)
# Conjoining jamo are letters that NFC melts into syllables.
_JAMO = [range(0x1100, 0x1200), range(0xA960, 0xA980), range(0xD7B0, 0xD800)]


@cache
def tables() -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Class and normal form of every character of the basic plane.

    Returns
    -------
    classes : (65536,)
        One of the classes of ``kernels``. HARD is what the byte loops leave to the regular expression: marks,
        pictures, and characters whose normal form is not one character.
    lower : (65536,)
        The normal form.
    """
    classes = np.zeros(_PLANE, np.uint8)
    plane = "".join(chr(c) for c in range(_PLANE) if c not in _SURROGATES)
    # Later lines win: that is the order of the alternatives in the rule, last alternative first.
    for kind, pattern in [
        (EXCLAMATION, rule.EXCLAMATION),
        (HARD, rule.PICTURE),
        (JOINER, rule.JOINER),
        (CHARACTER, f"[{rule.UNSPACED}]"),
        (LETTER, rule.LETTER),
        (DIGIT, rule.DIGIT),
        (DECIMAL, rule.DECIMAL),
        (HARD, r"\p{M}"),
    ]:
        classes[_codes("".join(regex.findall(pattern, plane)))] = kind

    lower = np.arange(_PLANE, dtype=np.uint16)
    for character in plane:
        form = rule.normalise(character)
        if form != character and classes[ord(character)]:
            if len(form) == 1 and ord(form) < _PLANE and unicodedata.is_normalized("NFC", character):
                lower[ord(character)] = ord(form)
            else:
                classes[ord(character)] = HARD
    for block in _JAMO:
        classes[block] = HARD
    return classes, lower


def _codes(text: str) -> NDArray[np.uint16]:
    return np.frombuffer(text.encode("utf-16-le"), np.uint16)
