"""Seconds to learn the paper's own model, by the gradient in closed form and by autograd as its published code does."""

from __future__ import annotations

import os
import sys

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # on a busy machine threads that spin keep each other waiting
import torch
from torch import nn

from common import THREADS, newsgroups_1, seconds, sst, versions, write
from regard import AttentionClassifier
from regard.tokens import Vocabulary

WIDTH, SCALE, BATCH, EPOCHS, SEEDS = 100, 10.0, 100, 40, 2


class Plain(nn.Module):
    """Scaled dot-product attention over embeddings, padded, with elementwise dropout on the tokens and on h."""

    def __init__(self, rows, sparse):
        super().__init__()
        self.embedding = nn.Embedding(rows, WIDTH, sparse=sparse)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.V = nn.Parameter(torch.randn(WIDTH))
        self.W = nn.Parameter(torch.empty(WIDTH).uniform_(-1, 1))
        self.dropout = nn.Dropout(0.5)

    def forward(self, ids, keep):
        e = self.dropout(self.embedding(ids))
        weights = torch.softmax((e @ self.V / SCALE).masked_fill(~keep, -torch.inf), dim=1)
        h = self.dropout((weights[:, None] @ e)[:, 0])
        return h @ self.W


class Torch:
    """Its training: batches in random order, Adagrad as published."""

    def __init__(self, vocabulary, sparse):
        self.vocabulary, self.sparse = vocabulary, sparse

    def read(self, texts):
        tokens = self.vocabulary.tokens(texts)
        known = [tokens[i][tokens[i] >= 0] for i in range(len(texts))]
        return [torch.from_numpy(ids.astype(np.int64)) for ids in known]

    def start(self, seed):
        torch.manual_seed(seed)
        self.model = Plain(len(self.vocabulary), self.sparse)
        self.adagrad = torch.optim.Adagrad(self.model.parameters(), lr=0.02, lr_decay=0.001)

    def epoch(self, documents, labels):
        self.model.train()
        for batch in torch.randperm(len(documents)).split(BATCH):
            self.adagrad.zero_grad()
            score = self.model(*self.padded([documents[i] for i in batch]))
            nn.functional.binary_cross_entropy_with_logits(score, labels[batch]).backward()
            self.adagrad.step()

    @torch.no_grad()
    def accuracy(self, documents, labels):
        self.model.eval()
        score = torch.cat([self.model(*self.padded(documents[i : i + 500])) for i in range(0, len(documents), 500)])
        return float(((score > 0) == labels).float().mean())

    @staticmethod
    def padded(documents):
        ids = nn.utils.rnn.pad_sequence(documents, batch_first=True, padding_value=-1)
        keep = ids >= 0
        keep[:, 0] |= ~keep.any(dim=1)  # a text without known words attends to a pad
        return ids.clamp(min=0), keep


def measure_torch(data, sparse):
    """Seconds of the fastest epoch's training; test accuracy of the epoch that is best on dev, and of the last."""
    vocabulary, _ = Vocabulary.learn(data[0][0], ngrams=1, min_count=1)
    rival = Torch(vocabulary, sparse)
    parts = [(rival.read(texts), torch.tensor(np.unique(labels, return_inverse=True)[1])) for texts, labels in data]
    times, best, last = [], [], []
    for seed in range(SEEDS):
        rival.start(seed)
        course = []
        for _ in range(EPOCHS):
            times.append(seconds(lambda: rival.epoch(parts[0][0], parts[0][1].float()))[0])
            course.append((rival.accuracy(*parts[1]), rival.accuracy(*parts[2])))
        best.append(max(course, key=lambda pair: pair[0])[1])
        last.append(course[-1][1])
    return min(times), np.mean(best), np.mean(last)


def measure_ours(data, epochs):
    """Seconds from raw texts to the fitted model, with what is measured on dev; test accuracy; epochs gone through."""
    (texts, labels), dev, (new, truth) = data
    times, right, gone = [], [], []
    for seed in range(SEEDS):
        model = AttentionClassifier(
            width=WIDTH, scale=SCALE, ngrams=1, min_count=1, epochs=epochs, random_state=seed, n_threads=THREADS
        )
        times.append(seconds(lambda model=model: model.fit(texts, labels, validation=dev))[0])
        right.append(model.score(new, truth))
        gone.append(len(model.validation_["course"]) if epochs == "auto" else epochs)
    return min(times), np.mean(right), np.mean(gone)


def main():
    torch.set_num_threads(THREADS)
    lines = [
        f"The paper's model: embeddings of {WIDTH} numbers, words alone, λ = {SCALE:g}, batches of {BATCH} texts,",
        f"Adagrad (0.02, decay 0.001), {THREADS} threads, {SEEDS} seeds: the fastest time, the mean accuracy.",
        "",
        "PyTorch: padded batches, elementwise dropout of a half on token vectors and on h, dense gradients, as the",
        "published code has it; and the same with sparse gradients. Its seconds are "
        f"{EPOCHS} times those of the training",
        "steps of its fastest epoch: cutting and numbering words and measuring on the dev part "
        "are not counted. regard's",
        "seconds go from raw texts to the fitted model, and all of it counts.",
        "",
        "`best`: test accuracy of the epoch that is best on the dev part; `last`: of the last epoch. `auto` stops when",
        "ten epochs in a row were no better, and measures on the dev part after each.",
        "",
        "| data | | epochs | seconds | times slower than regard | test, best | test, last |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, data in (("SST", sst()), ("20News I", newsgroups_1())):
        measure_ours(data, 1)  # warm kernels
        time, last, _ = measure_ours(data, EPOCHS)
        quick, best, gone = measure_ours(data, "auto")
        for rival, sparse in (("PyTorch, dense gradients", False), ("PyTorch, sparse gradients", True)):
            epoch, its_best, its_last = measure_torch(data, sparse)
            slow = EPOCHS * epoch
            lines.append(
                f"| {name} | {rival} | {EPOCHS} | {slow:.2f} | {slow / time:.0f} | {its_best:.3f} | {its_last:.3f} |"
            )
        lines.append(f"| {name} | regard | {EPOCHS} | {time:.2f} | 1 | | {last:.3f} |")
        lines.append(f"| {name} | regard, epochs auto | {gone:.0f} | {quick:.2f} | | {best:.3f} | |")
    lines += ["", versions("numpy", "numba", "torch")]
    write("width", "The paper's own model, by closed form and by autograd", "python benchmarks/width.py", lines)


if __name__ == "__main__":
    sys.exit(main())
