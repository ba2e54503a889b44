"""The same numbers as other libraries, recorded by ``golden/make_attention.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from regard import nn

GOLDEN = {
    name: torch.as_tensor(array)
    for name, array in np.load(Path(__file__).parents[1] / "golden" / "attention.npz").items()
}
QUERY, KEY, VALUE, KEEP = (GOLDEN[name] for name in ("query", "key", "value", "keep"))
MASK = KEEP[:, None]


def of(library):
    return {name.split("/")[1]: x for name, x in GOLDEN.items() if name.startswith(library + "/")}


def agrees(result, golden, weights=True):
    torch.testing.assert_close(result.context, golden["context"], atol=2e-6, rtol=1e-5)
    if weights:
        torch.testing.assert_close(result.weights, golden["weights"], atol=2e-6, rtol=1e-5)


def fill(linear, weight, bias=None):
    linear.weight.data = weight.clone()
    if bias is not None:
        linear.bias.data = bias.clone()


@pytest.mark.parametrize("need_weights", [True, False])
def test_torch_sdpa(need_weights):
    agrees(nn.attend(QUERY, KEY, VALUE, mask=MASK, need_weights=need_weights), of("torch_sdpa"), weights=False)


def test_torch_multi_head():
    golden = of("torch_mha")
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    theirs.load_state_dict({name[2:]: x for name, x in golden.items() if name.startswith("w_")})

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


@pytest.mark.parametrize("scale", [False, True])
def test_keras_attention(scale):
    agrees(nn.attend(QUERY, KEY, VALUE, score="dot", mask=MASK), of(f"keras_attention_{scale}"))


def test_keras_additive():
    golden = of("keras_additive")
    score = nn.Additive(8, 8, bias=False)
    fill(score.query, torch.eye(8))
    fill(score.key, torch.eye(8))
    score.v.data = golden["scale"]

    agrees(nn.Attention(score)(QUERY, KEY, VALUE, mask=MASK), golden)


@pytest.mark.parametrize(("name", "heads", "kv_heads"), [("keras_mha", 2, 2), ("keras_gqa", 4, 2)])
def test_keras_multi_head(name, heads, kv_heads):
    golden = of(name)
    ours = nn.MultiHeadAttention(heads * 4, heads, key_dim=8, kv_heads=kv_heads)
    # Keras keeps kernels (in, heads, size) and biases (heads, size), in the order query, key, value, output
    parts = [golden[f"w_{i}"] for i in range(8)]
    ours.query = torch.nn.Linear(8, heads * 4)
    ours.out = torch.nn.Linear(heads * 4, 8)
    for linear, kernel, bias in zip((ours.query, ours.key, ours.value), parts[0:6:2], parts[1:6:2], strict=True):
        fill(linear, kernel.flatten(1).T, bias.flatten())
    fill(ours.out, parts[6].flatten(0, 1).T, parts[7])

    result = ours(QUERY, KEY, VALUE, mask=MASK)

    torch.testing.assert_close(result.context, golden["context"], atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(result.weights, golden["weights"], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
def test_entmax(name):
    golden, scores = of(name), of("entmax")["scores"].requires_grad_()
    weights = getattr(nn, name)(scores)
    (grad,) = torch.autograd.grad(weights, scores, of("entmax")["slope"])

    torch.testing.assert_close(weights, golden["weights"], atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(grad, golden["grad"], atol=2e-6, rtol=1e-5)


def chorowski(golden, mode, sharpening):
    ours = nn.LocationSensitiveAttention(8, 8, 6, mode=mode, filters=3, width=5, sharpening=sharpening)
    # SpeechBrain has a bias in each map; they add up to our one
    fill(ours.query, golden["w_mlp_dec.weight"])
    bias = golden["w_mlp_enc.bias"] + golden["w_mlp_dec.bias"]
    if mode == "hybrid":
        bias = bias + golden["w_mlp_loc.bias"]
        fill(ours.features.convolve, golden["w_conv_loc.weight"])
        fill(ours.location, golden["w_mlp_loc.weight"])
    fill(ours.key, golden["w_mlp_enc.weight"], bias)
    ours.w.data = golden["w_mlp_attn.weight"][0]
    return ours


@pytest.mark.parametrize(
    ("name", "mode", "sharpening"),
    [("speechbrain_content", "content", 1.5), ("speechbrain_location", "hybrid", 2.0)],
)
def test_speechbrain(name, mode, sharpening):
    golden = of(name)
    result = chorowski(golden, mode, sharpening)(QUERY, KEY, mask=MASK)
    context = torch.nn.functional.linear(result.context, golden["w_mlp_out.weight"], golden["w_mlp_out.bias"])

    torch.testing.assert_close(result.weights, golden["weights"], atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(context, golden["context"], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(("kind", "score"), [("dot", "dot"), ("general", "general"), ("mlp", "concat")])
def test_opennmt(kind, score):
    golden = of(f"onmt_{kind}")
    ours = nn.LuongGlobalAttention(8, 8, score=score)
    if kind == "general":
        fill(ours.score.linear, golden["w_linear_in.weight"].T)  # theirs projects the query
    if kind == "mlp":
        ours.score = nn.Additive(8, 8)
        fill(ours.score.query, golden["w_linear_query.weight"], golden["w_linear_query.bias"])
        fill(ours.score.key, golden["w_linear_context.weight"])
        ours.score.v.data = golden["w_v.weight"][0]
    fill(ours.attentional.linear, golden["w_linear_out.weight"])

    result = ours(QUERY, KEY)

    torch.testing.assert_close(result.weights, golden["weights"], atol=2e-6, rtol=1e-5)
    if kind != "mlp":  # theirs has a bias there, and no tanh
        torch.testing.assert_close(result.state, golden["state"], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["additive", "bilinear", "cosine", "dot_product", "scaled_dot_product"])
def test_allennlp(kind):
    golden = of(f"allennlp_{kind}")
    match kind:
        case "additive":
            score = nn.Additive(8, 8, bias=False)
            fill(score.query, golden["w__w_matrix"].T)
            fill(score.key, golden["w__u_matrix"].T)
            score.v.data = golden["w__v_vector"][:, 0]
        case "bilinear":
            score = nn.General(8, 8)
            fill(score.linear, golden["w__weight_matrix"])
        case "cosine":
            score = nn.Cosine()
        case "dot_product":
            score = nn.Dot()
        case _:
            score = nn.ScaledDot()

    result = nn.attend(QUERY[:, :1], KEY, score=score, mask=MASK)

    torch.testing.assert_close(result.weights[:, 0], golden["weights"], atol=2e-6, rtol=1e-5)
