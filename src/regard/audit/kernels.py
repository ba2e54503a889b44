"""The exact tests as loops over ragged documents, compiled by numba.

All kernels see documents the same way. Unit ``j`` of a document has a logit ``attention[j]``, and says ``said[j]``,
(sides,), which holds the bias; with weights w ∝ exp(attention) that sum to one,

    score of the kept units K = Σ_K w[j] said[j] / Σ_K w[j],    and ``bias`` where nothing is kept.

Deleting units and zeroing their weights are the same here. Sums run over what stays, never as a difference from the
whole, so that nothing cancels; where logits are so far apart that the quiet weights would vanish, they are rescaled on
the way. A document ``d`` has the units ``starts[d]:starts[d + 1]``; kernels write the documents ``first:stop``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from regard.tokens.kernels import mix

_LN2 = math.log(2.0)
_NOTHING = 1e-300  # what is less would overflow in a quotient
_FAR = 500.0  # logits farther apart than this are rescaled on the way
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


# -- one document --------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def chance(score: NDArray[np.float64], label: int) -> float:
    """The probability of a class: sigmoid of one side, softmax of several."""
    if score.size == 1:
        return 1.0 / (1.0 + math.exp(-score[0] if label == 1 else score[0]))
    top = score[0]
    for k in range(1, score.size):
        top = max(top, score[k])
    together = 0.0
    for k in range(score.size):
        together += math.exp(score[k] - top)
    return math.exp(score[label] - top) / together


@njit(cache=True, nogil=True, error_model="numpy")
def decided(score: NDArray[np.float64]) -> int:
    """The predicted class; a tie goes to the first."""
    if score.size == 1:
        return 1 if score[0] > 0 else 0
    best = 0
    for k in range(1, score.size):
        if score[k] > score[best]:
            best = k
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def without_one(
    attention: NDArray[np.float64],
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    score: NDArray[np.float64],
    j: int,
    out: NDArray[np.float64],
) -> None:
    """The score of one document without its unit ``j``: (s - w said) / (1 - w), or summed anew where w is large."""
    n = weights.size
    if n == 1:
        out[:] = bias
        return
    w = weights[j]
    if w < 0.5:
        for k in range(out.size):
            out[k] = (score[k] - w * said[j, k]) / (1.0 - w)
        return
    top = -math.inf
    for i in range(n):
        if i != j:
            top = max(top, attention[i])
    mass = 0.0
    out[:] = 0.0
    for i in range(n):
        if i != j:
            loud = math.exp(attention[i] - top)
            mass += loud
            for k in range(out.size):
                out[k] += loud * said[i, k]
    for k in range(out.size):
        out[k] /= mass


@njit(cache=True, nogil=True, error_model="numpy")
def entropy_sum(t: float, a: float) -> float:
    """(t + a) ln (t + a) - t ln t - a ln a, which is zero where one of them is."""
    if t < _NOTHING or a < _NOTHING:
        return 0.0
    return t * math.log1p(a / t) + a * math.log1p(t / a)


# -- reading -------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Softmax of the logits, and the scores: (units,) and (documents, sides)."""
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        if a == b:
            scores[doc] = bias
            continue
        top = -math.inf
        for j in range(a, b):
            top = max(top, attention[j])
        mass = 0.0
        for j in range(a, b):
            weights[j] = math.exp(attention[j] - top)
            mass += weights[j]
        scores[doc] = 0.0
        for j in range(a, b):
            weights[j] /= mass
            for k in range(bias.size):
                scores[doc, k] += weights[j] * said[j, k]


@njit(cache=True, nogil=True, error_model="numpy")
def rank(keys: NDArray[np.float64], starts: NDArray[np.int64], first: int, stop: int, order: NDArray[np.int32]) -> None:
    """The places of each document from the largest key to the smallest; equal keys stay in their order."""
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        order[a:b] = np.argsort(-keys[a:b], kind="mergesort")


@njit(cache=True, nogil=True, error_model="numpy")
def shuffle(
    starts: NDArray[np.int64], numbers: NDArray[np.int64], seed: int, draw: int, order: NDArray[np.int32]
) -> None:
    """A random order of each document, which depends on seed, draw and the document's place in the data alone.

    Parameters
    ----------
    numbers : (documents,)
        These places.
    """
    for doc in range(numbers.size):
        a, b = starts[doc], starts[doc + 1]
        state = mix(np.uint64(seed) + _GOLDEN * np.uint64(numbers[doc] + 1)) + mix(np.uint64(draw + 1))
        for i in range(b - a):
            order[a + i] = i
        for i in range(b - a - 1, 0, -1):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            j = np.int64(((state >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
            order[a + i], order[a + j] = order[a + j], order[a + i]


# -- leaving out ---------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def leave_one_out(
    attention: NDArray[np.float64],
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    explained: NDArray[np.int64],
    change: NDArray[np.float64],
    flips: NDArray[np.bool_],
) -> None:
    """For each unit: how much of the explained probability goes with it, and whether the decision does."""
    new = np.empty(bias.size)
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        before = chance(scores[doc], explained[doc])
        for j in range(a, b):
            without_one(attention[a:b], weights[a:b], said[a:b], bias, scores[doc], j - a, new)
            change[j] = before - chance(new, explained[doc])
            flips[j] = decided(new) != explained[doc]


@njit(cache=True, nogil=True, error_model="numpy")
def erase(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    explained: NDArray[np.int64],
    order: NDArray[np.int32],
    shares: NDArray[np.float64],
    removed: NDArray[np.float64],
    kept: NDArray[np.float64],
    flip: NDArray[np.int64],
    mass: NDArray[np.float64],
    monotone: NDArray[np.float64],
) -> None:
    """Remove the units of each document one after another, and put them back into an empty one.

    Parameters
    ----------
    explained : (documents,)
        Whose probability is followed.
    order : (units,)
        Places in the document, the most important first.
    shares : (steps,)
        Ascending, from 0 to 1: k units are ``max(1, ⌈share · n⌉)``, and none at 0.
    removed, kept : (documents, steps), output
        The probability without the first k units, and with them alone.
    flip : (documents,), output
        The smallest k below n whose removal changes the decision; 0 where none does.
    mass : (documents,), output
        How much of the attention these k have; NaN where the decision never changes.
    monotone : (documents,), output
        The share of steps, from nothing to the whole text in the reverse order, on which the probability does not fall.
    """
    sides, steps = bias.size, shares.size
    longest = 0
    for doc in range(first, stop):
        longest = max(longest, starts[doc + 1] - starts[doc])
    loud = np.empty(longest)
    at = np.empty(steps, np.int64)
    sums, score = np.empty(sides), np.empty(sides)
    for doc in range(first, stop):
        a, n, label = starts[doc], starts[doc + 1] - starts[doc], explained[doc]
        flip[doc], mass[doc], monotone[doc] = 0, math.nan, math.nan
        if n == 0:
            removed[doc] = chance(bias, label)
            kept[doc] = removed[doc, 0]
            continue
        for i in range(steps):
            at[i] = 0 if shares[i] <= 0.0 else max(1, math.ceil(shares[i] * n - 1e-9))
        highest, lowest = -math.inf, math.inf
        for j in range(a, a + n):
            highest, lowest = max(highest, attention[j]), min(lowest, attention[j])
        far = highest - lowest > _FAR
        if not far:
            for i in range(n):
                loud[i] = math.exp(attention[a + i] - highest)

        if sides == 1 and not far:
            erase_two(
                loud, said[a : a + n, 0], order[a : a + n], bias[0], label, at, doc, removed, kept, flip, mass, monotone
            )
            continue

        total, sums[:], top = 0.0, 0.0, (-math.inf if far else highest)
        i, rises, before, there, top_there = steps - 1, 0, 0.0, 0.0, 0.0
        for k in range(n, -1, -1):
            if k < n:
                j = order[a + k]
                if far:
                    if attention[a + j] > top:
                        smaller = math.exp(top - attention[a + j])
                        total *= smaller
                        for s in range(sides):
                            sums[s] *= smaller
                        top = attention[a + j]
                    w = math.exp(attention[a + j] - top)
                else:
                    w = loud[j]
                total += w
                for s in range(sides):
                    sums[s] += w * said[a + j, s]
                for s in range(sides):
                    score[s] = sums[s] / total
            else:
                score[:] = bias
            if 0 < k < n and decided(score) != label:
                flip[doc], there, top_there = k, total, top
            value = chance(score, label) if sides > 1 else (score[0] if label == 1 else -score[0])
            if k < n and value >= before - 1e-12 * max(1.0, abs(before)):
                rises += 1
            before = value
            while i >= 0 and at[i] == k:
                removed[doc, i] = chance(score, label)
                i -= 1
        monotone[doc] = rises / n
        if flip[doc] > 0:
            mass[doc] = 1.0 - math.exp(top_there - top) * there / total

        total, sums[:], top = 0.0, 0.0, (-math.inf if far else highest)
        i = 0
        for k in range(n + 1):
            if k > 0:
                j = order[a + k - 1]
                if far:
                    if attention[a + j] > top:
                        smaller = math.exp(top - attention[a + j])
                        total *= smaller
                        for s in range(sides):
                            sums[s] *= smaller
                        top = attention[a + j]
                    w = math.exp(attention[a + j] - top)
                else:
                    w = loud[j]
                total += w
                for s in range(sides):
                    sums[s] += w * said[a + j, s]
            while i < steps and at[i] == k:
                if k == 0:
                    score[:] = bias
                else:
                    for s in range(sides):
                        score[s] = sums[s] / total
                kept[doc, i] = chance(score, label)
                i += 1
            if i == steps:
                break


@njit(cache=True, nogil=True, error_model="numpy")
def erase_two(
    loud: NDArray[np.float64],
    said: NDArray[np.float64],
    order: NDArray[np.int32],
    bias: float,
    label: int,
    at: NDArray[np.int64],
    doc: int,
    removed: NDArray[np.float64],
    kept: NDArray[np.float64],
    flip: NDArray[np.int64],
    mass: NDArray[np.float64],
    monotone: NDArray[np.float64],
) -> None:
    """``erase`` for one document of a model with two classes, whose logits are not far apart: one number a step."""
    n, i = order.size, at.size - 1
    sign = 1.0 if label == 1 else -1.0
    total, lead, there, rises, smallest = 0.0, 0.0, 0.0, 0, 0
    before = sign * bias
    while i >= 0 and at[i] == n:
        removed[doc, i] = 1.0 / (1.0 + math.exp(-before))
        i -= 1
    following = at[i] if i >= 0 else -1
    for k in range(n - 1, -1, -1):
        j = order[k]
        w = loud[j]
        total += w
        lead += w * said[j]
        value = sign * lead / total
        # A tie goes to the first class.
        if k > 0 and (value < 0 or (value == 0 and label == 1)):
            smallest, there = k, total
        rises += value >= before - 1e-12 * max(1.0, abs(before))
        before = value
        while following == k:
            removed[doc, i] = 1.0 / (1.0 + math.exp(-value))
            i -= 1
            following = at[i] if i >= 0 else -1
    flip[doc], monotone[doc] = smallest, rises / n
    if smallest > 0:
        mass[doc] = 1.0 - there / total
    total, lead, i, k = 0.0, 0.0, 0, 0
    while i < at.size:
        while k < at[i]:
            j = order[k]
            total += loud[j]
            lead += loud[j] * said[j]
            k += 1
        kept[doc, i] = 1.0 / (1.0 + math.exp(-sign * (lead / total if k > 0 else bias)))
        i += 1


@njit(cache=True, nogil=True, error_model="numpy")
def minimal_flip(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    explained: NDArray[np.int64],
    smallest: NDArray[np.int64],
    rival: NDArray[np.int64],
) -> None:
    """The fewest units whose removal changes the decision, at least one staying: the exact optimum.

        sign(score[c] - score[r] of what stays) = sign Σ_kept exp(attention[j]) m[j],    m = said[·, c] - said[·, r]

    so removing in the order of falling exp(attention) m is best for each rival r, and the best rival decides.

    Parameters
    ----------
    smallest, rival : (documents,), output
        How many, 0 where no removal changes the decision; and for which class.
    """
    sides = said.shape[1]
    longest = 0
    for doc in range(first, stop):
        longest = max(longest, starts[doc + 1] - starts[doc])
    size, sign = np.empty(longest), np.empty(longest)
    for doc in range(first, stop):
        a, n, label = starts[doc], starts[doc + 1] - starts[doc], explained[doc]
        smallest[doc], rival[doc] = 0, -1
        for other in range(2 if sides == 1 else sides):
            if other == label or n == 0:
                continue
            lowest = math.inf
            for i in range(n):
                if sides == 1:
                    m = said[a + i, 0] if label == 1 else -said[a + i, 0]
                else:
                    m = said[a + i, label] - said[a + i, other]
                sign[i] = 1.0 if m > 0 else (-1.0 if m < 0 else 0.0)
                size[i] = attention[a + i] + (math.log(abs(m)) if m != 0 else 0.0)
                if m != 0:
                    lowest = min(lowest, size[i])
            order = np.argsort(-sign[:n] * (size[:n] - lowest + 1.0), kind="mergesort")
            # Add up from the last that would be removed, and scale down whenever something larger joins.
            top, total, k = -math.inf, 0.0, 0
            for i in range(n - 1, 0, -1):
                j = order[i]
                if sign[j] != 0:
                    if size[j] > top:
                        total, top = total * math.exp(top - size[j]), size[j]
                    total += sign[j] * math.exp(size[j] - top)
                if total < 0 or (total == 0 and other < label):
                    k = i
            if k > 0 and (smallest[doc] == 0 or k < smallest[doc]):
                smallest[doc], rival[doc] = k, other


@njit(cache=True, nogil=True, error_model="numpy")
def single(
    attention: NDArray[np.float64],
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    offset: int,
    explained: NDArray[np.int64],
    draws: int,
    seed: int,
    out: NDArray[np.float64],
) -> None:
    """Zero the largest weight, and another one at random that is not the largest.

    Parameters
    ----------
    draws : int
        How many others; their results are averaged.
    out : (documents, 5), output
        JSD of the decision without the largest; the mean JSD without another; whether the decision changes without the
        largest; the share of others with which it does; the mean difference of the two weights. NaN below two units.
    """
    new, old = np.empty(bias.size), np.empty(bias.size)
    for doc in range(first, stop):
        a, b, label = starts[doc], starts[doc + 1], explained[doc]
        n = b - a
        out[doc] = math.nan
        if n < 2:
            continue
        top = 0
        for i in range(1, n):
            if weights[a + i] > weights[a + top]:
                top = i
        old[:] = scores[doc]
        without_one(attention[a:b], weights[a:b], said[a:b], bias, old, top, new)
        out[doc, 0] = decision_distance(old, new)
        out[doc, 2] = 1.0 if decided(new) != label else 0.0
        state = mix(np.uint64(seed) + _GOLDEN * np.uint64(doc + offset + 1))
        distance, flipped, gap = 0.0, 0.0, 0.0
        for _ in range(draws):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            j = np.int64(((state >> np.uint64(32)) * np.uint64(n - 1)) >> np.uint64(32))
            j += 1 if j >= top else 0
            without_one(attention[a:b], weights[a:b], said[a:b], bias, old, j, new)
            distance += decision_distance(old, new)
            flipped += 1.0 if decided(new) != label else 0.0
            gap += weights[a + top] - weights[a + j]
        out[doc, 1], out[doc, 3], out[doc, 4] = distance / draws, flipped / draws, gap / draws


@njit(cache=True, nogil=True, error_model="numpy")
def decision_distance(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Jensen-Shannon divergence of two predicted distributions, from their scores."""
    loss = 0.0
    for k in range(2 if old.size == 1 else old.size):
        loss += entropy_sum(chance(old, k), chance(new, k))
    return max(0.0, _LN2 - 0.5 * loss)


# -- moving the weights --------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def permute(
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    documents: NDArray[np.int64],
    offset: int,
    explained: NDArray[np.int64],
    seed: int,
    out: NDArray[np.float64],
) -> None:
    """How far the explained probability moves when the weights of a document are shuffled: (documents, draws)."""
    sides = said.shape[1]
    longest = 0
    for doc in documents:
        longest = max(longest, starts[doc + 1] - starts[doc])
    mixed, score = np.empty(longest), np.empty(sides)
    for doc in documents:
        a, n = starts[doc], starts[doc + 1] - starts[doc]
        if n == 0:
            out[doc] = math.nan
            continue
        before = chance(scores[doc], explained[doc])
        mixed[:n] = weights[a : a + n]
        state = mix(np.uint64(seed) + _GOLDEN * np.uint64(doc + offset + 1))
        for draw in range(out.shape[1]):
            score[:] = 0.0
            for i in range(n - 1, -1, -1):
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                j = np.int64(((state >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
                mixed[i], mixed[j] = mixed[j], mixed[i]
                for k in range(sides):
                    score[k] += mixed[i] * said[a + i, k]
            out[doc, draw] = abs(chance(score, explained[doc]) - before)


@njit(cache=True, nogil=True, error_model="numpy")
def permutation_moments(
    weights: NDArray[np.float64],
    margin: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
) -> None:
    """Mean and variance of Σ w[π(j)] m[j] over all orders π.

    mean m,   and   Σ (w - 1/n)² Σ (m - mean m)² / (n - 1)
    """
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        n = b - a
        mean[doc], variance[doc] = math.nan, math.nan
        if n == 0:
            continue
        middle = 0.0
        for j in range(a, b):
            middle += margin[j]
        middle /= n
        one, two = 0.0, 0.0
        for j in range(a, b):
            one += (weights[j] - 1.0 / n) ** 2
            two += (margin[j] - middle) ** 2
        mean[doc], variance[doc] = middle, (one * two / (n - 1) if n > 1 else 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def adversary(
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    eps: float,
    divergence: NDArray[np.float64],
    places: NDArray[np.int64],
    share: NDArray[np.float64],
) -> None:
    """The attention farthest from the model's own that moves the probability by at most ``eps``: two classes, exact.

    JSD(w', w) is convex in w', and the allowed w' form a polytope, {w' ≥ 0, Σ w' = 1, lo ≤ w'·said ≤ hi}, so the
    maximum is at a vertex: one unit inside the bounds, or two on one of them. With mass t on unit i and 1 - t on j,

        JSD = ln 2 - (G(t, w[i]) + G(1 - t, w[j])) / 2,     G(t, w) = (t + w) ln (t + w) - t ln t - w ln w

    and G rises in w and is concave in t. So a pair loses at least t G(1, w[i]) + (1 - t) G(1, w[j]), never less than
    its quieter unit alone: pairs that cannot win are passed over, and the rest is tried.

    Parameters
    ----------
    divergence : (documents,), output
        The largest JSD.
    places, share : (documents, 2) and (documents,), output
        The units that get all attention (-1 for none), and how much the first of them gets.
    """
    longest = 0
    for doc in range(first, stop):
        longest = max(longest, starts[doc + 1] - starts[doc])
    quiet, says, lone = np.empty(longest), np.empty(longest), np.empty(longest)
    for doc in range(first, stop):
        a, n = starts[doc], starts[doc + 1] - starts[doc]
        divergence[doc], share[doc] = math.nan, math.nan
        places[doc] = -1
        if n == 0:
            continue
        p = chance(scores[doc], 1)
        lo = math.log((p - eps) / (1.0 - p + eps)) if p > eps else -math.inf
        hi = math.log((p + eps) / (1.0 - p - eps)) if p + eps < 1.0 else math.inf
        order = np.argsort(weights[a : a + n], kind="mergesort")
        for i in range(n):
            quiet[i], says[i] = weights[a + order[i]], said[a + order[i], 0]
            lone[i] = entropy_sum(1.0, quiet[i])
        best = 2.0 * _LN2
        for i in range(n):
            if lo <= says[i] <= hi:
                if lone[i] < best:
                    best = lone[i]
                    places[doc, 0], share[doc] = order[i], 1.0
                break
        for i in range(n):
            if lone[i] >= best:
                break
            for j in range(i + 1, n):
                across = says[i] - says[j]
                if across == 0.0:
                    continue
                for end in range(2):
                    bound = lo if end == 0 else hi
                    t = (bound - says[j]) / across
                    if not 0.0 < t < 1.0 or t * lone[i] + (1.0 - t) * lone[j] >= best:
                        continue
                    loss = entropy_sum(t, quiet[i]) + entropy_sum(1.0 - t, quiet[j])
                    if loss < best:
                        best = loss
                        places[doc, 0], places[doc, 1], share[doc] = order[i], order[j], t
        divergence[doc] = max(0.0, _LN2 - 0.5 * best)


@njit(cache=True, nogil=True, error_model="numpy")
def adversary_found(
    weights: NDArray[np.float64],
    said: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    eps: float,
    tried: int,
    divergence: NDArray[np.float64],
    places: NDArray[np.int64],
    share: NDArray[np.float64],
) -> None:
    """The same for several classes, where the allowed attention is no polytope: a search, so a lower bound.

    Tried are all single units, the quietest ``tried`` of them in pairs at 31 shares, and each of these mixed with the
    model's own attention as far as the bound on the total variation of the decision allows.
    """
    sides = said.shape[1]
    mixed = np.empty(sides)
    for doc in range(first, stop):
        a, n = starts[doc], starts[doc + 1] - starts[doc]
        divergence[doc], share[doc] = math.nan, math.nan
        places[doc] = -1
        if n == 0:
            continue
        order = np.argsort(weights[a : a + n], kind="mergesort")
        best = 0.0
        for i in range(n):
            if moved(scores[doc], said[a + order[i]]) <= eps:
                found = _LN2 - 0.5 * entropy_sum(1.0, weights[a + order[i]])
                if found > best:
                    best, places[doc, 0], share[doc] = found, order[i], 1.0
                break
        few = min(n, tried)
        for i in range(few):
            one = a + order[i]
            for j in range(i + 1, few):
                two = a + order[j]
                for step in range(1, 31):
                    t = step / 31.0
                    found = _LN2 - 0.5 * (entropy_sum(t, weights[one]) + entropy_sum(1.0 - t, weights[two]))
                    if found <= best:
                        continue
                    for k in range(sides):
                        mixed[k] = t * said[one, k] + (1.0 - t) * said[two, k]
                    if moved(scores[doc], mixed) <= eps:
                        best, share[doc] = found, t
                        places[doc, 0], places[doc, 1] = order[i], order[j]
            low, high = 0.0, 1.0
            for _ in range(40):
                t = 0.5 * (low + high)
                for k in range(sides):
                    mixed[k] = t * said[one, k] + (1.0 - t) * scores[doc, k]
                if moved(scores[doc], mixed) <= eps:
                    low = t
                else:
                    high = t
            loss = 0.0
            for j in range(a, a + n):
                loss += entropy_sum((1.0 - low) * weights[j] + (low if j == one else 0.0), weights[j])
            if _LN2 - 0.5 * loss > best:
                best, share[doc] = _LN2 - 0.5 * loss, low
                places[doc, 0], places[doc, 1] = order[i], -1
        divergence[doc] = best


@njit(cache=True, nogil=True, error_model="numpy")
def moved(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Total variation of two decisions, from their scores."""
    distance = 0.0
    for k in range(2 if old.size == 1 else old.size):
        distance += abs(chance(old, k) - chance(new, k))
    return 0.5 * distance


@njit(cache=True, nogil=True, error_model="numpy")
def divergence(
    one: NDArray[np.float64],
    two: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    out: NDArray[np.float64],
) -> None:
    """Jensen-Shannon divergence of two attentions over the same units, in nats: at most ln 2."""
    for doc in range(first, stop):
        if starts[doc] == starts[doc + 1]:
            out[doc] = math.nan
            continue
        loss = 0.0
        for j in range(starts[doc], starts[doc + 1]):
            loss += entropy_sum(one[j], two[j])
        out[doc] = max(0.0, _LN2 - 0.5 * loss)


# -- agreement -----------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def tau(
    one: NDArray[np.float64],
    two: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    out: NDArray[np.float64],
) -> None:
    """Kendall's tau-b of two scores in each document; NaN where one of them is constant.

    Knight's way: sort by the first, and count the exchanges that a merge sort by the second makes.
    """
    for doc in range(first, stop):
        a, b = starts[doc], starts[doc + 1]
        n = b - a
        out[doc] = math.nan
        if n < 2:
            continue
        order = np.argsort(one[a:b], kind="mergesort")
        x, y = one[a:b][order], two[a:b][order]
        since = 0
        for i in range(1, n + 1):
            if i == n or x[i] != x[i - 1]:
                if i - since > 1:
                    y[since:i].sort()  # ties of the first stand in the order of the second
                since = i
        ties_one, ties_both, run, both = 0, 0, 1, 1
        for i in range(1, n + 1):
            same = i < n and x[i] == x[i - 1]
            if same and y[i] == y[i - 1]:
                both += 1
            else:
                ties_both += both * (both - 1) // 2
                both = 1
            if same:
                run += 1
            else:
                ties_one += run * (run - 1) // 2
                run = 1
        exchanges = sort_counting(y)
        ties_two, run = 0, 1
        for i in range(1, n + 1):
            if i < n and y[i] == y[i - 1]:
                run += 1
            else:
                ties_two += run * (run - 1) // 2
                run = 1
        pairs = n * (n - 1) // 2
        if ties_one == pairs or ties_two == pairs:
            continue
        concordant = pairs - ties_one - ties_two + ties_both - 2 * exchanges
        out[doc] = concordant / math.sqrt(pairs - ties_one) / math.sqrt(pairs - ties_two)


@njit(cache=True, nogil=True, error_model="numpy")
def sort_counting(y: NDArray[np.float64]) -> int:
    """Sort in place by merging runs; returns how many pairs stood the wrong way round."""
    n, exchanges, width = y.size, 0, 1
    spare = np.empty_like(y)
    while width < n:
        for left in range(0, n, 2 * width):
            middle, right = min(left + width, n), min(left + 2 * width, n)
            i, j = left, middle
            for k in range(left, right):
                if i < middle and (j >= right or y[i] <= y[j]):
                    spare[k] = y[i]
                    i += 1
                else:
                    spare[k] = y[j]
                    exchanges += middle - i
                    j += 1
        y[:] = spare
        width *= 2
    return exchanges


@njit(cache=True, nogil=True, error_model="numpy")
def top_overlap(
    one: NDArray[np.int32],
    two: NDArray[np.int32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    share: float,
    out: NDArray[np.float64],
) -> None:
    """How many of the top ⌈share · n⌉ places two orders have in common, divided by how many either has."""
    for doc in range(first, stop):
        a, n = starts[doc], starts[doc + 1] - starts[doc]
        if n == 0:
            out[doc] = math.nan
            continue
        k = max(1, math.ceil(share * n - 1e-9))
        inside = np.zeros(n, np.bool_)
        for i in range(k):
            inside[one[a + i]] = True
        common = 0
        for i in range(k):
            common += inside[two[a + i]]
        out[doc] = common / (2 * k - common)


# -- words hidden at random ----------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def infidelity(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    score: NDArray[np.float64],
    label: int,
    importance: NDArray[np.float64],
    draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """E_I (β Σ_I φ - (f(x) - f(x without I)))² over random sets I, with the β that makes it least, for one document.

    Every unit is in I with probability one half; f is the explained probability.

    Parameters
    ----------
    importance : (units, explanations)
        φ, one column for each explanation; all meet the same sets.
    """
    n, columns = importance.shape
    sides = bias.size
    sums, x = np.empty(sides), np.empty(columns)
    xx, xy, yy = np.zeros(columns), np.zeros(columns), 0.0
    before = chance(score, label)
    state = mix(np.uint64(seed))
    for _ in range(draws):
        total, top = 0.0, -math.inf
        sums[:], x[:] = 0.0, 0.0
        for j in range(n):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            if state >> np.uint64(63):
                for c in range(columns):
                    x[c] += importance[j, c]
            else:
                if attention[j] > top:
                    smaller = math.exp(top - attention[j])
                    total *= smaller
                    for k in range(sides):
                        sums[k] *= smaller
                    top = attention[j]
                w = math.exp(attention[j] - top)
                total += w
                for k in range(sides):
                    sums[k] += w * said[j, k]
        for k in range(sides):
            sums[k] = sums[k] / total if total > 0 else bias[k]
        y = before - chance(sums, label)
        yy += y * y
        for c in range(columns):
            xx[c] += x[c] * x[c]
            xy[c] += x[c] * y
    out = np.empty(columns)
    for c in range(columns):
        out[c] = max(0.0, yy - (xy[c] * xy[c] / xx[c] if xx[c] > 0 else 0.0)) / draws
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def infidelities(
    attention: NDArray[np.float64],
    said: NDArray[np.float64],
    bias: NDArray[np.float64],
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    documents: NDArray[np.int64],
    offset: int,
    explained: NDArray[np.int64],
    importance: NDArray[np.float64],
    at: NDArray[np.int64],
    draws: int,
    seed: int,
    out: NDArray[np.float64],
) -> None:
    """``infidelity`` for some documents.

    Parameters
    ----------
    importance, at
        φ for the units of these documents alone: document ``documents[i]`` has the lines ``at[i]:at[i + 1]``.
    out : (documents, explanations), output
        Lines of other documents are left as they are.
    """
    for i in range(documents.size):
        doc = documents[i]
        a, b = starts[doc], starts[doc + 1]
        out[doc] = infidelity(
            attention[a:b],
            said[a:b],
            bias,
            scores[doc],
            explained[doc],
            importance[at[i] : at[i + 1]],
            draws,
            seed + offset + doc,
        )
