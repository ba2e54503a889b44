"""The loops that learn vectors, compiled by numba.

Each sum has one order, whatever the number of threads. NumPy's rules of division keep the loops free of checks, so that
they run several elements at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.tokens.kernels import mix

# Numbers stay within this, slopes and steps within the other: products and squares are far from the end of float32.
_FARTHEST = 1e4
_STEEPEST = 1e15


# A sum of a hundred products is fastest in as many lanes as the processor has; the order is then the processor's own.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def read_vectors(
    vectors: NDArray[np.floating],
    rows: NDArray[np.int64],
    directions: NDArray[np.floating],
    out: NDArray[np.float64],
) -> None:
    """Read numbers off some rows: ``out[i, r] = vectors[rows[i]] · directions[r]``.

    Parameters
    ----------
    vectors : (all rows, d)
        The embeddings.
    rows : (rows,)
        Which ones.
    directions : (readings, d)
        What to read. The sum is as precise as this.
    out : (rows, readings), output
        The products.
    """
    for i in range(rows.size):
        e = vectors[rows[i]]
        for r in range(directions.shape[0]):
            v = directions[r]
            product = directions.dtype.type(0)
            for j in range(e.size):
                product += e[j] * v[j]
            out[i, r] = product


@njit(cache=True, nogil=True, error_model="numpy")
def gather_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    documents: NDArray[np.int64],
    dropout: float,
    seed: int,
    slot: NDArray[np.int32],
    rows: NDArray[np.int64],
    places: NDArray[np.int32],
    times: NDArray[np.float64],
    ends: NDArray[np.int64],
) -> int:
    """Lay the documents of a batch end to end, and number the distinct rows in them; returns how many there are.

    Parameters
    ----------
    ids, counts, starts
        Ragged rows.
    documents
        The batch.
    dropout, seed
        Each occurrence is left out with this probability, by a hash of seed, document and place.
    slot : (all rows,), in and out
        -1 throughout, before and after.
    rows : output
        The distinct rows.
    places, times : output
        For each entry that is kept, its place in ``rows`` and how often it occurs.
    ends : (batch + 1,), output
        Document ``i`` of the batch is ``places[ends[i]:ends[i + 1]]``.
    """
    threshold = np.uint64(dropout * 65536.0)
    distinct, n = 0, 0
    ends[0] = 0
    for i in range(documents.size):
        doc = documents[i]
        state = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(doc + 1))
        for j in range(starts[doc], starts[doc + 1]):
            kept = counts[j]
            if dropout > 0:
                kept = np.float32(0.0)
                for _ in range(np.int64(counts[j])):
                    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                    kept += np.float32((state >> np.uint64(48)) >= threshold)
            if kept > 0:
                row = ids[j]
                if slot[row] < 0:
                    slot[row] = distinct
                    rows[distinct] = row
                    distinct += 1
                places[n] = slot[row]
                times[n] = kept
                n += 1
        ends[i + 1] = n
    for i in range(distinct):
        slot[rows[i]] = -1
    return distinct


@njit(cache=True, nogil=True, error_model="numpy")
def slope_rows(
    places: NDArray[np.int32],
    times: NDArray[np.float64],
    ends: NDArray[np.int64],
    labels: NDArray[np.int64],
    class_weight: NDArray[np.float64],
    readings: NDArray[np.float64],
    d_readings: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Turn the readings (a, s) of the rows of a batch into the slopes of its mean log loss: -rho / m and -pi / m.

        pi[e, k] = Σ α[t, j] g[t, k]      rho[e] = Σ α[t, j] g[t]·(s[e] - s[t])      over the occurrences (t, j) of e

    with ``α`` the softmax of ``a`` over the occurrences of a text, ``s[t] = Σⱼ α[t, j] s[j]`` its score, and
    ``g[t] = onehot(label) - probabilities``, times the weight of the class. For two classes there is one ``s``, and
    ``g`` is ``label - sigmoid(s[t])``. A text of which nothing was kept has the score zero and no slope.

    Parameters
    ----------
    places, times, ends
        What ``gather_rows`` found.
    labels : (batch,)
        The class of each text.
    class_weight : (classes,)
        How much each class counts.
    readings : (rows, 1 + sides)
        ``a`` and then ``s`` of each row.
    d_readings : (rows, 1 + sides), output
        The slopes.
    weights : (entries,)
        Room for the weights of a text.
    """
    sides = readings.shape[1] - 1
    m = ends.size - 1
    score, pull = np.empty(sides), np.empty(sides)
    d_readings[:] = 0.0
    for i in range(m):
        first, stop = ends[i], ends[i + 1]
        if first == stop:
            continue
        top = -math.inf
        for j in range(first, stop):
            top = max(top, readings[places[j], 0])
        mass = 0.0
        score[:] = 0.0
        for j in range(first, stop):
            row = places[j]
            w = times[j] * math.exp(readings[row, 0] - top)
            weights[j] = w
            mass += w
            for k in range(sides):
                score[k] += w * readings[row, 1 + k]
        label = labels[i]
        share = min(class_weight[label], _STEEPEST) / m
        if sides == 1:
            score[0] /= mass
            # The probability of the other class, by whichever side cannot overflow.
            wrong = score[0] if label == 0 else -score[0]
            wrong = 1.0 / (1.0 + math.exp(-wrong)) if wrong > 0 else math.exp(wrong) / (1.0 + math.exp(wrong))
            pull[0] = -share * wrong if label == 0 else share * wrong
        else:
            loudest = -math.inf
            for k in range(sides):
                score[k] /= mass
                loudest = max(loudest, score[k])
            together = 0.0
            for k in range(sides):
                pull[k] = math.exp(score[k] - loudest)
                together += pull[k]
            for k in range(sides):
                pull[k] = share * ((1.0 if k == label else 0.0) - pull[k] / together)
        for j in range(first, stop):
            row = places[j]
            w = weights[j] / mass
            rho = 0.0
            for k in range(sides):
                rho += pull[k] * (readings[row, 1 + k] - score[k])
                d_readings[row, 1 + k] -= w * pull[k]
            d_readings[row, 0] -= w * rho


@njit(cache=True, nogil=True, error_model="numpy")
def adagrad(x: NDArray[np.floating], squares: NDArray[np.floating], slope: NDArray[np.floating], rate: float) -> None:
    """Take a step of Adagrad against a slope, each element for itself.

        squares += slope²,   x -= rate slope / (√squares + 1e-10)

    Slopes and elements are bounded far outside of what training reaches, so that nothing overflows at any rate.
    """
    step, tiny = x.dtype.type(min(rate, _STEEPEST)), x.dtype.type(1e-10)
    far, steep = x.dtype.type(_FARTHEST), x.dtype.type(_STEEPEST)
    for j in range(x.size):
        g = min(max(slope[j], -steep), steep)
        squares[j] += g * g
        x[j] = min(max(x[j] - step * g / (math.sqrt(squares[j]) + tiny), -far), far)


@njit(cache=True, nogil=True, error_model="numpy")
def move_rows(
    vectors: NDArray[np.floating],
    squares: NDArray[np.floating],
    rows: NDArray[np.int64],
    directions: NDArray[np.floating],
    d_readings: NDArray[np.float64],
    rate: float,
    d_directions: NDArray[np.float64],
) -> None:
    """Move the rows of a batch against their slopes, which have rank 1 + sides; add up those of the directions.

        ∂L/∂e = Σᵣ ∂L/∂reading[e, r] directions[r]        ∂L/∂directions[r] = Σₑ ∂L/∂reading[e, r] e

    The first is -(rho V / λ + pi W) / m; ``directions`` are V / λ and the columns of W.

    Parameters
    ----------
    vectors, squares : (all rows, d), in and out
        The vectors, and what Adagrad has added up for them.
    rows : (rows,)
        Which ones.
    directions : (readings, d)
        What they were read with.
    d_readings : (rows, readings)
        What ``slope_rows`` found.
    rate : float
        The step.
    d_directions : (readings, d), output
        The slopes of the directions.
    """
    d = vectors.shape[1]
    slope = np.empty(d, vectors.dtype)
    d_directions[:] = 0.0
    for i in range(rows.size):
        e = vectors[rows[i]]
        slope[:] = 0
        for r in range(directions.shape[0]):
            c = d_readings[i, r]
            part = vectors.dtype.type(min(max(c, -_STEEPEST), _STEEPEST))
            v, d_v = directions[r], d_directions[r]
            for j in range(d):
                slope[j] += part * v[j]
            for j in range(d):
                d_v[j] += c * e[j]
        adagrad(e, squares[rows[i]], slope, rate)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_dimensions(dropout: float, seed: np.uint64, used: NDArray[np.float64]) -> None:
    """Silence each dimension with the probability ``dropout``, and let the others speak up: 0 or 1 / (1 - dropout)."""
    threshold = np.uint64(dropout * 65536.0)
    state = mix(seed)
    for j in range(used.size):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        used[j] = 1.0 / (1.0 - dropout) if (state >> np.uint64(48)) >= threshold else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def train_vectors(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    labels: NDArray[np.int64],
    order: NDArray[np.int64],
    batch: int,
    class_weight: NDArray[np.float64],
    vectors: NDArray[np.floating],
    squares: NDArray[np.floating],
    directions: NDArray[np.float64],
    direction_squares: NDArray[np.float64],
    scale: float,
    rate: float,
    decay: float,
    steps: int,
    dropout: float,
    seed: int,
    learned: bool = True,
) -> int:
    """Go through documents once, in batches; after each batch its rows and the directions take a step of Adagrad.

    A batch costs one product of its distinct rows with the directions, one pass over its occurrences, and one update
    of rank 1 + sides. Rows outside the batch have no slope, and Adagrad leaves them where they are.

    Parameters
    ----------
    ids, counts, starts, labels
        Ragged rows and the class of each document.
    order
        Which documents, and which comes when.
    batch : int
        Documents a step.
    class_weight : (classes,)
        How much each class counts.
    vectors, squares : (rows, d), in and out
        The embeddings, and what Adagrad has added up for them.
    directions, direction_squares : (1 + sides, d), in and out
        V, then the columns of W, and what Adagrad has added up for them.
    scale : float
        λ.
    rate, decay, steps
        The step is ``rate / (1 + decay · steps)`` after so many steps.
    dropout, seed
        With this probability an occurrence of a row is left out, and a dimension of the vectors, for all texts of a
        batch alike: the gradient keeps its rank.
    learned : bool
        Whether anything is learned through the attention; otherwise V stays as it is, and vectors move for W alone.

    Returns
    -------
    steps : int
        How many have been taken now.
    """
    largest = 0
    for first in range(0, order.size, batch):
        size = 0
        for doc in order[first : first + batch]:
            size += starts[doc + 1] - starts[doc]
        largest = max(largest, size)
    readings = np.empty((largest, directions.shape[0]))
    d_readings = np.empty((largest, directions.shape[0]))
    rows = np.empty(largest, np.int64)
    places = np.empty(largest, np.int32)
    times = np.empty(largest)
    weights = np.empty(largest)
    ends = np.empty(batch + 1, np.int64)
    slot = np.full(vectors.shape[0], -1, np.int32)
    used = np.empty(directions.shape[1])
    read_with = np.empty(directions.shape, vectors.dtype)
    d_directions = np.empty(directions.shape)
    for first in range(0, order.size, batch):
        documents = order[first : first + batch]
        m = documents.size
        n = gather_rows(ids, counts, starts, documents, dropout, seed, slot, rows, places, times, ends[: m + 1])
        draw_dimensions(dropout, np.uint64(seed) - np.uint64(steps + 1), used)
        for r in range(directions.shape[0]):
            for j in range(used.size):
                x = directions[r, j] * used[j] / (scale if r == 0 else 1.0)
                read_with[r, j] = min(max(x, -_STEEPEST), _STEEPEST)
        read_vectors(vectors, rows[:n], read_with, readings)
        slope_rows(places, times, ends[: m + 1], labels[documents], class_weight, readings[:n], d_readings[:n], weights)
        if not learned:
            d_readings[:n, 0] = 0.0
        now = rate / (1.0 + decay * steps)
        move_rows(vectors, squares, rows[:n], read_with, d_readings[:n], now, d_directions)
        for r in range(directions.shape[0]):
            for j in range(used.size):
                d_directions[r, j] *= used[j] / (scale if r == 0 else 1.0)
            adagrad(directions[r], direction_squares[r], d_directions[r], now)
        steps += 1
    return steps
