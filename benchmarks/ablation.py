"""What each part of the training is worth: accuracy without it, by cross-validation inside training data."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import regard.models.training as training
from common import newsgroups, newsgroups_1, newsgroups_2, sst, versions, write
from regard import AttentionClassifier

FOLDS = 5


@contextmanager
def changed(**constants):
    before = {name: getattr(training, name) for name in constants}
    for name, value in constants.items():
        setattr(training, name, value)
    yield
    for name, value in before.items():
        setattr(training, name, value)


def folds(texts, labels, **parameters):
    part = np.random.default_rng(0).permutation(len(texts)) % FOLDS
    right = 0
    for k in range(FOLDS):
        train, test = np.flatnonzero(part != k), np.flatnonzero(part == k)
        model = AttentionClassifier(**parameters).fit([texts[i] for i in train], labels[train])
        right += np.sum(model.predict([texts[i] for i in test]) == labels[test])
    return 100 * right / len(texts)


_start = vars(training)["_start"]


def counted_start(*counts):
    table, own = _start(*counts)
    return table, replace(own, less=own.less[:, :0])


VARIANTS = [
    ("everything", {}, {}),
    ("polarity starts near zero", {"_POLARITY": 1e-3, "_POLARITY_OTHERS": 1e-3}, {}),
    ("attention starts flat", {"_ATTENTION": 0.0}, {}),
    ("attention stays as it starts", {"_STEP_ATTENTION": 0.0}, {}),
    ("attention flat throughout: a plain average", {"_ATTENTION": 0.0, "_STEP_ATTENTION": 0.0}, {}),
    ("the start alone", {"_STEP_POLARITY": 1e-9, "_STEP_BIAS": 0.0}, {}),
    ("a prior of 0.75 for all", {"_PRIOR": 1e9}, {}),
    ("rare rows trained too", {"_TRAINED_FROM": 1, "_TRAINED_FROM_OTHERS": 1}, {}),
    ("texts count in their own rows", {"_start": counted_start, "_TRAINED_FROM_OTHERS": 5}, {}),
    ("polarity starts alike for two classes and more", {"_POLARITY_OTHERS": 3.0}, {}),
    ("one half", {"_HALVES_FROM": 10**9}, {}),
    ("classes not evened out", {"_EVEN": 0.0}, {}),
    ("no dropout", {}, {"dropout": 0.0}),
    ("five epochs always", {}, {"validation_fraction": 0.0}),
    ("words only", {}, {"ngrams": 1}),
    ("triples too", {}, {"ngrams": 3}),
]


def main():
    sets = {
        "SST": sst()[0],
        "20News I": newsgroups_1()[0],
        "20News II": newsgroups_2()[0],
        "newsgroups (20)": newsgroups()[0],
    }
    lines = [
        f"Accuracy in percent, {FOLDS}-fold cross-validation within the training texts, seed 0.",
        "",
        "| | " + " | ".join(sets) + " |",
        "|---|" + "---|" * len(sets),
    ]
    for name, constants, parameters in VARIANTS:
        with changed(**constants):
            row = [folds(*data, **parameters) for data in sets.values()]
        lines.append(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
        print(lines[-1], flush=True)
    lines += ["", versions("numpy", "numba")]
    write("ablation", "What each part of the training is worth", "python benchmarks/ablation.py", lines)


if __name__ == "__main__":
    sys.exit(main())
