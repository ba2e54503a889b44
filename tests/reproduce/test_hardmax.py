"""The protocol of the hardmax paper, and that its figures can be drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.attention.hardmax import run
from regard.reproduce import Asked, paper
from regard.reproduce.hardmax_cells import SoftmaxTransformer, padded_ids, prepared, train_softmax


def test_reviews_are_prepared_as_in_the_paper():
    text = "I loved it!!! <br />Sooooo gooood, 10/10; see http://a.b/c?d=1 or www.x.y. The end isn't <b>bad</b>"
    assert prepared(text) == "I loved Soo good see The end bad"
    assert prepared("a word " * 300).split() == ["word"] * 128


def test_the_softmax_is_the_hardmax_at_low_temperature():
    torch.manual_seed(0)
    model = SoftmaxTransformer(9, 3, layers=4, temperature=1e-6).double()
    ids = padded_ids([np.array([0, 1, 2, 2], np.int32), np.arange(5, 9, dtype=np.int32)], 9)
    points = model.embedding.weight.detach().numpy()[ids.numpy().ravel()]
    final = run(points, 4, model.alpha.item(), starts=[0, 128, 256]).points.reshape(2, 128, 3).mean(axis=1)
    expected = final @ model.output.weight.detach().numpy()[0] + model.output.bias.item()

    np.testing.assert_allclose(model(ids).detach().numpy(), expected, atol=1e-9)


def test_training_the_softmax_lowers_its_loss():
    torch.manual_seed(0)
    model = SoftmaxTransformer(4, 2, layers=2, temperature=1.0)
    ids = padded_ids([np.array([k % 4], np.int32) for k in range(32)], 4)
    labels = torch.tensor([float(k % 4 < 2) for k in range(32)])
    adam = torch.optim.Adam(model.parameters(), lr=0.1)

    def loss():
        return torch.nn.functional.binary_cross_entropy_with_logits(model(ids), labels).item()

    before = loss()
    for epoch in range(10):
        train_softmax(model, adam, ids, labels, epoch)
    assert loss() < before


def test_the_dynamics_are_drawn(tmp_path):
    page = paper("hardmax").reproduce(Asked("figure dynamics", out=tmp_path))

    text = page.read_text("utf-8")
    assert "regard reproduce hardmax --figure dynamics" in text
    assert len(list((tmp_path / "hardmax-figure-dynamics").glob("*.svg"))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("part", ["figure losses", "figure accuracy", "figure leaders", "figure review"])
def test_every_figure_has_a_quick_look(part, tmp_path, data):
    page = paper("hardmax").reproduce(Asked(part, quick=True, out=tmp_path))
    assert "the numbers mean nothing" in page.read_text("utf-8")
