"""The loops over the rows of documents, compiled by numba; ``ragged.py`` says the same in NumPy.

Sums run in double precision and in the order of the document, so a result does not depend on threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.tokens.kernels import mix

# With less mass than this, a document's weights have lost digits.
_QUIET = 1e-280


@njit(cache=True, nogil=True)
def score_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    attention: NDArray[np.float32],
    loudness: NDArray[np.float64],
    polarity: NDArray[np.float32],
    bias: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the scores of the documents ``first:stop``.

        out[d] = bias + Σⱼ w[j] polarity[ids[j]],   w[j] ∝ counts[j] loudness[ids[j]],   j in document d

    Parameters
    ----------
    ids, counts, starts
        Ragged rows: a CSR matrix.
    attention, loudness : (rows,)
        How loudly each row speaks, and exp(attention) up to a common factor. Where that leaves nothing of a document,
        because other rows are louder by hundreds, the loudest row of the document is the measure.
    polarity : (rows, sides)
        What each row says.
    bias : (sides,)
        The score of a document without rows.
    out : (documents, sides), output
        The scores.
    """
    sides = bias.size
    for doc in range(first, stop):
        mass = 0.0
        for side in range(sides):
            out[doc, side] = 0.0
        for j in range(starts[doc], starts[doc + 1]):
            row = ids[j]
            weight = counts[j] * loudness[row]
            mass += weight
            for side in range(sides):
                out[doc, side] += weight * polarity[row, side]
        if mass < _QUIET and starts[doc] < starts[doc + 1]:
            top = -math.inf
            for j in range(starts[doc], starts[doc + 1]):
                top = max(top, np.float64(attention[ids[j]]))
            mass = 0.0
            for side in range(sides):
                out[doc, side] = 0.0
            for j in range(starts[doc], starts[doc + 1]):
                row = ids[j]
                weight = counts[j] * math.exp(attention[row] - top)
                mass += weight
                for side in range(sides):
                    out[doc, side] += weight * polarity[row, side]
        for side in range(sides):
            out[doc, side] = bias[side] + (out[doc, side] / mass if mass > 0 else 0.0)


@njit(cache=True, nogil=True)
def count_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    labels: NDArray[np.intp],
    texts_with: NDArray[np.int32],
    occurrences: NDArray[np.int64],
) -> None:
    """Add up, for each row and class, the documents ``first:stop`` that have the row, and its occurrences.

    Parameters
    ----------
    ids, counts, starts
        Ragged rows.
    labels : (documents,)
        The class of each document.
    texts_with, occurrences : (rows, classes), output
        Where the counts are added.
    """
    for doc in range(first, stop):
        label = labels[doc]
        for j in range(starts[doc], starts[doc + 1]):
            texts_with[ids[j], label] += 1
            occurrences[ids[j], label] += np.int64(counts[j])


def keep_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    documents: NDArray[np.int64],
    place: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Some documents with some of their rows, renumbered: row ``r`` becomes ``place[r]``; -1 leaves it out."""
    size = int((starts[documents + 1] - starts[documents]).sum())
    kept_ids, kept_counts = np.empty(size, np.int32), np.empty(size, np.float32)
    kept_starts = np.zeros(documents.size + 1, np.int64)
    # The arrays are made here, outside of the loop: that halves what compiling it takes.
    n = _keep_rows(ids, counts, starts, documents, place, kept_ids, kept_counts, kept_starts)
    return kept_ids[:n].copy(), kept_counts[:n].copy(), kept_starts


@njit(cache=True, nogil=True)
def _keep_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    documents: NDArray[np.int64],
    place: NDArray[np.int32],
    kept_ids: NDArray[np.int32],
    kept_counts: NDArray[np.float32],
    kept_starts: NDArray[np.int64],
) -> int:
    n = 0
    for i in range(documents.size):
        for j in range(starts[documents[i]], starts[documents[i] + 1]):
            row = place[ids[j]]
            if row >= 0:
                kept_ids[n] = row
                kept_counts[n] = counts[j]
                n += 1
        kept_starts[i + 1] = n
    return n


@njit(cache=True, nogil=True)
def mark_rows(
    ids: NDArray[np.int32], starts: NDArray[np.int64], documents: NDArray[np.int64], present: NDArray[np.bool_]
) -> None:
    """Mark the rows that occur in some of these documents."""
    for doc in documents:
        for j in range(starts[doc], starts[doc + 1]):
            present[ids[j]] = True


@njit(cache=True, nogil=True)
def train_epoch(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    labels: NDArray[np.intp],
    order: NDArray[np.int64],
    class_weight: NDArray[np.float32],
    table: NDArray[np.float32],
    bias: NDArray[np.float64],
    step_attention: float,
    step_polarity: float,
    step_bias: float,
    rate_from: float,
    rate_to: float,
    dropout: float,
    seed: int,
    loudest: float,
    farthest: float,
    texts_with: NDArray[np.int32],
    less: NDArray[np.float32],
    top_side: NDArray[np.int32],
    quieter: NDArray[np.float32],
) -> None:
    """Go through documents once, and after each move its rows against the gradient of its log loss.

    With the weights ``w``, the score ``s`` and ``g = onehot(label) - probabilities`` of a document, summed over sides:

        -∂L/∂polarity[e] = w[e] g            -∂L/∂attention[e] = w[e] g·(polarity[e] - s)

    Both are multiplied by the number of entries that effectively speak, ``1 / Σ w²``, so that a row moves as far in a
    long document as in a short one; by the class's weight; and by a rate that falls evenly from ``rate_from`` to
    ``rate_to``. Loudness moves by the factor ``1 + step`` for ``exp(step)``, which needs no exponential.

    Parameters
    ----------
    ids, counts, starts, labels
        Ragged rows and the class of each document.
    order
        Which documents, and which comes when.
    class_weight : (classes,)
        How much each class counts.
    table : (rows, 1 + sides), in and out
        Loudness, which is exp(attention), and polarity.
    bias : (sides,), in and out
        The score of a document without rows.
    dropout, seed
        Each entry of a document is left out with this probability, by a hash of seed, document and place.
    loudest, farthest
        Loudness stays between ``1 / loudest`` and ``loudest``, polarity and bias within plus and minus ``farthest``.
    texts_with : (rows, classes)
        In how many documents of each class a row occurs.
    less : (classes, counts)
        What the polarity of a row for class ``k`` loses when one of its ``n`` documents of that class is not counted:
        ``less[k, n]``, and nothing from the last ``n`` on. With no counts, documents are counted in their own rows.
    top_side, quieter : (rows,)
        The class that made a row as loud as it is, and the factor of its loudness without a document of that class.
    """
    sides = bias.size
    few = less.shape[1]
    longest = 0
    for doc in order:
        longest = max(longest, starts[doc + 1] - starts[doc])
    kept = np.empty(longest, np.int32)
    weight = np.empty(longest, np.float32)
    own = np.zeros(longest, np.float32)
    score = np.empty(sides, np.float32)
    slope = np.empty(sides, np.float32)
    threshold = np.uint64(dropout * 65536.0)
    one, zero = np.float32(1.0), np.float32(0.0)
    half = np.float32(0.5)
    top_loudness, low_loudness = np.float32(loudest), np.float32(1.0 / loudest)
    far = np.float32(farthest)
    steepest = 1e30  # a larger step would be infinite in float32, and nothing times infinity is no number
    for q in range(order.size):
        doc = order[q]
        label = labels[doc]
        rate = rate_from + (rate_to - rate_from) * q / order.size
        state = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(doc + 1))
        n = 0
        for j in range(starts[doc], starts[doc + 1]):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            kept[n] = ids[j]
            weight[n] = counts[j]
            n += np.int64((state >> np.uint64(48)) >= threshold)
        if n == 0:
            continue
        mass, square = zero, zero
        for side in range(sides):
            score[side] = zero
        for i in range(n):
            row = kept[i]
            w = weight[i] * table[row, 0]
            if few > 0:
                if top_side[row] == label:
                    w *= quieter[row]
                times = texts_with[row, label]
                own[i] = less[label, times] if times < few else zero
                score[label] += w * own[i]
            weight[i] = w
            mass += w
            square += w * w
            for side in range(sides):
                score[side] += w * table[row, 1 + side]

        offset = zero  # g·s
        if sides == 1:
            score[0] /= mass
            slope[0] = class_weight[label] * np.float32(label - 1.0 / (1.0 + math.exp(-(score[0] + bias[0]))))
            offset = slope[0] * score[0]
        else:
            top = -math.inf
            for side in range(sides):
                score[side] /= mass
                top = max(top, score[side] + bias[side])
            together = 0.0
            for side in range(sides):
                slope[side] = math.exp(score[side] + bias[side] - top)
                together += slope[side]
            for side in range(sides):
                right = one if side == label else zero
                slope[side] = class_weight[label] * (right - np.float32(slope[side] / together))
                offset += slope[side] * score[side]

        speaking = rate * mass / square  # (1 / Σ w²) / mass: the entries' weights are not yet divided by the mass
        a_step = np.float32(min(step_attention * speaking, steepest))
        s_step = np.float32(min(step_polarity * speaking, steepest))
        for i in range(n):
            row = kept[i]
            w = weight[i]
            pull = -offset
            if few > 0:
                pull += slope[label] * own[i]
            for side in range(sides):
                pull += slope[side] * table[row, 1 + side]
                table[row, 1 + side] = min(max(table[row, 1 + side] + s_step * w * slope[side], -far), far)
            step = min(max(a_step * w * pull, -half), half)
            table[row, 0] = min(max(table[row, 0] * (one + step), low_loudness), top_loudness)
        for side in range(sides):
            bias[side] = min(max(bias[side] + step_bias * rate * slope[side], -farthest), farthest)
