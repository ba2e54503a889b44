"""A network whose words read their neighbours is audited by zeroing weights, and says so."""

from __future__ import annotations

import numpy as np
import pytest

from regard.audit import audit
from regard.audit.linear import ModelSource

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model():
    from regard import NeuralAttentionClassifier

    texts = ["a good film", "a great plot", "a bad film", "an awful plot"] * 6
    classifier = NeuralAttentionClassifier(
        encoder="lstm", dim=8, hidden=8, epochs=8, validation_fraction=0, n_threads=1, device="cpu"
    )
    return classifier.fit(texts, ["+", "+", "-", "-"] * 6).model_


def test_its_batches_are_what_it_attends_to(model):
    texts = ["a good plot", "not awful", "", "bad bad film"]
    batch = next(iter(ModelSource(model).batches(texts)))

    np.testing.assert_allclose(batch.scores, model.scores(texts), atol=1e-6)
    for text, a, b in zip(texts, batch.starts[:-1], batch.starts[1:], strict=True):
        np.testing.assert_allclose(batch.weights[a:b], model.attend(text).weights, atol=1e-6)


def test_removing_a_word_is_what_masking_it_does(model):
    batch = next(iter(ModelSource(model).batches(["a good plot"])))
    change = batch.leave_one_out()[0]

    for word in range(3):
        masked = model.attend("a good plot", frozenset([word])).scores[0]
        p, q = (1 / (1 + np.exp(-s if batch.explained[0] == 1 else s)) for s in (batch.scores[0, 0], masked))
        assert change[word] == pytest.approx(p - q, abs=1e-6)


def test_its_audit_says_that_neighbours_have_read_the_word(model):
    found = audit(model, ["a good plot", "an awful film", "a bad plot"], n_threads=1)

    assert "neighbours have still read it" in found["flips"].removal
    assert found["flips"]["ratio to the optimum: contribution"].value in (None, 1.0)
