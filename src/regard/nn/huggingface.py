"""Run models of Hugging Face Transformers with any of our weighings, and see their weights. Needs the
extra ``hf``.

Examples
--------
>>> from transformers import BertConfig, BertModel
>>> name = register("regard_sparsemax", weigh="sparsemax")
>>> config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
>>> model = BertModel._from_config(config, attn_implementation=name)
>>> with capture() as weights:
...     _ = model(torch.tensor([[2, 7, 3]]))
>>> [w.shape for w in weights]
[torch.Size([1, 2, 3, 3])]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import MissingExtraError, SettingError
from regard.nn.attend import attend
from regard.nn.masks import Causal
from regard.nn.score import ScaledDot
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh

if find_spec("transformers") is None:
    raise MissingExtraError("regard.nn.huggingface", "hf")

_CAPTURED: ContextVar[list[Tensor] | None] = ContextVar("captured", default=None)


def register(name: str = "regard", *, weigh: str | Weigh = "softmax", **options: Any) -> str:
    """Make a weighing an attention implementation of Transformers.

    Parameters
    ----------
    name : str
        What models call it: ``attn_implementation=name``.
    weigh : str or callable
        See ``attend``.
    **options
        Of the weighing: ``temperature=0.5``, ``k=3``.

    Returns
    -------
    name : str
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    resolved = resolve_weigh(weigh, **options)

    def forward(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        is_causal: bool | None = None,
        position_bias: Tensor | None = None,
        **rest: Any,
    ) -> tuple[Tensor, Tensor | None]:
        for unknown in ("softcap", "s_aux"):
            if rest.get(unknown) is not None:
                raise SettingError(
                    f"This model's attention uses `{unknown}`, which {name!r} does not know; use 'eager'."
                )
        shared = query.shape[1] // key.shape[1]
        if shared > 1:
            key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
        mask, bias = _mask_and_bias(attention_mask, position_bias)
        causal: Causal = False
        if attention_mask is None and query.shape[2] > 1:
            ahead = getattr(module, "is_causal", False) if is_causal is None else is_causal
            causal = "bottom-right" if ahead else False
        captured = _CAPTURED.get()
        result = attend(
            query,
            key,
            value,
            score=ScaledDot(divisor=None if scaling is None else 1 / scaling),
            weigh=resolved,
            mask=mask,
            bias=bias,
            causal=causal,
            dropout=dropout,
            need_weights=captured is not None or bool(rest.get("output_attentions")),
        )
        if captured is not None and result.weights is not None:
            captured.append(result.weights.detach())
        return result.context.transpose(1, 2).contiguous(), result.weights

    def mask(*args: Any, **kwargs: Any) -> Tensor | None:
        made: Tensor | None = sdpa_mask(*args, **{**kwargs, "allow_is_causal_skip": False})
        return made

    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, mask)
    return name


@contextmanager
def capture() -> Iterator[list[Tensor]]:
    """Collect the weights of every attention that runs inside, in the order of the layers: (B, H, T, S) each.

    Only models that run an implementation of ``register`` are seen. Outside, no weights are made where a
    fused kernel can do without. (Transformers' own ``output_attentions=True`` works too where a model tells
    its attention about it, which BERT does and GPT-2 does not.)
    """
    weights: list[Tensor] = []
    token = _CAPTURED.set(weights)
    try:
        yield weights
    finally:
        _CAPTURED.reset(token)


def _mask_and_bias(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Transformers' masks are boolean by our rule, or numbers to add, whose lowest float means no."""
    if mask is None or mask.dtype == torch.bool:
        return mask, bias
    lowest = mask <= torch.finfo(mask.dtype).min / 2
    return ~lowest, mask.masked_fill(lowest, 0) if bias is None else mask.masked_fill(lowest, 0) + bias
