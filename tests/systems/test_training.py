"""The training loop that all systems share."""

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import SettingError
from regard.systems.training import Recipe, seeded, train

X = torch.linspace(-1, 1, 40)[:, None]


def line():
    with seeded(0):
        return nn.Linear(1, 1)


def fit(model, recipe, **options):
    def loss(batch):
        rows = torch.from_numpy(batch)
        return (model(X[rows]) - 3 * X[rows] - 1).square().mean()

    return train(model, np.zeros(40), loss, recipe, **options)


def test_training_finds_the_line_and_the_same_one_each_time():
    recipe = Recipe(epochs=40, batch_size=20, learning_rate=0.1)
    one, two = line(), line()
    before = torch.get_rng_state()
    course = fit(one, recipe)
    fit(two, recipe)

    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one.weight, two.weight)
    assert abs(one.weight.item() - 3) < 0.2
    assert abs(one.bias.item() - 1) < 0.2
    assert course.epochs[-1]["loss"] < course.epochs[0]["loss"] / 20
    assert course.best_epoch == 40
    assert not one.training


def test_the_epoch_that_validates_best_is_kept_and_patience_ends():
    model, scores, weights = line(), iter([0.1, 0.9, 0.5, 0.4, 0.3]), []

    def validate():
        assert not model.training
        assert not torch.is_grad_enabled()
        weights.append(model.weight.item())
        return next(scores)

    course = fit(model, Recipe(epochs=9, patience=2), validate=validate)

    assert [epoch["validation"] for epoch in course.epochs] == [0.1, 0.9, 0.5, 0.4]
    assert course.best_epoch == 2
    assert model.weight.item() == weights[1]


def test_training_stops_when_it_is_good_enough():
    course = fit(line(), Recipe(epochs=9, enough=0.5), validate=iter([0.1, 0.6, 0.9]).__next__)

    assert len(course.epochs) == 2


def test_long_gradients_are_shortened():
    model = line()

    def loss(batch):
        return 1e6 * model(X[torch.from_numpy(batch)]).sum()

    taken = []
    model.bias.register_hook(lambda grad: taken.append(float(grad.norm())))
    train(model, np.zeros(40), loss, Recipe(epochs=1, batch_size=40, clip=0.5))

    assert taken[0] > 1
    length = sum(float(p.grad.norm()) ** 2 for p in model.parameters()) ** 0.5
    assert length == pytest.approx(0.5, rel=1e-4)


def test_the_rate_rises_and_falls():
    recipe = Recipe(learning_rate=1.0, warmup=0.2)

    assert [recipe.rate(share) for share in (0.0, 0.1, 0.2, 0.6, 1.0)] == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert Recipe(learning_rate=1.0, warmup=0.2, schedule="linear").rate(0.6) == pytest.approx(0.5)
    assert Recipe(learning_rate=1.0, warmup=0.0, schedule="constant").rate(0.9) == 1.0
    with pytest.raises(SettingError, match="schedule"):
        Recipe(schedule="stairs").rate(0.5)


def test_progress_reaches_one():
    shares = []
    fit(line(), Recipe(epochs=3, batch_size=7), report=lambda doing, share: shares.append(share))

    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_what_cannot_be_trained_is_said():
    model = line()
    with pytest.raises(SettingError, match="one example at least"):
        train(model, [], lambda batch: torch.zeros(()), Recipe())
    with pytest.raises(SettingError, match="left the range of numbers in epoch 1: lower `learning_rate`"):
        train(model, np.zeros(4), lambda batch: model(X).sum() * float("nan"), Recipe())
