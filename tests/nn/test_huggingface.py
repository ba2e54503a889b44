"""Models of Transformers, small and random, with our attention inside."""

from __future__ import annotations

import warnings

import pytest
import torch
import transformers

from regard.errors import SettingError
from regard.nn import huggingface

SMALL = {"vocab_size": 50}
CONFIGS = {
    "bert": lambda: transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=16, **SMALL
    ),
    "gpt2": lambda: transformers.GPT2Config(n_embd=16, n_layer=2, n_head=4, n_positions=32, **SMALL),
    "llama": lambda: transformers.LlamaConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=16,
        **SMALL,
    ),
}
IDS = torch.randint(3, 50, (3, 7), generator=torch.Generator().manual_seed(0))
KEEP = (torch.arange(7) < torch.tensor([7, 5, 2])[:, None]).long()


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def model(kind, implementation):
    torch.manual_seed(0)
    cls = transformers.AutoModelForMaskedLM if kind == "bert" else transformers.AutoModelForCausalLM
    return cls.from_config(CONFIGS[kind](), attn_implementation=implementation).eval()


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("padded", [False, True])
def test_softmax_gives_the_same_logits(kind, padded):
    name = huggingface.register("regard_softmax")
    mask = KEEP if padded else None

    theirs = model(kind, "eager")(IDS, attention_mask=mask).logits
    ours = model(kind, name)(IDS, attention_mask=mask).logits

    real = KEEP.bool() if padded else torch.ones_like(KEEP).bool()
    torch.testing.assert_close(ours[real], theirs[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", CONFIGS)
def test_captured_weights_are_those_of_the_eager_model_and_capturing_changes_nothing(kind):
    name = huggingface.register("regard_softmax")
    ours = model(kind, name)

    plain = ours(IDS).logits
    with huggingface.capture() as weights:
        captured = ours(IDS).logits
    theirs = model(kind, "eager")(IDS, output_attentions=True).attentions

    torch.testing.assert_close(captured, plain)
    assert len(weights) == 2
    for mine, their in zip(weights, theirs, strict=True):
        torch.testing.assert_close(mine, their, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize(
    ("weigh", "options"),
    [
        ("sparsemax", {"temperature": 0.01}),
        ("hardmax", {}),
        ("top_k", {"k": 2}),
        ("softmax", {"temperature": 0.5}),
    ],
)
def test_any_weighing_runs_in_a_model(kind, weigh, options):
    name = huggingface.register(f"regard_{weigh}_test", weigh=weigh, **options)

    with huggingface.capture() as weights:
        logits = model(kind, name)(IDS, attention_mask=KEEP).logits

    assert logits.isfinite().all()
    for w in weights:
        assert (w[1, :, :, 5:] == 0).all()
        torch.testing.assert_close(w[0].sum(-1), torch.ones(4, 7))
        if weigh != "softmax":
            assert (w == 0).float().mean() > 0.3


def test_a_model_generates_as_with_its_own_attention():
    name = huggingface.register("regard_softmax")
    prompt = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}

    theirs, ours = (model("gpt2", which).generate(IDS[:1], **prompt) for which in ("eager", name))

    assert theirs.tolist() == ours.tolist()


def test_a_model_trains():
    ours = model("bert", huggingface.register("regard_entmax", weigh="entmax15")).train()

    ours(IDS, attention_mask=KEEP, labels=IDS).loss.backward()

    assert all(p.grad is None or p.grad.isfinite().all() for p in ours.parameters())


def test_what_a_model_needs_beyond_us_is_refused():
    huggingface.register("regard_softmax")
    forward = transformers.AttentionInterface()["regard_softmax"]

    with pytest.raises(SettingError, match="softcap"):
        forward(None, *[torch.randn(1, 2, 3, 4)] * 3, None, softcap=3.0)
