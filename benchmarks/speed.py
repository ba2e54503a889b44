"""Seconds from raw text to a fitted model, and from raw text to predictions, beside fastText and TF-IDF."""

from __future__ import annotations

import sys

import numpy as np

from common import THREADS, FastText, imdb, seconds, tfidf_lr, versions, write
from regard import AttentionClassifier

ROUNDS = 3


def main():
    (texts, labels), (new, truth) = imdb()
    ours = AttentionClassifier(n_threads=THREADS)
    ours.fit(texts[::50], labels[::50]).predict(new[:100])  # warm kernels

    models = {"regard": ours, "fastText, pairs, 10 epochs": FastText(), "TF-IDF(pairs) + LR": tfidf_lr()}
    fits, predictions = {name: [] for name in models}, {name: [] for name in models}
    accuracy = {}
    for _ in range(ROUNDS):  # in turn, so that all meet the same weather
        for name, model in models.items():
            fits[name].append(seconds(lambda model=model: model.fit(texts, labels))[0])
            time, predicted = seconds(lambda model=model: model.predict(new))
            predictions[name].append(time)
            accuracy[name] = np.mean(predicted == truth)

    fit, predict = min(fits["regard"]), min(predictions["regard"])
    lines = [
        f"IMDB, 25,000 reviews to train and 25,000 to predict, from raw texts, {THREADS} threads, warm kernels: the",
        f"fastest of {ROUNDS} rounds in turn, which is what each needs when nothing else runs. fastText's time",
        "includes writing and reading the file that it needs.",
        "",
        "| | train, s | times slower than regard | predict, s | times slower than regard | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    for name in models:
        f, p = min(fits[name]), min(predictions[name])
        lines.append(
            f"| {name} | {f:.2f} | {f / fit:.1f} | {p:.2f} | {p / predict:.1f} | {100 * accuracy[name]:.2f}% |"
        )
    spread = "; ".join(f"{name} {min(s):.1f}-{max(s):.1f}" for name, s in fits.items())
    lines += [
        "",
        f"Seconds of training from the fastest to the slowest round: {spread}.",
        "",
        versions("numpy", "numba", "scikit-learn", "fasttext-wheel"),
    ]
    write("speed", "Speed beside fastText and TF-IDF", "python benchmarks/speed.py", lines)


if __name__ == "__main__":
    sys.exit(main())
