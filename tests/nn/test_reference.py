"""The NumPy reference against plain loops, and PyTorch against the reference."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from regard import nn
from regard.attention import combine, score, weigh
from regard.nn import kernels, simplex, window
from regard.nn.additive import additive_score
from regard.nn.shapes import array

rng = np.random.default_rng(0)
Q, K, V = rng.normal(size=(4, 5)), rng.normal(size=(6, 5)), rng.normal(size=(6, 3))
W, v5, u5 = rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=5)
EACH = [(t, s) for t in range(4) for s in range(6)]


def looped(of):
    out = np.empty((4, 6))
    for t, s in EACH:
        out[t, s] = of([float(x) for x in Q[t]], [float(x) for x in K[s]])
    return out


def product(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


LOOPS = [
    (score.dot(Q, K), lambda q, k: product(q, k)),
    (score.scaled_dot(Q, K), lambda q, k: product(q, k) / math.sqrt(5)),
    (score.general(Q, K, W), lambda q, k: sum(q[i] * W[i, j] * k[j] for i in range(5) for j in range(5))),
    (
        score.biaffine(Q, K, W, u5, v5, 0.3),
        lambda q, k: (
            sum(q[i] * W[i, j] * k[j] for i in range(5) for j in range(5)) + product(u5, q) + product(v5, k) + 0.3
        ),
    ),
    (score.additive(Q, K, v5), lambda q, k: sum(v5[i] * math.tanh(q[i] + k[i]) for i in range(5))),
    (
        score.cosine(Q, K, 2.0),
        lambda q, k: 2 * product(q, k) / math.sqrt(product(q, q)) / math.sqrt(product(k, k)),
    ),
    (
        score.squared_distance(Q, K, 0.5),
        lambda q, k: -0.5 * sum((a - b) ** 2 for a, b in zip(q, k, strict=True)),
    ),
    (
        score.distance(Q, K, 3),
        lambda q, k: -(sum(abs(a - b) ** 3 for a, b in zip(q, k, strict=True)) ** (1 / 3)),
    ),
]


@pytest.mark.parametrize(("reference", "loop"), LOOPS)
def test_reference_scores_are_their_formulas(reference, loop):
    np.testing.assert_allclose(reference, looped(loop), rtol=1e-12)


def torch_general():
    module = nn.General(5, 5).double()
    module.linear.weight.data = torch.tensor(W)
    return module


def torch_biaffine():
    module = nn.Biaffine(5, 5).double()
    module.linear.weight.data, module.linear.bias.data = torch.tensor(W.T.copy()), torch.tensor(v5)
    module.own.weight.data, module.own.bias.data = (
        torch.tensor(u5[None]),
        torch.tensor([0.3], dtype=torch.float64),
    )
    return module.double()


TORCH = [
    (nn.Dot(scale=1.5), score.dot(Q, K, 1.5)),
    (nn.ScaledDot(), score.scaled_dot(Q, K)),
    (torch_general(), score.general(Q, K, W)),
    (torch_biaffine(), score.biaffine(Q, K, W, u5, v5, 0.3)),
    (nn.Cosine(scale=3.0), score.cosine(Q, K, 3.0)),
    (nn.SquaredDistance(scale=0.7), score.squared_distance(Q, K, 0.7)),
    (nn.Distance(p=1), score.distance(Q, K, 1)),
    (nn.Distance(p=3, scale=2), score.distance(Q, K, 3, 2)),
    (nn.Distance(p=math.inf), score.distance(Q, K, math.inf)),
    (nn.Kernel("dot", torch.exp), score.kernel(score.dot(Q, K), np.exp)),
]


@pytest.mark.parametrize(("module", "reference"), TORCH)
def test_torch_scores_are_the_reference(module, reference):
    np.testing.assert_allclose(module(torch.tensor(Q), torch.tensor(K)).detach(), reference, rtol=1e-12)


def test_torch_location_is_the_reference():
    module = nn.Location(5, 9).double()
    matrix = module.linear.weight.detach().numpy()

    np.testing.assert_allclose(
        module(torch.tensor(Q), torch.tensor(K)).detach(), score.location(Q, K, matrix), rtol=1e-12
    )


scores_and_mask = st.tuples(
    arrays.arrays(np.float64, (3, 7), elements=st.floats(-50, 50)), arrays.arrays(np.bool_, (3, 7))
)
PAIRS = {
    "softmax": (nn.softmax, weigh.softmax),
    "softmax at a temperature": (
        partial(nn.softmax, temperature=0.2),
        partial(weigh.softmax, temperature=0.2),
    ),
    "hardmax": (nn.hardmax, weigh.hardmax),
    "top_k": (partial(nn.top_k, k=3), partial(weigh.top_k, k=3)),
    "sparsemax": (nn.sparsemax, weigh.sparsemax),
    "entmax15": (nn.entmax15, weigh.entmax15),
    "smooth": (nn.smooth, weigh.smooth),
    "gate": (nn.gate, weigh.gate),
    "literal": (nn.literal, weigh.literal),
    "ratio": (nn.ratio, weigh.ratio),
    "ratio of another function": (
        partial(nn.ratio, of=torch.relu),
        partial(weigh.ratio, of=lambda x: np.maximum(x, 0)),
    ),
}


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "top_k"])
@given(scores_and_mask)
@settings(max_examples=60)
def test_torch_weights_are_the_reference(name, batch):
    scores, mask = batch
    ours, reference = PAIRS[name]

    np.testing.assert_allclose(
        ours(torch.tensor(scores), torch.tensor(mask)), reference(scores, mask), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(ours(torch.tensor(scores), None), reference(scores), rtol=1e-7, atol=1e-9)


@given(scores_and_mask)
def test_top_k_is_the_reference_where_k_or_more_may_be_attended_to(batch):
    scores, mask = batch
    mask[:, :3] = True

    np.testing.assert_allclose(
        nn.top_k(torch.tensor(scores), torch.tensor(mask), k=3), weigh.top_k(scores, mask, k=3), rtol=1e-12
    )


@given(scores_and_mask)
def test_fewer_than_k_share(batch):
    scores, mask = batch
    weights = nn.top_k(torch.tensor(scores), torch.tensor(mask), k=7)

    np.testing.assert_allclose(weights, mask / np.maximum(mask.sum(-1, keepdims=True), 1))


@given(scores_and_mask)
def test_shares_sum_to_one_or_nothing(batch):
    scores, mask = batch

    for name in ("softmax", "hardmax", "top_k", "sparsemax", "entmax15", "smooth"):
        mass = PAIRS[name][0](torch.tensor(scores), torch.tensor(mask)).sum(-1)
        np.testing.assert_allclose(mass, mask.any(-1).astype(float), atol=1e-12)


@given(scores_and_mask)
def test_reference_gradients_are_those_of_torch(batch):
    scores, mask = batch
    x = torch.tensor(scores, requires_grad=True)
    slope = np.cos(np.arange(21.0)).reshape(3, 7)

    for ours, backward in (
        (nn.softmax, combine.softmax_backward),
        (nn.sparsemax, combine.sparsemax_backward),
    ):
        weights = ours(x, torch.tensor(mask))
        (grad,) = torch.autograd.grad(weights, x, torch.tensor(slope))
        np.testing.assert_allclose(grad, backward(slope, weights.detach().numpy()), atol=1e-9)


def test_average_and_its_gradient_are_those_of_torch():
    weights = torch.rand(4, 6, dtype=torch.float64, requires_grad=True)
    value = torch.tensor(V, requires_grad=True)
    context = nn.average(weights, value)
    slope = torch.rand(4, 3, dtype=torch.float64)

    d_weights, d_value = combine.average_backward(slope.numpy(), weights.detach().numpy(), V)

    np.testing.assert_allclose(context.detach(), combine.average(weights.detach().numpy(), V))
    for ours, reference in zip(
        torch.autograd.grad(context, (weights, value), slope), (d_weights, d_value), strict=True
    ):
        np.testing.assert_allclose(ours, reference)


@pytest.mark.parametrize("position", ["monotonic", "predictive"])
def test_a_window_is_a_mask(position):
    module = nn.LuongLocalAttention(5, 5, position=position, window=2).double()
    query, key = torch.tensor(Q), torch.tensor(K)
    centre = np.arange(4.0)
    if position == "predictive":
        centre = 6 * torch.sigmoid(module.predict(query))[:, 0].detach().numpy()
    scores = module.score(query, key).detach().numpy()
    expected = weigh.softmax(scores, weigh.window(centre, 6, 2))
    expected = weigh.gaussian(expected, centre, 1.0) if position == "predictive" else expected

    result = module(query, key)

    np.testing.assert_allclose(result.weights.detach(), expected, rtol=1e-9)
    np.testing.assert_allclose(result.context.detach(), expected @ K, rtol=1e-9)


def test_location_features_are_the_reference():
    module = nn.LocationSensitiveAttention(5, 5, filters=3, width=5).double()
    before = rng.random(6)
    filters = module.features.convolve.weight.detach().numpy()[:, 0]

    np.testing.assert_allclose(
        module.features(torch.tensor(before)).detach(), combine.location_features(before, filters), rtol=1e-9
    )


# The compiled loops, and what other devices run


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 40, 300])
def test_projection_by_newton_is_projection_by_sorting(dtype, size):
    scores = torch.randn(9, size, dtype=dtype) * 3

    for power in (1, 2):
        torch.testing.assert_close(
            simplex.project(scores, power=power), simplex.sorted_project(scores, power), atol=2e-6, rtol=2e-5
        )


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
def test_additive_scores_are_the_plain_formula_at_any_size(scale):
    query = (scale * torch.randn(2, 3, 8)).requires_grad_()
    key = (scale * torch.randn(2, 5, 8)).requires_grad_()
    v = torch.randn(8, requires_grad=True)

    ours, plain = additive_score(query, key, v), torch.tanh(query[:, :, None] + key[:, None]) @ v

    torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)
    for a, b in zip(
        torch.autograd.grad(ours.square().sum(), (query, key, v)),
        torch.autograd.grad(plain.square().sum(), (query, key, v)),
        strict=True,
    ):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_windows_on_other_devices_are_the_same(monkeypatch):
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 3)
    start = torch.tensor([[-2, 0, 3, 5], [1, 1, 9, -9]])
    weights = torch.randn(2, 4, 3)

    def run():
        return (
            window.window_scores(query, key, start, 3),
            window.window_read(weights, key, start),
            window._spread(weights, query, start, 6),
        )

    compiled = run()
    monkeypatch.setattr(window, "_has_kernel", lambda x: False)

    torch.testing.assert_close(run(), compiled)


def test_kernels_say_the_same_uncompiled():
    a, b, v = np.exp(Q)[None], np.exp(K)[None], v5
    out = np.empty((1, 4, 6))
    kernels.additive_rows.py_func(a, b, v, 0, 4, out)
    np.testing.assert_allclose(out[0], score.additive(Q / 2, K / 2, v5))

    for kernel, reference in (
        (kernels.sparsemax_rows, weigh.sparsemax),
        (kernels.entmax15_rows, weigh.entmax15),
    ):
        out = np.empty((4, 5))
        kernel.py_func(Q, Q.max(-1), 0, 4, out)
        np.testing.assert_allclose(out, reference(Q), atol=1e-12)


def test_arrays_share_memory():
    x = torch.zeros(3)
    array(x)[0] = 1
    assert x[0] == 1
