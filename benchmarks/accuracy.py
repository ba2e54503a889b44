"""Accuracy with default settings beside four rivals, on the data sets at hand."""

from __future__ import annotations

import sys

import numpy as np

from common import (
    NBLR,
    FastText,
    imdb,
    newsgroups,
    newsgroups_1,
    newsgroups_2,
    sst,
    tfidf_lr,
    tfidf_svm,
    versions,
    write,
)
from regard import AttentionClassifier

SEEDS = (0, 1, 2)
RIVALS = {
    "TF-IDF + LR": tfidf_lr,
    "TF-IDF + SVM": tfidf_svm,
    "NB-LR": NBLR,
    "fastText": lambda: FastText(threads=1),
}
SETS = {
    "IMDB, official split": imdb,
    "SST, two classes": sst,
    "newsgroups, 20 classes by date": newsgroups,
    "20News I (baseball, hockey)": newsgroups_1,
    "20News II (motorcycles, medicine, guns)": newsgroups_2,
}


def row(name, training, test, validation):
    """A line of the table."""
    (texts, labels), (new, truth) = training, test
    ours = []
    for seed in SEEDS:
        model = AttentionClassifier(random_state=seed).fit(texts, labels, validation=validation)
        ours.append(100 * np.mean(model.predict(new) == truth))
    others = [100 * np.mean(make().fit(texts, labels).predict(new) == truth) for make in RIVALS.values()]
    rest = " | ".join(f"{value:.2f}" for value in others)
    return f"| {name} | {np.mean(ours):.2f} ± {np.std(ours):.2f} | {rest} |"


def main():
    lines = [
        f"Test accuracy in percent; regard with default settings, mean and standard deviation over seeds {SEEDS};",
        "where the data have a development part, it is given as `validation`, and then once more all models learn from",
        "both parts, regard with its own held-out share. All rivals use words and pairs.",
        "",
        "| data | regard | " + " | ".join(RIVALS) + " |",
        "|---|---|" + "---|" * len(RIVALS),
    ]
    for name, load in SETS.items():
        training, *dev, test = load()
        lines.append(row(name, training, test, dev[0] if dev else None))
        print(lines[-1], flush=True)
        if dev:
            both = training[0] + dev[0][0], np.concatenate([training[1], dev[0][1]])
            lines.append(row(f"{name}; trained on train and dev", both, test, None))
            print(lines[-1], flush=True)
    lines += ["", versions("numpy", "numba", "scikit-learn", "fasttext-wheel")]
    write("accuracy", "Accuracy beside four rivals", "python benchmarks/accuracy.py", lines)


if __name__ == "__main__":
    sys.exit(main())
