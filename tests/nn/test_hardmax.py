"""The differentiable hardmax: what NumPy says, what the softmax becomes, and where gradients go."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention.hardmax import run
from regard.nn.hardmax import HardmaxAttention


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_layers_agree_with_the_dynamics_in_numpy(seed, tied, general):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 9), rng.integers(1, 4)
    x = rng.integers(-2, 3, size=(n, d)).astype(float) if tied else rng.normal(size=(n, d))
    B = rng.normal(size=(d, d)) if general else None
    layer = HardmaxAttention(d, alpha=0.7, matrix=None if B is None else torch.from_numpy(B))
    now = torch.from_numpy(x)
    for _ in range(3):
        now = layer(now).context

    # A zero point likes all alike, by rounding or not: only the exact tie is asked for.
    if np.linalg.norm(x, axis=1).min() > 0 and (B is None or np.linalg.cond(B) < 1e3):
        expected = run(x, 3, 0.7, A=None if B is None else B.T @ B).points
        np.testing.assert_allclose(now.numpy(), expected, atol=1e-9)


def test_the_softmax_becomes_the_hardmax_as_it_cools():
    x = torch.randn(2, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    hard = HardmaxAttention(3, alpha=2.0)(x).context
    gaps = []
    for temperature in (1.0, 0.1, 1e-3):

        def cooled(scores, mask, temperature=temperature):
            assert mask is None
            return torch.softmax(scores / temperature, dim=-1)

        soft = HardmaxAttention(3, alpha=2.0, weigh=cooled)(x).context
        gaps.append(float((soft - hard).abs().max()))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-6


def test_gradients_go_straight_through_the_points_that_were_chosen():
    x = torch.randn(6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    layer = HardmaxAttention(2, alpha=0.5)
    assert torch.autograd.gradcheck(lambda points: layer(points).context, x.requires_grad_())
    weights = layer(x).weights
    (slope,) = torch.autograd.grad(layer(x).context.sum(), x)
    torch.testing.assert_close(slope, (2 / 3 + weights.sum(0) / 3)[:, None].expand(-1, 2).to(slope.dtype))
