"""Where attention can be read: kinds of words by tokeniser, and the three conditions of docs/reading.md by λ.

    python benchmarks/reading.py [--kinds] [--scales] [--epochs N]

Trains the model of Sun and Lu (2020) on SST (width 100, Adagrad, batches of 100, dropout of a half on words and on the
text, one seed) and prints rows of the two tables of docs/reading.md. REGARD_DATA names the folder of data sets.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import numpy as np
import torch

from regard.explain import directions, token_kinds
from regard.explain.findings import area_under_curve
from regard.models.table import TableModel
from regard.models.vectors import Vectors
from regard.reproduce.data import load
from regard.tokens import Vocabulary

PUNCTUATION = re.compile(r"""[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\t\n]""")
ENDING = re.compile(r"(n't|'s|'m|'re|'ve|'ll|'d)$")
WIDTH = 100


def keras(text: str) -> list[str]:
    return [word for word in PUNCTUATION.sub(" ", text.encode().lower().decode()).split(" ") if word]


def cut_contractions(text: str) -> Iterator[str]:
    for word in keras(text):
        ending = ENDING.search(word)
        pieces = [word.strip("'")] if ending is None else [word[: ending.start()], ending.group()]
        yield from filter(None, pieces)


def kinds() -> None:
    for title, tokens in (
        ("str.split", str.split),
        ("regard", None),
        ("Keras", keras),
        ("Keras, contractions cut", cut_contractions),
    ):
        cells = []
        for name in ("sst", "imdb", "20news1"):
            train = load(name).train
            found = dict(token_kinds(train.texts, train.labels, tokens)["kind"].value_counts().iter_rows())
            cells.append(" / ".join(f"{found[kind]:,}" for kind in ("positive", "negative", "neutral")))
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


def learned(scale: float, epochs: int) -> tuple[TableModel, float]:
    """The paper's model, and its accuracy on the test."""
    data = load("sst")
    vocabulary, tokens = Vocabulary.learn(data.train.texts, ngrams=1, min_count=1)
    codes = np.asarray(data.train.labels).astype(int)
    sizes = np.diff(tokens.starts)
    counts = np.stack(
        [np.bincount(tokens.ids[np.repeat(codes == k, sizes)], minlength=len(vocabulary)) for k in (0, 1)], 1
    )
    padded = np.full((len(codes), sizes.max()), -1)
    for i in range(len(codes)):
        padded[i, : sizes[i]] = tokens[i]
    ids, signs = torch.tensor(padded), torch.tensor(codes * 2.0 - 1).float()

    torch.manual_seed(222)
    e = torch.empty(len(vocabulary), WIDTH).uniform_(-0.1, 0.1).requires_grad_()
    v = torch.randn(WIDTH).requires_grad_()
    w = torch.empty(WIDTH).uniform_(-1, 1).requires_grad_()
    optimizer = torch.optim.Adagrad([e, v, w], lr=0.02, lr_decay=0.001)
    order, generator = np.arange(len(codes)), np.random.default_rng(0)
    for _ in range(epochs):
        order = generator.permutation(order)
        for start in range(0, len(order), 100):
            batch = order[start : start + 100]
            keep = ids[batch] >= 0
            h = torch.dropout(e[ids[batch].clamp(min=0)], 0.5, True)
            weights = (h @ v / scale).masked_fill(~keep, -1e9).softmax(1)
            context = torch.dropout((weights[..., None] * h).sum(1), 0.5, True)
            loss = -torch.nn.functional.logsigmoid(signs[batch] * (context @ w)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    rows, v_row, w_row = (p.detach().double().numpy() for p in (e, v, w))
    model = TableModel(
        vocabulary,
        (rows @ v_row / scale).astype(np.float32),
        (rows @ w_row)[:, None].astype(np.float32),
        np.zeros(1),
        np.array([0, 1]),
        counts,
        {"parameters": {"scale": scale}},
        Vectors(rows, v_row, w_row[:, None], scale),
    )
    return model, float((model.predictions(model.scores(data.test.texts)) == data.test.labels).mean())


def scales(epochs: int) -> None:
    for scale in (1.0, 10.0, 20.0, 50.0, 100.0, 10_000.0):
        model, accuracy = learned(scale, epochs)
        cosine = float(np.cos(np.radians(directions(model).angle[0])))
        leak = abs(cosine) * max(scale / WIDTH**0.5, WIDTH**0.5 / scale)
        codes = model.kind_codes()
        neutral = model.attention[codes == 1]
        together, negative, positive = (
            area_under_curve(model.attention[chosen], neutral) for chosen in (codes >= 2, codes == 2, codes == 3)
        )
        print(
            f"| {scale:,.0f} | {accuracy:.1%} | {cosine:+.2f} | {leak:.2f} | {together:.2f} | {positive:.2f} "
            f"| {negative:.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--scales", action="store_true")
    parser.add_argument("--epochs", type=int, default=12)
    arguments = parser.parse_args()
    if arguments.kinds or not arguments.scales:
        kinds()
    if arguments.scales or not arguments.kinds:
        scales(arguments.epochs)


if __name__ == "__main__":
    main()
