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

    fits, predictions = {"regard": [], "fastText": []}, {"regard": [], "fastText": []}
    accuracy = {}
    for _ in range(ROUNDS):  # in turn, so that both meet the same weather
        for name, model in (("regard", ours), ("fastText", FastText())):
            fits[name].append(seconds(lambda model=model: model.fit(texts, labels))[0])
            time, predicted = seconds(lambda model=model: model.predict(new))
            predictions[name].append(time)
            accuracy[name] = np.mean(predicted == truth)
    pipeline = tfidf_lr()
    slow_fit, _ = seconds(lambda: pipeline.fit(texts, labels))
    slow_predict, predicted = seconds(lambda: pipeline.predict(new))
    accuracy["TF-IDF(pairs) + LR"] = np.mean(predicted == truth)

    fit, predict = np.median(fits["regard"]), np.median(predictions["regard"])
    ft_fit, ft_predict = np.median(fits["fastText"]), np.median(predictions["fastText"])
    rows = [
        ("regard", fit, predict, accuracy["regard"]),
        ("fastText, pairs, 10 epochs", ft_fit, ft_predict, accuracy["fastText"]),
        ("TF-IDF(pairs) + LR", slow_fit, slow_predict, accuracy["TF-IDF(pairs) + LR"]),
    ]
    lines = [
        f"IMDB, 25,000 reviews to train and 25,000 to predict, {THREADS} threads, warm kernels, median of {ROUNDS}",
        "rounds in turn (TF-IDF once). fastText's time includes writing and reading the file that it needs.",
        "",
        "| | train, s | times slower than regard | predict, s | times slower than regard | accuracy |",
        "|---|---|---|---|---|---|",
        *(f"| {n} | {f:.2f} | {f / fit:.1f} | {p:.2f} | {p / predict:.1f} | {100 * a:.2f}% |" for n, f, p, a in rows),
        "",
        f"Spread over rounds (min-max): regard train {min(fits['regard']):.2f}-{max(fits['regard']):.2f} s, "
        f"fastText train {min(fits['fastText']):.2f}-{max(fits['fastText']):.2f} s.",
        "",
        versions("numpy", "numba", "scikit-learn", "fasttext-wheel"),
    ]
    write("speed", "Speed beside fastText and TF-IDF", "python benchmarks/speed.py", lines)


if __name__ == "__main__":
    sys.exit(main())
