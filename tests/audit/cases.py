"""Random documents as batches, and the slow and obvious ways to the same numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from regard.audit.linear import LinearBatch


def random_batch(seed, documents=3, longest=9, classes=2, far=1.0, bias=0.5, least=1):
    """A batch of random documents; ``far`` stretches the logits of the attention."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(least, longest + 1, documents)
    n, sides = int(sizes.sum()), 1 if classes == 2 else classes
    ids = np.arange(n)
    if n > 2 and generator.random() < 0.3:
        ids[n // 2] = ids[0]  # a word that occurs again: ties
    return LinearBatch(
        0,
        np.append(0, np.cumsum(sizes)),
        ids,
        far * generator.normal(size=n),
        2 * generator.normal(size=(n, sides)),
        bias * generator.normal(size=sides),
        ids,
    )


def documents(batch):
    for d in range(len(batch)):
        yield d, slice(int(batch.starts[d]), int(batch.starts[d + 1]))


def score_of(batch, part, kept):
    """Run the model again on some units of a document: softmax over what is kept, then the average, then the bias."""
    places = np.arange(part.start, part.stop)[list(kept)]
    if not len(places):
        return batch.bias.copy()
    logits = batch.attention[places]
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    return batch.bias + weights @ batch.polarity[batch.ids[places]]


def chances_of(score):
    scores = np.array([0.0, score[0]]) if len(score) == 1 else score
    exps = np.exp(scores - scores.max())
    return exps / exps.sum()


def label_of(score):
    return int(score[0] > 0) if len(score) == 1 else int(np.argmax(score))


def fewest_by_trying(batch, d, part):
    """All subsets."""
    n, label = part.stop - part.start, batch.explained[d]
    for k in range(1, n):
        for gone in itertools.combinations(range(n), k):
            if label_of(score_of(batch, part, [i for i in range(n) if i not in gone])) != label:
                return k
    return 0


def jsd(p, q):
    total = 0.0
    for a, b in zip(p, q, strict=True):
        m = (a + b) / 2
        total += (a * math.log(a / m) if a > 0 else 0) / 2 + (b * math.log(b / m) if b > 0 else 0) / 2
    return total


def jsds(many, one):
    """The same for many distributions: (many,)."""
    middle = (many + one) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(many > 0, many * np.log(many / middle), 0)
        right = np.where(one > 0, one * np.log(one / middle), 0)
    return (left + right).sum(axis=1) / 2
