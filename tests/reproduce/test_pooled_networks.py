"""The networks of the papers on attention as explanation, and what is asked of them, against slow obvious forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from regard.audit.view import View
from regard.models.neural_training import Documents
from regard.reproduce.data import DataSet, Part
from regard.reproduce.explanation_cells import significant
from regard.reproduce.interpretable_cells import longer, sets, single
from regard.reproduce.pooled_measures import gradients, left_out, searched
from regard.reproduce.pooled_networks import (
    FLAN,
    JAIN,
    PooledNetwork,
    Prepared,
    Reading,
    Recipe,
    measured,
    read,
    train,
    uniform,
)
from regard.tokens import Tokens, Vocabulary

_WORDS = 30
_SMALL = {
    "average": replace(JAIN["average"], hidden=6, inner=3, dim=4),
    "lstm": replace(JAIN["lstm"], hidden=6, inner=3, dim=4),
    "cnn": replace(JAIN["cnn"], hidden=8, inner=4, dim=4),
    "cnn dot": replace(JAIN["cnn"], hidden=8, inner=4, dim=4, score="dot"),
    "none": replace(FLAN["none"], hidden=4, inner=4, dim=4),
    "rnn": replace(FLAN["rnn"], hidden=6, inner=4, dim=4),
    "conv": replace(FLAN["conv"], hidden=6, inner=4, dim=4),
}
every_design = pytest.mark.parametrize("name", _SMALL)


def documents(seed: int = 0, lengths: tuple[int, ...] = (1, 2, 3, 5, 7, 12, 12, 20)) -> Documents:
    rng = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(lengths))
    ids = rng.integers(0, _WORDS, starts[-1]).astype(np.int32)
    return Documents(Tokens(ids, starts), rng.integers(0, 2, len(lengths)))


def network(name: str) -> PooledNetwork:
    """Weights so large that words differ a lot."""
    torch.manual_seed(1)
    made = PooledNetwork(_WORDS, _SMALL[name]).eval().requires_grad_(False)
    for parameter in made.parameters():
        parameter.mul_(4.0)
    return made


def alone(made: PooledNetwork, ids: np.ndarray) -> float:
    """The score of one document by itself; the bias where it has no word."""
    if not len(ids):
        return float(made.output.bias[0])
    return float(made(torch.from_numpy(ids.astype(np.int64))[None])[0])


@every_design
def test_a_document_reads_the_same_among_others_and_alone(name):
    made, of = network(name), documents()
    found = read(made, of)

    expected = [alone(made, of.tokens[i]) for i in range(len(of))]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.batch().scores[:, 0], found.scores, atol=1e-9)
    np.testing.assert_allclose(np.add.reduceat(found.weights, found.starts[:-1]), 1.0)


@every_design
def test_leaving_a_word_out_is_running_the_network_without_it(name):
    made, of = network(name), documents()
    found = left_out(made, of, read(made, of))

    expected = []
    for i in range(len(of)):
        ids = of.tokens[i]
        before = alone(made, ids)
        after = np.array([alone(made, np.delete(ids, j)) for j in range(len(ids))])
        expected.append(np.abs(1 / (1 + np.exp(-before)) - 1 / (1 + np.exp(-after))))
    np.testing.assert_allclose(found, np.concatenate(expected), atol=2e-5)
    assert found.max() > 0.05


@every_design
def test_gradients_are_slopes_under_constant_attention(name):
    made, of = network(name).double(), documents()
    found = gradients(made, of)

    doc, eps = 5, 1e-6
    start = of.tokens.starts[doc]
    e, keep = made.embed(torch.from_numpy(of.tokens[doc].astype(np.int64))[None])
    weights = made.attend(made.encode(e, keep), keep)[1]
    expected = []
    for j in range(e.shape[1]):
        probabilities = []
        for step in (1 + eps, 1 - eps):
            scaled = e.clone()
            scaled[0, j] *= step
            probabilities.append(torch.sigmoid(made.read(made.encode(scaled, keep), weights)).item())
        expected.append(abs(probabilities[0] - probabilities[1]) / (2 * eps))
    np.testing.assert_allclose(found[start : start + len(expected)], np.array(expected) / sum(expected), atol=1e-6)


@pytest.mark.parametrize("name", ["average", "lstm", "cnn dot"])
@pytest.mark.parametrize("within", [0.05, 0.3])
def test_the_published_search_never_exceeds_the_exact_adversary(name, within):
    found = read(network(name), documents(2))

    exact = found.batch().adversary(within)[0]
    by_search = searched(found, within, seed=0)
    assert (by_search <= exact + 1e-9).all()
    assert by_search.max() > 0.1


def test_the_published_search_comes_close_where_everything_is_allowed():
    found = read(network("average"), documents(3, (12,) * 5))
    quiet = replace(found, said=np.full_like(found.said, found.bias + 0.5))

    # Any attention keeps the decision, so all of it may go to the quietest word.
    exact, by_search = quiet.batch().adversary(0.05)[0], searched(quiet, 0.05, seed=0)
    np.testing.assert_allclose(by_search, exact, rtol=0.1)


def test_a_text_whose_probability_no_candidate_keeps_counts_as_zero():
    found = read(network("average"), documents(4, (12,) * 3))

    np.testing.assert_array_equal(searched(found, 0.0, seed=0), 0.0)


def test_tau_and_its_significance_are_those_of_scipy():
    rng = np.random.default_rng(0)
    starts = np.array([0, 5, 17, 19, 40])
    one, two = rng.integers(0, 6, 40).astype(float), rng.normal(size=40)
    two[17:19] = 1.0
    two[19:] += one[19:]
    found = read(network("average"), documents())
    view = View(found.batch(), 0)

    pairs = [kendalltau(one[a:b], two[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    np.testing.assert_allclose(view.tau(one, two, starts), [pair.statistic for pair in pairs])
    expected = [pair.pvalue <= 0.05 if np.isfinite(pair.pvalue) else np.nan for pair in pairs]
    np.testing.assert_array_equal(significant(one, two, starts), expected)


def test_uniform_weights_make_the_score_a_plain_mean():
    made, of = network("lstm"), documents()
    found = read(made, of, uniform(of))

    lengths = np.diff(of.tokens.starts)
    np.testing.assert_allclose(found.scores, np.add.reduceat(found.said, of.tokens.starts[:-1]) / lengths)


# -- training ------------------------------------------------------------------------------------------------------


def prepared() -> Prepared:
    """Texts whose class is told by one word of eight."""
    rng = np.random.default_rng(0)
    texts, labels = [], np.tile([0, 1], 60)
    for label in labels:
        words = [f"w{k}" for k in rng.integers(0, 20, 7)]
        texts.append(" ".join([*words[:3], ("bad", "good")[label], *words[3:]]))
    part = Part(texts, labels)
    vocabulary, tokens = Vocabulary.learn(texts, ngrams=1)
    of = Documents(tokens, labels)
    return Prepared(DataSet("toy", "Toy", part, part, part, {}), vocabulary, of, of, of)


_FAST = Recipe(epochs=12, learning_rate=0.03, choose="accuracy")


@pytest.mark.parametrize("name", ["average", "rnn", "conv"])
def test_training_learns_a_telling_word_and_attends_to_it(name):
    data = prepared()
    trained = train(data, _SMALL[name], 0, recipe=_FAST)

    found = read(trained.network, data.test)
    assert measured(found, data.test)["accuracy"] > 0.95
    assert trained.dev == trained.course[trained.epoch - 1]
    if name == "average":
        telling = np.isin(found.rows, [data.vocabulary.row("good"), data.vocabulary.row("bad")])
        assert found.weights[telling].mean() > 1.3 * found.weights[~telling].mean()


def test_the_same_seed_trains_the_same_network_and_another_one_does_not():
    data = prepared()
    one, two, other = (
        read(train(data, _SMALL["conv"], seed, recipe=Recipe(epochs=1)).network, data.test).scores for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 1e-3


def test_a_network_can_be_trained_under_given_weights():
    data = prepared()
    given = {name: uniform(data.part(name)) for name in ("train", "dev")}
    trained = train(data, _SMALL["average"], 0, recipe=_FAST, given=given)

    query = trained.network.attention.query
    torch.manual_seed(0)
    assert torch.equal(query, PooledNetwork(len(data.vocabulary), _SMALL["average"]).attention.query)
    assert measured(read(trained.network, data.test, uniform(data.test)), data.test)["accuracy"] > 0.85


def test_another_objective_replaces_the_loss():
    data = prepared()

    def loudest_last(scores, weights, chosen):
        return -weights[:, -1].log().mean() + 0.0 * scores.sum()

    trained = train(data, _SMALL["lstm"], 0, recipe=_FAST, objective=loudest_last)
    found = read(trained.network, data.test)
    losses = [step["loss"] for step in trained.course]
    assert losses[-1] < losses[0]
    assert found.weights[found.starts[1:] - 1].mean() > 1 / 8


# -- erasing -------------------------------------------------------------------------------------------------------


def centred(name: str, of: Documents) -> Reading:
    """What a network makes of documents, both classes said equally often."""
    found = read(network(name), of)
    return replace(found, said=found.said - np.median(found.said))


def test_erasing_one_weight_fills_the_table_of_flips():
    found = single(np.array([[0.3, 0.1, 1, 0.25, 0.4], [0.0, 0.2, 0, 0.5, 0.1]]))

    assert found["ΔJS"] == pytest.approx(0.0)
    assert found["ΔJS below zero"] == 0.5
    assert [found[name] for name in ("both", "only the largest", "only another", "neither")] == [
        0.125,
        0.375,
        0.25,
        0.25,
    ]


def test_no_ranking_needs_fewer_weights_than_the_optimum_and_the_curves_end_where_flips_do():
    of = longer(documents(4, (1, 2, 3, 5, 7, 12, 12, 20, 9, 9)))
    assert len(of) == 9
    found = sets(View(centred("conv", of).batch(), 0, 5))

    best = found["rankings"]["optimum"]
    for row in found["rankings"].values():
        assert row["fraction"] >= best["fraction"] - 1e-12
        assert row["never"] >= best["never"] - 1e-12
        assert row["changed"][-1] == pytest.approx(1 - row["never"], abs=1e-4)
        assert row["ratio"] is None or row["ratio"] >= 1 - 1e-12
    assert best["never"] < 1


def test_the_signed_ranking_is_not_attention_upside_down():
    of = documents(5, (15,) * 12)
    found = sets(View(centred("none", of).batch(), 0, 5))["rankings"]

    assert found["sign of the gradient × attention"]["fraction"] < found["attention, ascending"]["fraction"]
