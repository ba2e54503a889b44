"""Which words and phrases have a row of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.tokens.ragged import Tokens
from regard.tokens.rule import Token, tokenize, words

if TYPE_CHECKING:
    from regard.tokens.counting import Reader


class Rows(NamedTuple):
    """The distinct rows of each document: a sparse matrix in CSR form.

    Attributes
    ----------
    ids : (entries,)
        Rows of the table, in order of appearance.
    counts : (entries,)
        How often the row occurs in its document.
    starts : (documents + 1,)
        Where each document starts.
    """

    ids: NDArray[np.int32]
    counts: NDArray[np.float32]
    starts: NDArray[np.int64]


class Place(NamedTuple):
    """One occurrence of a row in a text: the tokens ``first:last`` and the characters ``start:end``."""

    row: int
    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True)
class Vocabulary:
    """Words and phrases, each with its row; nothing is hashed away.

    Rows come in levels: words first, by falling frequency, then pairs, then triples. A phrase is the row of all its
    words but the last and the word that follows, so a level is a sorted list of pairs of numbers.

    Attributes
    ----------
    arena, ends
        Word ``w`` is the UTF-8 text ``arena[ends[w]:ends[w + 1]]``.
    phrases
        For each level above words, ``prefix row << 32 | last word``, ascending.
    """

    arena: NDArray[np.uint8]
    ends: NDArray[np.int64]
    phrases: tuple[NDArray[np.uint64], ...] = ()
    _row_of_word: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    # -- sizes ---------------------------------------------------------------------------------------------------

    @property
    def words(self) -> int:
        """How many rows are single words."""
        return len(self.ends) - 1

    @property
    def ngrams(self) -> int:
        """The longest phrase that may have a row."""
        return 1 + len(self.phrases)

    def __len__(self) -> int:
        return self.words + sum(len(keys) for keys in self.phrases)

    def level_starts(self) -> list[int]:
        """The first row of each level, and the number of rows."""
        starts = [0, self.words]
        for keys in self.phrases:
            starts.append(starts[-1] + len(keys))
        return starts

    def check(self) -> None:
        """Raise a ``ValueError`` where words or phrases do not lie as they should, such as in a file from elsewhere."""
        ends = self.ends
        if self.arena.dtype != np.uint8 or ends.dtype != np.int64 or self.arena.ndim != 1 or ends.ndim != 1:
            raise ValueError("words must be bytes, and their ends 64-bit numbers")
        if not len(ends) or ends[0] != 0 or ends[-1] != len(self.arena) or (np.diff(ends) < 1).any():
            raise ValueError("every word must end after the one before, and the last at the end of the bytes")
        self.arena.tobytes().decode()
        if ((self.arena[ends[:-1]] & 0xC0) == 0x80).any():
            raise ValueError("no word may begin inside a character")
        starts = self.level_starts()
        for level, keys in enumerate(self.phrases):
            if keys.dtype != np.uint64 or keys.ndim != 1 or (keys[1:] <= keys[:-1]).any():
                raise ValueError("the keys of phrases must be 64-bit numbers that rise")
            prefix, last = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
            if ((prefix < starts[level]) | (prefix >= starts[level + 1]) | (last >= self.words)).any():
                raise ValueError("a phrase must be a shorter phrase and a word")

    # -- names ---------------------------------------------------------------------------------------------------

    @cached_property
    def word_list(self) -> list[str]:
        """The words, by row."""
        text = self.arena.tobytes()
        bounds = self.ends.tolist()
        return [text[a:b].decode() for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def names(self) -> list[str]:
        """Every row's words, joined by single spaces."""
        names = list(self.word_list)
        for keys in self.phrases:
            prefixes = (keys >> np.uint64(32)).tolist()
            lasts = (keys & np.uint64(0xFFFFFFFF)).tolist()
            names += [f"{names[p]} {names[w]}" for p, w in zip(prefixes, lasts, strict=True)]
        return names

    def row(self, phrase: str) -> int | None:
        """The row of a word or phrase as ``names`` writes it, if it has one."""
        tokens = phrase.split(" ")
        if len(tokens) > self.ngrams:
            return None
        row = self._word_row(tokens[0])
        for level, token in enumerate(tokens[1:]):
            word = self._word_row(token)
            if row < 0 or word < 0:
                return None
            row = self._phrase_row(level, row, word)
        return row if row >= 0 else None

    def _word_row(self, word: str) -> int:
        return self._rows_by_word().get(word, -1)

    def _rows_by_word(self) -> dict[str, int]:
        if not self._row_of_word:
            # In one step: another thread must not meet half of it.
            self._row_of_word.update({word: row for row, word in enumerate(self.word_list)})
        return self._row_of_word

    def _phrase_row(self, level: int, prefix: int, word: int) -> int:
        keys = self.phrases[level]
        key = np.uint64((prefix << 32) | word)
        at = int(np.searchsorted(keys, key))
        return self.level_starts()[level + 1] + at if at < len(keys) and keys[at] == key else -1

    # -- one text, by the rule itself ----------------------------------------------------------------------------

    def places(self, text: str, tokens: Sequence[Token] | None = None) -> list[Place]:
        """Every occurrence of a row in a text, level by level, with its span.

        This walks the regular expression and needs no compiled kernel: it is the readable twin of ``rows``.
        """
        tokens = tokenize(text) if tokens is None else tokens
        words = [self._word_row(token.text) for token in tokens]
        places = [Place(row, i, i + 1, tokens[i].start, tokens[i].end) for i, row in enumerate(words) if row >= 0]
        prefix = words
        for level in range(len(self.phrases)):
            gap = level + 1
            grams = [-1] * len(tokens)
            for i in range(len(tokens) - gap):
                if prefix[i] >= 0 and words[i + gap] >= 0:
                    grams[i] = self._phrase_row(level, prefix[i], words[i + gap])
                    if grams[i] >= 0:
                        places.append(Place(grams[i], i, i + gap + 1, tokens[i].start, tokens[i + gap].end))
            prefix = grams
        return places

    def occurrences(self, text: str) -> NDArray[np.int32]:
        """The row of every occurrence in one short text: ``places`` without places, in microseconds."""
        from regard.tokens import kernels

        rows_by_word = self._rows_by_word()
        known = [rows_by_word.get(word, -1) for word in words(text)]
        grams = np.empty((self.ngrams, len(known)), np.int32)
        grams[0] = known
        starts = np.array([0, len(known)], np.int64)
        offset = self.words
        for level, keys in enumerate(self.phrases):
            kernels.number_phrases(
                grams[level], grams[0], starts, 0, 1, level + 1, keys, self._key_slots[level], offset, grams[level + 1]
            )
            offset += len(keys)
        rows = grams.ravel()
        return rows[rows >= 0]

    # -- many texts, by the kernels ------------------------------------------------------------------------------

    @classmethod
    def learn(
        cls,
        texts: Sequence[str],
        *,
        ngrams: int = 2,
        min_count: int | Callable[[int], int] = 2,
        n_threads: int | None = None,
    ) -> tuple[Vocabulary, Tokens]:
        """Find the words and phrases that occur at least ``min_count`` times.

        Parameters
        ----------
        texts
            The documents.
        ngrams
            The longest phrase, in words.
        min_count
            How often a word or phrase must occur to have a row; a function gets it from the number of tokens.
        n_threads
            Threads; the result does not depend on it.

        Returns
        -------
        vocabulary, tokens
            The tokens are those of ``texts``, so that they need not be cut again.
        """
        from regard.tokens import counting

        words, tokens, least = counting.learn_words(texts, min_count, n_threads)
        vocabulary = cls(*words)
        levels: list[NDArray[np.uint64]] = []
        prefix = tokens.ids
        for gap in range(1, ngrams):
            keys = counting.learn_phrases(prefix, tokens, gap, least, n_threads)
            levels.append(keys)
            vocabulary = cls(vocabulary.arena, vocabulary.ends, tuple(levels))
            if gap + 1 < ngrams:
                prefix = counting.phrase_rows(prefix, tokens, gap, keys, len(vocabulary) - len(keys), n_threads)
        return vocabulary, tokens

    def tokens(self, texts: Sequence[str], n_threads: int | None = None) -> Tokens:
        """Cut texts into tokens and number them; -1 is an unknown word."""
        return self._reader(texts, n_threads)

    def rows(self, tokens: Tokens, n_threads: int | None = None) -> Rows:
        """The distinct rows of each document."""
        from regard.tokens import counting

        return counting.distinct(self.grams(tokens, n_threads), tokens, len(self), n_threads)

    def grams(self, tokens: Tokens, n_threads: int | None = None) -> NDArray[np.int32]:
        """The rows that begin at each token, level by level: (levels, tokens), -1 where there is none."""
        from regard.tokens import counting

        grams = np.empty((self.ngrams, len(tokens.ids)), np.int32)
        grams[0] = tokens.ids
        for level, keys in enumerate(self.phrases):
            offset = self.level_starts()[level + 1]
            counting.phrase_rows(
                grams[level],
                tokens,
                level + 1,
                keys,
                offset,
                n_threads,
                self._key_slots[level],
                grams[level + 1],
            )
        return grams

    @cached_property
    def _reader(self) -> Reader:
        from regard.tokens.counting import Reader

        return Reader(self.arena, self.ends)

    @cached_property
    def _key_slots(self) -> list[NDArray[np.int32]]:
        from regard.tokens import counting

        return [counting.key_slots(keys) for keys in self.phrases]
