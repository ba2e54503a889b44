"""Teach an encoder–decoder to write dates as ISO 8601 does, and see where it looks."""

from __future__ import annotations

import sys

import numpy as np

from regard.systems import EncoderDecoder
from regard.systems.data.dates import CHARACTERS, DIGITS, dates
from regard.systems.data.symbols import padded
from regard.systems.sequence import exact
from regard.systems.training import Recipe, seeded, train


def main(quick: bool = False) -> None:
    training, test = dates(300 if quick else 8000, seed=0), dates(20 if quick else 500, seed=1)
    with seeded(0):
        model = EncoderDecoder(len(CHARACTERS), len(DIGITS), attention="luong_general")
    train(
        model,
        np.array([len(source) for source in training.sources]),
        lambda batch: model.loss([training.sources[i] for i in batch], [training.targets[i] for i in batch]),
        Recipe(epochs=1 if quick else 6, learning_rate=8e-3),
    )
    print(f"{100 * np.mean(exact(model, test)):.1f}% of new dates are exactly right.")

    source, lengths = padded([CHARACTERS.encode("3 may 1979")])
    found = model.beam(source, lengths, width=5, longest=12)
    print("3 may 1979 ->", "".join(DIGITS.decode(found.sequences()[0])))
    for digit, weights in zip(DIGITS.decode(found.tokens[0].tolist()), found.weights[0], strict=False):
        print(f"  {digit} looks at {'3 may 1979'[int(weights.argmax())]!r}")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
