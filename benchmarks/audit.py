"""The audit beside what it replaces: Captum's ablation, and the published search for an adversarial attention."""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from captum.attr import FeatureAblation

from common import THREADS, imdb, seconds, versions, write
from regard import AttentionClassifier
from regard.audit import audit
from regard.audit.linear import Covers, LinearBatch, ModelSource
from regard.audit.view import View

ROUNDS, CAPTUM, ADVERSARIES, LONG = 3, 20, 4, 5000


class AsTorch(torch.nn.Module):
    """The same table as a PyTorch module; a unit that is -1 is left out."""

    def __init__(self, model):
        super().__init__()
        self.attention = torch.tensor(model.attention, dtype=torch.float64)
        self.polarity = torch.tensor(model.polarity[:, 0], dtype=torch.float64)
        self.bias = float(model.bias[0])

    def forward(self, ids):
        keep = ids >= 0
        rows = ids.clamp(min=0)
        logits = self.attention[rows].masked_fill(~keep, -torch.inf)
        weights = torch.softmax(logits, dim=1).nan_to_num()
        return torch.sigmoid((weights * self.polarity[rows]).sum(dim=1) + self.bias)


def ours(batches):
    """All leave-one-out scores and both erasure curves, by attention."""
    for batch in batches:
        view = View(batch, 0)
        batch.leave_one_out()
        batch.erase(view.ordered(batch.attention))


def captum(network, batch, at_once):
    """Seconds for the leave-one-out scores of some documents, and their largest difference from ours."""
    ablation, spent, apart = FeatureAblation(network), 0.0, 0.0
    change = batch.leave_one_out()[0] * np.repeat(2 * batch.explained - 1, np.diff(batch.starts))
    with torch.inference_mode():
        for d in range(CAPTUM):
            part = slice(int(batch.starts[d]), int(batch.starts[d + 1]))
            ids = torch.tensor(batch.rows[part].astype(np.int64))[None]
            began = time.perf_counter()
            found = ablation.attribute(ids, baselines=-1, perturbations_per_eval=at_once)
            spent += time.perf_counter() - began
            apart = max(apart, float(np.abs(found[0].numpy() - change[part]).max()))
    return spent / CAPTUM, apart


def curves_by_asking(network, batch):
    """Seconds for both erasure curves of a document by attention at 21 shares, in one batch of readings."""
    spent = 0.0
    with torch.inference_mode():
        for d in range(CAPTUM):
            part = slice(int(batch.starts[d]), int(batch.starts[d + 1]))
            ids = torch.tensor(batch.rows[part].astype(np.int64))
            order = torch.tensor(np.argsort(-batch.attention[part], kind="stable"))
            began = time.perf_counter()
            asked = ids.repeat(42, 1)
            for step in range(21):
                k = -(-step * len(ids) // 20)
                asked[step, order[:k]] = -1
                asked[21 + step, order[k:]] = -1
            network(asked)
            spent += time.perf_counter() - began
    return spent / CAPTUM


def searched(weights, said, p, eps):
    """The published search: 5 candidates, 500 steps of Adam; the farthest candidate that stays within ``eps``."""
    torch.manual_seed(0)
    w, s = torch.tensor(weights), torch.tensor(said)
    logits = (
        torch.log(torch.full_like(w, 1 / len(w))) + 3 * torch.randn(5, len(w), dtype=torch.float64)
    ).requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=0.01, amsgrad=True)

    def divergence(one, two):
        middle = (one + two) / 2
        return 0.5 * ((one * (one / middle).log()).sum(-1) + (two * (two / middle).log()).sum(-1))

    for _ in range(500):
        optimiser.zero_grad()
        other = torch.softmax(logits, -1).clamp_min(1e-12)
        moved = (torch.sigmoid(other @ s) - p).abs()
        between = divergence(other[:, None], other[None]).mean()
        loss = (-divergence(other, w.clamp_min(1e-12)) + 500 * torch.relu(moved - eps)).sum() - between
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        other = torch.softmax(logits, -1)
        allowed = (torch.sigmoid(other @ s) - p).abs() <= eps
        found = divergence(other.clamp_min(1e-12), w.clamp_min(1e-12))[allowed]
        return float(found.max()) if len(found) else 0.0


def adversaries(batch, eps):
    """Seconds a document, ours and the search's; both divergences of each document."""
    short = batch.starts[: ADVERSARIES + 1]
    few = LinearBatch(
        0, short, batch.ids[: short[-1]], batch.loudness, batch.polarity, batch.bias, batch.rows[: short[-1]]
    )
    few.adversary(eps)
    own = min(seconds(lambda: few.adversary(eps))[0] for _ in range(ROUNDS)) / ADVERSARIES
    exact = few.adversary(eps)[0]
    found, spent = [], 0.0
    for d in range(ADVERSARIES):
        part = slice(int(short[d]), int(short[d + 1]))
        spent += seconds(
            lambda part=part, d=d: found.append(searched(few.weights[part], few.said[part, 0], few.chances[d, 1], eps))
        )[0]
    return own, spent / ADVERSARIES, exact, np.array(found)


def long_flip(model):
    """Milliseconds for the minimal flip set of a text of ``LONG`` units."""
    generator = np.random.default_rng(0)
    rows = generator.integers(0, len(model), LONG)
    batch = LinearBatch(0, np.array([0, LONG]), rows, model.attention, model.polarity, model.bias, rows)
    batch.fewest()
    return 1000 * min(seconds(batch.fewest)[0] for _ in range(10)), int(batch.fewest()[0])


def long_words(source, texts):
    """Milliseconds for the fewest words of some reviews as one text of ``LONG`` words, with their pairs."""
    text = " ".join(" ".join(texts).split()[:LONG])
    return timed_words(next(iter(source.batches([text]))))


def stubborn_words():
    """The same where prices settle nothing: pairs that are all alike, of which one word alone is no use to remove."""
    words, pairs = np.arange(LONG), np.arange(0, LONG, 2)
    first, length = np.append(words, pairs), np.append(np.full(LONG, 1), np.full(len(pairs), 2))
    says = np.append(np.where(words < LONG - 10, 1.0, -12.0), np.where(pairs < LONG - 10, -1.9, 0.0))
    order = np.argsort(first, kind="stable")
    covers = Covers(first[order].astype(np.int32), length[order].astype(np.int32), np.array([0, LONG]))
    units = np.arange(len(order))
    starts = np.array([0, len(order)])
    return timed_words(
        LinearBatch(0, starts, units, np.zeros(len(order)), says[order][:, None], np.zeros(1), units, covers)
    )


def timed_words(batch):
    """Milliseconds, the number of known words, and the fewest of them that must go."""
    fewest = int(batch.fewest_words()[0])
    return 1000 * min(seconds(batch.fewest_words)[0] for _ in range(10)), int(batch.covers.starts[-1]), fewest


def main():
    torch.set_num_threads(THREADS)
    (texts, labels), (new, truth) = imdb()
    model = AttentionClassifier(n_threads=THREADS).fit(texts, labels).model_
    network = AsTorch(model)
    source = ModelSource(model, n_threads=THREADS)
    audit(model, new[:600], truth[:600], n_threads=THREADS)  # warm kernels
    whole, cpu = [], []
    for _ in range(ROUNDS):
        at = time.process_time()
        whole.append(seconds(lambda: audit(model, new, truth, n_threads=THREADS))[0])
        cpu.append(time.process_time() - at)
    sample = next(iter(source.batches(new[::50])))
    _ = sample.scores
    ratios, times = [], []
    for _ in range(ROUNDS):
        some = list(source.batches(new[::10]))
        own = seconds(lambda some=some: ours(some))[0] / len(new[::10])
        one, apart = captum(network, sample, 1)
        many, _ = captum(network, sample, 256)
        curves = curves_by_asking(network, sample)
        times.append((own, one, many, curves))
        ratios.append(((one + curves) / own, (many + curves) / own))
    own, one, many, curves = np.median(times, axis=0)
    slow, quick = np.median(ratios, axis=0)
    lines = [
        f"The IMDB model (words and pairs) on the 25,000 test reviews, {THREADS} threads, warm kernels.",
        "",
        f"**Quick audit**, every test that needs no training: {min(whole):.1f} s at best, median "
        f"{np.median(whole):.1f} s of {ROUNDS}; {np.median(cpu):.1f} s of processor time.",
        "",
        f"**Leave-one-out scores and both erasure curves**, a document; Captum on {CAPTUM} documents, the same model",
        f"as a PyTorch module on {THREADS} threads, medians of {ROUNDS} rounds in turn. regard: one thread, every",
        "document of a tenth of the reviews. Cutting texts into words is counted on neither side.",
        "",
        "| | ms a document | times slower than regard |",
        "|---|---|---|",
        f"| regard | {1000 * own:.4f} | 1 |",
        f"| FeatureAblation, its default of one reading at a time; curves in one batch | {1000 * (one + curves):.2f} | "
        f"{slow:.0f} |",
        f"| FeatureAblation, 256 readings at a time; curves in one batch | {1000 * (many + curves):.2f} | "
        f"{quick:.0f} |",
        "",
        f"Largest difference between Captum's scores and the closed form: {apart:.1e}.",
        "",
        f"**Adversarial attention**, a document, {ADVERSARIES} documents; the published search: 5 candidates, 500",
        "steps.",
        "",
        "| ε | regard, ms | search, ms | times slower | JSD exact, mean | JSD found, mean | search above exact |",
        "|---|---|---|---|---|---|---|",
    ]
    for eps in (0.01, 0.05):
        mine, its, exact, found = adversaries(sample, eps)
        lines.append(
            f"| {eps:g} | {1000 * mine:.4f} | {1000 * its:.0f} | {its / mine:.0f} | {exact.mean():.4f} | "
            f"{found.mean():.4f} | {int((found > exact + 1e-9).sum())} |"
        )
    took, k = long_flip(model)
    slowly, words, few = long_words(source, new[:100])
    worst, _, many_gone = stubborn_words()
    lines += [
        "",
        f"**Minimal flip set** of a text of {LONG:,} words and phrases: {took:.2f} ms ({k} of them).",
        "",
        f"**Fewest words**, each taking its pairs along, of reviews joined to {words:,} known words: {slowly:.2f} ms "
        f"({few} of them); where prices settle nothing, of {LONG:,} words: {worst:.1f} ms ({many_gone:,} of them).",
        "",
        versions("numpy", "numba", "torch", "captum"),
    ]
    write("audit", "The audit: its time, and what it replaces", "python benchmarks/audit.py", lines)


if __name__ == "__main__":
    sys.exit(main())
