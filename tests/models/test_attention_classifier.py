"""The estimators: what they learn, what they promise to scikit-learn, what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from regard import AttentionClassifier, TableClassifier
from regard.corpus import demo
from regard.errors import DataError, SettingError
from regard.models.training import _PRIORS, prior_strength


@pytest.fixture(scope="module")
def corpus():
    return demo()


@pytest.fixture(scope="module")
def fitted(corpus):
    train = corpus.part("train")
    return AttentionClassifier().fit(train.texts, train.labels)


@parametrize_with_checks([TableClassifier()])
def test_the_estimator_for_counts_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


# -- what it learns ----------------------------------------------------------------------------------------------


def test_it_learns_the_demonstration_corpus(corpus, fitted):
    test = corpus.part("test")

    assert fitted.score(test.texts, test.labels) > 0.85
    assert fitted.validation_["accuracy"] > 0.85


def test_loud_words_are_the_polar_ones(corpus, fitted):
    truth = corpus.truth.words.join(fitted.table_, on="word", how="inner")
    polar = (truth["side"] != 0).to_numpy()

    assert roc_auc_score(polar, truth["attention"].to_numpy()) >= 0.95
    sides = truth.filter(pl.col("side") != 0)
    agree = np.sign(sides["polarity"].to_numpy()) == sides["side"].to_numpy()
    assert agree.mean() >= 0.97


def test_a_phrase_can_say_the_opposite_of_its_words(corpus, fitted):
    phrases = corpus.truth.phrases.join(
        fitted.table_.filter(pl.col("kind") != "none"), left_on="phrase", right_on="word"
    )

    assert len(phrases) >= 5
    assert (np.sign(phrases["polarity"].to_numpy()) == phrases["side"].to_numpy()).mean() >= 0.9


@pytest.mark.parametrize("scale", [0.001, 1.0, 10_000.0])
def test_every_scale_gives_the_same_model(corpus, fitted, scale):
    train = corpus.part("train")
    other = AttentionClassifier(scale=scale).fit(train.texts, train.labels)

    np.testing.assert_array_equal(other.model_.attention, fitted.model_.attention)
    np.testing.assert_allclose(other.loudness_, scale * fitted.loudness_ / fitted.scale)


def test_threads_change_nothing(corpus):
    texts, labels = corpus.texts * 2, corpus.labels.tolist() * 2  # enough for two halves
    one, three = (AttentionClassifier(n_threads=n).fit(texts, labels) for n in (1, 3))

    assert one.table_.equals(three.table_)
    np.testing.assert_array_equal(one.decision_function(texts), three.decision_function(texts))


def test_seeds_matter_and_repeat(corpus):
    texts, labels = corpus.texts[:600], corpus.labels[:600]
    tables = [AttentionClassifier(random_state=s).fit(texts, labels).table_ for s in (0, 0, 1)]

    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


@settings(max_examples=15)
@given(rate=st.floats(-6, 8), classes=st.sampled_from([2, 4]), long=st.booleans())
def test_no_learning_rate_overflows(rate, classes, long):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    texts = [" ".join(words[(i * j) % 6] for j in range(1, 300 if long else 6)) for i in range(40)]
    labels = [i % classes for i in range(40)]

    model = AttentionClassifier(learning_rate=10.0**rate, epochs=3).fit(texts, labels)

    assert np.isfinite(model.model_.attention).all()
    assert np.isfinite(model.model_.polarity).all()
    assert np.isfinite(model.predict_proba(texts)).all()


def test_many_classes_some_with_one_example():
    rng = np.random.default_rng(0)
    labels = [k for k in range(40) for _ in range(1 + (k % 7) ** 2)]
    texts = [f"topic{k} word{rng.integers(5)} common filler" for k in labels]
    model = AttentionClassifier().fit(texts, labels)

    assert model.score(texts, labels) > 0.95
    assert model.predict_proba(["nothing known here"]).shape == (1, 40)
    assert model.table_.columns[:3] == ["word", "attention", "polarity 0"]


def test_a_text_without_known_words_gets_the_prior(fitted):
    (empty,) = fitted.predict_proba([""])

    np.testing.assert_array_equal(fitted.predict_proba(["zzzz qqqq"])[0], empty)
    assert 0.3 < empty[0] < 0.7


def test_class_weights_move_the_balance():
    texts = ["good", "bad", "so so", "so so"] * 30
    labels = ["+", "-", "+", "-"] * 30
    low, high = (AttentionClassifier(class_weight={"+": w, "-": 1.0}).fit(texts, labels) for w in (0.1, 10.0))

    assert high.predict_proba(["so so"])[0, 0] > low.predict_proba(["so so"])[0, 0]
    AttentionClassifier(class_weight="balanced").fit(texts, labels)


def test_given_validation_texts_are_measured_and_not_learned(corpus):
    train, test = corpus.part("train"), corpus.part("test")
    strange = [text + " neverseen" for text in test.texts]
    model = AttentionClassifier().fit(train.texts, train.labels, validation=(strange, test.labels))

    assert model.validation_["texts"] == len(test)
    assert model.model_.vocabulary.row("neverseen") is None
    assert model.validation_["accuracy"] == pytest.approx(model.score(strange, test.labels))


def test_counts_gamma_and_kinds_follow_the_paper():
    texts = ["up"] * 12 + ["down"] * 12 + ["mid"] * 20 + ["rare"] * 4 + ["mostly"] * 8
    labels = [1] * 12 + [0] * 12 + [0, 1] * 10 + [1] * 4 + [1] * 5 + [0] * 3
    table = AttentionClassifier(ngrams=1).fit(texts, labels).table_
    kinds = dict(zip(table["word"], table["kind"], strict=True))
    row = table.filter(pl.col("word") == "mostly").row(0, named=True)

    assert kinds == {"up": "positive", "down": "negative", "mid": "neutral", "rare": "none", "mostly": "none"}
    assert (row["count 0"], row["count 1"], row["gamma"]) == (3, 5, 0.25)


def test_token_kinds_on_the_papers_data(data):
    """Sun & Lu count 412 positive, 265 negative and 1,384 neutral words in SST."""
    frame = pl.read_parquet(data / "sst.parquet").filter(pl.col("split") == "train")
    words, where = np.unique([w for text in frame["text"] for w in text.split()], return_inverse=True)
    labels = np.repeat(frame["label"].to_numpy(), [len(text.split()) for text in frame["text"]])
    counts = np.zeros((len(words), 2), np.int64)
    np.add.at(counts, (where, labels), 1)
    model = AttentionClassifier().fit(["a b", "c d"] * 4, [0, 1] * 4).model_
    kinds = type(model)(
        model.vocabulary, np.zeros(len(words), np.float32), np.zeros((len(words), 1), np.float32), model.bias,
        model.classes, counts,
    ).kinds()  # fmt: skip

    assert [int((kinds == kind).sum()) for kind in ("positive", "negative", "neutral")] == [412, 265, 1384]


def test_the_prior_is_the_likeliest_one():
    rng = np.random.default_rng(3)
    share = np.array([0.3, 0.7])
    total = rng.integers(2, 40, 3000)
    inside = rng.binomial(total, rng.beta(4 * 0.7, 4 * 0.3, 3000))
    counts = np.stack([total - inside, inside], axis=1)

    found = prior_strength(counts, share)

    def likelihood(c):
        a, b = c * share[0], c * share[1]
        return (betaln(counts[:, 0] + a, counts[:, 1] + b) - betaln(a, b)).sum()

    assert found == max(_PRIORS, key=likelihood)
    assert found == pytest.approx(4, rel=0.3)


# -- what it accepts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [list, np.array, tuple, pd.Series, pl.Series], ids=lambda f: f.__name__)
def test_texts_and_labels_come_in_any_usual_form(corpus, form):
    texts, labels = corpus.texts[:400], corpus.labels[:400].tolist()
    expected = AttentionClassifier().fit(texts, labels).predict(texts)

    model = AttentionClassifier().fit(form(texts), form(labels))

    np.testing.assert_array_equal(model.predict(form(texts)), expected)


@pytest.mark.parametrize(
    ("labels", "kind"), [(["x", "y"], "U"), ([1, 0], "i"), ([True, False], "b"), ([0.5, 1.5], "f")], ids=str
)
def test_labels_may_be_numpy_scalars_in_a_list(labels, kind):
    model = AttentionClassifier().fit(["good", "bad"] * 4, list(np.array(labels)) * 4)

    assert model.classes_.dtype.kind == kind
    assert model.predict(["good", "bad"]).tolist() == labels


def test_it_works_inside_scikit_learn(corpus):
    texts, labels = np.array(corpus.texts[:500], dtype=object), corpus.labels[:500]
    pipeline = make_pipeline(FunctionTransformer(lambda X: [text.upper() for text in X]), AttentionClassifier())

    assert cross_val_score(pipeline, texts, labels, cv=3).mean() > 0.7
    search = GridSearchCV(AttentionClassifier(), {"ngrams": [1, 2], "dropout": [0.1, "auto"]}, cv=2).fit(texts, labels)
    assert search.best_score_ > 0.7
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_counts_and_texts_give_the_same_model(corpus):
    from scipy import sparse

    train = corpus.part("train")
    model = AttentionClassifier(dropout=0).fit(train.texts, train.labels)
    rows = model.model_.vocabulary.rows(model.model_.vocabulary.tokens(train.texts))
    X = sparse.csr_matrix((rows.counts, rows.ids, rows.starts), shape=(len(train), len(model.model_)))

    other = TableClassifier(dropout=0).fit(X, train.labels)

    expected = model.decision_function(train.texts)
    np.testing.assert_allclose(other.decision_function(X), expected, rtol=1e-3, atol=1e-3)
    dense = TableClassifier(dropout=0).fit(X.toarray(), train.labels)
    np.testing.assert_array_equal(dense.predict(X), other.predict(X))


# -- what it refuses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "labels", "words"),
    [
        (["a", "b"], ["x", "x"], "two classes"),
        (["a", None], [0, 1], "place 1"),
        (["a", math.nan], [0, 1], "place 1"),
        (["a", 3], [0, 1], "int 3 at place 1"),
        ("one text", [0], "in a list"),
        (["a", "b"], [0], "one label for each of the 2"),
        (["a", "b"], [0, None], "nothing at place 1"),
        (["a", "b"], [0.0, math.nan], "nothing at place 1"),
        (["a", "b"], np.array([0.0, math.nan]), "NaN at place 1"),
        (["a", "b"], [0.0, math.inf], "infinite number at place 1"),
        (pd.Series(["a", pd.NA], dtype="string"), [0, 1], "nothing .* at place 1"),
        (["a", "b"], pd.Series([0, pd.NA], dtype="Int64"), "nothing at place 1"),
        (["a", "b"], ["x", 1], "of one type"),
        (["a", "b"], [b"x", b"y"], "got bytes"),
        (["a", "b"], np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"), "got datetime64"),
        (["a", "b"], [(1, 2), (3, 4)], "got tuple"),
        (["a", "b"], 5, "in a list"),
        (["a", "b"], "xy", "in a list"),
        (["a"] * 10_001, range(10_001), "up to 10,000 classes"),
        (["a", "b"], None, "got none"),
        ([], [], "got none"),
        (["...", ""], [0, 1], "lower min_count"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), [0], "one column"),
    ],
)
def test_unusable_data_get_a_sentence(texts, labels, words):
    with pytest.raises(DataError, match=words):
        AttentionClassifier().fit(texts, labels)


@pytest.mark.parametrize(
    "parameters",
    [
        {"ngrams": 0},
        {"ngrams": 1.5},
        {"min_count": "many"},
        {"min_count": np.array([1, 2])},
        {"random_state": "today"},
        {"scale": 0},
        {"scale": math.inf},
        {"epochs": "some"},
        {"epochs": 0},
        {"dropout": 1.0},
        {"learning_rate": -1},
        {"validation_fraction": 1},
        {"n_threads": 0},
        {"class_weight": "even"},
        {"class_weight": {"missing": 2}},
        {"class_weight": {0: -1}},
    ],
    ids=str,
)
def test_impossible_settings_name_themselves(parameters):
    with pytest.raises(SettingError, match=next(iter(parameters))):
        AttentionClassifier(**parameters).fit(["a b", "c d"] * 4, [0, 1] * 4)


def test_validation_labels_must_be_known():
    with pytest.raises(DataError, match="2 does not"):
        AttentionClassifier().fit(["a b", "c d"] * 4, [0, 1] * 4, validation=(["a"], [2]))


def test_an_unfitted_classifier_says_so():
    with pytest.raises(NotFittedError):
        AttentionClassifier().predict(["a"])


def test_labels_of_another_kind_are_measured_where_they_name_the_classes_and_refused_otherwise():
    model = AttentionClassifier().fit(["good", "bad"] * 4, [1, 0] * 4)

    assert model.evaluate(["good", "bad"], ["1", "0"])["accuracy"] == 1
    assert model.evaluate(["good"], [7]) == {"texts": 1, "accuracy": 0.0, "macro_f1": 0.0, "log_loss": None}
    with pytest.raises(DataError, match="of the model's kind"):
        model.evaluate(["good", "bad"], ["yes", "no"])


def test_counts_below_zero_need_training_with_them():
    model = TableClassifier().fit([[1, 0], [0, 1]] * 4, [0, 1] * 4)

    with pytest.raises(DataError, match="zero or more"):
        model.predict([[-1, 0]])


def test_a_notebook_shows_the_diagram_and_what_was_learned():
    texts = ["a <b>good</b> film", "a bad film"] * 20
    clf = AttentionClassifier(random_state=0)
    assert "loudest for" not in clf._repr_html_()

    page = clf.fit(texts, ["<script>", "-"] * 20)._repr_html_()

    assert "AttentionClassifier" in page
    assert "loudest for <b><bdi>&lt;script&gt;</bdi></b>: <bdi>" in page
    assert "<script>: " not in page
