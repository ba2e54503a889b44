"""The loops that score and learn with the hardmax dynamics, compiled by numba.

The score of a text is linear in its words' embeddings once it is known who follows whom,

    score = bias + Σⱼ share[j] · W'e[j],

so the exact gradient of an embedding is its share times ``W`` times the slope of the loss. Shares are found by walking
the layers backwards; sums run in the order of the text.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.attention.hardmax.kernels import choose_by_norm, distinct_points, move, settle
from regard.tokens.kernels import mix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Products tie that differ by this, in proportion to their size.
TOLERANCE = 1e-12


@njit(cache=True, nogil=True, error_model="numpy")
def gather_layers(
    x: Floats,
    multiplicity: Floats,
    layers: int,
    pull: float,
    choices: Ints,
    ties: Ints,
    leader: Ints,
    follows: Ints,
) -> tuple[Ints, int, Floats]:
    """Move the distinct points of a text until all is settled or the layers are used up, and remember every choice.

    Parameters
    ----------
    x : (n, d)
        The positions in the beginning.
    multiplicity : (n,)
        How many equal points one stands for.
    choices : (layers, n), output
        Whom each point chose in each layer: see ``choose_by_norm``.
    ties : output
        The lists that ``choices`` points to.
    leader, follows : (n,), output
        The layer in which a point became a leader, or -1; the leader that it follows for good, or -1.

    Returns
    -------
    ties
        The same, or a larger copy.
    moved
        After how many layers nothing changes any more but the distance to a leader.
    x
        The positions after them.
    """
    leader[:] = -1
    follows[:] = -1
    none = np.empty((0, 0))
    used = 0
    out = np.empty_like(x)
    for layer in range(layers):
        choice = choices[layer]
        ties, used = choose_by_norm(x, none, True, TOLERANCE, leader, follows, choice, ties, used)
        if settle(choice, leader, follows, layer) == 0:
            return ties, layer, x
        move(x, multiplicity, choice, ties, pull, out)
        x, out = out, (np.empty_like(x) if layer == 0 else x)
    return ties, layers, x


@njit(cache=True, nogil=True, error_model="numpy")
def carry_shares(
    share: Floats,
    multiplicity: Floats,
    choices: Ints,
    ties: Ints,
    moved: int,
    rest: int,
    pull: float,
    follows: Ints,
) -> None:
    """Turn the shares that final positions have in their mean into the shares of the positions in the beginning.

    Parameters
    ----------
    share : (n,), in and out
        They add up to the same.
    choices, ties, moved
        What ``gather_layers`` found.
    rest
        How many layers more all points only come nearer to their leaders.
    """
    n = share.size
    if rest > 0:
        kept = (1 - pull) ** rest
        for i in range(n):
            if follows[i] >= 0:
                share[follows[i]] += (1 - kept) * share[i]
                share[i] *= kept
    before = np.empty(n)
    for layer in range(moved - 1, -1, -1):
        carry_layer(share, multiplicity, choices[layer], ties, pull, before)
        share[:] = before


@njit(cache=True, nogil=True, error_model="numpy")
def carry_layer(share: Floats, multiplicity: Floats, choice: Ints, ties: Ints, pull: float, before: Floats) -> None:
    """The same for one layer."""
    n = share.size
    for i in range(n):
        before[i] = (1 - pull) * share[i]
    for i in range(n):
        if choice[i] >= 0:
            before[choice[i]] += pull * share[i]
        else:
            at = -1 - choice[i]
            total = 0.0
            for r in range(at + 1, at + 1 + ties[at]):
                total += multiplicity[ties[r]]
            for r in range(at + 1, at + 1 + ties[at]):
                before[ties[r]] += pull * share[i] * multiplicity[ties[r]] / total


@njit(cache=True, nogil=True, error_model="numpy")
def slope_of_pull(
    along: Floats,
    multiplicity: Floats,
    share: Floats,
    choices: Ints,
    ties: Ints,
    moved: int,
    rest: int,
    pull: float,
    follows: Ints,
) -> float:
    """How the mean of the final positions along a direction changes with ``pull``.

    Parameters
    ----------
    along : (n,)
        The positions in the beginning along the direction.
    share : (n,)
        The shares of the final positions in their mean.
    """
    n = along.size
    path = np.empty((moved + 1, n))
    path[0] = along
    means = np.empty((moved, n))
    for layer in range(moved):
        for i in range(n):
            c = choices[layer, i]
            if c >= 0:
                means[layer, i] = path[layer, c]
            else:
                at = -1 - c
                total, mean = 0.0, 0.0
                for r in range(at + 1, at + 1 + ties[at]):
                    total += multiplicity[ties[r]]
                    mean += multiplicity[ties[r]] * path[layer, ties[r]]
                means[layer, i] = mean / total
            path[layer + 1, i] = path[layer, i] + pull * (means[layer, i] - path[layer, i])
    now = share.copy()
    slope = 0.0
    if rest > 0:
        kept = (1 - pull) ** rest
        for i in range(n):
            f = follows[i]
            if f >= 0:
                slope += share[i] * rest * (1 - pull) ** (rest - 1) * (path[moved, f] - path[moved, i])
                now[f] += (1 - kept) * share[i]
                now[i] -= (1 - kept) * share[i]
    before = np.empty(n)
    for layer in range(moved - 1, -1, -1):
        for i in range(n):
            slope += now[i] * (means[layer, i] - path[layer, i])
        carry_layer(now, multiplicity, choices[layer], ties, pull, before)
        now[:] = before
    return slope


@njit(cache=True, nogil=True, error_model="numpy")
def share_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: Ints,
    first: int,
    stop: int,
    embedding: NDArray[np.floating],
    layers: int,
    pull: float,
    shares: Floats,
    led: Ints,
) -> None:
    """The share that each row has in the mean of the final positions of its text.

    Parameters
    ----------
    ids, counts, starts
        Ragged rows; the texts ``first:stop`` are worked on.
    embedding : (rows, d)
        Where each row's point starts.
    shares : (entries,), output
        They add up to one in each text with a row.
    led : (entries,), output
        The layer in which the row became a leader, or -1.
    """
    d = embedding.shape[1]
    ties = np.empty(64, np.int64)
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        n = b - a
        if n == 0:
            continue
        x, one, firsts, times = np.empty((n, d)), np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n)
        for i in range(n):
            for k in range(d):
                x[i, k] = np.float64(embedding[ids[a + i], k]) + 0.0
        size = distinct_points(x, firsts, one)
        mass = 0.0
        for i in range(n):
            times[one[i]] += counts[a + i]
            mass += counts[a + i]
        for i in range(size):
            x[i] = x[firsts[i]]
        choices = np.empty((layers, size), np.int64)
        leader, follows = np.empty(size, np.int64), np.empty(size, np.int64)
        ties, moved, _ = gather_layers(x[:size].copy(), times[:size], layers, pull, choices, ties, leader, follows)
        share = times[:size] / mass
        carry_shares(share, times, choices, ties, moved, layers - moved, pull, follows)
        for i in range(n):
            shares[a + i] = share[one[i]] * counts[a + i] / times[one[i]]
            led[a + i] = leader[one[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def slope_of_text(score: Floats, label: int, weight: float, slope: Floats) -> None:
    """What a text teaches: ``weight (onehot(label) - probabilities)``; with one side ``weight (label - sigmoid)``."""
    sides = score.size
    if sides == 1:
        # The probability of the other class, by whichever side cannot overflow.
        wrong = score[0] if label == 0 else -score[0]
        wrong = 1.0 / (1.0 + math.exp(-wrong)) if wrong > 0 else math.exp(wrong) / (1.0 + math.exp(wrong))
        slope[0] = -weight * wrong if label == 0 else weight * wrong
        return
    top = -math.inf
    for k in range(sides):
        top = max(top, score[k])
    together = 0.0
    for k in range(sides):
        slope[k] = math.exp(score[k] - top)
        together += slope[k]
    for k in range(sides):
        slope[k] = weight * ((1.0 if k == label else 0.0) - slope[k] / together)


@njit(cache=True, nogil=True, error_model="numpy")
def train_epoch(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: Ints,
    labels: Ints,
    order: Ints,
    class_weight: Floats,
    embedding: NDArray[np.float32],
    movable: NDArray[np.bool_],
    output: Floats,
    bias: Floats,
    step: Floats,
    layers: int,
    rate_embedding: float,
    rate_output: float,
    rate_bias: float,
    rate_step: float,
    rate_from: float,
    rate_to: float,
    dropout: float,
    seed: int,
    farthest: float,
    longest_step: float,
) -> float:
    """Go through texts once, and after each move its embeddings, ``W``, bias and α against the gradient of its loss.

        -∂L/∂e[j] = share[j] W g        -∂L/∂W = z g'        -∂L/∂α = g' W' ∂z/∂α        -∂L/∂bias = g

    with ``z`` the mean of the final positions and ``g = onehot(label) - probabilities``, times the weight of the class.
    The first is multiplied by the number of rows that effectively speak, ``1 / Σ share²``, so that a row moves as far
    in a long text as in a short one, and divided by the mean square of the columns of ``W``. All steps are multiplied
    by a rate that falls evenly from ``rate_from`` to ``rate_to``.

    Parameters
    ----------
    ids, counts, starts, labels
        Ragged rows and the class of each text.
    order
        Which texts, and which comes when.
    class_weight : (classes,)
        How much each class counts.
    embedding : (rows, d), in and out
        Where each row's point starts.
    movable : (rows,)
        Which rows move.
    output : (d, sides), in and out
        ``W``.
    bias : (sides,), in and out
        The score of a text without rows.
    step : (1,), in and out
        ``ln α``.
    dropout, seed
        Each row of a text is left out with this probability, by a hash of seed, text and place.
    farthest, longest_step
        Embeddings, ``W`` and the bias stay within the first, ``ln α`` within the second.

    Returns
    -------
    loss
        The mean log loss of the texts, each before it was learned from.
    """
    d, sides = output.shape
    longest = 1
    for doc in order:
        longest = max(longest, starts[doc + 1] - starts[doc])
    kept, rows_times = np.empty(longest, np.int64), np.empty(longest)
    x_all, one, firsts = np.empty((longest, d)), np.empty(longest, np.int64), np.empty(longest, np.int64)
    times_all, choices_all = np.empty(longest), np.empty(layers * longest, np.int64)
    leader_all, follows_all = np.empty(longest, np.int64), np.empty(longest, np.int64)
    ties = np.empty(1024, np.int64)
    score, slope, z = np.empty(sides), np.empty(sides), np.empty(d)
    threshold = np.uint64(dropout * 65536.0)
    loss, seen = 0.0, 0
    far = np.float32(farthest)
    for q in range(order.size):
        doc = order[q]
        rate = rate_from + (rate_to - rate_from) * q / order.size
        state = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(doc + 1))
        n = 0
        for j in range(starts[doc], starts[doc + 1]):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            kept[n] = ids[j]
            rows_times[n] = counts[j]
            n += np.int64((state >> np.uint64(48)) >= threshold)
        if n == 0:
            continue
        for i in range(n):
            for k in range(d):
                x_all[i, k] = np.float64(embedding[kept[i], k]) + 0.0
        size = distinct_points(x_all[:n], firsts, one)
        times = times_all[:size]
        times[:] = 0.0
        mass = 0.0
        for i in range(n):
            times[one[i]] += rows_times[i]
            mass += rows_times[i]
        x = np.empty((size, d))
        for i in range(size):
            x[i] = x_all[firsts[i]]
        choices = choices_all[: layers * size].reshape(layers, size)
        follows = follows_all[:size]
        pull = 1.0 / (1.0 + math.exp(-step[0]))
        ties, moved, _ = gather_layers(x, times, layers, pull, choices, ties, leader_all[:size], follows)
        rest = layers - moved
        share = times / mass
        carry_shares(share, times, choices, ties, moved, rest, pull, follows)
        z[:] = 0.0
        square = 0.0
        for i in range(n):
            w = share[one[i]] * rows_times[i] / times[one[i]]
            rows_times[i] = w
            square += w * w
            for k in range(d):
                z[k] += w * x_all[i, k]
        for side in range(sides):
            score[side] = bias[side]
            for k in range(d):
                score[side] += z[k] * output[k, side]
        label = labels[doc]
        weight = class_weight[label]
        slope_of_text(score, label, weight, slope)
        right = 1.0 - abs(slope[0]) / weight if sides == 1 else 1.0 - slope[label] / weight
        loss -= math.log(max(right, 1e-300))
        seen += 1
        if rate_step > 0:
            along = np.zeros(size)
            for i in range(size):
                for k in range(d):
                    toward = 0.0
                    for side in range(sides):
                        toward += slope[side] * output[k, side]
                    along[i] += toward * x_all[firsts[i], k]
            mean = times / mass
            turn = slope_of_pull(along, times, mean, choices, ties, moved, rest, pull, follows)
            step[0] += rate * rate_step * turn * pull * (1.0 - pull)
            step[0] = min(max(step[0], -longest_step), longest_step)
        size_of_output = 0.0
        for side in range(sides):
            for k in range(d):
                size_of_output += output[k, side] ** 2
        moving = rate * rate_embedding * sides / (square * max(size_of_output, 1e-12))
        for k in range(d):
            toward = 0.0
            for side in range(sides):
                toward += slope[side] * output[k, side]
            toward *= moving
            for i in range(n):
                if movable[kept[i]]:
                    now = embedding[kept[i], k] + np.float32(rows_times[i] * toward)
                    embedding[kept[i], k] = min(max(now, -far), far)
        for side in range(sides):
            for k in range(d):
                now_output = output[k, side] + rate * rate_output * z[k] * slope[side]
                output[k, side] = min(max(now_output, -farthest), farthest)
            bias[side] = min(max(bias[side] + rate * rate_bias * slope[side], -farthest), farthest)
    return loss / max(seen, 1)
