"""Teach a Transformer a small language that orders its words otherwise than English."""

from __future__ import annotations

import sys

import numpy as np

from regard.systems import Transformer
from regard.systems.data.symbols import padded
from regard.systems.data.translation import ENGLISH, MADE, translation
from regard.systems.sequence import exact
from regard.systems.training import Recipe, seeded, train


def main(quick: bool = False) -> None:
    training, test = translation(200 if quick else 10_000, seed=0), translation(20 if quick else 500, seed=1)
    with seeded(0):
        model = Transformer(len(ENGLISH), len(MADE))
    train(
        model,
        np.array([len(source) for source in training.sources]),
        lambda batch: model.loss([training.sources[i] for i in batch], [training.targets[i] for i in batch]),
        Recipe(epochs=1 if quick else 8),
    )
    print(f"{100 * np.mean(exact(model, test)):.1f}% of new sentences are translated exactly.")

    sentence = "the old king that sees a small bird loves the quiet trees"
    found = model.greedy(*padded([ENGLISH.encode(sentence.split())]), longest=20)
    print(sentence, "->", " ".join(MADE.decode(found.sequences()[0])))


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
