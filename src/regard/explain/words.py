"""Words by themselves and in their texts: two numbers each, the attention they get, and their kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.explain.entries import Floats, entry_weights, inner_model, some_texts
from regard.models.inputs import as_labels
from regard.models.kinds import gamma_of, kind_names, kinds_of
from regard.models.model import Model
from regard.models.table import chunks
from regard.tokens import Vocabulary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class _Met:
    """What rows do in some texts, added up over their occurrences.

    Attributes
    ----------
    occurrences, weight : (rows,)
    attention : (rows,)
    polarity : (rows, sides)
    """

    occurrences: Floats
    weight: Floats
    attention: Floats
    polarity: Floats


def word_scores(model: Any, texts: Any, n_threads: int | None = None) -> pl.DataFrame:
    """Every word and phrase that occurs in the texts: what it does there, and what it does alone.

    Local numbers are means over its occurrences, each read among its neighbours; global ones are those of the word as
    a text of its own. Where words speak the same in every text (``model.exact``) the two agree.

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it.
    texts
        Any texts; for the paper's figures, those of the training.
    n_threads
        All cores, if None.

    Returns
    -------
    frame
        word, occurrences, local attention, local polarity, weight (its mean share of a text's attention), global
        attention, global polarity, gamma, kind; the most frequent first. With more than two classes polarity has a
        column for each: ``local polarity NAME``. Gamma and kind come from the model's training texts.
    """
    import polars as pl

    inner = inner_model(model)
    table = inner.word_table
    met = _meet(inner, some_texts(texts), n_threads)
    rows = np.flatnonzero(met.occurrences)
    rows = rows[np.argsort(-met.occurrences[rows], kind="stable")]
    times = met.occurrences[rows]
    names = table.vocabulary.names()
    return pl.DataFrame(
        {
            "word": [names[row] for row in rows.tolist()],
            "occurrences": times.astype(np.int64),
            "local attention": met.attention[rows] / times,
            **by_class("local polarity", met.polarity[rows] / times[:, None], table.classes),
            "weight": met.weight[rows] / times,
            "global attention": table.attention[rows].astype(np.float64),
            **by_class("global polarity", table.polarity[rows].astype(np.float64), table.classes),
            "gamma": table.gamma()[rows],
            "kind": table.kinds()[rows],
        }
    )


def by_class(name: str, values: Floats, classes: NDArray[Any]) -> dict[str, Floats]:
    """Columns of a frame: one for two classes, otherwise one a class with its label."""
    if values.shape[1] == 1:
        return {name: values[:, 0]}
    return {f"{name} {label}": values[:, k] for k, label in enumerate(classes)}


def _meet(model: Model, texts: list[str], n_threads: int | None) -> _Met:
    table = model.word_table
    size = len(table)
    if model.exact:
        times, weight = np.zeros(size), np.zeros(size)
        for chunk in chunks(texts):
            rows = table.vocabulary.rows(table.vocabulary.tokens(chunk, n_threads), n_threads)
            times += np.bincount(rows.ids, rows.counts, size)
            weight += np.bincount(rows.ids, entry_weights(rows, table.attention)[1], size)
        return _Met(times, weight, times * table.attention, times[:, None] * table.polarity)
    met = _Met(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros((size, model.sides)))
    for found in model.attend_many(texts):
        places = np.fromiter((place.row for place in found.places), np.intp, len(found.places))
        np.add.at(met.occurrences, places, 1)
        np.add.at(met.weight, places, found.weights)
        np.add.at(met.attention, places, found.attention)
        np.add.at(met.polarity, places, found.polarity)
    return met


# -- kinds ---------------------------------------------------------------------------------------------------------


def token_kinds(texts: Any, labels: Any, tokens: Callable[[str], Iterable[str]] | None = None) -> pl.DataFrame:
    """Which words are positive, negative and neutral, from how often they occur in the texts of each class.

    Parameters
    ----------
    texts, labels
        The training texts and their labels.
    tokens
        What cuts a text into words, such as ``str.split``; regard's own tokens, if not given.

    Returns
    -------
    frame
        word, ``count LABEL`` for each class (occurrences, not texts), gamma, kind; the most frequent first. With
        more than two classes the kind is the label itself. ``docs/reading.md`` has the rules.

    Examples
    --------
    >>> token_kinds(["good film"] * 6 + ["bad film"] * 6, ["+"] * 6 + ["-"] * 6, str.split)["kind"].to_list()
    ['neutral', 'positive', 'negative']
    """
    import polars as pl

    found = some_texts(texts)
    classes, codes = np.unique(as_labels(labels, len(found)), return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"Kinds need texts of two classes or more; got one class, {classes[0].item()!r}.")
    words, counts = (
        _own_counts(found, codes, len(classes)) if tokens is None else _counts(found, codes, len(classes), tokens)
    )
    return pl.DataFrame(
        {
            "word": pl.Series(words, dtype=pl.String),
            **{f"count {label}": counts[:, k] for k, label in enumerate(classes.tolist())},
            "gamma": gamma_of(counts),
            "kind": np.array(kind_names(classes))[kinds_of(counts)] if words else pl.Series([], dtype=pl.String),
        }
    )


def _own_counts(texts: list[str], codes: NDArray[np.intp], classes: int) -> tuple[list[str], NDArray[np.int64]]:
    vocabulary, tokens = Vocabulary.learn(texts, ngrams=1, min_count=1)
    cells = tokens.ids.astype(np.int64) * classes + np.repeat(codes, np.diff(tokens.starts))
    counts = np.bincount(cells, minlength=vocabulary.words * classes).reshape(-1, classes)
    return vocabulary.word_list, counts.astype(np.int64)


def _counts(
    texts: list[str], codes: NDArray[np.intp], classes: int, tokens: Callable[[str], Iterable[str]]
) -> tuple[list[str], NDArray[np.int64]]:
    counters: list[Counter[str]] = [Counter() for _ in range(classes)]
    seen: dict[str, None] = {}
    for text, code in zip(texts, codes.tolist(), strict=True):
        words = list(tokens(text))
        counters[code].update(words)
        seen.update(dict.fromkeys(words))
    words = list(seen)
    counts = np.array([[counter[word] for counter in counters] for word in words], np.int64).reshape(-1, classes)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    return [words[i] for i in order.tolist()], counts[order]


# -- weights -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KindWeights:
    """How much of the attention words of each kind get.

    Attributes
    ----------
    words : polars.DataFrame
        word, occurrences, weight (the mean over its occurrences), kind.
    summary : polars.DataFrame
        kind, words, and the smallest, lower quartile, median, upper quartile and largest weight of its words: what a
        box plot draws.
    """

    words: pl.DataFrame
    summary: pl.DataFrame


def weights_by_kind(model: Any, texts: Any, n_threads: int | None = None) -> KindWeights:
    """The mean attention weight of each word in these texts, by kind (Sun and Lu 2020, Figure 5).

    Parameters
    ----------
    model
        A fitted classifier of texts, or the ``Model`` inside it.
    texts
        Any texts; in the paper, those of the test.
    n_threads
        All cores, if None.
    """
    import polars as pl

    words = word_scores(model, texts, n_threads).select("word", "occurrences", "weight", "kind")
    weight = pl.col("weight")
    summary = words.group_by("kind").agg(
        pl.len().cast(pl.Int64).alias("words"),
        weight.min().alias("smallest"),
        weight.quantile(0.25, "linear").alias("lower quartile"),
        weight.median().alias("median"),
        weight.quantile(0.75, "linear").alias("upper quartile"),
        weight.max().alias("largest"),
    )
    order = {name: i for i, name in enumerate(reversed(inner_model(model).word_table.kind_names()))}
    return KindWeights(words, summary.sort(pl.col("kind").replace_strict(order, return_dtype=pl.Int64)))
