"""Every attention mechanism, from four parts: score, weigh, combine, state. Needs the extra ``torch``."""

from importlib.util import find_spec

from regard.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("regard.nn", "torch")

from regard.nn.attend import attend
from regard.nn.attention import Attention, Memory
from regard.nn.masks import MaskError, causal_mask, lengths_mask
from regard.nn.result import AttentionResult

__all__ = [
    "Attention",
    "AttentionResult",
    "MaskError",
    "Memory",
    "attend",
    "causal_mask",
    "lengths_mask",
]
