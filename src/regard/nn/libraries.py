"""Modules of other libraries as ours, with the same numbers.

What is read is what those libraries save, so none of them is imported: a state dict, or a Keras layer's
configuration and arrays. ``MultiHeadAttention.from_torch`` does the same for PyTorch's own. docs/mechanisms.md
lists who agrees with whom; masks are always by our rule, and rows with nothing to attend to are zero here whatever
they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import SettingError
from regard.nn.additive import Additive
from regard.nn.attention import Attention
from regard.nn.location_sensitive import LocationSensitiveAttention
from regard.nn.luong_global import LuongGlobalAttention
from regard.nn.multi_head import MultiHeadAttention
from regard.nn.score import Biaffine, Dot, General, Kernel, Score
from regard.nn.weigh import Weigh

State = Mapping[str, Tensor]


def from_keras(layer: Any, *, dim: int | None = None) -> Attention | MultiHeadAttention:
    """A built layer of Keras.

    ``Attention`` (both score modes), ``AdditiveAttention``, ``MultiHeadAttention`` and
    ``GroupQueryAttention``; called as ``ours(query, key, value)``, where Keras wants ``[query, value, key]``
    or ``(query, value, key)``.

    Parameters
    ----------
    layer : keras.layers.Layer
    dim : int, optional
        Size of queries and keys, for layers with tanh that keep no vector of this size.
    """
    config, arrays = layer.get_config(), [torch.as_tensor(array) for array in layer.get_weights()]
    for option, plain in (("use_gate", False), ("sliding_window", None), ("attention_axes", [1])):
        if config.get(option, plain) not in (plain, None):
            raise SettingError(f"`{option}` of Keras has no equal here; got {config[option]!r}.")
    dropout = config["dropout"]
    if "num_heads" in config or "num_query_heads" in config:
        return _keras_heads(config, arrays, dropout)
    if config.get("score_mode") == "dot":
        return Attention(Dot(scale=float(arrays[0]) if config["use_scale"] else 1.0), dropout=dropout)
    if "score_mode" in config:  # concat: weight · Σ tanh(scale · (q + k))
        inner, outer = float(arrays[0]) if config["use_scale"] else 1.0, float(arrays[-1])
        return Attention(_tanh(torch.full((_known(dim),), outer), inner), dropout=dropout)
    return Attention(_tanh(arrays[0] if config["use_scale"] else torch.ones(_known(dim))), dropout=dropout)


def _keras_heads(config: Mapping[str, Any], arrays: list[Tensor], dropout: float) -> MultiHeadAttention:
    """Keras keeps kernels (in, heads, size) and biases (heads, size), in the order query, key, value, output."""
    biased = config["use_bias"]
    query, key, value, out = arrays[::2] if biased else arrays
    ours = MultiHeadAttention(
        query.shape[0],
        query.shape[1],
        key_dim=key.shape[0],
        value_dim=value.shape[0],
        kv_heads=key.shape[1],
        head_dim=query.shape[2],
        head_value_dim=value.shape[2],
        out_dim=out.flatten(2).shape[-1],
        bias=biased,
        dropout=dropout,
    )
    kernels = [query.flatten(1), key.flatten(1), value.flatten(1), out.flatten(2).flatten(0, 1)]
    biases = [x.flatten() for x in arrays[1::2]] if biased else [None] * 4
    for linear, kernel, bias in zip((ours.query, ours.key, ours.value, ours.out), kernels, biases, strict=True):
        _fill(linear, kernel.T, bias)
    return ours


def _known(dim: int | None) -> int:
    if dim is None:
        raise SettingError("This layer does not keep the size of its queries: say it, from_keras(layer, dim=...).")
    return dim


def _tanh(v: Tensor, scale: float = 1.0) -> Additive:
    """The score v' tanh(scale · (q + k))."""
    size = len(v)
    score = Additive(size, size, bias=False, project=scale != 1.0)
    if scale != 1.0:
        _fill(score.query, scale * torch.eye(size))
        _fill(score.key, scale * torch.eye(size))
    _copy(score.v, v)
    return score


def from_opennmt(state: State, *, dim: int | None = None, weigh: str | Weigh = "softmax") -> LuongGlobalAttention:
    """``onmt.modules.GlobalAttention``, of type dot, general or mlp; what it returns is our result's ``state``.

    Parameters
    ----------
    state : mapping
        ``module.state_dict()``.
    dim : int, optional
        Its size; read off the state, if not given.
    weigh : "softmax" or "sparsemax"
        Its ``attn_func``.
    """
    if "linear_cover.weight" in state:
        raise SettingError("Coverage has no equal in global attention; LocationSensitiveAttention remembers weights.")
    dim = dim or len(state["linear_out.weight"])
    if "linear_query.weight" in state:  # mlp: with biases, and no tanh at the end
        ours = LuongGlobalAttention(dim, dim, score="concat", bias=True, tanh=False, weigh=weigh)
        assert isinstance(ours.score, Additive)
        _fill(ours.score.query, state["linear_query.weight"], state["linear_query.bias"])
        _fill(ours.score.key, state["linear_context.weight"])
        _copy(ours.score.v, state["v.weight"][0])
    elif "linear_in.weight" in state:
        ours = LuongGlobalAttention(dim, dim, score="general", weigh=weigh)
        assert isinstance(ours.score, General)
        _fill(ours.score.linear, state["linear_in.weight"].T)  # theirs projects the query
    else:
        ours = LuongGlobalAttention(dim, dim, score="dot", weigh=weigh)
    _fill(ours.attentional.linear, state["linear_out.weight"], state.get("linear_out.bias"))
    return ours


def from_speechbrain(state: State, *, scaling: float = 1.0) -> LocationSensitiveAttention:
    """SpeechBrain's ``LocationAwareAttention`` or ``ContentBasedAttention``.

    The same outputs; theirs cuts the gradient through the previous weights: hand in ``state.detach()`` at
    each step for the same gradients.

    Parameters
    ----------
    state : mapping
        ``module.state_dict()``.
    scaling : float
        Its ``scaling``, which is no part of the state.
    """
    located = "conv_loc.weight" in state
    hidden, key_dim = state["mlp_enc.weight"].shape
    options: dict[str, Any] = {}
    if located:
        filters, _, width = state["conv_loc.weight"].shape
        options = {"filters": filters, "width": width}
    ours = LocationSensitiveAttention(
        state["mlp_dec.weight"].shape[1],
        key_dim,
        hidden,
        mode="hybrid" if located else "content",
        sharpening=scaling,
        out_dim=len(state["mlp_out.weight"]),
        **options,
    )
    bias = state["mlp_enc.bias"] + state["mlp_dec.bias"]  # one in each map there; their sum here
    if located:
        assert ours.features is not None
        bias = bias + state["mlp_loc.bias"]
        _fill(ours.features.convolve, state["conv_loc.weight"])
        _fill(ours.location, state["mlp_loc.weight"])
    _fill(ours.query, state["mlp_dec.weight"])
    _fill(ours.key, state["mlp_enc.weight"], bias)
    _fill(ours.out, state["mlp_out.weight"], state["mlp_out.bias"])
    _copy(ours.w, state["mlp_attn.weight"][0])
    return ours


def from_allennlp(
    state: State, *, combination: str = "x,y", activation: Callable[[Tensor], Tensor] | None = None
) -> Attention:
    """AllenNLP's ``AdditiveAttention``, ``BilinearAttention``, ``LinearAttention``, and their matrix forms.

    Those without parameters are ``Attention("dot")``, ``Attention("scaled_dot")`` and
    ``Attention("cosine")``. With ``normalize=False``, and in the matrix forms, theirs are our ``scores``.

    Parameters
    ----------
    state : mapping
        ``module.state_dict()``.
    combination : str
        Of ``LinearAttention``, on vectors of one size: any of x, y, x*y, x+y, x-y, separated by commas.
    activation : callable, optional
        Its ``activation``, which is no part of the state.
    """
    score: Score
    if "_v_vector" in state:
        queries, keys, v = state["_w_matrix"], state["_u_matrix"], state["_v_vector"]
        score = Additive(len(queries), len(keys), len(v), bias=False)
        _fill(score.query, queries.T)
        _fill(score.key, keys.T)
        _copy(score.v, v[:, 0])
    elif "_weight_matrix" in state:
        matrix = state["_weight_matrix"]
        score = _bilinear(matrix, torch.zeros(len(matrix)), torch.zeros(matrix.shape[1]), state["_bias"])
    elif "_weight_vector" in state:
        score = _linear(state["_weight_vector"], combination.replace(" ", "").split(","), state["_bias"])
    else:
        raise SettingError(f"This is not the state of an attention of AllenNLP; got {', '.join(state) or 'nothing'}.")
    return Attention(score if activation is None else Kernel(score, activation))


def _linear(weights: Tensor, parts: list[str], bias: Tensor) -> Biaffine:
    """w·[x; y; x*y; ...] + b is x' diag(w3) y + w1·x + w2·y + b."""
    signs = {"x": (1, 0), "y": (0, 1), "x*y": (0, 0), "x+y": (1, 1), "x-y": (1, -1)}
    if unknown := [part for part in parts if part not in signs]:
        raise SettingError(f"`combination` may have {', '.join(signs)}; got {unknown[0]!r}.")
    size = len(weights) // len(parts)
    of_query, of_key, both = (weights.new_zeros(size) for _ in range(3))
    for part, w in zip(parts, torch.split(weights, size), strict=True):
        query_sign, key_sign = signs[part]
        of_query, of_key = of_query + query_sign * w, of_key + key_sign * w
        both = both + w if part == "x*y" else both
    return _bilinear(both.diag(), of_query, of_key, bias)


def _bilinear(matrix: Tensor, of_query: Tensor, of_key: Tensor, bias: Tensor) -> Biaffine:
    score = Biaffine(*matrix.shape)
    _fill(score.linear, matrix.T, of_key)
    _fill(score.own, of_query[None], bias)
    return score


def _fill(linear: Any, weight: Tensor, bias: Tensor | None = None) -> None:
    _copy(linear.weight, weight)
    if bias is not None:
        _copy(linear.bias, bias)


def _copy(ours: nn.Parameter, theirs: Tensor) -> None:
    """Into our parameter, whose shape must be theirs."""
    if ours.shape != theirs.shape:
        raise SettingError(f"Expected weights of shape {tuple(ours.shape)}; got {tuple(theirs.shape)}.")
    ours.data = theirs.detach().clone()
