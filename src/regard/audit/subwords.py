"""Texts as transformers read them: sub-words, and the words that they are parts of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.audit.source import Floats, Places, Span
from regard.tokens import tokenize

# Half of a surrogate pair is no character to a tokeniser; this sign is as long.
_HALVES = re.compile("[\ud800-\udfff]")
_RUN = re.compile(r"\S+")

# Normalisers that treat every character, or every stretch between spaces, by itself.
_BY_CHARACTER = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"}
_BETWEEN_SPACES = _BY_CHARACTER | {"BertNormalizer", "Strip", "Precompiled", "Nmt"}
# Cuts that depend on the characters at their place alone, and after which no space is left.
_FORGETFUL = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits"}


@dataclass(frozen=True)
class Reading:
    """What a model reads of a text.

    Attributes
    ----------
    text : str
    ids, kinds : (sub-words,)
        Rows of the vocabulary, and the tokeniser's types of segments.
    unit : (sub-words,)
        The word that each is a part of; -1 for what the tokeniser adds, which is never removed.
    spans : list of Span
        Where the words stand.
    apart : (words,)
        Whether the sub-words on either side of a word's beginning stay the same when one side is removed.
    truncated : bool
        Whether the text is longer than the model can read.
    """

    text: str
    ids: Places
    kinds: Places
    unit: Places
    spans: list[Span]
    apart: NDArray[np.bool_]
    truncated: bool

    @cached_property
    def _bounds(self) -> list[int]:
        """Where the stretch of each word begins, with the spaces in front of it; and where the last one ends."""
        front = self.spans[0].start if self.truncated and self.spans else 0
        return [front, *(span.end for span in self.spans)]

    def without(self, keep: NDArray[np.bool_]) -> str:
        """The text without some words, and without the spaces in front of them; neighbours stay apart.

        Parameters
        ----------
        keep : (words,)
        """
        pieces: list[str] = []
        before = True
        for (start, end), kept in zip(pairwise(self._bounds), keep.tolist(), strict=True):
            piece = self.text[start:end]
            if kept:
                pieces.append(piece if before or not pieces or piece[:1].isspace() else f" {piece}")
            before = kept
        return "".join(pieces) + ("" if self.truncated else self.text[self._bounds[-1] :])

    def cuts_alike(self, keep: NDArray[np.bool_]) -> bool:
        """Whether taking the other words' sub-words out is proven to equal reading ``without`` anew."""
        return bool((self.apart[1:] | (keep[1:] == keep[:-1])).all())

    def cut(self, keep: NDArray[np.bool_]) -> tuple[Places, Places]:
        """Ids and kinds without the sub-words of some words."""
        stays = self._stays(keep)
        return self.ids[stays], self.kinds[stays]

    def masked(self, keep: NDArray[np.bool_], mask: int) -> tuple[Places, Places]:
        """Ids with a sign in place of each sub-word of some words, and kinds."""
        return np.where(self._stays(keep), self.ids, mask), self.kinds

    def _stays(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.append(keep, True)[self.unit]

    def by_word(self, scores: Floats) -> Floats:
        """Sums over the sub-words of each word: (words,)."""
        inside = self.unit >= 0
        return np.bincount(self.unit[inside], scores[inside], len(self.spans)).astype(np.float64)


@dataclass(frozen=True)
class Reader:
    """A fast tokeniser, and how much of a text a model can read.

    Attributes
    ----------
    tokenizer : PreTrainedTokenizerFast
    longest : int
        Sub-words at most, with those that the tokeniser adds.
    """

    tokenizer: Any
    longest: int
    _in_use: Lock = field(default_factory=Lock, repr=False, compare=False)

    @cached_property
    def cutting(self) -> str | None:
        """See ``cutting``."""
        return cutting(json.loads(self.tokenizer.backend_tokenizer.to_str()))

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Cut texts into sub-words and words."""
        whole = [_HALVES.sub("\ufffd", text) for text in texts]
        return [self._reading(text, each) for text, each in zip(whole, self._encoded(whole), strict=True)]

    def ids(self, texts: Sequence[str]) -> list[tuple[Places, Places]]:
        """Ids and kinds alone."""
        return [_ids(each) for each in self._encoded(texts)]

    def _encoded(self, texts: Sequence[str]) -> list[Any]:
        if not texts:
            return []
        # A tokeniser that one thread sets up while another uses it fails.
        with self._in_use:
            return list(self.tokenizer(list(texts), truncation=True, max_length=self.longest).encodings)

    def _reading(self, text: str, encoding: Any) -> Reading:
        own = np.array([number is not None for number in encoding.sequence_ids], np.bool_)
        offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        spans, inside = words(text, offsets[own])
        unit = np.full(len(own), -1, np.int64)
        unit[own] = inside
        pieces = np.array([-1 if word is None else word for word in encoding.word_ids], np.int64)
        ids, kinds = _ids(encoding)
        apart = self._apart(text, spans, unit, pieces)
        return Reading(text, ids, kinds, unit, spans, apart, bool(encoding.overflowing))

    def _apart(self, text: str, spans: list[Span], unit: Places, pieces: Places) -> NDArray[np.bool_]:
        """Whether each word begins where the tokeniser cuts, whatever stands on the other side."""
        apart = np.zeros(len(spans), np.bool_)
        if self.cutting is None:
            return apart
        if self.cutting == "forgetful":
            inside = unit[unit >= 0]
            first = np.searchsorted(inside, np.arange(len(spans)))
            piece = pieces[unit >= 0]
            apart[1:] = piece[first[1:]] != piece[first[1:] - 1]
            return apart
        for word in range(1, len(spans)):
            apart[word] = text[spans[word - 1].end] in self.cutting
        return apart


def words(text: str, offsets: Places) -> tuple[list[Span], Places]:
    """The words of a text of which sub-words are parts, and the word of each sub-word.

    A word is what regard calls one, or a run of other signs between them; where a sub-word is a part of several, they
    are one. A sub-word of spaces alone belongs to the word after it, or to none (-1).

    Parameters
    ----------
    offsets : (sub-words, 2)
        The characters of each.

    Examples
    --------
    >>> spans, unit = words("don't!", np.array([[0, 3], [3, 5], [5, 6]]))
    >>> [("don't!"[start:end]) for start, end in spans], unit.tolist()
    (["don't", '!'], [0, 0, 1])
    """
    pieces = _pieces(text)
    place = np.full(len(text) + 1, -1, np.int64)
    for i, (start, end) in enumerate(pieces):
        place[start:end] = i
    joined = np.zeros(len(pieces) + 1, np.bool_)
    first = np.full(len(offsets), -1, np.int64)
    for token, (start, end) in enumerate(offsets.tolist()):
        touched = place[start:end]
        touched = touched[touched >= 0]
        if len(touched):
            first[token] = touched[0]
            joined[touched[0] + 1 : touched[-1] + 1] = True
    group = np.cumsum(~joined[:-1]) - 1 if pieces else np.zeros(0, np.int64)
    found = np.where(first >= 0, group[first] if len(group) else -1, -1)
    read = np.unique(found[found >= 0])
    spans = []
    for each in read.tolist():
        a, b = np.searchsorted(group, [each, each + 1]).tolist()
        spans.append(Span(pieces[a].start, pieces[b - 1].end))
    unit = np.where(found >= 0, np.searchsorted(read, found), -1)
    after = -1
    for token in range(len(unit) - 1, -1, -1):
        after = unit[token] = after if unit[token] < 0 else int(unit[token])
    return spans, unit


def _pieces(text: str) -> list[Span]:
    """Words as regard cuts them, and what stands between them and is no space."""
    pieces: list[Span] = []
    at = 0
    for start, end in [*((token.start, token.end) for token in tokenize(text)), (len(text), len(text))]:
        pieces += [Span(run.start(), run.end()) for run in _RUN.finditer(text, at, start)]
        pieces += [Span(start, end)] if end > start else []
        at = end
    return pieces


def _ids(encoding: Any) -> tuple[Places, Places]:
    return np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64)


def cutting(form: Mapping[str, Any]) -> str | None:
    """How a tokeniser is known to cut texts into stretches that it then looks up one by one.

    Parameters
    ----------
    form
        Its JSON form.

    Returns
    -------
    cutting
        ``"forgetful"``: by the characters at the place alone, and spaces leave no trace, as BERT's does. Spaces: always
        in front of these characters, which belong to what follows, as GPT's does. None: in no way that is known here,
        so that texts must be read anew.
    """
    normalisers, cuts = (
        _parts(form.get("normalizer"), "normalizers"),
        _parts(form.get("pre_tokenizer"), "pretokenizers"),
    )
    names, types = {each["type"] for each in normalisers if not _harmless(each)}, [each["type"] for each in cuts]
    if not types or form.get("model", {}).get("dropout") or not names <= _BETWEEN_SPACES:
        return None
    if set(types) <= _FORGETFUL:
        return "forgetful"
    if types == ["ByteLevel"] and cuts[0].get("use_regex", True) and names <= _BY_CHARACTER:
        return " \n\t"
    last = cuts[-1]
    marks = last["type"] == "Metaspace" and last.get("split", True) and last.get("prepend_scheme") != "never"
    return " " if marks and set(types[:-1]) <= {"WhitespaceSplit"} else None


def _parts(step: Mapping[str, Any] | None, several: str) -> list[Mapping[str, Any]]:
    """A step, or the steps of a sequence."""
    if step is None:
        return []
    if step["type"] != "Sequence":
        return [step]
    return [part for each in step[several] for part in _parts(each, several)]


def _harmless(normaliser: Mapping[str, Any]) -> bool:
    """Whether it replaces within stretches between spaces, or runs of spaces, alone."""
    if normaliser["type"] != "Replace":
        return False
    pattern = normaliser["pattern"]
    return pattern.get("Regex") in (" {2,}", r" +") or not any(map(str.isspace, pattern.get("String", " ")))
