"""Data, rivals and tables for the benchmarks."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
RESULTS = Path(__file__).parents[1] / "docs" / "results"
THREADS = 2


def imdb():
    """Official split: (train texts, labels), (test texts, labels)."""
    return split(pl.read_parquet(DATA / "imdb.parquet"), "train", "test")


def sst():
    """The paper's data: train, dev, test."""
    return split(pl.read_parquet(DATA / "sst.parquet"), "train", "dev", "test")


def newsgroups():
    """Twenty classes, split by date."""
    return split(pl.read_parquet(DATA / "newsgroups.parquet"), "train", "test")


def newsgroups_1():
    """Baseball against hockey, in the published roles: train, dev, test."""
    raw = pl.read_parquet(DATA / "newsgroups_raw.parquet").drop("split")
    roles = pl.read_parquet(DATA / "newsgroups_paper.parquet").select("id", pl.col("role").alias("split"))
    return split(roles.join(raw, on="id", how="left", maintain_order="left"), "train", "dev", "test")


def newsgroups_2(seed=0):
    """Motorcycles, medicine, guns: a seeded random split with the paper's sizes; its own membership is unpublished."""
    sizes = {
        "rec.motorcycles": (794, 91),
        "sci.med": (790, 70),
        "talk.politics.guns": (716, 79),
    }
    raw = pl.read_parquet(DATA / "newsgroups_raw.parquet")
    raw = raw.filter(pl.col("label").is_in(list(sizes)) & (pl.col("text").str.strip_chars() != ""))
    parts = []
    for label, (train, dev) in sizes.items():
        part = raw.filter(pl.col("label") == label).sample(fraction=1.0, shuffle=True, seed=seed)
        roles = ["train"] * train + ["dev"] * dev + ["test"] * (len(part) - train - dev)
        parts.append(part.with_columns(pl.Series("split", roles)))
    return split(pl.concat(parts), "train", "dev", "test")


def others():
    """Smaller, shorter, more uneven data, each cut once from training parts: name and a pair of (texts, labels)."""
    reviews = pl.read_parquet(DATA / "imdb.parquet").filter(pl.col("split") == "train")
    texts, sides, ratings = reviews["text"].to_list(), reviews["label"].to_numpy(), reviews["rating"].to_numpy()
    yield "IMDB, 500 reviews", *cut(texts, sides, 500, 4000)
    yield "IMDB, 2,000 reviews", *cut(texts, sides, 2000, 4000)
    yield "IMDB, 2,000 reviews, 8 ratings", *cut(texts, ratings, 2000, 4000)
    last = [(re.split(r"(?<=[.!?])\s+|<br />", text)[-1], side) for text, side in zip(texts, sides, strict=True)]
    last = [(text, side) for text, side in last if 30 < len(text) < 200]
    yield (
        "last sentences of reviews",
        *cut([text for text, _ in last], np.array([side for _, side in last]), 8000, 4000),
    )

    trees = pl.read_parquet(DATA / "sst_trees.parquet").filter(pl.col("split") != "test")
    yield "SST, 5 classes", *cut(trees["raw_text"].to_list(), trees["label5"].to_numpy(), 7700, 1945)

    (posts, groups), _ = newsgroups()
    yield "newsgroups, first 12 words, 20 classes", *cut([" ".join(p.split()[:12]) for p in posts], groups, 8000, 3000)
    rng, kept = np.random.default_rng(0), []
    names = np.unique(groups)
    for name, size in zip(names, rng.permutation(np.geomspace(12, 520, len(names)).astype(int)), strict=True):
        kept += rng.permutation(np.flatnonzero(groups == name))[:size].tolist()
    yield "newsgroups, 12 to 520 posts a class", *cut([posts[i] for i in kept], groups[kept], 0.8)
    yield "newsgroups, 1,000 posts, 20 classes", *cut(posts, groups, 1000, 3000)

    raw = pl.read_parquet(DATA / "newsgroups_raw.parquet")
    raw = raw.filter((pl.col("split") == "train") & (pl.col("text").str.strip_chars() != ""))
    yield "newsgroups, raw, 5 classes", *cut(raw["text"].to_list(), raw["label"].to_numpy(), 0.8)


def cut(texts, labels, train, test=None, seed=0):
    """A seeded random cut into training and test texts; ``train`` is a number or, below one, a share."""
    order = np.random.default_rng(seed).permutation(len(texts))
    size = int(train * len(texts)) if train < 1 else train
    parts = order[:size], order[size : size + test] if test else order[size:]
    return [([texts[i] for i in part], labels[part]) for part in parts]


def split(frame, *parts):
    return [
        (part["text"].to_list(), part["label"].to_numpy())
        for part in (frame.filter(pl.col("split") == name) for name in parts)
    ]


def tfidf_lr():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))


def tfidf_svm():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC())


class NBLR:
    """Log-ratio-scaled logistic regression over binary words and pairs, one class against the rest."""

    def __init__(self, C=4.0, alpha=1.0):
        self.C, self.alpha = C, alpha

    def fit(self, texts, labels):
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        self.words = CountVectorizer(ngram_range=(1, 2), binary=True, min_df=2, token_pattern=r"[^\W_]+(?:'\w+)?|[!?]")
        X = self.words.fit_transform(texts).astype(np.float64)
        self.classes_ = np.unique(labels)
        self.models = []
        for label in self.classes_[-1:] if len(self.classes_) == 2 else self.classes_:
            y = np.asarray(labels) == label
            p = self.alpha + np.asarray(X[y].sum(axis=0)).ravel()
            q = self.alpha + np.asarray(X[~y].sum(axis=0)).ravel()
            r = np.log(p / p.sum()) - np.log(q / q.sum())
            model = LogisticRegression(C=self.C / 4, solver="liblinear").fit(X.multiply(r).tocsr(), y)
            self.models.append((r, model))
        return self

    def predict(self, texts):
        X = self.words.transform(texts).astype(np.float64)
        scores = np.stack([m.decision_function(X.multiply(r).tocsr()) for r, m in self.models], axis=1)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]


class FastText:
    """fastText with word pairs; its own file in, its own batch call out."""

    def __init__(self, epochs=10, lr=0.5, threads=THREADS):
        self.settings = {"epoch": epochs, "lr": lr, "wordNgrams": 2, "thread": threads, "verbose": 0}

    def fit(self, texts, labels):
        import fasttext

        self.classes_ = np.unique(labels)
        codes = np.searchsorted(self.classes_, labels)
        # fastText reads its file in order, so data sorted by label would be unlearned class by class.
        order = np.random.default_rng(0).permutation(len(texts)).tolist()
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(f"__label__{codes[i]} {self.line(texts[i])}\n" for i in order)
            file.flush()
            self.model = fasttext.train_supervised(file.name, **self.settings)
        return self

    @staticmethod
    def line(text):
        return " ".join(text.lower().replace("<br />", " ").split())

    def predict(self, texts):
        # `predict` itself fails under NumPy 2; the batch call beneath it does not.
        lines = [self.line(text) + "\n" for text in texts]
        found, _ = self.model.f.multilinePredict(lines, 1, 0.0, "strict")
        return self.classes_[[int(labels[0].removeprefix("__label__")) for labels in found]]


def seconds(work):
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def machine():
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return f"{len(names)} x {names[0] if names else platform.processor()}, Python {platform.python_version()}"


def versions(*names):
    from importlib.metadata import version

    return ", ".join(f"{name} {version(name)}" for name in names)


def write(name, title, command, lines):
    """Print a result and keep it as a page."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    page = f"# {title}\n\nMade by `{command}` on {machine()}.\n\n" + "\n".join(lines) + "\n"
    (RESULTS / f"{name}.md").write_text(page)
    print(page)
