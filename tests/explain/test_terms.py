"""The terms of the gradient flow: against autograd, and against a small step of the flow itself."""

from __future__ import annotations

import numpy as np
import pytest

from regard import AttentionClassifier
from regard.errors import DataError, SettingError
from regard.explain import Course, gradient_terms, vector_terms
from regard.models.vectors import Vectors
from tests.explain.fake import FakeModel

torch = pytest.importorskip("torch")

SCALE = 1.7


def batch(seed, sides):
    """Texts with repeated and unknown words, one of them empty, and their labels."""
    generator = np.random.default_rng(seed)
    sizes = [4, 7, 0, 1, 5, 3]
    ids = generator.integers(-1, 6, sum(sizes))
    ids[:4] = [2, 2, 3, 2]
    codes = generator.integers(0, max(sides, 2), len(sizes))
    return ids, np.concatenate([[0], np.cumsum(sizes)]), codes


def parameters(seed, sides, how):
    """Embedding, V, W and, where there is one, M; eight words, of which the texts use six."""
    generator = np.random.default_rng([seed, 1])
    sizes = {"e": (8, 4), "v": (4,), "w": (4, sides)}
    if how == "affine":
        sizes |= {"m": (3, 4), "v": (3,), "w": (3, sides)}
    if how in ("additive", "linear"):
        sizes |= {"m": (5, 4), "v": (5,)}
    return {name: torch.tensor(generator.normal(size=size)) for name, size in sizes.items()}


def vectors(p, how):
    arrays = {name: array.numpy() for name, array in p.items()}
    matrix = arrays.get("m")
    return Vectors(
        arrays["e"],
        arrays["v"],
        arrays["w"],
        SCALE,
        "affine" if how == "affine" else "none",
        affine=matrix if how == "affine" else None,
        additive=matrix if how in ("additive", "linear") else None,
    )


def word_numbers(p, how):
    """Attention and polarity of every word."""
    h = p["e"] @ p["m"].T if how == "affine" else p["e"]
    if how == "additive":
        return torch.tanh(h @ p["m"].T) @ p["v"] / SCALE, h @ p["w"]
    if how == "linear":
        return h @ p["m"].T @ p["v"] / SCALE, h @ p["w"]
    return h @ p["v"] / SCALE, h @ p["w"]


def loss(p, how, ids, starts, codes, bias):
    """The mean log loss, text by text."""
    a, s = word_numbers(p, how)
    total = torch.zeros((), dtype=torch.float64)
    for d, code in enumerate(codes):
        words = torch.tensor([i for i in ids[starts[d] : starts[d + 1]] if i >= 0], dtype=torch.long)
        score = bias + (torch.softmax(a[words], 0) @ s[words] if len(words) else 0.0)
        if len(bias) == 1:
            total = total - torch.nn.functional.logsigmoid((2 * code - 1) * score[0])
        else:
            total = total - torch.log_softmax(score, 0)[code]
    return total / len(codes)


def flow(p, how, *data):
    """The gradient, and the speed of every word's two numbers against it."""
    free = {name: array.clone().requires_grad_() for name, array in p.items()}
    gradients = dict(zip(free, torch.autograd.grad(loss(free, how, *data), list(free.values())), strict=True))
    speed = {name: -gradient for name, gradient in gradients.items()}

    def numbers(*arrays):
        return word_numbers(dict(zip(p, arrays, strict=True)), how)

    _, (a, s) = torch.autograd.functional.jvp(numbers, tuple(p.values()), tuple(speed[name] for name in p))
    return speed, a.numpy(), s.numpy()


@pytest.mark.parametrize("sides", [1, 3])
@pytest.mark.parametrize("how", ["dot", "affine"])
@pytest.mark.parametrize("seed", range(3))
def test_the_terms_add_up_to_the_speed_of_the_two_scores(how, sides, seed):
    p, (ids, starts, codes) = parameters(seed, sides, how), batch(seed, sides)
    bias = torch.tensor(np.random.default_rng(seed).normal(size=sides))

    found = vector_terms(vectors(p, how), ids, starts, codes, bias.numpy())
    _, a, s = flow(p, how, ids, starts, codes, bias)

    np.testing.assert_allclose(found.polarity_change, s, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.attention_change, a, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.exact_polarity, found.polarity_change)
    np.testing.assert_array_equal(found.exact_attention, found.attention_change)


@pytest.mark.parametrize("sides", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_each_part_comes_from_the_parameter_it_names(sides, seed):
    p, (ids, starts, codes) = parameters(seed, sides, "dot"), batch(seed, sides)
    terms = vector_terms(vectors(p, "dot"), ids, starts, codes)
    speed, _, _ = flow(p, "dot", ids, starts, codes, torch.zeros(sides, dtype=torch.float64))

    by_e, by_w = (speed["e"] @ p["w"]).numpy(), (p["e"] @ speed["w"]).numpy()
    np.testing.assert_allclose(terms.polarity["A"] + terms.polarity["B"], by_e, rtol=0, atol=1e-12)
    np.testing.assert_allclose(terms.polarity["C"], by_w, rtol=0, atol=1e-12)
    by_e, by_v = (speed["e"] @ p["v"] / SCALE).numpy(), (p["e"] @ speed["v"] / SCALE).numpy()
    np.testing.assert_allclose(terms.attention["D"] + terms.attention["E"], by_e, rtol=0, atol=1e-12)
    np.testing.assert_allclose(terms.attention["F"], by_v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sides", [1, 3])
def test_what_the_matrix_of_an_affine_encoder_adds_comes_from_its_movement(sides):
    p, (ids, starts, codes) = parameters(5, sides, "affine"), batch(5, sides)
    terms = vector_terms(vectors(p, "affine"), ids, starts, codes)
    speed, _, _ = flow(p, "affine", ids, starts, codes, torch.zeros(sides, dtype=torch.float64))

    moved = p["e"] @ speed["m"].T
    np.testing.assert_allclose(
        terms.polarity["A (M)"] + terms.polarity["B (M)"], (moved @ p["w"]).numpy(), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        terms.attention["D (M)"] + terms.attention["E (M)"], (moved @ p["v"] / SCALE).numpy(), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("sides", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_additive_terms_are_those_of_the_model_without_tanh_and_the_exact_speeds_those_with_it(sides, seed):
    p, (ids, starts, codes) = parameters(seed, sides, "additive"), batch(seed, sides)
    bias = torch.zeros(sides, dtype=torch.float64)

    found = vector_terms(vectors(p, "additive"), ids, starts, codes)
    _, a, s = flow(p, "linear", ids, starts, codes, bias)
    np.testing.assert_allclose(found.polarity_change, s, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.attention_change, a, rtol=0, atol=1e-10)

    _, a, s = flow(p, "additive", ids, starts, codes, bias)
    np.testing.assert_allclose(found.exact_polarity, s, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.exact_attention, a, rtol=0, atol=1e-12)
    assert np.abs(found.exact_attention - found.attention_change).max() > 1e-3


def test_for_small_vectors_the_first_order_of_the_additive_score_is_enough():
    p, (ids, starts, codes) = parameters(0, 1, "additive"), batch(0, 1)
    small = {name: array * (1e-3 if name == "e" else 1) for name, array in p.items()}
    found = vector_terms(vectors(small, "additive"), ids, starts, codes)

    np.testing.assert_allclose(found.attention_change, found.exact_attention, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("sides", [1, 3])
@pytest.mark.parametrize("how", ["dot", "affine", "additive"])
def test_a_small_step_against_the_gradient_moves_the_scores_at_that_speed(how, sides):
    p, (ids, starts, codes) = parameters(9, sides, how), batch(9, sides)
    found = vector_terms(vectors(p, how), ids, starts, codes)
    speed, _, _ = flow(p, how, ids, starts, codes, torch.zeros(sides, dtype=torch.float64))

    step = 1e-6
    before = word_numbers(p, how)
    after = word_numbers({name: array + step * speed[name] for name, array in p.items()}, how)
    a, s = (((new - old) / step).numpy() for new, old in zip(after, before, strict=True))

    np.testing.assert_allclose(found.exact_attention, a, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.exact_polarity, s, rtol=1e-4, atol=1e-5)


def test_beta_is_the_mean_probability_of_the_wrong_label():
    p, (ids, starts, codes) = parameters(2, 1, "dot"), batch(2, 1)
    a, s = word_numbers(p, "dot")
    wrong = []
    for d, code in enumerate(codes):
        words = [i for i in ids[starts[d] : starts[d + 1]] if i >= 0]
        score = float(torch.softmax(a[words], 0) @ s[words, 0]) if words else 0.0
        wrong.append(1 / (1 + np.exp((2 * code - 1) * score)))

    assert vector_terms(vectors(p, "dot"), ids, starts, codes).beta == pytest.approx(np.mean(wrong), abs=1e-12)


def test_no_term_depends_on_vectors_of_unknown_words_and_empty_texts_count_as_texts():
    p, (ids, starts, codes) = parameters(0, 1, "dot"), batch(0, 1)
    known = vector_terms(vectors(p, "dot"), ids, starts, codes)
    without = vector_terms(
        vectors(p, "dot"),
        ids[ids >= 0],
        np.concatenate([[0], np.cumsum([(ids[a:b] >= 0).sum() for a, b in zip(starts[:-1], starts[1:], strict=True)])]),
        codes,
    )
    np.testing.assert_array_equal(known.attention_change, without.attention_change)

    more = vector_terms(vectors(p, "dot"), ids, np.append(starts, len(ids)), np.append(codes, 0))
    np.testing.assert_allclose(more.attention_change * 7, known.attention_change * 6, rtol=1e-12)


# -- from models and texts -----------------------------------------------------------------------------------------

TEXTS = ["good good film", "a bad film", "the good one", "bad bad one", "film"] * 4
LABELS = ["+", "-", "+", "-", "+"] * 4


def test_a_frame_has_the_terms_of_every_row_by_its_word():
    clf = AttentionClassifier(ngrams=1, min_count=1, validation_fraction=0, scale=2.0).fit(TEXTS, LABELS)
    frame = gradient_terms(clf, TEXTS, LABELS)
    tokens = clf.model_.vocabulary.tokens(TEXTS)
    codes = [int(label == "-") for label in LABELS]  # "+" sorts before "-"
    terms = vector_terms(clf.model_.vectors, tokens.ids, tokens.starts, np.array(codes), clf.model_.bias)

    assert frame["word"].to_list() == clf.model_.vocabulary.names()
    assert frame.columns[2:] == ["A", "B", "C", "polarity change", "D", "E", "F", "attention change"]
    np.testing.assert_allclose(frame["C"], terms.polarity["C"][:, 0], rtol=1e-9)
    np.testing.assert_allclose(frame["attention change"], terms.attention_change, rtol=1e-9)
    # V·W is zero in a table: what the paper blames for scores that cannot be read is absent.
    assert not frame["A"].to_numpy().any()
    assert not frame["D"].to_numpy().any()


def test_with_more_classes_the_terms_of_polarity_have_a_column_for_each():
    texts, labels = ["cats purr", "dogs bark", "fish swim"] * 5, ["cat", "dog", "fish"] * 5
    clf = AttentionClassifier(ngrams=1, min_count=1, validation_fraction=0).fit(texts, labels)
    frame = gradient_terms(clf, texts, labels)

    assert {"A cat", "B dog", "C fish", "polarity change cat", "D", "E", "F"} <= set(frame.columns)
    assert not {"A", "polarity change"} & set(frame.columns)


def test_a_model_that_reads_words_in_context_has_no_terms():
    with pytest.raises(SettingError, match="'lstm' reads them among their neighbours"):
        gradient_terms(FakeModel(TEXTS), TEXTS, ["x"] * len(TEXTS))


def test_an_affine_encoder_under_the_additive_score_is_said_not_to_be_covered():
    p = parameters(0, 1, "affine")
    both = Vectors(p["e"].numpy(), np.ones(2), p["w"].numpy(), 1.0, "affine", p["m"].numpy(), np.ones((2, 3)))
    with pytest.raises(SettingError, match="not for both at once"):
        vector_terms(both, *batch(0, 1))


def test_strange_labels_and_missing_ones_are_said_in_a_sentence():
    clf = AttentionClassifier(min_count=1, validation_fraction=0).fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="among the model's classes"):
        gradient_terms(clf, TEXTS, ["?"] * len(TEXTS))
    p, (ids, starts, _) = parameters(0, 1, "dot"), batch(0, 1)
    with pytest.raises(DataError, match="a label for each of the 6 texts; got 1"):
        vector_terms(vectors(p, "dot"), ids, starts, np.array([0]))


# -- the course ----------------------------------------------------------------------------------------------------


def test_a_course_records_group_means_directions_and_pairs_epoch_by_epoch():
    course = Course(TEXTS, LABELS, groups={"for": ["good"], "both": ["good", "bad"]}, pairs=[("good", "bad")])
    models = [
        AttentionClassifier(ngrams=1, min_count=1, validation_fraction=0, epochs=n).fit(TEXTS, LABELS) for n in (1, 2)
    ]
    for epoch, model in enumerate(models, 1):
        course(epoch, model)

    last, table = models[1].model_, models[1].table_
    frame = gradient_terms(last, TEXTS, LABELS).join(table, on="word")
    chosen = frame.filter(frame["word"].is_in(["good", "bad"]))
    row = course.groups.filter((course.groups["epoch"] == 2) & (course.groups["group"] == "both")).row(0, named=True)
    assert row["words"] == 2
    for column in ("polarity", "attention", "A", "B", "C", "E", "F", "polarity change", "attention change"):
        assert row[column] == pytest.approx(chosen[column].mean(), rel=1e-6), column
    good, bad = (last.vectors.embedding[last.vocabulary.row(word)] for word in ("good", "bad"))
    epoch = course.epochs.row(1, named=True)
    assert epoch["good·bad"] == pytest.approx(good @ bad)
    assert (epoch["V·W"], epoch["angle"], epoch["|W|"]) == (0.0, 90.0, 1.0)
    assert 0 < epoch["beta"] < 0.5
    assert course.epochs["epoch"].to_list() == [1, 2]


def test_a_course_follows_kinds_where_no_groups_are_named():
    texts, labels = ["good film", "bad film"] * 8, ["+", "-"] * 8
    course = Course(texts, labels)
    course(0, AttentionClassifier(ngrams=1, min_count=1, validation_fraction=0).fit(texts, labels))

    assert dict(course.groups.select("group", "words").iter_rows()) == {"neutral": 1, "negative": 1, "positive": 1}


def test_a_course_of_a_contextual_model_goes_without_terms():
    course = Course(TEXTS, ["x"] * len(TEXTS), groups={"good": ["good"]}, terms=False)
    course(1, FakeModel(TEXTS))

    assert course.groups.columns == ["epoch", "group", "words", "polarity", "attention"]
    assert "beta" not in course.epochs.columns


def test_a_word_without_a_row_cannot_be_followed():
    clf = AttentionClassifier(min_count=1, validation_fraction=0).fit(TEXTS, LABELS)
    with pytest.raises(DataError, match=r"'goood' has none: leave it out. Did you mean 'good'\?"):
        Course(TEXTS, LABELS, pairs=[("goood", "bad")])(1, clf)
    with pytest.raises(SettingError, match="'none' has none"):
        Course(TEXTS, LABELS, groups={"none": []})(1, clf)
