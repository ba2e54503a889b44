"""The hardmax transformer as an estimator, and all that every model promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import HardmaxClassifier, load
from regard.attention.hardmax import run
from regard.corpus import demo
from regard.errors import DataError, ModelFileError, SettingError
from regard.explain import explain, leader_statistics, leaders
from regard.models import store
from regard.models.hardmax import kernels
from regard.models.hardmax.training import Recipe, start


@pytest.fixture(scope="module")
def corpus():
    return demo()


@pytest.fixture(scope="module")
def fitted(corpus):
    train = corpus.part("train")
    return HardmaxClassifier().fit(train.texts, train.labels)


def topics(classes):
    """Texts of some classes, one of them with a single example."""
    rng = np.random.default_rng(0)
    labels = [0] + [k for k in range(1, classes) for _ in range(20)]
    return [f"topic{k} word{rng.integers(5)} common filler" for k in labels], labels


@st.composite
def texts_of_points(draw):
    """Embeddings, and one text of them with repeated rows: random, on a grid (ties), or some equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, d, n = 12, draw(st.integers(1, 4)), draw(st.integers(1, 10))
    embedding = rng.normal(size=(rows, d)) if draw(st.booleans()) else rng.integers(-2, 3, size=(rows, d))
    ids = rng.permutation(rows)[:n].astype(np.int32)
    return embedding.astype(np.float32), ids, rng.integers(1, 4, size=n).astype(np.float32)


def shares_of(embedding, ids, counts, layers, alpha):
    shares, led = np.zeros(len(ids)), np.full(len(ids), -1)
    kernels.share_rows(ids, counts, np.array([0, len(ids)]), 0, 1, embedding, layers, alpha / (1 + alpha), shares, led)
    return shares, led


def test_it_learns_the_demonstration_corpus(corpus, fitted):
    test = corpus.part("test")

    assert fitted.score(test.texts, test.labels) > 0.85
    assert fitted.validation_["accuracy"] > 0.85
    assert fitted.course_[-1]["loss"] < fitted.course_[0]["loss"]


@given(texts_of_points(), st.integers(1, 8), st.floats(0.01, 3.0))
def test_shares_make_the_mean_of_the_final_positions(text, layers, alpha):
    embedding, ids, counts = text
    shares, led = shares_of(embedding, ids, counts, layers, alpha)
    found = run(embedding[ids], layers, alpha, multiplicity=counts)

    np.testing.assert_allclose(shares.sum(), 1, atol=1e-12)
    assert (shares > 0).all()
    mean = np.average(found.points, axis=0, weights=counts)
    np.testing.assert_allclose(shares @ embedding[ids].astype(float), mean, atol=1e-11)
    np.testing.assert_array_equal(led, found.became)


@given(texts_of_points(), st.integers(1, 8), st.floats(0.1, 3.0), st.integers(0, 2))
def test_the_gradient_of_alpha_agrees_with_differences(text, layers, alpha, seed):
    embedding, ids, counts = text
    x = embedding[ids].astype(np.float64)
    direction = np.random.default_rng(seed).normal(size=x.shape[1])
    first, one = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    size = kernels.distinct_points(x, first, one)
    times = np.bincount(one, counts.astype(float), size)
    points = x[first[:size]]

    def along(pull):
        choices, ties = np.empty((layers, size), np.int64), np.empty(64, np.int64)
        leader, follows = np.empty(size, np.int64), np.empty(size, np.int64)
        found = kernels.gather_layers(points.copy(), times, layers, pull, choices, ties, leader, follows)
        ties, moved, _ = found
        share = times / times.sum()
        final = share.copy()
        kernels.carry_shares(final, times, choices, ties, moved, layers - moved, pull, follows)
        rest = share, choices, ties, moved, layers - moved, pull, follows
        return final @ points @ direction, kernels.slope_of_pull(points @ direction, times, *rest), choices.copy()

    pull, h = alpha / (1 + alpha), 1e-6
    (low, _, before), (_, slope, here), (high, _, after) = along(pull - h), along(pull), along(pull + h)
    moved = min((before != here).sum(), 1) + min((after != here).sum(), 1)
    if np.array_equal(before[0], here[0]) and moved == 0:  # where choices change there is no gradient
        np.testing.assert_allclose(slope, (high - low) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sides", [1, 3])
def test_a_step_goes_against_the_gradient_of_the_loss(sides):
    rng = np.random.default_rng(3)
    d, rows, layers, rate = 2, 9, 4, 1e-6
    embedding, output = rng.normal(size=(rows, d)).astype(np.float32), rng.normal(size=(d, sides))
    bias, alpha = rng.normal(size=sides), 0.7
    ids, counts = np.arange(rows, dtype=np.int32), rng.integers(1, 4, size=rows).astype(np.float32)

    def loss(e, w, b, a):
        x = run(e, layers, a, multiplicity=counts).points
        score = b + np.average(x, axis=0, weights=counts) @ w
        return np.logaddexp(0, -score[0]) if sides == 1 else np.logaddexp.reduce(score) - score[1]

    exact = embedding.astype(float)
    slopes = []
    for which, value in enumerate((exact, output, bias, np.array([alpha]))):
        slope = np.zeros(value.shape)
        for place in np.ndindex(value.shape):
            ends = []
            for h in (1e-6, -1e-6):
                given_to = [exact.copy(), output.copy(), bias.copy(), np.array([alpha])]
                given_to[which][place] += h
                ends.append(loss(*given_to[:3], given_to[3][0]))
            slope[place] = (ends[0] - ends[1]) / 2e-6
        slopes.append(slope)

    # Steps must be large against float32 for embeddings, so these move alone, by a rate of their own.
    shares, _ = shares_of(embedding, ids, counts, layers, alpha)
    mine, step = [output.copy(), bias.copy()], np.array([np.log(alpha)])
    how = 0.0, rate, rate, rate, 1.0, 1.0, 0.0, 0, 1e9, 99.0
    data = ids, counts, np.array([0, rows]), np.array([1]), np.array([0]), np.ones(max(2, sides))
    still = embedding.copy()
    kernels.train_epoch(*data, still, np.ones(rows, bool), *mine, step, layers, *how)
    np.testing.assert_array_equal(still, embedding)
    np.testing.assert_allclose(mine[0] - output, -rate * slopes[1], rtol=1e-4, atol=1e-14)
    np.testing.assert_allclose(mine[1] - bias, -rate * slopes[2], rtol=1e-4, atol=1e-14)
    np.testing.assert_allclose(step - np.log(alpha), -rate * alpha * slopes[3], rtol=1e-4, atol=1e-14)

    how = 1e-2, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0, 1e9, 99.0
    moved = embedding.copy()
    kernels.train_epoch(*data, moved, np.ones(rows, bool), output.copy(), bias.copy(), step, layers, *how)
    speaking = sides / (np.square(shares).sum() * np.square(output).sum())
    np.testing.assert_allclose(moved.astype(float) - exact, -1e-2 * speaking * slopes[0], rtol=1e-3, atol=3e-7)


def test_the_start_reads_the_log_ratios_of_the_counts():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 30, size=(50, 3)).astype(np.int32)
    how = Recipe(5, 8, 0.03, "auto", "auto", 1.0, 0.1, np.ones(3), 0, 1)
    state = start(counts, np.array([0, 1, 2] * 5), 1.0, how)
    read = state.embedding @ state.output

    np.testing.assert_allclose(read.sum(axis=1), 0, atol=1e-4)
    assert (read.argmax(axis=1) == (counts / counts.sum(axis=0)).argmax(axis=1)).mean() > 0.8


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("classes", [2, 4])
def test_any_dimension_and_number_of_classes_works(dim, classes, tmp_path):
    texts, labels = topics(classes)
    model = HardmaxClassifier(dim=dim, ngrams=2).fit(texts, labels)
    model.save(tmp_path / "m.regard")
    loaded = load(tmp_path / "m.regard")

    chances = model.predict_proba([*texts, "", "unknown"])
    assert chances.shape == (len(texts) + 2, classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(loaded.predict_proba([*texts, "", "unknown"]), chances)
    assert loaded.get_params() == model.get_params()
    assert loaded.course_ == model.course_
    assert (tmp_path / "m.regard").read_bytes() == resaved(loaded, tmp_path)
    if dim > 1:
        assert model.score(texts, labels) > 0.9


def resaved(model, folder):
    model.save(folder / "again.regard")
    return (folder / "again.regard").read_bytes()


def test_a_text_without_known_words_scores_the_bias(fitted):
    np.testing.assert_array_equal(fitted.decision_function(["", "qqqq zzzz"]), np.repeat(fitted.model_.bias, 2))
    assert explain(fitted, "qqqq")[0].parts == ()


@pytest.mark.parametrize("alpha", [0.03, 2.0])
def test_explanations_add_up(corpus, alpha):
    train, texts = corpus.part("train"), corpus.part("test").texts[:60]
    model = HardmaxClassifier(dim=3, ngrams=2, alpha=alpha, epochs=2).fit(train.texts[:800], train.labels[:800])
    told = explain(model, [*texts, "good " * 50, "a a b b a"])

    np.testing.assert_allclose([one.score for one in told][:60], model.decision_function(texts), atol=1e-9)
    for one in told:
        assert abs(one.residual) < 1e-9
        if one.parts:
            assert sum(part.weight for part in one.parts) == pytest.approx(1)
            loud = np.exp([part.attention for part in one.parts])
            np.testing.assert_allclose(loud / loud.sum(), [part.weight for part in one.parts], rtol=1e-9)


@pytest.mark.parametrize("rate", [1e-300, 1e6, 1e300])
def test_no_learning_rate_makes_numbers_that_are_not_finite(corpus, rate):
    texts = corpus.part("test").texts[:30]
    model = HardmaxClassifier(learning_rate=rate, epochs=2).fit(corpus.texts[:300], corpus.labels[:300])

    assert np.isfinite(model.decision_function(texts)).all()
    for one in explain(model, texts):
        assert abs(one.residual) <= 1e-9 * max(1.0, abs(one.score), *(abs(part.contribution) for part in one.parts))


def test_leaders_tell_who_follows_whom(corpus, fitted):
    for text in corpus.part("test").texts[:40]:
        told = leaders(fitted, text)
        score = fitted.decision_function([text])[0]
        assert told.score == pytest.approx(score, abs=1e-9)
        assert told.bias + sum(point.contribution for point in told.points) == pytest.approx(score, abs=1e-9)
        for i in told.leaders:
            assert told.points[i].cluster == i
            assert told.points[i].leader > 0 or told.points[i].moved == 0
        for point in told.points:
            assert point.cluster is None or told.points[point.cluster].leader is not None
        assert told.path.shape == (9, len(told.points), 2)
    assert "leads" in str(told)
    assert leaders(fitted, "qqqq").points == ()


def test_leaders_of_many_texts_are_those_of_each(corpus, fitted):
    test = corpus.part("test")
    found = leader_statistics(fitted, test.texts[:50])
    each = [len(leaders(fitted, text).leaders) for text in test.texts[:50]]

    assert found.number[0] == pytest.approx(np.mean(each))
    assert (found.number[2], found.number[3]) == (min(each), max(each))
    assert found.words["leads"].sum() == sum(each)
    for name in ("leaders", "occurrences", "vocabulary"):
        assert found.kinds[name].sum() == pytest.approx(1)
    assert found.polar["leaders"] > found.polar["vocabulary"]
    right = leader_statistics(fitted, test.texts, test.labels, confidence=0.9)
    assert 0 < right.texts < len(test.texts)


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(corpus, tmp_path):
    texts, labels = corpus.texts * 3, np.concatenate([corpus.labels] * 3)
    assert len(texts) > 4000, "both halves are used"
    files = []
    for n_threads in (1, 2):
        model = HardmaxClassifier(epochs=1, n_threads=n_threads).fit(texts, labels)
        model.save(tmp_path / "m.regard")
        files.append((tmp_path / "m.regard").read_bytes())
        scores = model.decision_function(corpus.texts[:100])
    assert files[0] == files[1]
    np.testing.assert_array_equal(load(tmp_path / "m.regard").decision_function(corpus.texts[:100]), scores)


def test_the_epoch_that_is_kept_is_the_best_of_the_held_out_texts(corpus):
    train, test = corpus.part("train"), corpus.part("test")
    seen = []
    model = HardmaxClassifier().fit(
        train.texts,
        train.labels,
        validation=(test.texts, test.labels),
        watch=lambda epoch, now: seen.append((epoch, now.scores(test.texts))),
    )
    losses = [step["log_loss"] for step in model.course_]

    assert model.n_iter_ == 1 + int(np.argmin(losses))
    assert [epoch for epoch, _ in seen] == list(range(7))
    np.testing.assert_array_equal(seen[model.n_iter_][1], model.model_.scores(test.texts))


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"layers": 0},
        {"layers": 1.5},
        {"alpha": 0},
        {"alpha": -1},
        {"alpha": "x"},
        {"ngrams": 0},
        {"min_count": 0},
        {"epochs": "many"},
        {"dropout": 1},
        {"learning_rate": 0},
        {"validation_fraction": 1},
        {"n_threads": 0},
        {"class_weight": {"no such": 1}},
    ],
)
def test_a_wrong_setting_is_refused(wrong):
    with pytest.raises(SettingError):
        HardmaxClassifier(**wrong).fit(["a b", "c d"], [0, 1])


def test_texts_without_words_cannot_be_learned_from():
    with pytest.raises(DataError, match="words"):
        HardmaxClassifier().fit([" ", ""], [0, 1])


def test_a_file_whose_parts_do_not_fit_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "m.regard")
    kind, about, tensors = store.read(tmp_path / "m.regard")
    for change in (
        {"embedding": tensors["embedding"][:-1]},
        {"output": tensors["output"][:, :0]},
        {"bias": np.array([np.nan])},
        {"embedding": tensors["embedding"].astype(np.float64)},
    ):
        store.write(tmp_path / "bad.regard", kind, about, {**tensors, **change})
        with pytest.raises(ModelFileError, match="whole"):
            load(tmp_path / "bad.regard")
    store.write(tmp_path / "bad.regard", kind, {**about, "hardmax": {"alpha": 0.0, "layers": 8}}, tensors)
    with pytest.raises(ModelFileError, match="whole"):
        load(tmp_path / "bad.regard")


def test_leaders_are_those_of_a_hardmax_model(corpus):
    from regard import AttentionClassifier

    table = AttentionClassifier().fit(corpus.texts[:200], corpus.labels[:200])
    with pytest.raises(DataError, match="HardmaxClassifier"):
        leaders(table, "good")
