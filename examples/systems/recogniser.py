"""Teach a recogniser to write down melodies, and let it hear longer ones than it was taught with."""

from __future__ import annotations

import sys

import numpy as np

from regard.systems import Recogniser
from regard.systems.data.sound import BANDS, TONES, errors, utterances
from regard.systems.recogniser import beside
from regard.systems.training import Recipe, seeded, train


def main(quick: bool = False) -> None:
    training = utterances(40 if quick else 1000, seed=0, longest=10)
    longer = utterances(5 if quick else 100, seed=1, shortest=20, longest=20)
    for mode in ("content", "hybrid"):
        with seeded(0):
            model = Recogniser(BANDS, len(TONES), mode=mode)
        train(
            model,
            np.array([len(sound) for sound in training.sounds]),
            lambda batch: model.loss([training.sounds[i] for i in batch], [training.targets[i] for i in batch]),  # noqa: B023 - trained here
            Recipe(epochs=1 if quick else 8, batch_size=32, learning_rate=1e-2),
        )
        said = model.greedy(*beside(longer.sounds), longest=30 if quick else 60).sequences()
        wrong = sum(errors(a, b) for a, b in zip(said, longer.targets, strict=True))
        print(f"{mode}: {100 * wrong / sum(map(len, longer.targets)):.1f}% of the tones are wrong.")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
