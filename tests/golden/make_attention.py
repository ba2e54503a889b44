"""Record what other libraries compute, into attention.npz beside this file.

Run in an environment of its own, with torch, keras and entmax, beside the unpacked wheels of OpenNMT-py
3.5.1, allennlp 2.10.1 and speechbrain 1.1.2, whose requirements do not install together; of these, only the
attention modules are imported, and what they import is stubbed:

    KERAS_BACKEND=torch python tests/golden/make_attention.py ONMT_FOLDER ALLENNLP_FOLDER SPEECHBRAIN_FOLDER
"""

import importlib.util
import json
import sys
import types
from pathlib import Path

import entmax
import keras
import numpy as np
import torch

onmt_folder, allennlp_folder, speechbrain_folder = map(Path, sys.argv[1:4])
torch.manual_seed(0)
keras.utils.set_random_seed(0)
B, T, S, D = 2, 3, 5, 8
query, key, value = torch.randn(B, T, D), torch.randn(B, S, D), torch.randn(B, S, D)
lengths = torch.tensor([5, 3])
keep = torch.arange(S) < lengths[:, None]
out = {"query": query, "key": key, "value": value, "keep": keep}


def numpy(x):
    return x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def record(name, **tensors):
    out.update({f"{name}/{key}": tensor for key, tensor in tensors.items()})


def weights(module):
    return {f"w_{key}": tensor for key, tensor in module.state_dict().items()}


def load(name, path, **stubs):
    """A module of a library of which only a part can be imported."""
    for stub, content in stubs.items():
        sys.modules[stub.replace("__", ".")] = content
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def keras_record(name, layer, *args, **options):
    """A layer's outputs, and what it saves; random biases, for those that start at zero."""
    layer(*args, **options)
    layer.set_weights([np.random.default_rng(i).normal(size=w.shape) for i, w in enumerate(layer.get_weights())])
    context, w = layer(*args, return_attention_scores=True, **options)
    config = np.frombuffer(json.dumps(layer.get_config()).encode(), np.uint8)
    arrays = {f"w_{i}": np.asarray(x) for i, x in enumerate(layer.get_weights())}
    record(name, context=context, weights=w, config=config, **arrays)


# torch
mha = torch.nn.MultiheadAttention(D, 2, batch_first=True)
context, w = mha(query, key, value, key_padding_mask=~keep, average_attn_weights=False)
record("torch_mha", context=context, weights=w, **weights(mha))
sdpa = torch.nn.functional.scaled_dot_product_attention
bias = torch.randn(B, T, S).masked_fill(~keep[:, None], -torch.inf)
record("torch_sdpa", context=sdpa(query, key, value, attn_mask=keep[:, None]))
record("torch_sdpa_causal", context=sdpa(query, key, value, is_causal=True))
record("torch_sdpa_bias", context=sdpa(query, key, value, attn_mask=bias, scale=0.7), bias=bias)

# keras
lists = {"mask": [None, keep]}
for scale in (False, True):
    for mode in ("dot", "concat"):
        layer = keras.layers.Attention(use_scale=scale, score_mode=mode)
        keras_record(f"keras_attention_{mode}_{scale}", layer, [query, value, key], **lists)
    layer = keras.layers.AdditiveAttention(use_scale=scale)
    keras_record(f"keras_additive_{scale}", layer, [query, value, key], **lists)
layer = keras.layers.Attention()
keras_record("keras_attention_causal", layer, [query, value, key], use_causal_mask=True, **lists)
for name, layer in (
    ("keras_mha", keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)),
    ("keras_mha_sizes", keras.layers.MultiHeadAttention(num_heads=3, key_dim=5, value_dim=2, output_shape=6)),
    ("keras_mha_unbiased", keras.layers.MultiHeadAttention(num_heads=2, key_dim=4, use_bias=False)),
    ("keras_gqa", keras.layers.GroupQueryAttention(head_dim=4, num_query_heads=4, num_key_value_heads=2)),
    (
        "keras_mqa_unbiased",
        keras.layers.GroupQueryAttention(head_dim=3, num_query_heads=4, num_key_value_heads=1, use_bias=False),
    ),
):
    keras_record(name, layer, query, value, key, attention_mask=keep[:, None])

# entmax
scores = torch.randn(20, 17) * 2
scores.requires_grad_()
slope = torch.randn(20, 17)
for name in ("sparsemax", "entmax15"):
    w = getattr(entmax, name)(scores, dim=-1)
    (grad,) = torch.autograd.grad(w, scores, slope)
    record(name, weights=w, grad=grad)
record("entmax", scores=scores, slope=slope)

# SpeechBrain, three steps from the start
names = (
    "speechbrain",
    "speechbrain.dataio",
    "speechbrain.dataio.dataio",
    "speechbrain.utils",
    "speechbrain.utils.logger",
)
sys.modules.update({name: types.ModuleType(name) for name in names})
sys.modules["speechbrain.dataio.dataio"].length_to_mask = lambda lengths, max_len, device: (
    torch.arange(max_len) < lengths[:, None]
).to(lengths)
sys.modules["speechbrain.utils.logger"].get_logger = lambda name: None
speech = load("speechbrain_attention", speechbrain_folder / "speechbrain/nnet/attention.py")
for name, module in (
    ("speechbrain_content", speech.ContentBasedAttention(D, D, 6, 4, scaling=1.5)),
    (
        "speechbrain_location",
        speech.LocationAwareAttention(D, D, 6, 4, conv_channels=3, kernel_size=2, scaling=2.0),
    ),
    (
        "speechbrain_location_wide",
        speech.LocationAwareAttention(D, D, 5, 9, conv_channels=1, kernel_size=4),
    ),
):
    steps = [module(key, lengths, query[:, t]) for t in range(T)]
    record(
        name,
        context=torch.stack([c for c, _ in steps], 1),
        weights=torch.stack([w for _, w in steps], 1),
        **weights(module),
    )

# OpenNMT-py: its attention and nothing else; the mask that it builds is that of sequence_mask
package, modules, utils = (types.ModuleType(name) for name in ("onmt", "onmt.modules", "onmt.utils"))
misc = types.ModuleType("onmt.utils.misc")
misc.aeq = lambda *args: None
misc.sequence_mask = lambda lengths, max_len=None: torch.arange(max_len) < lengths[:, None]
sparse = types.ModuleType("onmt.modules.sparse_activations")
sparse.sparsemax = entmax.sparsemax
onmt = load(
    "onmt.modules.global_attention",
    onmt_folder / "onmt/modules/global_attention.py",
    onmt=package,
    onmt__modules=modules,
    onmt__utils=utils,
    onmt__utils__misc=misc,
    onmt__modules__sparse_activations=sparse,
)
for kind in ("dot", "general", "mlp"):
    for weigh in ("softmax", "sparsemax"):
        module = onmt.GlobalAttention(D, attn_type=kind, attn_func=weigh)
        state, w = module(query, key)
        record(f"onmt_{kind}_{weigh}", state=state, weights=w, **weights(module))

# AllenNLP: one query
registrable = types.ModuleType("allennlp.common.registrable")


class Registrable:
    @classmethod
    def register(cls, name):
        return lambda subclass: subclass


registrable.Registrable = Registrable
stub = {
    name: types.ModuleType(name)
    for name in ("allennlp", "allennlp.common", "allennlp.modules", "allennlp.modules.attention")
}
nn_ = types.ModuleType("allennlp.nn")
util = types.ModuleType("allennlp.nn.util")


def masked_softmax(vector, mask, dim=-1):  # as in allennlp.nn.util, not memory efficient
    result = torch.nn.functional.softmax(vector * mask, dim=dim) * mask
    return result / (result.sum(dim=dim, keepdim=True) + 1e-13)


util.masked_softmax = masked_softmax
util.tiny_value_of_dtype = lambda dtype: 1e-13
PARTS = {"x": lambda x, y: x, "y": lambda x, y: y, "x*y": torch.mul, "x+y": torch.add, "x-y": torch.sub}


def combine(combination, tensors, weights):  # as in allennlp.nn.util, by its description
    parts = torch.broadcast_tensors(*(PARTS[part](*tensors) for part in combination.split(",")))
    return torch.cat(parts, -1) @ weights


util.get_combined_dim = lambda combination, dims: dims[0] * len(combination.split(","))
util.combine_tensors_and_multiply = lambda *args: combine(*args).unsqueeze(1)
nn_.util = util


class Activation:
    @classmethod
    def by_name(cls, name):
        return lambda: lambda x: x


nn_.Activation = Activation
activations = types.ModuleType("allennlp.nn.activations")
activations.Activation = Activation
sys.modules["allennlp.nn.activations"] = activations
folder = allennlp_folder / "allennlp/modules/attention"
sys.modules.update(stub | {"allennlp.common.registrable": registrable, "allennlp.nn": nn_, "allennlp.nn.util": util})
load("allennlp.modules.attention.attention", folder / "attention.py")
for kind, cls, args in (
    ("additive", "AdditiveAttention", (D, D)),
    ("bilinear", "BilinearAttention", (D, D)),
    ("linear", "LinearAttention", (D, D)),
    ("cosine", "CosineAttention", ()),
    ("dot_product", "DotProductAttention", ()),
    ("scaled_dot_product", "ScaledDotProductAttention", (D,)),
):
    module = getattr(load(f"allennlp.modules.attention.{kind}_attention", folder / f"{kind}_attention.py"), cls)(*args)
    if hasattr(module, "_bias"):
        module._bias.data.fill_(0.3)
    record(f"allennlp_{kind}", weights=module(query[:, 0], key, keep), **weights(module))
linear = sys.modules["allennlp.modules.attention.linear_attention"]
bilinear = sys.modules["allennlp.modules.attention.bilinear_attention"]
for name, module in (
    ("allennlp_linear_more", linear.LinearAttention(D, D, "x,y,x*y,x-y", torch.relu)),
    ("allennlp_bilinear_tanh", bilinear.BilinearAttention(D, D, torch.tanh)),
):
    record(name, weights=module(query[:, 0], key, keep), **weights(module))

np.savez_compressed(Path(__file__).with_name("attention.npz"), **{name: numpy(x) for name, x in out.items()})
print(len(out), "arrays")
