"""What an audit trains: networks with imposed weights, and adversaries that decide alike and attend elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from regard import AttentionClassifier
from regard.audit import audit
from regard.audit.linear import ModelSource
from regard.corpus import demo
from tests.audit.cases import chances_of, jsd

torch = pytest.importorskip("torch")

from regard.audit.guided import learn_guided  # noqa: E402 - only where torch is there
from regard.audit.learning import Read, TableNetwork, fit, read, reread, shared  # noqa: E402
from regard.audit.trained_adversary import apart, divergence, learn_adversary, objective  # noqa: E402
from regard.models.network import PADDING  # noqa: E402
from regard.models.neural import padded  # noqa: E402
from regard.models.neural_training import undisturbed  # noqa: E402
from regard.tokens import Tokens  # noqa: E402


def softmax(x):
    exps = np.exp(x - x.max())
    return exps / exps.sum()


def random_texts(seed, sides=1, sizes=(3, 1, 5)):
    generator = np.random.default_rng(seed)
    keep = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    shape = (len(sizes), max(sizes))
    logits, base = (torch.tensor(generator.normal(size=shape)) for _ in range(2))
    said = torch.tensor(generator.normal(size=(*shape, sides)))
    chances = torch.tensor(generator.dirichlet(np.ones(max(2, sides)), len(sizes)))
    return logits, said, keep, base, chances


@pytest.mark.parametrize("sides", [1, 3])
def test_the_objective_is_the_papers_per_text_without_padding(sides):
    logits, said, keep, base, chances = random_texts(0, sides)

    found = objective(logits, said, keep, base, chances, 0.3)

    for i, n in enumerate(keep.sum(1).tolist()):
        mine, theirs = softmax(logits[i, :n].numpy()), softmax(base[i, :n].numpy())
        p = chances_of(mine @ said[i, :n].numpy())
        tvd = np.abs(p - chances[i].numpy()).sum() / 2
        assert found[i].item() == pytest.approx(tvd - 0.3 * (mine * np.log(mine / theirs)).sum(), abs=1e-12)


def test_the_slope_of_the_objective_is_that_of_differences_and_none_on_padding():
    logits, said, keep, base, chances = random_texts(1)
    logits[~keep], base[~keep] = -torch.inf, -torch.inf  # as some networks give them
    real = logits.masked_fill(~keep, 0.0).requires_grad_()
    said.requires_grad_()

    def mean(x, y):
        return objective(x.masked_fill(~keep, -torch.inf), y, keep, base, chances, 0.3).mean()

    assert torch.autograd.gradcheck(mean, (real, said))
    slope = torch.autograd.grad(mean(real, said), real)[0]
    assert torch.isfinite(slope).all()
    assert (slope[~keep] == 0).all()


def test_weights_and_their_logarithms_are_zero_on_padding():
    logits, _, keep, _, _ = random_texts(2)

    weights, logs = shared(logits, keep)

    assert (weights[~keep] == 0).all()
    assert (logs[~keep] == 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(3, dtype=weights.dtype))


@pytest.fixture(scope="module")
def corpus():
    return demo(seed=0)


@pytest.fixture(scope="module")
def model(corpus):
    train = corpus.part("train")
    return AttentionClassifier(n_threads=1).fit(train.texts[:400], train.labels[:400]).model_


@pytest.fixture(scope="module")
def seen(model, corpus):
    return read(ModelSource(model, n_threads=1), ["zzz qqq", *corpus.part("train").texts[:400]])


def test_texts_are_read_as_the_model_reads_them(model, corpus, seen):
    text = corpus.part("train").texts[0]
    attended = model.attend(text)
    first = seen.part(np.array([0]))

    assert seen.places[0] == 1  # the text without a known word is left out
    assert sorted(first.tokens.ids.tolist()) == sorted(place.row for place in attended.places)
    np.testing.assert_allclose(np.sort(first.weights), np.sort(attended.weights))
    np.testing.assert_allclose(first.chances[0], chances_of(attended.scores))


def test_an_adversary_of_no_price_imitates_and_a_dear_one_attends_elsewhere(model, seen):
    order = np.random.default_rng(0).permutation(len(seen))
    training, held_out = seen.part(order[50:]), seen.part(order[:50])
    found = {}
    for price in (0.0, 0.05):
        with undisturbed(1, torch.device("cpu")):
            torch.manual_seed(0)
            network = TableNetwork(len(model), 1)
            learned = learn_adversary(
                network,
                training,
                held_out,
                price,
                torch.optim.Adagrad(network.parameters(), 0.5),
                epochs=12,
                patience=3,
                batch_size=50,
                seed=0,
            )
        found[price] = [part.mean() for part in apart(learned, training)[:2]]
        assert min(learned.course) < learned.course[0]

    assert found[0.0][0] < 0.05
    assert found[0.05][1] > found[0.0][1] + 0.1


def test_how_far_an_adversary_is_is_measured_as_said(model, seen):
    some = seen.part(np.arange(5))
    torch.manual_seed(0)
    network = TableNetwork(len(model), 1)
    torch.nn.init.normal_(network.table.weight)
    weights, chances = reread(network, some.tokens)

    class Found:
        pass

    Found.network = network
    tvd, far, _ = apart(Found, some)
    kl = divergence(weights, some)

    for i in range(5):
        units = slice(*some.tokens.starts[i : i + 2])
        w, own = weights[units], some.weights[units]
        assert w.sum() == pytest.approx(1)
        assert far[i] == pytest.approx(jsd(w, own), abs=1e-7)
        assert kl[i] == pytest.approx((w * np.log(w / own)).sum(), abs=1e-6)
        assert tvd[i] == pytest.approx(abs(chances[i, 1] - some.chances[i, 1]))
        row = network.table(torch.from_numpy(some.tokens.ids[units].astype(np.int64))).detach().double().numpy()
        np.testing.assert_allclose(w, softmax(row[:, 0]), atol=1e-7)
        np.testing.assert_allclose(chances[i], chances_of(w @ row[:, 1:]), atol=1e-7)


def planted(n, seed):
    """Ten words, of which one says the class, and weights that know which."""
    generator = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    ids = generator.integers(2, 300, (n, 10))
    place = generator.integers(0, 10, n)
    ids[np.arange(n), place] = codes
    weights = np.full((n, 10), 0.01)
    weights[np.arange(n), place] = 0.91
    starts = np.arange(0, 10 * n + 1, 10)
    read_ = Read(Tokens(ids.ravel().astype(np.int32), starts), np.log(weights).ravel(), np.zeros((n, 2)), np.arange(n))
    return read_, codes


def test_weights_that_know_the_word_serve_a_network_better_than_equal_and_wrong_ones():
    (training, codes), (test, truth) = planted(60, 0), planted(100, 1)
    accuracy = {}
    for name, given in {
        "right": (training.weights, test.weights),
        "equal": (np.full(600, 0.1), np.full(1000, 0.1)),
        "wrong": (training.weights[::-1].copy(), test.weights[::-1].copy()),
    }.items():
        with undisturbed(1, torch.device("cpu")):
            network = learn_guided(300, 1, training, test, (codes, truth), given, 0)
        accuracy[name] = (reread(network, test.tokens, given[1])[1].argmax(1) == truth).mean()

    assert accuracy["right"] == 1.0
    assert accuracy["right"] > accuracy["equal"] > accuracy["wrong"]


def test_the_epoch_is_kept_that_is_judged_best():
    network = torch.nn.Linear(1, 1, bias=False)
    judged = iter([3.0, 1.0, 2.0, 5.0, 4.0])
    values = []

    def judge():
        values.append(network.weight.item())
        return next(judged)

    course = fit(
        network,
        np.ones(4, np.int64),
        lambda batch: network.weight.sum(),
        judge,
        torch.optim.SGD(network.parameters(), 0.1),
        epochs=5,
        patience=2,
        batch_size=2,
        seed=0,
    )

    assert course == [3.0, 1.0, 2.0, 5.0]
    assert network.weight.item() == values[1]


def test_given_weights_are_those_that_are_summed_with():
    tokens = Tokens(np.array([0, 1, 1], np.int32), np.array([0, 2, 3]))
    network = TableNetwork(2, 1)
    with torch.no_grad():
        network.table.weight[:] = torch.tensor([[0.0, 2.0], [9.0, -4.0]])

    weights, chances = reread(network, tokens, np.array([0.25, 0.75, 1.0]))

    assert weights.tolist() == [0.25, 0.75, 1.0]
    np.testing.assert_allclose(chances[0], chances_of(np.array([0.5 - 3.0])))
    assert (padded(tokens, np.array([0, 1])) == PADDING).sum() == 1


@pytest.fixture(scope="module")
def full(model, corpus):
    train, test = corpus.part("train"), corpus.part("test")
    texts, labels = list(test.texts[:100]), list(test.labels[:100])
    return audit(
        model, texts, labels, tests="full", train=(train.texts[:400], train.labels[:400]), seeds=2, n_threads=1
    )


def test_a_full_audit_imposes_weights_and_trains_adversaries(full):
    guided, adversary = full["guided"], full["trained adversary"]

    assert guided.skipped is None
    assert {"accuracy: equal", "accuracy: the model's, shuffled", "accuracy: the adversary's", "gain"} <= {
        measure.name for measure in guided.measures
    }
    assert adversary["TVD of the decisions: λ = 0"].value < 0.2
    assert adversary["JSD of the attention: λ = 0.05"].value > adversary["JSD of the attention: λ = 0"].value
    assert 0 < adversary["accuracy: the model"].value <= 1


def test_what_is_trained_says_formula_direction_removal_and_scale(full):
    for result in full.results:
        assert all((result.formula, result.direction, result.removal, result.scale))


def test_labels_are_not_needed_for_an_adversary(model, corpus):
    train = corpus.part("train")
    train = train.texts[:60], train.labels[:60]

    found = audit(model, corpus.part("test").texts[:20], tests="full", train=train, seeds=2, n_threads=1)

    assert "labels" in found["guided"].skipped
    assert found["trained adversary"]["TVD of the decisions: λ = 0"].value is not None
