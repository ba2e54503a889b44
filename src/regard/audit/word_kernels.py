"""Removing words where phrases speak too: a word takes every phrase that it is in along.

A unit is a word or a phrase of ``lengths[j]`` words, the first of which is word ``words[j]`` of its document; units
stand in the order of their first words. Whatever stays is weighted and summed as in ``kernels``. Document ``d`` has the
units ``starts[d]:starts[d + 1]`` and the words ``word_starts[d]:word_starts[d + 1]``, each of which is a unit too.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.audit.kernels import chance, decided

# Logits farther apart than this would let quiet words vanish beside loud ones that are gone: such a document is left
# undefined, for a search over sets cannot rescale on the way as a walk along one ranking can.
FAR = 500.0
_HALVINGS = 40
_FEW = 16  # so many removals cost the dynamic programme less than finding the right price


@njit(cache=True, nogil=True, error_model="numpy")
def is_far(attention: NDArray[np.float64]) -> bool:
    """Whether the logits of a document are too far apart to be added up without rescaling."""
    highest, lowest = -math.inf, math.inf
    for a in attention:
        highest, lowest = max(highest, a), min(lowest, a)
    return highest - lowest > FAR


@njit(cache=True, nogil=True, error_model="numpy")
def gains_of_words(
    loud: NDArray[np.float64],
    margin: NDArray[np.float64],
    words: NDArray[np.int32],
    lengths: NDArray[np.int32],
    gains: NDArray[np.float64],
) -> None:
    """What keeping a word adds to the lead, by how many words in a row are kept up to it: (words, longest phrase).

    ``gains[i, r]`` is the sum of exp(attention) · margin over the units that end with word ``i`` and are no longer than
    ``r + 1`` words.
    """
    gains[:] = 0.0
    for j in range(words.size):
        gains[words[j] + lengths[j] - 1, lengths[j] - 1] += loud[j] * margin[j]
    for r in range(1, gains.shape[1]):
        for i in range(gains.shape[0]):
            gains[i, r] += gains[i, r - 1]


@njit(cache=True, nogil=True, error_model="numpy")
def priced(gains: NDArray[np.float64], price: float) -> tuple[float, int]:
    """The lead and the number of removed words of a set that makes lead + price · removed smallest, one word staying.

    A walk over the words, whose state is how many words in a row have been kept last (up to the longest phrase less
    one); a state more is for texts of which nothing has been kept yet.
    """
    n, longest = gains.shape
    states = longest + 1  # 0 ... longest - 1 in a row, then: nothing kept so far
    best = np.full(states, math.inf)
    lead, gone = np.zeros(states), np.zeros(states, np.int64)
    new_best, new_lead, new_gone = np.empty(states), np.empty(states), np.empty(states, np.int64)
    best[longest] = 0.0
    for i in range(n):
        new_best[:] = math.inf
        for state in range(states):
            if best[state] == math.inf:
                continue
            row = 0 if state == longest else state
            to = min(row + 1, longest - 1)
            value = best[state] + gains[i, min(row, longest - 1)]
            if value < new_best[to]:
                new_best[to] = value
                new_lead[to] = lead[state] + gains[i, min(row, longest - 1)]
                new_gone[to] = gone[state]
            to = longest if state == longest else 0
            value = best[state] + price
            if value < new_best[to]:
                new_best[to], new_lead[to], new_gone[to] = value, lead[state], gone[state] + 1
        best[:], lead[:], gone[:] = new_best, new_lead, new_gone
    chosen = 0
    for state in range(1, longest):
        if best[state] < best[chosen]:
            chosen = state
    return lead[chosen], gone[chosen]


@njit(cache=True, nogil=True, error_model="numpy")
def fewest_for(gains: NDArray[np.float64], tie: bool) -> int:
    """The fewest words whose removal makes the lead negative (or zero, where a tie is lost); 0 where none does.

    With a price on each removal the best set is found in one walk; the right prices bound the answer from both sides.
    Between the bounds a dynamic programme decides: ``least[k, r]`` is the smallest lead of what has been read, after
    ``k`` removals and with ``r`` words in a row kept last. It takes words · answer · longest phrase steps.
    """
    n, longest = gains.shape
    lead, gone = priced(gains, 0.0)
    if not (lead < 0 or (tie and lead == 0)):
        return 0
    most, least_gone = gone, 1
    low, high = 0.0, 0.0
    for i in range(n):
        high = max(high, 2.0 * np.abs(gains[i]).max())
    high *= longest
    for _ in range(_HALVINGS):
        price = 0.5 * (low + high)
        if most <= _FEW or price in (low, high):
            break
        lead, gone = priced(gains, price)
        # Every set has lead >= value - price · removed, so with fewer removals than value / price no lead is lost.
        value = lead + price * gone
        if value > 0:
            least_gone = max(least_gone, math.ceil(value / price * (1.0 - 1e-9) - 1e-9))
        if lead < 0 or (tie and lead == 0):
            most, low = min(most, gone), price
        else:
            high = price
        if least_gone >= most:
            return most
    least = np.full((most + 1, longest), math.inf)
    least[0, 0] = 0.0
    for i in range(n):
        for k in range(min(i + 1, most), -1, -1):
            removed = math.inf
            if k > 0:
                for r in range(longest):
                    removed = min(removed, least[k - 1, r])
            kept = least[k, longest - 1] + gains[i, longest - 1]
            for r in range(longest - 1, 0, -1):
                now = least[k, r - 1] + gains[i, r - 1]
                if r == longest - 1:
                    now = min(now, kept)
                least[k, r] = now
            least[k, 0] = removed if longest > 1 else min(removed, kept)
    for k in range(least_gone, most):
        for r in range(longest):
            if least[k, r] < 0 or (tie and least[k, r] == 0):
                return k
    return most


@njit(cache=True, nogil=True, error_model="numpy")
def fewest_words(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    lengths: NDArray[np.int32],
    word_starts: NDArray[np.int64],
    first: int,
    stop: int,
    explained: NDArray[np.int64],
    smallest: NDArray[np.int64],
) -> None:
    """The fewest words whose removal changes the decision, at least one staying: the exact optimum over all sets.

        sign(score[c] - score[r] of what stays) = sign Σ_kept exp(attention[j]) m[j],    m = said[·, c] - said[·, r]

    A phrase stays with all its words, so sorting words is not enough; but what a word adds depends on the words just
    before it alone.

    Parameters
    ----------
    smallest : (documents,), output
        How many; 0 where no removal changes the decision, -1 where the logits are too far apart to tell.
    """
    sides = said.shape[1]
    for doc in range(first, stop):
        a, b, n, label = starts[doc], starts[doc + 1], word_starts[doc + 1] - word_starts[doc], explained[doc]
        smallest[doc] = 0
        if n < 2:
            continue
        if is_far(attention[a:b]):
            smallest[doc] = -1
            continue
        loud = np.exp(attention[a:b] - attention[a:b].max())
        longest = np.int64(lengths[a:b].max())
        gains, margin = np.empty((n, longest)), np.empty(b - a)
        for other in range(2 if sides == 1 else sides):
            if other == label:
                continue
            for j in range(b - a):
                if sides == 1:
                    margin[j] = said[a + j, 0] if label == 1 else -said[a + j, 0]
                else:
                    margin[j] = said[a + j, label] - said[a + j, other]
            gains_of_words(loud, margin, words[a:b], lengths[a:b], gains)
            k = fewest_for(gains, other < label)
            if k > 0 and (smallest[doc] == 0 or k < smallest[doc]):
                smallest[doc] = k


@njit(cache=True, nogil=True, error_model="numpy")
def erase_words(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    lengths: NDArray[np.int32],
    word_starts: NDArray[np.int64],
    documents: NDArray[np.int64],
    explained: NDArray[np.int64],
    order: NDArray[np.int32],
    flip: NDArray[np.int64],
) -> None:
    """The smallest k below the number of words such that removing the first k words of an order changes the decision.

    Parameters
    ----------
    documents
        Which; the others are left as they are.
    order : (words,)
        Places in the document, the most important first.
    flip : (documents,), output
        0 where no such k is, -1 where the logits are too far apart to tell.
    """
    sides = said.shape[1]
    sums = np.empty(sides)
    for doc in documents:
        a, b = starts[doc], starts[doc + 1]
        w, n, label = word_starts[doc], word_starts[doc + 1] - word_starts[doc], explained[doc]
        flip[doc] = 0
        if n < 2:
            continue
        if is_far(attention[a:b]):
            flip[doc] = -1
            continue
        top = attention[a:b].max()
        longest = np.int64(lengths[a:b].max())
        begins, kept = np.zeros(n + 1, np.int64), np.zeros(n, np.bool_)
        for j in range(a, b):
            begins[words[j] + 1] += 1
        for i in range(n):
            begins[i + 1] += begins[i]
        sums[:] = 0.0
        for k in range(n - 1, 0, -1):
            word = order[w + k]
            kept[word] = True
            # Units that are whole with this word: those that start a little before it, or with it.
            for start in range(max(0, word - longest + 1), word + 1):
                for j in range(a + begins[start], a + begins[start + 1]):
                    end = start + lengths[j]
                    if end <= word:
                        continue
                    whole = True
                    for i in range(start, end):
                        whole = whole and kept[i]
                    if whole:
                        loud = math.exp(attention[j] - top)
                        for s in range(sides):
                            sums[s] += loud * said[j, s]
            # Dividing by what stays changes neither a sign nor which side is the largest.
            if decided(sums) != label:
                flip[doc] = k


@njit(cache=True, nogil=True, error_model="numpy")
def leave_words_out(
    attention: NDArray[np.float64],
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    lengths: NDArray[np.int32],
    word_starts: NDArray[np.int64],
    first: int,
    stop: int,
    explained: NDArray[np.int64],
    change: NDArray[np.float64],
) -> None:
    """For each word: how much of the explained probability goes with it and with every phrase it is in: (words,)."""
    sides = bias.size
    new = np.empty(sides)
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        w, n = word_starts[doc], word_starts[doc + 1] - word_starts[doc]
        if n == 0:
            continue
        before = chance(scores[doc], explained[doc])
        mass, said_away = np.zeros(n), np.zeros((n, sides))
        for j in range(a, b):
            for i in range(words[j], words[j] + lengths[j]):
                mass[i] += weights[j]
                for s in range(sides):
                    said_away[i, s] += weights[j] * said[j, s]
        for i in range(n):
            if n == 1:
                new[:] = bias
            elif mass[i] < 0.5:
                for s in range(sides):
                    new[s] = (scores[doc, s] - said_away[i, s]) / (1.0 - mass[i])
            else:  # summed anew, for a difference of nearly equal numbers would be inexact
                top, total = -math.inf, 0.0
                for j in range(a, b):
                    if not words[j] <= i < words[j] + lengths[j]:
                        top = max(top, attention[j])
                new[:] = 0.0
                for j in range(a, b):
                    if not words[j] <= i < words[j] + lengths[j]:
                        loud = math.exp(attention[j] - top)
                        total += loud
                        for s in range(sides):
                            new[s] += loud * said[j, s]
                for s in range(sides):
                    new[s] /= total
            change[w + i] = before - chance(new, explained[doc])
