"""The loops over bytes and tokens, compiled by numba.

They release the interpreter's lock, so shards of documents run in threads; what they return does not depend on how
the documents were cut into shards. Callers make the arrays: a loop that makes none is compiled in half the time.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Classes of characters; `characters.py` fills the table. The comments name the parts of the rule.
OTHER, LETTER, DIGIT, DECIMAL, CHARACTER, JOINER, EXCLAMATION, HARD = range(8)

_OUTSIDE, _IN_WORD, _AFTER_JOINER, _IN_NUMBER, _AFTER_POINT = range(5)
_LESS, _SLASH, _GREATER, _POINT, _COMMA = 0x3C, 0x2F, 0x3E, 0x2E, 0x2C
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def mix(x: int) -> int:
    """Spread a 64-bit number over all its bits (the finaliser of splitmix64)."""
    x = np.uint64(x)
    x ^= x >> np.uint64(30)
    x *= _MIX_1
    x ^= x >> np.uint64(27)
    x *= _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def cut(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    classes: NDArray[np.uint8],
    lower: NDArray[np.uint16],
    forms: NDArray[np.uint8],
    ends: NDArray[np.int64],
    starts: NDArray[np.int64],
    hard: NDArray[np.bool_],
) -> int:
    """Cut documents into tokens by the rule, reading each byte once.

    Parameters
    ----------
    text, bounds
        UTF-8; document ``d`` is ``text[bounds[d]:bounds[d + 1]]``.
    classes, lower
        The tables of ``characters``.
    forms, ends : output
        Token ``t`` in normal form is ``forms[ends[t]:ends[t + 1]]``. Lower-casing may turn two bytes into three, and
        a token has at least one byte: ``1.5 * text.size`` and ``text.size + 1`` entries always suffice.
    starts, hard : output
        Document ``d`` holds the tokens ``starts[d]:starts[d + 1]``. A hard document has a character that only the
        regular expression treats rightly; it is left without tokens.

    Returns
    -------
    tokens
        How many there are.
    """
    n = 0  # tokens
    m = 0  # bytes of their normal forms
    ends[0] = 0
    starts[0] = 0
    for doc in range(bounds.size - 1):
        at, stop = bounds[doc], bounds[doc + 1]
        state, grouped, held = _OUTSIDE, False, 0
        while at < stop:
            code = np.int64(text[at])
            size = 1
            if code < 0x80:
                kind = np.int64(classes[code])
            elif code < 0xE0:
                code = ((code & 0x1F) << 6) | (np.int64(text[at + 1]) & 0x3F)
                kind = np.int64(classes[code])
                size = 2
            elif code < 0xF0:
                code = ((code & 0x0F) << 12) | ((np.int64(text[at + 1]) & 0x3F) << 6)
                code |= np.int64(text[at + 2]) & 0x3F
                kind = np.int64(classes[code])
                size = 3
            else:
                kind = HARD
            if kind == HARD:
                hard[doc] = True
                break
            alphanumeric = kind == LETTER or kind == DIGIT or kind == DECIMAL

            put = False
            if state == _OUTSIDE:
                if alphanumeric:
                    put = True
                    state = _IN_NUMBER if kind == DECIMAL else _IN_WORD
                    grouped = False
                elif kind == CHARACTER or kind == EXCLAMATION:
                    put = True
                elif code == _LESS:
                    # </?[A-Za-z][^<>]*> is dropped; any other < separates.
                    name = at + 1
                    if name < stop and text[name] == _SLASH:
                        name += 1
                    if name < stop and 0x41 <= (text[name] & 0xDF) <= 0x5A:
                        name += 1
                        while name < stop and text[name] != _LESS and text[name] != _GREATER:
                            name += 1
                        if name < stop and text[name] == _GREATER:
                            at = name
            elif state == _IN_WORD:
                if alphanumeric:
                    put = True
                elif kind == JOINER:
                    state = _AFTER_JOINER
                    held = np.int64(lower[code])
                else:
                    state = _OUTSIDE
            elif state == _AFTER_JOINER:
                if alphanumeric:
                    put = True
                    state = _IN_WORD
                else:
                    state = _OUTSIDE
            elif state == _IN_NUMBER:
                if kind == DECIMAL:
                    put = True
                elif code == _POINT or code == _COMMA:
                    state = _AFTER_POINT
                    held = code
                elif grouped:
                    state = _OUTSIDE
                else:
                    state = _IN_WORD
                    continue  # digits without a point are a word: read this character again
            elif kind == DECIMAL:  # after a point
                put = True
                grouped = True
                state = _IN_NUMBER
            else:
                state = _OUTSIDE

            if put:
                at += size
                if held:
                    if held < 0x80:
                        forms[m] = held
                        m += 1
                    else:
                        forms[m] = 0xE0 | (held >> 12)
                        forms[m + 1] = 0x80 | ((held >> 6) & 0x3F)
                        forms[m + 2] = 0x80 | (held & 0x3F)
                        m += 3
                    held = 0
                form = np.int64(lower[code])
                if form < 0x80:
                    forms[m] = form
                    m += 1
                elif form < 0x800:
                    forms[m] = 0xC0 | (form >> 6)
                    forms[m + 1] = 0x80 | (form & 0x3F)
                    m += 2
                else:
                    forms[m] = 0xE0 | (form >> 12)
                    forms[m + 1] = 0x80 | ((form >> 6) & 0x3F)
                    forms[m + 2] = 0x80 | (form & 0x3F)
                    m += 3
            elif state != _OUTSIDE:
                at += size  # a joiner or a point is held until the next character decides
                continue
            if state == _OUTSIDE:
                held = 0
                if m > ends[n]:
                    n += 1
                    ends[n] = m  # the character that ended the token is read again
                elif not put:
                    at += size
        if hard[doc]:
            n = starts[doc]
            m = ends[n]
        elif m > ends[n]:
            n += 1
            ends[n] = m
        starts[doc + 1] = n
    return n


@njit(cache=True, nogil=True)
def index_words(
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
    words: int,
    hashes: NDArray[np.uint64],
    slots: NDArray[np.int32],
) -> None:
    """Hash the words of an arena and enter them into empty slots (a power of two of them, more than words)."""
    last = np.uint64(slots.size - 1)
    slots[:] = -1
    for word in range(words):
        h = _FNV_START
        for i in range(ends[word], ends[word + 1]):
            h = (h ^ np.uint64(arena[i])) * _FNV_PRIME
        h = mix(h)
        hashes[word] = h
        slot = h & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = word


@njit(cache=True, nogil=True)
def number_words(
    forms: NDArray[np.uint8],
    form_ends: NDArray[np.int64],
    first: int,
    stop: int,
    learn: bool,
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    slots: NDArray[np.int32],
    words: int,
    ids: NDArray[np.int32],
) -> tuple[int, int]:
    """Give the tokens ``first:stop`` the numbers of their words.

    Words are compared byte by byte, so no two ever share a number.

    Parameters
    ----------
    forms, form_ends
        The tokens in normal form, as ``cut`` writes them.
    learn
        An unknown word gets the next number; otherwise it is -1.
    arena, ends, hashes, slots, words
        The words so far and their index; the arrays have room for every new word.
    ids : output
        The numbers.

    Returns
    -------
    done, words
        The first token that was not numbered, because half of the slots are taken: make more and call again.
    """
    last = np.uint64(slots.size - 1)
    for token in range(first, stop):
        begin = form_ends[token]
        size = form_ends[token + 1] - begin
        h = _FNV_START
        for i in range(begin, begin + size):
            h = (h ^ np.uint64(forms[i])) * _FNV_PRIME
        h = mix(h)
        slot = h & last
        word = np.int64(slots[slot])
        while word >= 0:
            if hashes[word] == h:
                at = ends[word]
                if ends[word + 1] - at == size:
                    i = 0
                    while i < size and arena[at + i] == forms[begin + i]:
                        i += 1
                    if i == size:
                        break
            slot = (slot + np.uint64(1)) & last
            word = np.int64(slots[slot])
        if word < 0 and learn:
            if 2 * words >= slots.size:
                return token, words
            word = words
            words += 1
            at = ends[word]
            for i in range(size):
                arena[at + i] = forms[begin + i]
            ends[words] = at + size
            hashes[word] = h
            slots[slot] = word
        ids[token] = word
    return stop, words


@njit(cache=True, nogil=True)
def renumber(ids: NDArray[np.int32], place: NDArray[np.int32]) -> None:
    """``ids[i] = place[ids[i]]``, in place."""
    for i in range(ids.size):
        ids[i] = place[ids[i]]


@njit(cache=True, nogil=True)
def tally(ids: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Count how often each number occurs."""
    for i in range(ids.size):
        counts[ids[i]] += 1


@njit(cache=True, nogil=True)
def _bucket(key: int, bits: int) -> int:
    return np.int64(mix(key) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def phrase_keys(
    prefix: NDArray[np.int32],
    words: NDArray[np.int32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    gap: int,
    bits: int,
    keys: NDArray[np.uint64],
    bounds: NDArray[np.int64],
) -> None:
    """Sort the phrases of a shard of documents into ``2**bits`` buckets by hash.

    A phrase of n words is the row of its first n - 1 words and its last word, ``gap = n - 1`` places on; as
    one 64-bit key ``prefix << 32 | word`` it is exact.

    Parameters
    ----------
    keys : output
        Bucket ``b`` is ``keys[bounds[b]:bounds[b + 1]]``. There is room for one a token, and what is behind the last
        bucket means nothing.
    bounds : (2**bits + 2,), output
        Zero before.
    """
    # A bucket is counted two places on and filled from one place on, which ends where the next one begins.
    for doc in range(first, stop):
        for i in range(starts[doc], starts[doc + 1] - gap):
            if prefix[i] >= 0 and words[i + gap] >= 0:
                key = (np.uint64(prefix[i]) << np.uint64(32)) | np.uint64(words[i + gap])
                bounds[_bucket(key, bits) + 2] += 1
    for b in range(bounds.size - 1):
        bounds[b + 1] += bounds[b]
    for doc in range(first, stop):
        for i in range(starts[doc], starts[doc + 1] - gap):
            if prefix[i] >= 0 and words[i + gap] >= 0:
                key = (np.uint64(prefix[i]) << np.uint64(32)) | np.uint64(words[i + gap])
                b = _bucket(key, bits) + 1
                keys[bounds[b]] = key
                bounds[b] += 1


@njit(cache=True, nogil=True)
def frequent_keys(
    keys: NDArray[np.uint64], min_count: int, table: NDArray[np.uint64], counts: NDArray[np.int32]
) -> int:
    """Find the distinct keys that occur at least ``min_count`` times.

    Parameters
    ----------
    keys
        In any order.
    table : output
        The keys that were found, in no particular order; a power of two of slots, at least twice as many as keys.
    counts : (slots,)
        Zero before.

    Returns
    -------
    found
        How many there are.
    """
    last = np.uint64(counts.size - 1)
    for key in keys:
        slot = mix(key) & last
        while counts[slot] > 0 and table[slot] != key:
            slot = (slot + np.uint64(1)) & last
        table[slot] = key
        counts[slot] += 1
    found = 0
    for slot in range(counts.size):
        if counts[slot] >= min_count:
            table[found] = table[slot]
            found += 1
    return found


@njit(cache=True, nogil=True)
def index_keys(keys: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
    """Enter the places of distinct keys into empty slots (-1; a power of two of them, at least twice as many)."""
    last = np.uint64(slots.size - 1)
    for row in range(keys.size):
        slot = mix(keys[row]) & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = row


@njit(cache=True, nogil=True)
def number_phrases(
    prefix: NDArray[np.int32],
    words: NDArray[np.int32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    gap: int,
    keys: NDArray[np.uint64],
    slots: NDArray[np.int32],
    offset: int,
    out: NDArray[np.int32],
) -> None:
    """Write the row of the phrase that begins at each token of a shard, -1 where the table has none."""
    last = np.uint64(slots.size - 1)
    for doc in range(first, stop):
        end = starts[doc + 1]
        for i in range(starts[doc], end):
            row = np.int32(-1)
            if i + gap < end and prefix[i] >= 0 and words[i + gap] >= 0:
                key = (np.uint64(prefix[i]) << np.uint64(32)) | np.uint64(words[i + gap])
                slot = mix(key) & last
                while slots[slot] >= 0:
                    if keys[slots[slot]] == key:
                        row = np.int32(offset + slots[slot])
                        break
                    slot = (slot + np.uint64(1)) & last
            out[i] = row


@njit(cache=True, nogil=True)
def distinct_rows(
    grams: NDArray[np.int32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    seen: NDArray[np.int32],
    at: NDArray[np.int32],
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    sizes: NDArray[np.int64],
) -> int:
    """Find the distinct rows of each document of a shard, in order of appearance, and how often each occurs.

    Parameters
    ----------
    grams : (levels, tokens)
        The row that begins at each token, for words, pairs, ...; -1 where there is none.
    starts, first, stop
        Document ``d`` holds the tokens ``starts[d]:starts[d + 1]``; the shard is ``first <= d < stop``.
    seen : (rows,)
        The last document that had a row; -1 before.
    at : (rows,)
        Where that entry is.
    ids, counts : output
        The entries, document after document; there is room for one a gram.
    sizes : (documents of the shard,), output
        How many entries each document has.

    Returns
    -------
    entries
        How many there are in all.
    """
    n = 0
    for doc in range(first, stop):
        before = n
        for level in range(grams.shape[0]):
            for i in range(starts[doc], starts[doc + 1]):
                row = grams[level, i]
                if row < 0:
                    continue
                if seen[row] == doc:
                    counts[at[row]] += 1
                else:
                    seen[row] = doc
                    at[row] = n
                    ids[n] = row
                    counts[n] = 1
                    n += 1
        sizes[doc - first] = n - before
    return n
