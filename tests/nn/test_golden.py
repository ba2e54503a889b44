"""The same numbers as other libraries, recorded by ``golden/make_attention.py``."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from regard import nn
from regard.errors import SettingError
from regard.nn import libraries

GOLDEN = {
    name: torch.as_tensor(array)
    for name, array in np.load(Path(__file__).parents[1] / "golden" / "attention.npz").items()
}
QUERY, KEY, VALUE, KEEP = (GOLDEN[name] for name in ("query", "key", "value", "keep"))
MASK = KEEP[:, None]


def of(library):
    return {name.split("/")[1]: x for name, x in GOLDEN.items() if name.startswith(library + "/")}


def state_of(golden):
    return {name[2:]: x for name, x in golden.items() if name.startswith("w_")}


def agrees(result, golden, weights=True):
    torch.testing.assert_close(result.context, golden["context"], atol=2e-6, rtol=1e-5)
    if weights:
        torch.testing.assert_close(result.weights, golden["weights"], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("need_weights", [True, False])
def test_torch_sdpa(need_weights):
    agrees(nn.attend(QUERY, KEY, VALUE, mask=MASK, need_weights=need_weights), of("torch_sdpa"), weights=False)


@pytest.mark.parametrize("need_weights", [True, False])
def test_torch_sdpa_options(need_weights):
    causal, biased = of("torch_sdpa_causal"), of("torch_sdpa_bias")
    score, options = nn.ScaledDot(divisor=1 / 0.7), {"need_weights": need_weights}

    agrees(nn.attend(QUERY, KEY, VALUE, causal="top-left", **options), causal, weights=False)
    agrees(nn.attend(QUERY, KEY, VALUE, score=score, bias=biased["bias"], **options), biased, weights=False)


def test_torch_multi_head():
    golden = of("torch_mha")
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    theirs.load_state_dict(state_of(golden))

    agrees(nn.MultiHeadAttention.from_torch(theirs)(QUERY, KEY, VALUE, mask=MASK), golden)


@pytest.mark.parametrize("options", [{}, {"kdim": 6, "vdim": 5}, {"bias": False}, {"batch_first": True}])
def test_weights_of_torch_multi_head_give_its_outputs(options):
    theirs = torch.nn.MultiheadAttention(8, 4, **options)
    key, value = torch.randn(2, 5, options.get("kdim", 8)), torch.randn(2, 5, options.get("vdim", 8))
    query, barred = torch.randn(2, 3, 8), torch.rand(3, 5) < 0.3
    barred[:, 0] = False
    flip = (lambda x: x) if theirs.batch_first else (lambda x: x.transpose(0, 1))

    context, weights = theirs(flip(query), flip(key), flip(value), attn_mask=barred, average_attn_weights=False)
    ours = nn.MultiHeadAttention.from_torch(theirs)(query, key, value, mask=~barred)

    torch.testing.assert_close(ours.context, flip(context))
    torch.testing.assert_close(ours.weights, weights)


def test_self_attention_in_one_product_is_that_of_torch():
    theirs, x = torch.nn.MultiheadAttention(8, 4, batch_first=True), torch.randn(2, 5, 8)
    ours = nn.MultiHeadAttention.from_torch(theirs)

    torch.testing.assert_close(ours(x, need_weights=False).context, theirs(x, x, x)[0])


def keras_layer(golden):
    """What ``from_keras`` asks a layer for."""
    arrays = [x.numpy() for name, x in sorted(golden.items()) if name.startswith("w_")]
    config = json.loads(golden["config"].numpy().tobytes())
    return SimpleNamespace(get_config=lambda: config, get_weights=lambda: arrays)


@pytest.mark.parametrize("name", sorted({name.split("/")[0] for name in GOLDEN if name.startswith("keras")}))
def test_keras(name):
    golden = of(name)
    ours = libraries.from_keras(keras_layer(golden), dim=8)

    agrees(ours(QUERY, KEY, VALUE, mask=MASK, causal="top-left" if name.endswith("causal") else False), golden)


def test_what_keras_alone_can_do_is_refused():
    layer = keras_layer(of("keras_mha"))
    layer.get_config = lambda: {"num_heads": 2, "sliding_window": 3}

    with pytest.raises(SettingError, match="sliding_window"):
        libraries.from_keras(layer)
    with pytest.raises(SettingError, match="dim="):
        libraries.from_keras(keras_layer(of("keras_additive_False")))


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
def test_entmax(name):
    golden, scores = of(name), of("entmax")["scores"].requires_grad_()
    weights = getattr(nn, name)(scores)
    (grad,) = torch.autograd.grad(weights, scores, of("entmax")["slope"])

    torch.testing.assert_close(weights, golden["weights"], atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(grad, golden["grad"], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "scaling"),
    [("speechbrain_content", 1.5), ("speechbrain_location", 2.0), ("speechbrain_location_wide", 1.0)],
)
def test_speechbrain(name, scaling):
    golden = of(name)

    agrees(libraries.from_speechbrain(state_of(golden), scaling=scaling)(QUERY, KEY, mask=MASK), golden)


@pytest.mark.parametrize("kind", ["dot", "general", "mlp"])
@pytest.mark.parametrize("weigh", ["softmax", "sparsemax"])
def test_opennmt(kind, weigh):
    golden = of(f"onmt_{kind}_{weigh}")

    result = libraries.from_opennmt(state_of(golden), weigh=weigh)(QUERY, KEY)

    torch.testing.assert_close(result.weights, golden["weights"], atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(result.state, golden["state"], atol=2e-6, rtol=1e-5)


def test_coverage_of_opennmt_is_refused():
    with pytest.raises(SettingError, match="Coverage"):
        libraries.from_opennmt({"linear_cover.weight": torch.zeros(8, 1)})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("additive", {}),
        ("bilinear", {}),
        ("bilinear_tanh", {"activation": torch.tanh}),
        ("linear", {}),
        ("linear_more", {"combination": "x, y, x*y, x-y", "activation": torch.relu}),
    ],
)
def test_allennlp(kind, options):
    golden = of(f"allennlp_{kind}")

    result = libraries.from_allennlp(state_of(golden), **options)(QUERY[:, :1], KEY, mask=MASK)

    torch.testing.assert_close(result.weights[:, 0], golden["weights"], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["cosine", "dot_product", "scaled_dot_product"])
def test_allennlp_without_parameters(kind):
    golden = of(f"allennlp_{kind}")
    result = nn.attend(QUERY[:, :1], KEY, score=kind.removesuffix("_product"), mask=MASK)

    torch.testing.assert_close(result.weights[:, 0], golden["weights"], atol=2e-6, rtol=1e-5)


def test_what_allennlp_is_not_is_refused():
    with pytest.raises(SettingError, match="not the state"):
        libraries.from_allennlp({})
    with pytest.raises(SettingError, match=r"x, y, x\*y.*got 'x/y'"):
        libraries.from_allennlp({"_weight_vector": torch.ones(16), "_bias": torch.zeros(1)}, combination="x,x/y")
