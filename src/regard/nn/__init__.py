"""Every attention mechanism, from four parts: score, weigh, combine, state. Needs the extra ``torch``."""

from importlib.util import find_spec

from regard.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("regard.nn", "torch")

from regard.nn.additive import Additive
from regard.nn.attend import attend
from regard.nn.attention import Attention, Memory
from regard.nn.bahdanau import BahdanauAttention
from regard.nn.catalogue import CATALOGUE, Mechanism, mechanism
from regard.nn.collaborative import AttentiveCollaborativeFiltering, ComponentAttention, ItemAttention
from regard.nn.combine import Attentional, average, gated
from regard.nn.dual import DualAttention, GlobalGate, LocalGate
from regard.nn.graph import GraphAttention, ancestors_of
from regard.nn.hardmax import HardmaxAttention
from regard.nn.hierarchical import HierarchicalAttention
from regard.nn.location_sensitive import LocationSensitiveAttention
from regard.nn.luong_global import LuongGlobalAttention
from regard.nn.luong_local import LuongLocalAttention
from regard.nn.masks import MaskError, causal_mask, lengths_mask
from regard.nn.memory import MemoryAttention
from regard.nn.multi_head import MultiHeadAttention
from regard.nn.nested import NestedAttention
from regard.nn.pointer import PointerAttention
from regard.nn.pool import PoolAttention
from regard.nn.result import AttentionResult
from regard.nn.score import (
    Biaffine,
    Cosine,
    Distance,
    Dot,
    General,
    Kernel,
    Location,
    ScaledDot,
    Score,
    SquaredDistance,
)
from regard.nn.self_attention import SelfAttention
from regard.nn.similarity import average_similar
from regard.nn.weigh import (
    entmax15,
    gate,
    gaussian,
    hardmax,
    literal,
    log_softmax,
    ratio,
    smooth,
    softmax,
    sparsemax,
    top_k,
    windowed,
)

__all__ = [
    "CATALOGUE",
    "Additive",
    "Attention",
    "AttentionResult",
    "Attentional",
    "AttentiveCollaborativeFiltering",
    "BahdanauAttention",
    "Biaffine",
    "ComponentAttention",
    "Cosine",
    "Distance",
    "Dot",
    "DualAttention",
    "General",
    "GlobalGate",
    "GraphAttention",
    "HardmaxAttention",
    "HierarchicalAttention",
    "ItemAttention",
    "Kernel",
    "LocalGate",
    "Location",
    "LocationSensitiveAttention",
    "LuongGlobalAttention",
    "LuongLocalAttention",
    "MaskError",
    "Mechanism",
    "Memory",
    "MemoryAttention",
    "MultiHeadAttention",
    "NestedAttention",
    "PointerAttention",
    "PoolAttention",
    "ScaledDot",
    "Score",
    "SelfAttention",
    "SquaredDistance",
    "ancestors_of",
    "attend",
    "average",
    "average_similar",
    "causal_mask",
    "entmax15",
    "gate",
    "gated",
    "gaussian",
    "hardmax",
    "lengths_mask",
    "literal",
    "log_softmax",
    "mechanism",
    "ratio",
    "smooth",
    "softmax",
    "sparsemax",
    "top_k",
    "windowed",
]
