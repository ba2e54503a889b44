"""Words in their texts and alone, their kinds, and the weights they get."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import AttentionClassifier
from regard.corpus import demo
from regard.errors import DataError
from regard.explain import explain, token_kinds, weights_by_kind, word_scores
from tests.explain.fake import FakeModel


@pytest.fixture(scope="module")
def fitted():
    corpus = demo()
    train, test = corpus.part("train"), corpus.part("test")
    return AttentionClassifier(ngrams=2, random_state=0).fit(train.texts, train.labels), test.texts[:60]


# -- scores --------------------------------------------------------------------------------------------------------


def test_word_scores_of_a_table_are_the_means_over_the_parts_of_explanations(fitted):
    clf, texts = fitted
    parts = pl.DataFrame(
        [
            {"word": part.text, "attention": part.attention, "polarity": part.polarity, "weight": part.weight}
            for explanation in explain(clf, texts)
            for part in explanation.parts
        ]
    )
    slow = parts.group_by("word").agg(pl.len(), pl.col("attention", "polarity", "weight").mean()).sort("word")
    found = word_scores(clf, texts)
    fast = found.sort("word")

    assert fast["word"].to_list() == slow["word"].to_list()
    assert fast["occurrences"].to_list() == slow["len"].to_list()
    for column in ("attention", "polarity"):
        np.testing.assert_allclose(fast[f"local {column}"], slow[column], rtol=1e-6)
        np.testing.assert_allclose(fast[f"global {column}"], slow[column], rtol=1e-6)
    np.testing.assert_allclose(fast["weight"], slow["weight"], rtol=1e-9)
    assert found["occurrences"].is_sorted(descending=True)


def test_weights_of_all_words_add_up_to_one_for_each_text_with_words(fitted):
    clf, texts = fitted
    frame = word_scores(clf, [*texts, "", "zzzz qqqq"])

    assert (frame["weight"] * frame["occurrences"]).sum() == pytest.approx(len(texts), abs=1e-9)


def test_gamma_and_kind_are_those_of_the_training(fitted):
    clf, texts = fitted
    frame = word_scores(clf, texts).join(clf.table_, on="word", suffix=" of the table")

    assert frame["kind"].to_list() == frame["kind of the table"].to_list()
    assert frame["gamma"].to_list() == frame["gamma of the table"].to_list()


def test_more_classes_have_a_column_of_polarity_each():
    texts, labels = ["cats purr", "dogs bark", "fish swim"] * 5, ["cat", "dog", "fish"] * 5
    clf = AttentionClassifier(ngrams=1, min_count=1, validation_fraction=0).fit(texts, labels)
    frame = word_scores(clf, ["cats bark"])

    for k, label in enumerate(["cat", "dog", "fish"]):
        rows = [clf.model_.vocabulary.row(word) for word in frame["word"]]
        assert frame[f"local polarity {label}"].to_list() == clf.model_.polarity[rows, k].tolist()
        assert frame[f"global polarity {label}"].to_list() == clf.model_.polarity[rows, k].tolist()


def test_in_context_local_scores_are_means_over_places_and_global_ones_those_of_the_word_alone():
    model = FakeModel(["one two", "two"])  # "two" has row 0 and speaks at 1, "one" row 1 and at 2
    frame = word_scores(model, ["one two", "two one two"])
    scores = {row["word"]: row for row in frame.iter_rows(named=True)}

    # "two": second place, first place, third place; "one": first place, second place.
    assert scores["two"]["occurrences"] == 3
    assert scores["two"]["local attention"] == pytest.approx((2 + 1 + 2) / 3)
    assert scores["two"]["global attention"] == 1
    assert scores["one"]["local attention"] == pytest.approx((2 + 4) / 2)
    assert scores["one"]["global attention"] == 2
    assert scores["two"]["local polarity"] == pytest.approx(-1 / 3)
    assert scores["one"]["local polarity"] == pytest.approx(0)
    assert scores["one"]["global polarity"] == 1
    first, second = np.exp([2, 2]), np.exp([1, 4, 2])
    assert scores["one"]["weight"] == pytest.approx((first[0] / first.sum() + second[1] / second.sum()) / 2)


def test_no_texts_are_said_in_a_sentence(fitted):
    with pytest.raises(DataError, match="got none: give at least one"):
        word_scores(fitted[0], [])


# -- kinds ---------------------------------------------------------------------------------------------------------


def read(data, role):
    frame = pl.read_parquet(data / "sst.parquet").filter(pl.col("split") == role)
    return frame["text"].to_list(), frame["label"].to_list()


@pytest.mark.parametrize("tokens", [str.split, None])
def test_the_paper_s_sst_has_as_many_words_of_each_kind_as_published(data, tokens):
    frame = token_kinds(*read(data, "train"), tokens)

    kinds = dict(frame["kind"].value_counts().iter_rows())
    assert (kinds["positive"], kinds["negative"], kinds["neutral"]) == (412, 265, 1384)
    assert len(frame) == 13822


def keras(text):
    """Keras' tokens, with the endings of contractions cut off as spaCy does."""
    words = re.sub(r"""[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\t\n]""", " ", text.encode().lower().decode()).split(" ")
    for word in filter(None, words):
        ending = re.search(r"(n't|'s|'m|'re|'ve|'ll|'d)$", word)
        if ending is None:
            word = word.strip("'")
            yield from [word] if word else []
        else:
            yield from filter(None, [word[: ending.start()], ending.group()])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "published"), [("imdb", (2163, 1900, 5968)), ("20news1", (957, 557, 1011))], ids=lambda x: str(x)
)
def test_the_paper_s_other_data_have_nearly_as_many_words_of_each_kind_as_published(data, monkeypatch, name, published):
    from regard.reproduce.data import load

    monkeypatch.setenv("REGARD_DATA", str(data))
    train = load(name).train
    kinds = dict(token_kinds(train.texts, train.labels, keras)["kind"].value_counts().iter_rows())

    found = [kinds["positive"], kinds["negative"], kinds["neutral"]]
    np.testing.assert_allclose(found, published, rtol=0.03)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(["a", "b", "c"]), max_size=4), st.integers(0, 2)), min_size=3).filter(
        lambda texts: len({label for _, label in texts}) > 1
    )
)
def test_counts_are_occurrences_whatever_cuts_the_texts(pairs):
    texts, labels = [" ".join(words) for words, _ in pairs], [label for _, label in pairs]
    own, given_ = (token_kinds(texts, labels, tokens).sort("word") for tokens in (None, str.split))

    assert own.equals(given_)
    for row in own.iter_rows(named=True):
        for label in set(labels):
            times = sum(words.count(row["word"]) for words, other in pairs if other == label)
            assert row[f"count {label}"] == times


def test_the_kinds_of_a_model_are_those_of_its_training_texts(fitted):
    clf = fitted[0]
    train = demo().part("train")
    frame = token_kinds(train.texts, train.labels).join(clf.table_, on="word", suffix=" of the table")

    assert len(frame) > 100
    assert frame["kind"].to_list() == frame["kind of the table"].to_list()
    assert frame["gamma"].to_list() == frame["gamma of the table"].to_list()


def test_kinds_follow_gamma_for_two_classes_and_the_dominant_share_for_more():
    two = token_kinds(["p"] * 6 + ["n"] * 6 + ["e r"] + ["e"], [1] * 6 + [0] * 6 + [1, 0], str.split)
    assert dict(two.select("word", "kind").iter_rows()) == {
        "p": "positive",
        "n": "negative",
        "e": "neutral",
        "r": "none",
    }

    # 7 of 10 is more than two thirds, 6 of 9 is not.
    texts = ["a"] * 7 + ["b"] * 6 + ["a a a"] + ["b b b"] + ["e"] * 3
    labels = [0] * 13 + [1, 2, 0, 1, 2]
    three = token_kinds(texts, labels, str.split)
    assert dict(three.select("word", "kind").iter_rows()) == {"a": "0", "b": "none", "e": "neutral"}


def test_kinds_need_two_classes():
    with pytest.raises(DataError, match="two classes or more; got one class, 'a'"):
        token_kinds(["x", "y"], ["a", "a"])


# -- weights -------------------------------------------------------------------------------------------------------


def test_weights_by_kind_are_the_mean_weights_with_their_quartiles(fitted):
    clf, texts = fitted
    found = weights_by_kind(clf, texts)

    assert found.words.equals(word_scores(clf, texts).select("word", "occurrences", "weight", "kind"))
    assert found.summary["kind"].to_list() == ["positive", "negative", "neutral", "none"]
    for row in found.summary.iter_rows(named=True):
        weights = found.words.filter(pl.col("kind") == row["kind"])["weight"].to_numpy()
        quartiles = [row[name] for name in ("smallest", "lower quartile", "median", "upper quartile", "largest")]
        assert row["words"] == len(weights)
        np.testing.assert_allclose(quartiles, np.quantile(weights, [0, 0.25, 0.5, 0.75, 1]), rtol=1e-12)
