"""The rule that cuts a text into tokens: one regular expression and one normal form.

``docs/tokens.md`` explains it; ``kernels.py`` follows it byte by byte, and a property test holds the two together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import regex

# Scripts that put no spaces between words: each of their characters is a token, and pairs make the words.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# [^\P{L}...] reads "a letter that is not one of ..."; it needs no set operations, so every engine has it.
LETTER = rf"[^\P{{L}}{UNSPACED}]"
DIGIT = rf"[^\P{{N}}{UNSPACED}]"
MARK = rf"[^\P{{M}}{UNSPACED}]"
# Apostrophes, and the two invisible joiners of Persian and the Indic scripts.
JOINER = "['’\u200c\u200d]"
PICTURE = r"\p{Extended_Pictographic}"
# Variation selector, skin tones, and the tags of regional flags.
MODIFIER = "[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"

MARKUP = r"</?[A-Za-z][^<>]*>"
DECIMAL = rf"[^\P{{Nd}}{UNSPACED}]"
NUMBER = rf"{DECIMAL}+(?:[.,]{DECIMAL}+)+"
WORD = rf"(?:{LETTER}|{DIGIT})(?:{LETTER}|{DIGIT}|{MARK})*(?:{JOINER}(?:{LETTER}|{DIGIT}|{MARK})+)*"
CHARACTER = rf"[{UNSPACED}]\p{{M}}*"
FLAG = r"\p{RI}\p{RI}?"
EMOJI = rf"{PICTURE}{MODIFIER}(?:\u200d{PICTURE}{MODIFIER})*"
EXCLAMATION = "[!?！？]"

# Markup comes first and is dropped; group 1 is a token.
RULE = rf"{MARKUP}|({NUMBER}|{WORD}|{CHARACTER}|{FLAG}|{EMOJI}|{EXCLAMATION})"
_FIND = regex.compile(RULE)

# After lower-casing, and before NFC, so that what it returns is always in NFC: one apostrophe, one exclamation and
# question mark, one sigma, no variation selector.
_SAME = str.maketrans({"’": "'", "！": "!", "？": "?", "ς": "σ", "\ufe0f": None})


class Token(NamedTuple):
    """A token and where it stands: ``text`` is the normal form of ``document[start:end]``."""

    text: str
    start: int
    end: int


def normalise(piece: str) -> str:
    """The form under which a matched piece of text is counted: lower case, one form of each apostrophe, NFC."""
    return unicodedata.normalize("NFC", piece.lower().translate(_SAME))


def tokenize(text: str) -> list[Token]:
    """Cut a text into tokens with their places.

    Examples
    --------
    >>> [token.text for token in tokenize("It ISN’T bad!<br />4.5 stars")]
    ['it', "isn't", 'bad', '!', '4.5', 'stars']
    """
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    for match in _FIND.finditer(text):
        piece = match[1]
        if piece is not None:
            yield Token(normalise(piece), match.start(), match.end())


def words(text: str) -> list[str]:
    """The normal forms of a text's tokens, without their places.

    Examples
    --------
    >>> words("It ISN’T bad!")
    ['it', "isn't", 'bad', '!']
    """
    # Of ASCII the normal form is the lower case; findall gives group 1, which is empty for markup.
    if text.isascii():
        return [piece for piece in _FIND.findall(text.lower()) if piece]
    return [normalise(piece) for piece in _FIND.findall(text) if piece]
