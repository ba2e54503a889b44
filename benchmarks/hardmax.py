"""Hardmax dynamics against the published triple loop, their growth, and training against the softmax in PyTorch."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import time

import numpy as np
import torch

from common import imdb, versions, write
from regard import HardmaxClassifier
from regard.attention.hardmax import run
from regard.models.hardmax import kernels
from regard.models.hardmax.training import Recipe, start
from regard.models.training import Texts, count_by_class
from regard.reproduce.hardmax_cells import LAYERS, SoftmaxTransformer, padded_ids, prepared, train_softmax
from regard.tokens import Vocabulary

ROUNDS = 3
FEW = 320  # reviews for the softmax in a round


def triple_loop(z, layers, alpha):
    """As published: for each layer, point and neighbour, ties by exact equality."""
    z = z.copy()
    n = len(z)
    for _ in range(layers):
        new = np.zeros_like(z)
        for i in range(n):
            products = np.array([np.dot(z[i], z[j]) for j in range(n)])
            best = products.max()
            total, count = np.zeros(z.shape[1]), 0
            for j in range(n):
                if products[j] == best:
                    total += z[j]
                    count += 1
            new[i] = (z[i] + alpha * total / count) / (1 + alpha)
        z = new
    return z


def blocked(x, rows):
    """One layer of argmax over all products, by blocks; seconds for all points, worked out from some rows."""
    began = time.perf_counter()
    for a in range(0, rows, 500):
        (x[a : a + 500] @ x.T).argmax(axis=1)
    return (time.perf_counter() - began) * len(x) / rows


def best(work, rounds=ROUNDS):
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return float(np.median(found))


def against_the_loop():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 2))
    run(x, 8, 1.0)
    slow = best(lambda: triple_loop(x, 8, 1.0), 1)
    fast = best(lambda: run(x, 8, 1.0), 51)
    texts = [rng.normal(size=(128, 2)) for _ in range(64)]
    together, starts = np.concatenate(texts), np.arange(65) * 128
    slow_texts = best(lambda: [triple_loop(text, 8, 1.0) for text in texts[:8]], 1) * 8
    fast_texts = best(lambda: run(together, 8, 1.0, starts=starts), 21)
    return [
        "| the same work | triple loop | `run` | times as fast |",
        "|---|---|---|---|",
        f"| 256 points, d = 2, 8 layers | {slow:.2f} s | {1e3 * fast:.3f} ms | {slow / fast:,.0f} |",
        f"| 64 texts of 128 points (the loop: 8 of them, times 8) | {slow_texts:.2f} s | {1e3 * fast_texts:.2f} ms | "
        f"{slow_texts / fast_texts:,.0f} |",
    ]


def growth():
    rng = np.random.default_rng(0)
    lines = ["| points, d = 2, 8 layers | seconds | per point and log₂ n, ns |", "|---|---|---|"]
    for n in (1_000, 10_000, 100_000, 1_000_000):
        x = rng.normal(size=(n, 2))
        taken = best(lambda x=x: run(x, 8, 1.0))
        lines.append(f"| {n:,} | {taken:.4f} | {1e9 * taken / (n * np.log2(n)):.1f} |")
    x = rng.normal(size=(20_000, 2))
    one = blocked(x, 4000)
    whole = 8 * one * 50**2
    lines += [
        "",
        f"A blocked argmax over all products takes {one:.2f} s a layer at 20,000 points, so {whole:,.0f} s for a "
        f"million points and 8 layers: {whole / taken:,.0f} times as long as `run` ({taken:.2f} s).",
    ]
    return lines


def training():
    """The same reviews, words and size: 128 words of IMDB training reviews, d = 2, 8 layers, one thread each."""
    texts, labels = imdb()[0]
    order = np.random.default_rng(0).permutation(len(texts))[:6400]
    texts, labels = [prepared(texts[i]) for i in order], labels[order].astype(np.int64)
    vocabulary, tokens = Vocabulary.learn(texts, ngrams=1, min_count=1)
    rows = vocabulary.rows(tokens)
    size = len(vocabulary)
    torch.set_num_threads(1)
    ids = padded_ids([tokens[i] for i in range(len(texts))], size)
    truth = torch.from_numpy(labels.astype(np.float32))
    counts, _ = count_by_class(Texts(rows, labels, size, 2), 1)
    lines = [
        "| d | α | hardmax, `train_epoch` | softmax in PyTorch | times as many reviews a second |",
        "|---|---|---|---|---|",
    ]
    for d, alpha in ((2, 0.03), (2, 1.0), (16, 0.03)):
        torch.manual_seed(0)
        soft = SoftmaxTransformer(size, d, LAYERS)
        adam = torch.optim.Adam(soft.parameters(), lr=0.001)
        recipe = Recipe(d, LAYERS, alpha, "auto", "auto", 1.0, 0.1, np.ones(2), 0, 1)
        state = start(counts, labels, 0.9, recipe)
        moving = state.embedding, np.ones(size, bool), state.output, state.bias, state.step
        how = LAYERS, 0.5, 0.01, 0.1, 0.0005, 1.0, 0.9, 0.2, 0, 1e6, 12.0

        def ours(moving=moving, how=how):
            kernels.train_epoch(*rows, labels, np.arange(len(labels)), np.ones(2), *moving, *how)

        ours()
        train_softmax(soft, adam, ids[:64], truth[:64], 0)
        fast, slow = [], []
        for _ in range(ROUNDS):
            fast.append(best(ours, 1))
            slow.append(best(lambda soft=soft, adam=adam: train_softmax(soft, adam, ids[:FEW], truth[:FEW], 0), 1))
        rate, soft_rate = len(texts) / np.median(fast), FEW / np.median(slow)
        lines.append(
            f"| {d} | {alpha} | {rate:,.0f} reviews/s | {soft_rate:,.0f} reviews/s | {rate / soft_rate:,.0f} |"
        )
    began = time.perf_counter()
    HardmaxClassifier(epochs=1, validation_fraction=0, n_threads=1).fit(texts, labels)
    whole = time.perf_counter() - began
    lines += ["", f"A whole `fit` of one epoch, tokenising and counting included: {len(texts) / whole:,.0f} reviews/s."]
    return lines


if __name__ == "__main__":
    write(
        "hardmax-speed",
        "Speed of the hardmax dynamics",
        "python benchmarks/hardmax.py",
        [
            f"{versions('numpy', 'numba', 'torch')}; one thread each; medians of interleaved rounds.",
            "",
            "## Against the published triple loop",
            "",
            *against_the_loop(),
            "",
            "## Growth",
            "",
            *growth(),
            "",
            "## Training",
            "",
            "IMDB reviews of at most 128 words, 8 layers, the same words and dimension. The softmax is the published "
            "one (padded, batches of 64, Adam).",
            "",
            *training(),
        ],
    )
