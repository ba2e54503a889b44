"""Tokens a second in training DP-L, the paper's model with an LSTM, against a plain padded loop in PyTorch."""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl
import torch
from torch import nn

from common import DATA, imdb, versions, write
from regard import NeuralAttentionClassifier
from regard.reproduce.understanding_cells import NETWORKS
from regard.tokens import Vocabulary

DIM, SCALE, BATCH, TEXTS, ROUNDS = 100, 10.0, 100, 500, 2
SETTINGS = {"batch_size": BATCH, **NETWORKS["DP-L"]}
HIDDEN = SETTINGS.get("hidden", DIM)
RIVALS = {"PyTorch, padded and packed": True, "PyTorch, padded": False}


class Plain(nn.Module):
    """Embeddings, nn.LSTM both ways, scaled dot-product attention, one output; dropout on the embeddings and on h."""

    def __init__(self, rows, packed):
        super().__init__()
        self.embedding = nn.Embedding(rows, DIM)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.lstm = nn.LSTM(DIM, HIDDEN // 2, batch_first=True, bidirectional=True)
        self.V = nn.Parameter(torch.randn(HIDDEN))
        self.W = nn.Linear(HIDDEN, 1, bias=False)
        self.dropout = nn.Dropout(0.5)
        self.packed = packed

    def forward(self, ids, lengths):
        e = self.dropout(self.embedding(ids))
        if self.packed:
            pack = nn.utils.rnn.pack_padded_sequence(e, lengths, batch_first=True)
            h, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(pack)[0], batch_first=True)
        else:
            h, _ = self.lstm(e)
        beyond = torch.arange(ids.shape[1]) >= lengths[:, None]
        weights = torch.softmax((h @ self.V / SCALE).masked_fill(beyond, -torch.inf), dim=1)
        return self.W(self.dropout((weights[:, None] @ h)[:, 0]))[:, 0]


def plain_epoch(model, optimizer, documents, labels):
    """One pass over the texts in batches drawn at random, each padded to its longest, the longest text first."""
    model.train()
    for batch in torch.randperm(len(documents)).split(BATCH):
        lengths = torch.tensor([len(documents[i]) for i in batch])
        lengths, order = lengths.sort(descending=True)
        ids = nn.utils.rnn.pad_sequence([documents[i] for i in batch[order]], batch_first=True)
        optimizer.zero_grad()
        score = model(ids, lengths)
        nn.functional.binary_cross_entropy_with_logits(score, labels[batch[order]]).backward()
        optimizer.step()


def measure(texts, labels):
    """Tokens, and for each model the seconds of an epoch in each of the interleaved rounds."""
    torch.set_num_threads(1)
    vocabulary, tokens = Vocabulary.learn(texts, ngrams=1, min_count=1)
    documents = [torch.from_numpy(tokens[i].astype(np.int64)) for i in range(len(texts))]
    truth = torch.tensor(np.asarray(labels, np.float32))
    rivals = {}
    for name, packed in RIVALS.items():
        torch.manual_seed(0)
        model = Plain(len(vocabulary), packed)
        rivals[name] = model, torch.optim.Adagrad(model.parameters(), lr=0.02, lr_decay=0.001)
    found = {name: [] for name in ("regard", *RIVALS)}
    for _ in range(ROUNDS):
        for name, (model, optimizer) in rivals.items():
            began = time.process_time()
            plain_epoch(model, optimizer, documents, truth)
            found[name].append(time.process_time() - began)
        found["regard"].append(our_epoch(texts, labels))
    return len(tokens.ids), found


def our_epoch(texts, labels):
    """Seconds between the moment before the first epoch and the moment after it."""
    ticks = []

    def watch(epoch, model):  # noqa: ARG001 - what a training calls
        ticks.append(time.process_time())

    settings = {"scale": SCALE, "epochs": 1, "validation_fraction": 0, "n_threads": 1, **SETTINGS}
    NeuralAttentionClassifier(**settings).fit(texts, labels, watch=watch)
    return ticks[1] - ticks[0]


def sample(texts, labels):
    chosen = np.sort(np.random.default_rng(0).permutation(len(texts))[:TEXTS])
    return [texts[i] for i in chosen], np.asarray(labels)[chosen]


def papers_reviews():
    roles = pl.read_parquet(DATA / "imdb_paper.parquet").filter(pl.col("role") == "train").select("id")
    train = roles.join(pl.read_parquet(DATA / "imdb.parquet"), on="id", how="left", maintain_order="left")
    return train["text"].to_list(), train["label"].to_numpy()


def main():
    lines = [
        f"DP-L: embeddings of {DIM} numbers, an LSTM with {HIDDEN // 2} units each way, scaled dot-product attention,",
        f"batches of {BATCH} texts, Adagrad, {TEXTS:,} reviews drawn by chance. The seconds are those of the processor",
        f"on one thread in an epoch of training, the median of {ROUNDS} rounds in which the models take turns; cutting",
        "and numbering words is not counted.",
        "",
        "PyTorch: batches in random order, each padded to its longest text, dense gradients, `nn.Dropout`, as the",
        "published code of Sun and Lu has it, which packs the padded batch for the LSTM; and the same without packing.",
        "",
        "| reviews | | seconds an epoch | tokens a second | times slower than regard |",
        "|---|---|---|---|---|",
    ]
    for name, (texts, labels) in (
        ("IMDB, the paper's: below 400 words", papers_reviews()),
        ("IMDB, official", imdb()[0]),
    ):
        tokens, found = measure(*sample(texts, labels))
        ours = np.array(found["regard"])
        for model, seconds in found.items():
            slower = f"{np.median(np.array(seconds) / ours):.1f}"
            lines.append(
                f"| {name} | {model} | {np.median(seconds):.1f} | {tokens / np.median(seconds):,.0f} | {slower} |"
            )
    lines += ["", versions("numpy", "torch")]
    write("neural", "The paper's model with an LSTM, against a plain padded loop", "python benchmarks/neural.py", lines)


if __name__ == "__main__":
    sys.exit(main())
