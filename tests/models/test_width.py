"""The estimator with vectors: the paper's own model, and all that every model promises."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import AttentionClassifier, load
from regard.corpus import demo
from regard.errors import SettingError
from regard.explain import explain


@pytest.fixture(scope="module")
def corpus():
    return demo()


@pytest.fixture(scope="module")
def fitted(corpus):
    train = corpus.part("train")
    return AttentionClassifier(width=20).fit(train.texts, train.labels)


def topics(classes):
    """Texts of some classes, one of them with a single example."""
    rng = np.random.default_rng(0)
    labels = [0] + [k for k in range(1, classes) for _ in range(20)]
    return [f"topic{k} word{rng.integers(5)} common filler" for k in labels], labels


def test_it_learns_the_demonstration_corpus(corpus, fitted):
    test = corpus.part("test")

    assert fitted.score(test.texts, test.labels) > 0.85
    assert fitted.validation_["accuracy"] > 0.85


def test_the_table_is_read_off_the_vectors(fitted):
    model = fitted.model_
    vectors = model.vectors
    embedding = vectors.embedding.astype(np.float64)

    assert embedding.shape == (len(model), 20)
    assert vectors.scale == 10.0
    np.testing.assert_allclose(model.attention, embedding @ vectors.attention / 10.0, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.polarity, embedding @ vectors.output, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(model.bias, [0.0])
    np.testing.assert_allclose(fitted.loudness_, embedding @ vectors.attention, rtol=1e-5, atol=1e-6)


def test_two_numbers_are_learned_as_before(corpus):
    texts, labels = corpus.texts[:500], corpus.labels[:500]
    plain, two = AttentionClassifier().fit(texts, labels), AttentionClassifier(width=2).fit(texts, labels)

    assert two.model_.space is None
    assert two.table_.equals(plain.table_)


@pytest.mark.parametrize("scale", [0.001, 10_000.0])
def test_explanations_add_up_at_every_scale(corpus, scale):
    train, texts = corpus.part("train"), corpus.part("test").texts[:100]
    model = AttentionClassifier(width=5, scale=scale, epochs=5).fit(train.texts, train.labels)

    told = explain(model, texts)

    np.testing.assert_allclose([one.score for one in told], model.decision_function(texts), rtol=1e-9, atol=1e-9)
    assert max(abs(one.residual) for one in told) < 1e-9
    for one in told:
        assert sum(part.weight for part in one.parts) == pytest.approx(1)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_loaded_model_is_the_same_model_with_its_vectors(classes, tmp_path):
    texts, labels = topics(classes)
    model = AttentionClassifier(width=7, ngrams=2).fit(texts, labels)
    model.save(tmp_path / "m.regard")
    loaded = load(tmp_path / "m.regard")
    loaded.save(tmp_path / "again.regard")

    assert loaded.table_.equals(model.table_)
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.decision_function(texts), model.decision_function(texts))
    for name in ("embedding", "attention", "output"):
        np.testing.assert_array_equal(getattr(loaded.model_.vectors, name), getattr(model.model_.vectors, name))
    assert loaded.model_.vectors.scale == model.model_.vectors.scale
    assert (tmp_path / "again.regard").read_bytes() == (tmp_path / "m.regard").read_bytes()


def test_threads_change_no_byte_and_seeds_do(corpus, tmp_path):
    def saved(n_threads, seed=0):
        model = AttentionClassifier(width=12, n_threads=n_threads, random_state=seed)
        model.fit(corpus.texts[:800], corpus.labels[:800]).save(tmp_path / "m.regard")
        return (tmp_path / "m.regard").read_bytes()

    assert saved(1) == saved(2) == saved(3)
    assert saved(1) != saved(1, seed=1)


def test_the_epoch_that_is_kept_is_the_best_on_the_texts_given(corpus):
    train, test = corpus.part("train"), corpus.part("test")
    model = AttentionClassifier(width=10).fit(train.texts, train.labels, validation=(test.texts, test.labels))
    measured, course = model.validation_, model.validation_["course"]

    assert model.evaluate(test.texts, test.labels) == {k: v for k, v in measured.items() if k != "course"}
    assert course[model.n_iter_ - 1] == measured["log_loss"]
    assert len(course) == min(40, model.n_iter_ + 10)
    for epochs in (1, model.n_iter_, 20):
        other = AttentionClassifier(width=10, epochs=epochs)
        other.fit(train.texts, train.labels, validation=(test.texts, test.labels))
        assert other.n_iter_ == epochs
        assert other.validation_["accuracy"] <= measured["accuracy"]
        assert other.validation_["log_loss"] == course[epochs - 1]
        if epochs == model.n_iter_:
            np.testing.assert_array_equal(other.model_.attention, model.model_.attention)


def test_with_a_share_held_out_all_texts_are_learned_for_as_many_epochs(corpus, fitted):
    train = corpus.part("train")

    other = AttentionClassifier(width=20, epochs=fitted.n_iter_, validation_fraction=0).fit(train.texts, train.labels)

    assert other.validation_ is None
    np.testing.assert_array_equal(other.model_.attention, fitted.model_.attention)
    np.testing.assert_array_equal(other.model_.vectors.embedding, fitted.model_.vectors.embedding)


def test_without_texts_to_choose_by_all_epochs_are_made(corpus):
    texts, labels = corpus.texts[:100], corpus.labels[:100]
    nothing = AttentionClassifier(width=4).fit(texts, labels, validation=([], []))
    none = AttentionClassifier(width=4, validation_fraction=0).fit(texts, labels)

    assert nothing.n_iter_ == none.n_iter_ == 40
    assert nothing.validation_ is none.validation_ is None
    np.testing.assert_array_equal(nothing.model_.attention, none.model_.attention)


@pytest.mark.parametrize("classes", [3, 40])
def test_classes_with_one_example_have_their_side(classes):
    texts, labels = topics(classes)
    model = AttentionClassifier(width=16).fit(texts, labels)

    assert model.score(texts, labels) > 0.95
    assert model.model_.vectors.output.shape == (16, classes)
    np.testing.assert_array_equal(model.predict_proba(["nothing known here"]), np.full((1, classes), 1 / classes))


@settings(max_examples=20)
@given(
    scale=st.sampled_from([1e-300, 0.001, 1.0, 10_000.0, 1e300]),
    rate=st.sampled_from([1e-300, 1.0, 1e8, 1e300]),
    weight=st.sampled_from([1e-300, 1.0, 1e300]),
    classes=st.sampled_from([2, 4]),
)
def test_no_scale_learning_rate_or_weight_overflows(scale, rate, weight, classes):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    texts = [" ".join(words[(i * j) % 6] for j in range(1, 30)) for i in range(40)]
    labels = [i % classes for i in range(40)]
    settings = {"scale": scale, "learning_rate": rate, "class_weight": {0: weight}}

    model = AttentionClassifier(width=5, epochs=5, **settings).fit(texts, labels)

    assert np.isfinite(model.model_.attention).all()
    assert np.isfinite(model.model_.polarity).all()
    assert np.isfinite(model.model_.vectors.embedding).all()
    assert np.isfinite(model.predict_proba(texts)).all()


def test_class_weights_move_the_balance():
    texts = ["good", "bad", "so so", "so so"] * 30
    labels = ["+", "-", "+", "-"] * 30
    low, high = (AttentionClassifier(width=8, class_weight={"+": w, "-": 1.0}).fit(texts, labels) for w in (0.1, 10.0))

    assert high.predict_proba(["so so"])[0, 0] > low.predict_proba(["so so"])[0, 0] + 0.2


def test_dropout_is_a_half_unless_told_otherwise(corpus):
    def learned(**parameters):
        return AttentionClassifier(width=6, epochs=2, **parameters).fit(corpus.texts[:300], corpus.labels[:300])

    np.testing.assert_array_equal(learned().model_.attention, learned(dropout=0.5).model_.attention)
    assert not np.array_equal(learned().model_.attention, learned(dropout=0).model_.attention)


@pytest.mark.parametrize("width", [1, 0, -3, 2.5, "wide", None, True], ids=str)
def test_width_must_be_a_whole_number_of_at_least_two(width):
    with pytest.raises(SettingError, match="`width` must be a whole number of at least 2"):
        AttentionClassifier(width=width).fit(["a b", "c d"] * 4, [0, 1] * 4)


def test_it_is_as_accurate_as_the_paper_on_the_papers_data(data):
    """Sun & Lu's published run has .8182 on SST's test part, at d=100, λ=10."""
    frame = pl.read_parquet(data / "sst.parquet")
    train, dev, test = (frame.filter(pl.col("split") == name) for name in ("train", "dev", "test"))
    right = []
    for seed in range(4):
        model = AttentionClassifier(width=100, ngrams=1, min_count=1, scale=10, random_state=seed)
        model.fit(train["text"], train["label"], validation=(dev["text"], dev["label"]))
        right.append(model.score(test["text"], test["label"]))

    assert np.mean(right) == pytest.approx(0.8182, abs=0.012)
    assert np.std(right) < 0.01
