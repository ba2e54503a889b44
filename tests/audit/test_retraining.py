"""Every kind of model that is learned from texts is trained anew by a full audit."""

from __future__ import annotations

import numpy as np
import pytest

from regard import AttentionClassifier
from regard.audit import audit
from regard.errors import SettingError

torch = pytest.importorskip("torch")

from regard import NeuralAttentionClassifier  # noqa: E402 - only where torch is there

TEXTS = ["a good film", "a great plot", "a bad film", "an awful plot", "good fun", "awful noise"] * 8
LABELS = ["+", "+", "-", "-", "+", "-"] * 8
NEW = ["a good plot", "not awful", "", "bad bad film", "great fun", "noise"]
TRUTH = ["+", "-", "+", "-", "+", "-"]


def estimators():
    few = {"dim": 8, "hidden": 8, "epochs": 6, "n_threads": 1, "device": "cpu", "random_state": 3}
    return {
        "vectors": AttentionClassifier(width=6, ngrams=1, min_count=1, epochs=5, n_threads=1),
        "lstm": NeuralAttentionClassifier(encoder="lstm", **few),
        "conv": NeuralAttentionClassifier(encoder="conv", score="additive", validation_fraction=0, **few),
        "none": NeuralAttentionClassifier(**few),
    }


@pytest.fixture(scope="module", params=["vectors", "lstm", "conv", "none"])
def full(request):
    classifier = estimators()[request.param].fit(TEXTS, LABELS)
    return audit(classifier, NEW, TRUTH, tests="full", train=(TEXTS, LABELS), seeds=2, n_threads=1)


def test_no_test_is_skipped(full):
    assert [result.name for result in full.results if result.skipped] == []


def test_the_model_itself_is_audited_and_no_stand_in(full):
    assert not any("stands in" in note for note in full["seeds"].notes)


def test_seeds_differ_from_each_other(full):
    assert full["seeds"]["median JSD between seeds"].value > 0


def test_accuracies_of_three_attentions_are_compared(full):
    measures = full["uniform attention"]

    for name in ("learned", "flat", "frozen"):
        assert 0 <= measures[f"accuracy: {name}"].value <= 1
    assert measures["accuracy gap"].value == pytest.approx(
        measures["accuracy: learned"].value - measures["accuracy: flat"].value
    )


@pytest.mark.parametrize("score", ["dot", "additive"])
@pytest.mark.parametrize("encoder", [None, "lstm"])
def test_flat_attention_of_a_network_is_equal_weights(encoder, score):
    classifier = NeuralAttentionClassifier(
        encoder=encoder, score=score, attention="flat", dim=8, epochs=3, n_threads=1, validation_fraction=0
    ).fit(TEXTS, LABELS)

    np.testing.assert_allclose(classifier.model_.attend("a good film").weights, 1 / 3)


@pytest.mark.parametrize("score", ["dot", "additive"])
def test_frozen_attention_of_a_network_stays_as_it_was_drawn(score):
    kept = {}

    def watch(epoch, model):
        attention = model.network.attention
        kept[epoch] = [p.detach().clone() for p in attention.parameters()], model.network.output.weight.clone()

    NeuralAttentionClassifier(score=score, attention="frozen", dim=8, epochs=3, n_threads=1, validation_fraction=0).fit(
        TEXTS, LABELS, watch=watch
    )

    for before, after in zip(kept[0][0], kept[3][0], strict=True):
        torch.testing.assert_close(before, after, rtol=0, atol=0)
    assert not torch.equal(kept[0][1], kept[3][1])


def test_no_slope_reaches_the_vectors_through_frozen_attention():
    """What W says is the same for all words at first, so only the attention could move them apart from each other."""
    from regard.models.network import AttentionNetwork, Shape

    torch.manual_seed(0)
    shape = Shape(4, 1, 3, 3, "none", True, (3,), "dot", 1.0, 0.0)
    ids = torch.tensor([[0, 1, 2, 3]])
    slopes = {}
    for attention in ("learned", "frozen"):
        torch.manual_seed(0)
        network = AttentionNetwork(Shape(**{**vars(shape), "attention": attention}))
        network(ids).sum().backward()
        weights = network.attend(ids)[1].weights[0].detach()
        slopes[attention] = network.embedding.weight.grad, weights[:, None] * network.output.weight.detach()

    torch.testing.assert_close(*slopes["frozen"])
    assert not torch.allclose(*slopes["learned"])


@pytest.mark.parametrize("attention", ["flat", "frozen"])
def test_held_attention_of_vectors_learns_nothing_of_v(attention):
    vectors = [
        AttentionClassifier(
            width=6, ngrams=1, min_count=1, epochs=epochs, attention=attention, validation_fraction=0, n_threads=1
        )
        .fit(TEXTS, LABELS)
        .model_.vectors
        for epochs in (1, 4)
    ]

    np.testing.assert_array_equal(vectors[0].attention, vectors[1].attention)
    assert not np.array_equal(vectors[0].output, vectors[1].output)
    assert (attention == "flat") == (not vectors[0].attention.any())


def test_an_unknown_attention_is_refused():
    with pytest.raises(SettingError, match="`attention` must be"):
        NeuralAttentionClassifier(attention="held").fit(TEXTS, LABELS)
