"""From texts to numbered tokens and counted phrases: the kernels, in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.tokens import kernels
from regard.tokens.characters import tables
from regard.tokens.ragged import Tokens
from regard.tokens.rule import tokenize
from regard.tokens.threads import even_shards, in_threads, thread_count
from regard.tokens.vocabulary import Rows

T = TypeVar("T", bound=np.generic)

_BLOCK = 1 << 25  # characters a block: bounds the memory for the bytes of texts
_BUCKET_BITS = 7  # phrases are counted in buckets that fit the processor's cache


@dataclass
class _Cut:
    """The tokens of a run of documents, in normal form.

    Token ``t`` is ``forms[ends[t]:ends[t + 1]]``; document ``d`` holds the tokens ``starts[d]:starts[d + 1]``;
    a hard document has none here.
    """

    forms: NDArray[np.uint8]
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    hard: NDArray[np.bool_]


class _Words:
    """A growing list of distinct words with its index."""

    def __init__(self, arena: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.arena = arena
        self.ends = ends
        self.words = len(ends) - 1
        self._index(max(1 << 10, 2 * self.words))

    @classmethod
    def none(cls) -> _Words:
        return cls(np.empty(0, np.uint8), np.zeros(1, np.int64))

    def _index(self, at_least: int) -> None:
        self.slots = np.empty(1 << int(at_least).bit_length(), np.int32)
        self.hashes = np.empty(self.words, np.uint64)
        kernels.index_words(self.arena, self.ends, self.words, self.hashes, self.slots)

    def find(self, tokens: _Cut) -> NDArray[np.int32]:
        """The numbers of the tokens; -1 is an unknown word."""
        ids = np.empty(len(tokens.ends) - 1, np.int32)
        kernels.number_words(
            tokens.forms,
            tokens.ends,
            0,
            len(ids),
            False,
            self.arena,
            self.ends,
            self.hashes,
            self.slots,
            self.words,
            ids,
        )
        return ids

    def add(self, tokens: _Cut) -> NDArray[np.int32]:
        """The numbers of the tokens; an unknown word gets the next number."""
        stop = len(tokens.ends) - 1
        ids = np.empty(stop, np.int32)
        # Room for the worst case, in which every token is a new word: pages that are not used cost no memory.
        self.arena = _with_room(self.arena, int(self.ends[self.words]) + len(tokens.forms))
        self.ends = _with_room(self.ends, self.words + stop + 1)
        done = 0
        while True:
            self.hashes = _with_room(self.hashes, self.words + stop - done)
            done, self.words = kernels.number_words(
                tokens.forms,
                tokens.ends,
                done,
                stop,
                True,
                self.arena,
                self.ends,
                self.hashes,
                self.slots,
                self.words,
                ids,
            )
            if done == stop:
                break
            self._index(4 * self.words)
        self.arena = self.arena[: self.ends[self.words]].copy()
        self.ends = self.ends[: self.words + 1].copy()
        self.hashes = self.hashes[: self.words].copy()
        return ids

    def as_tokens(self) -> _Cut:
        """The words themselves, as the tokens of one document."""
        return _Cut(self.arena, self.ends, np.array([0, self.words]), np.zeros(1, np.bool_))


def _with_room(array: NDArray[T], size: int) -> NDArray[T]:
    larger = np.empty(max(size, len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def _cut(texts: Sequence[str]) -> _Cut:
    """Cut texts with the byte loops."""
    # Lone surrogates pass: they are no part of any token.
    pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    bounds = _ends([len(piece) for piece in pieces])
    text = np.frombuffer(b"".join(pieces), np.uint8)
    forms, ends = np.empty(3 * len(text) // 2 + 1, np.uint8), np.empty(len(text) + 1, np.int64)
    starts, hard = np.empty(len(bounds), np.int64), np.zeros(len(texts), np.bool_)
    n = kernels.cut(text, bounds, *tables(), forms, ends, starts, hard)
    return _Cut(forms[: ends[n]], ends[: n + 1], starts, hard)


def _cut_slowly(texts: Sequence[str]) -> _Cut:
    """Cut texts with the regular expression."""
    tokens = [[token.text.encode() for token in tokenize(text)] for text in texts]
    pieces = [piece for document in tokens for piece in document]
    return _Cut(
        np.frombuffer(bytearray().join(pieces), np.uint8),  # not bytes: a loop is compiled anew for what is read-only
        _ends([len(piece) for piece in pieces]),
        _ends([len(document) for document in tokens]),
        np.zeros(len(texts), np.bool_),
    )


def _ends(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Zero and the running sum of sizes."""
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends


def _blocks(texts: Sequence[str], n_threads: int | None) -> list[tuple[int, int]]:
    """Runs of texts of about equal size, at least one a thread."""
    starts = _ends([len(text) for text in texts])
    wanted = max(thread_count(n_threads), -(-int(starts[-1]) // _BLOCK))
    return even_shards(starts, min(wanted, 1 + int(starts[-1]) // 4096))


def _stitch(
    ids: list[NDArray[np.int32]],
    cuts: list[_Cut],
    hard_ids: NDArray[np.int32],
    hard_cut: _Cut,
) -> Tokens:
    """Put the tokens of the blocks, and of the hard documents between them, into one ragged array."""
    hard = np.concatenate([block.hard for block in cuts])
    sizes = np.concatenate([np.diff(block.starts) for block in cuts])
    sizes[hard] = np.diff(hard_cut.starts)
    starts = _ends(sizes)
    if not hard.any():
        return Tokens(np.concatenate(ids), starts)
    from_hard = np.repeat(hard, sizes)
    together = np.empty(starts[-1], np.int32)
    together[from_hard] = hard_ids
    together[~from_hard] = np.concatenate(ids)
    return Tokens(together, starts)


def learn_words(
    texts: Sequence[str], min_count: int | Callable[[int], int], n_threads: int | None
) -> tuple[tuple[NDArray[np.uint8], NDArray[np.int64]], Tokens, int]:
    """The words that occur often enough, by falling frequency and then by first appearance; the tokens; what is enough.

    First appearance is that among the documents which the byte loops can read, then among the others; so the order
    does not depend on how the documents were cut into blocks.
    """

    def read(block: tuple[int, int]) -> tuple[_Words, NDArray[np.int32], _Cut]:
        tokens, words = _cut(texts[slice(*block)]), _Words.none()
        ids = words.add(tokens)
        tokens.forms = tokens.ends = np.empty(0, np.uint8)  # the texts' bytes are no longer needed
        return words, ids, tokens

    blocks = in_threads(read, _blocks(texts, n_threads), n_threads)
    hard = np.flatnonzero(np.concatenate([block.hard for _, _, block in blocks]))
    hard_cut, hard_words = _cut_slowly([texts[i] for i in hard.tolist()]), _Words.none()
    hard_ids = hard_words.add(hard_cut)

    together, *others = [*(words for words, _, _ in blocks), hard_words]
    places = [
        np.arange(together.words, dtype=np.int32),
        *(together.add(other.as_tokens()) for other in others),
    ]
    all_ids = [*(ids for _, ids, _ in blocks), hard_ids]
    counts = np.zeros(together.words, np.int64)
    for ids, place in zip(all_ids, places, strict=True):
        local = np.zeros(len(place), np.int64)
        kernels.tally(ids, local)
        counts[place] += local

    least = min_count(int(counts.sum())) if callable(min_count) else min_count
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts >= least)]
    rank = np.full(together.words, -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)

    def renumber(pair: tuple[NDArray[np.int32], NDArray[np.int32]]) -> None:
        kernels.renumber(pair[0], rank[pair[1]])

    in_threads(renumber, zip(all_ids, places, strict=True), n_threads)
    tokens = _stitch(all_ids[:-1], [block for _, _, block in blocks], hard_ids, hard_cut)
    return _pick(together.arena, together.ends, order), tokens, least


def _pick(
    arena: NDArray[np.uint8], ends: NDArray[np.int64], order: NDArray[np.intp]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The words ``order`` of an arena as an arena of their own."""
    sizes = ends[order + 1] - ends[order]
    kept = _ends(sizes)
    return arena[np.repeat(ends[order] - kept[:-1], sizes) + np.arange(kept[-1])], kept


class Reader:
    """Numbers the words of texts in a vocabulary that is given."""

    def __init__(self, arena: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self._words = _Words(arena, ends)

    def __call__(self, texts: Sequence[str], n_threads: int | None) -> Tokens:
        """The tokens of the texts; -1 is an unknown word."""

        def read(block: tuple[int, int]) -> tuple[NDArray[np.int32], _Cut]:
            tokens = _cut(texts[slice(*block)])
            return self._words.find(tokens), tokens

        blocks = in_threads(read, _blocks(texts, n_threads), n_threads)
        hard = np.flatnonzero(np.concatenate([block.hard for _, block in blocks]))
        hard_cut = _cut_slowly([texts[i] for i in hard.tolist()])
        ids, cuts = zip(*blocks, strict=True)
        return _stitch(list(ids), list(cuts), self._words.find(hard_cut), hard_cut)


def learn_phrases(
    prefix: NDArray[np.int32], tokens: Tokens, gap: int, min_count: int, n_threads: int | None
) -> NDArray[np.uint64]:
    """The phrases ``(prefix row, word gap places on)`` that occur ``min_count`` times, as ascending keys."""

    def collect(shard: tuple[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        first, stop = tokens.starts[list(shard)]
        keys, bounds = np.empty(stop - first, np.uint64), np.zeros((1 << _BUCKET_BITS) + 2, np.int64)
        kernels.phrase_keys(prefix, tokens.ids, tokens.starts, *shard, gap, _BUCKET_BITS, keys, bounds)
        return keys, bounds

    shards = in_threads(collect, even_shards(tokens.starts, thread_count(n_threads)), n_threads)

    def count(bucket: int) -> NDArray[np.uint64]:
        keys = np.concatenate([keys[bounds[bucket] : bounds[bucket + 1]] for keys, bounds in shards])
        table = np.empty(_slots(len(keys)), np.uint64)
        found = kernels.frequent_keys(keys, min_count, table, np.zeros(len(table), np.int32))
        return table[:found].copy()

    return np.sort(np.concatenate(in_threads(count, range(1 << _BUCKET_BITS), n_threads)))


def _slots(keys: int) -> int:
    """A power of two, at least twice as many as keys."""
    return max(16, 1 << (2 * keys - 1).bit_length())


def key_slots(keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """An open-addressing table that finds the place of a key in ``keys``."""
    slots = np.full(_slots(len(keys)), -1, np.int32)
    kernels.index_keys(keys, slots)
    return slots


def phrase_rows(
    prefix: NDArray[np.int32],
    tokens: Tokens,
    gap: int,
    keys: NDArray[np.uint64],
    offset: int,
    n_threads: int | None,
    slots: NDArray[np.int32] | None = None,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """The row of the phrase that begins at each token; phrase ``k`` of ``keys`` has row ``offset + k``."""
    slots = key_slots(keys) if slots is None else slots
    out = np.empty(len(tokens.ids), np.int32) if out is None else out

    def look_up(shard: tuple[int, int]) -> None:
        kernels.number_phrases(prefix, tokens.ids, tokens.starts, *shard, gap, keys, slots, offset, out)

    in_threads(look_up, even_shards(tokens.starts, thread_count(n_threads)), n_threads)
    return out


def distinct(grams: NDArray[np.int32], tokens: Tokens, rows: int, n_threads: int | None) -> Rows:
    """The distinct rows of each document."""

    def gather(shard: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
        first, stop = tokens.starts[list(shard)]
        room = (stop - first) * len(grams)
        ids, counts = np.empty(room, np.int32), np.empty(room, np.float32)
        sizes = np.empty(shard[1] - shard[0], np.int64)
        seen, at = np.full(rows, -1, np.int32), np.empty(rows, np.int32)
        n = kernels.distinct_rows(grams, tokens.starts, *shard, seen, at, ids, counts, sizes)
        return ids[:n].copy(), counts[:n].copy(), sizes

    shards = in_threads(gather, even_shards(tokens.starts, thread_count(n_threads)), n_threads)
    ids, counts, sizes = (np.concatenate(parts) for parts in zip(*shards, strict=True))
    return Rows(ids, counts, _ends(sizes))
