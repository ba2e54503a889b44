"""Every named mechanism: what it computes, who wrote it down, its parts, and where it deviates."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from torch import nn

from regard.errors import SettingError, nearest
from regard.nn.additive import Additive
from regard.nn.attention import Attention
from regard.nn.bahdanau import BahdanauAttention
from regard.nn.collaborative import AttentiveCollaborativeFiltering
from regard.nn.dual import DualAttention, GlobalGate, LocalGate
from regard.nn.graph import GraphAttention
from regard.nn.hardmax import HardmaxAttention
from regard.nn.hierarchical import HierarchicalAttention
from regard.nn.location_sensitive import LocationSensitiveAttention
from regard.nn.luong_global import LuongGlobalAttention
from regard.nn.luong_local import LuongLocalAttention
from regard.nn.memory import MemoryAttention
from regard.nn.multi_head import MultiHeadAttention
from regard.nn.nested import NestedAttention
from regard.nn.pointer import PointerAttention
from regard.nn.pool import PoolAttention
from regard.nn.score import (
    Biaffine,
    Cosine,
    Distance,
    Dot,
    General,
    Kernel,
    ScaledDot,
    Score,
    SquaredDistance,
)
from regard.nn.self_attention import SelfAttention

LONGEST = 512  # the longest source, for mechanisms with a parameter per position, unless told otherwise
Form = Literal["query", "pool", "documents", "items", "codes"]


@dataclass(frozen=True)
class Mechanism:
    """One line of the catalogue.

    Attributes
    ----------
    name : str
        What ``mechanism`` builds it by.
    build : callable
        Takes ``query_dim`` and ``key_dim``, and the options of the class.
    formula, paper : str
    score, weigh, combine, state : str
        Its parts.
    deviations : str
        Where it is not the paper, or where the paper left room.
    same_as : str
        Who computes the same numbers, and how their weights get here; the tests compare.
    form : str
        How it is called. "query": (query, key, value); "pool": (key), with one learned query or none;
        "documents": words in sentences; "items": user, items, components; "codes": nodes of a graph.
    positional : bool
        Whether the order of the sources matters.
    weighable : bool
        Whether it takes another ``weigh``.
    stateful : bool
        Whether the state goes in as well as out.
    """

    name: str
    build: Callable[..., nn.Module]
    formula: str
    paper: str
    score: str
    weigh: str = "softmax"
    combine: str = "average"
    state: str = "none"
    deviations: str = "none"
    same_as: str = ""
    form: Form = "query"
    positional: bool = False
    weighable: bool = True
    stateful: bool = False


def mechanism(name: str, **options: Any) -> nn.Module:
    """Build a mechanism by its name.

    Parameters
    ----------
    name : str
        One of ``CATALOGUE``.
    **options
        ``query_dim`` and ``key_dim``, the sizes of queries and keys, and whatever the class takes.

    Examples
    --------
    >>> mechanism("luong_local_p", query_dim=8, key_dim=8, window=2).window
    2
    """
    if name not in CATALOGUE:
        raise SettingError(
            f"Unknown mechanism {name!r}.{nearest(name, CATALOGUE)} `regard mechanisms` lists all {len(CATALOGUE)}."
        )
    build = CATALOGUE[name].build
    try:
        inspect.signature(build).bind(**options)
    except TypeError as error:
        takes = ", ".join(inspect.signature(build).parameters)
        raise SettingError(f"{name!r} cannot be built: {error}. It takes {takes}.") from None
    return build(**options)


def _plain(score: Callable[..., Score]) -> Callable[..., Attention]:
    """Attention with a score that has no parameters; queries and keys have one size."""

    def build(
        query_dim: int | None = None,
        key_dim: int | None = None,
        *,
        weigh: Any = "softmax",
        dropout: float = 0.0,
        **options: Any,
    ) -> Attention:
        if query_dim != key_dim and None not in (query_dim, key_dim):
            raise SettingError(
                f"This score needs queries and keys of one size; got {query_dim} and {key_dim}. "
                "'general' takes any two."
            )
        return Attention(score(**options), weigh, dropout=dropout)

    return build


def _learned(score: Callable[..., Score]) -> Callable[..., Attention]:
    """Attention with a score that has parameters."""

    def build(
        query_dim: int, key_dim: int, *, weigh: Any = "softmax", dropout: float = 0.0, **options: Any
    ) -> Attention:
        return Attention(score(query_dim, key_dim, **options), weigh, dropout=dropout)

    return build


def _kernel(*, score: Any = "scaled_dot", of: Any = None) -> Kernel:
    return Kernel(score, nn.functional.softplus if of is None else of)


def _self_attention(query_dim: int, key_dim: int | None = None, **options: Any) -> SelfAttention:
    return SelfAttention(query_dim, key_dim=key_dim, **options)


def _multi_head(
    query_dim: int, key_dim: int | None = None, *, heads: int | None = None, **options: Any
) -> MultiHeadAttention:
    return MultiHeadAttention(query_dim, heads or math.gcd(query_dim, 8), key_dim=key_dim, **options)


def _grouped(query_dim: int, key_dim: int | None = None, *, kv_heads: int = 1, **options: Any) -> MultiHeadAttention:
    return _multi_head(query_dim, key_dim, kv_heads=kv_heads, **options)


def _memory(
    query_dim: int | None = None, key_dim: int | None = None, *, hops: int = 3, **options: Any
) -> MemoryAttention:
    if query_dim != key_dim and None not in (query_dim, key_dim):
        raise SettingError(f"What is found is added to the query, so sizes agree; got {query_dim} and {key_dim}.")
    return MemoryAttention(hops=hops, **options)


def _hardmax(query_dim: int, key_dim: int | None = None, **options: Any) -> HardmaxAttention:
    if key_dim not in (None, query_dim):
        raise SettingError(f"Points attend to points, so sizes agree; got {query_dim} and {key_dim}.")
    return HardmaxAttention(query_dim, **options)


def _pool(key_dim: int, query_dim: int | None = None, **options: Any) -> PoolAttention:
    return PoolAttention(key_dim, query_dim, **options)


def _hierarchical(key_dim: int, query_dim: int | None = None, **options: Any) -> HierarchicalAttention:
    return HierarchicalAttention(key_dim, query_dim, **options)


def _local_gate(key_dim: int, query_dim: int | None = None, **options: Any) -> LocalGate:  # noqa: ARG001 - no query
    return LocalGate(key_dim, **options)


def _global_gate(key_dim: int, length: int = LONGEST, query_dim: int | None = None, **options: Any) -> GlobalGate:  # noqa: ARG001
    return GlobalGate(key_dim, length, **options)


def _dual(key_dim: int, length: int = LONGEST, query_dim: int | None = None, **options: Any) -> DualAttention:  # noqa: ARG001
    return DualAttention(key_dim, length, **options)


def _luong_location(query_dim: int, key_dim: int, *, positions: int = LONGEST, **options: Any) -> LuongGlobalAttention:
    return LuongGlobalAttention(query_dim, key_dim, score="location", positions=positions, **options)


def _collaborative(
    query_dim: int, key_dim: int, *, item_dim: int | None = None, **options: Any
) -> AttentiveCollaborativeFiltering:
    return AttentiveCollaborativeFiltering(query_dim, item_dim or query_dim, key_dim, **options)


def _graph(ancestors: Any, key_dim: int, query_dim: int | None = None, **options: Any) -> GraphAttention:
    return GraphAttention(ancestors, key_dim, query_dim, **options)


BAHDANAU = "Bahdanau, Cho and Bengio 2014, Neural Machine Translation by Jointly Learning to Align and Translate"
LUONG = "Luong, Pham and Manning 2015, Effective Approaches to Attention-based Neural Machine Translation"
CHOROWSKI = "Chorowski et al. 2015, Attention-Based Models for Speech Recognition"
VASWANI = "Vaswani et al. 2017, Attention Is All You Need"
SEO = "Seo et al. 2017, Interpretable Convolutional Neural Networks with Dual Local and Global Attention"
YANG = "Yang et al. 2016, Hierarchical Attention Networks for Document Classification"

_LOCAL = partial(
    Mechanism,
    paper=LUONG,
    score="general, or any of dot, concat, location",
    positional=True,
    stateful=True,
)
_GLOBAL = partial(
    Mechanism,
    paper=LUONG,
    combine="average; tanh(Wc [c; h]) as the state",
    state="attentional vector, out only",
)
_CHOROWSKI = partial(Mechanism, paper=CHOROWSKI, stateful=True, positional=True, build=LocationSensitiveAttention)
_POSITIONS = "positions count from 0; S is the number of positions that the mask allows"
_UNIFORM = (
    "the first weights are uniform over the true length; b is the bias of V; gradients flow through the state; "
    "the window has as many positions on its right as on its left"
)

_ALL = (
    Mechanism(
        "dot",
        _plain(Dot),
        "x[t, s] = q[t]·k[s]",
        LUONG,
        "dot, times a scale if given",
        same_as="Keras Attention (libraries.from_keras), AllenNLP DotProductAttention",
    ),
    Mechanism(
        "scaled_dot",
        _plain(ScaledDot),
        "x[t, s] = q[t]·k[s] / √d, or / λ",
        VASWANI,
        "scaled dot",
        same_as="torch scaled_dot_product_attention (its float mask is `bias`, its is_causal `causal='top-left'`, "
        "its scale 1 / `divisor`), AllenNLP ScaledDotProductAttention",
    ),
    Mechanism("general", _learned(General), "x[t, s] = q[t]' W k[s]", LUONG, "general"),
    Mechanism(
        "biaffine",
        _learned(Biaffine),
        "x[t, s] = q' W k + u·q + w·k + b",
        "Dozat and Manning 2017, Deep Biaffine Attention for Neural Dependency Parsing",
        "biaffine",
        same_as="AllenNLP BilinearAttention and LinearAttention (libraries.from_allennlp)",
    ),
    Mechanism(
        "additive",
        _learned(Additive),
        "x[t, s] = v' tanh(W q[t] + U k[s] + b)",
        BAHDANAU,
        "additive",
        same_as="AllenNLP AdditiveAttention (libraries.from_allennlp), Keras AdditiveAttention and "
        "Attention(score_mode='concat') (libraries.from_keras), which have no W and U: `project=False`",
    ),
    Mechanism(
        "cosine",
        _plain(Cosine),
        "x[t, s] = scale · q·k / |q||k|",
        "Graves, Wayne and Danihelka 2014, Neural Turing Machines",
        "cosine",
        deviations="zero where either vector is zero",
        same_as="AllenNLP CosineAttention",
    ),
    Mechanism(
        "squared_distance",
        _plain(SquaredDistance),
        "x[t, s] = -scale · |q[t] - k[s]|²",
        "Alam et al., Attention in machine learning: how to explain the empirical formula",
        "squared distance: a dot product with a bias per key",
    ),
    Mechanism(
        "distance",
        _plain(Distance),
        "x[t, s] = -scale · |q[t] - k[s]|_p,  p >= 1",
        "Alam et al., Attention in machine learning: how to explain the empirical formula",
        "negative p-norm distance",
    ),
    Mechanism(
        "kernel",
        _plain(_kernel),
        "x[t, s] = F(q·k / √d),  F increasing, softplus unless told",
        "Alam et al., Attention in machine learning: how to explain the empirical formula",
        "kernel of another score",
    ),
    Mechanism(
        "bahdanau",
        BahdanauAttention,
        "e[t, j] = v' tanh(W s[t-1] + U h[j]),  a = softmax(e),  c[t] = Σⱼ a[t, j] h[j]",
        BAHDANAU,
        "additive",
    ),
    _GLOBAL(
        name="luong_dot",
        build=partial(LuongGlobalAttention, score="dot"),
        formula="a[t, s] = softmax(h[t]·s[s]),  h̃ = tanh(Wc [c; h])",
        score="dot",
        same_as="OpenNMT GlobalAttention of type dot (libraries.from_opennmt); its output is our `state`",
    ),
    _GLOBAL(
        name="luong_general",
        build=partial(LuongGlobalAttention, score="general"),
        formula="a[t, s] = softmax(h[t]' W s[s]),  h̃ = tanh(Wc [c; h])",
        score="general",
        same_as="OpenNMT GlobalAttention of type general (libraries.from_opennmt); its output is our `state`",
    ),
    _GLOBAL(
        name="luong_concat",
        build=partial(LuongGlobalAttention, score="concat"),
        formula="a[t, s] = softmax(v' tanh(W [h[t]; s[s]])),  h̃ = tanh(Wc [c; h])",
        score="additive",
        same_as="OpenNMT GlobalAttention of type mlp (libraries.from_opennmt), with biases and without tanh at the "
        "end: `bias=True, tanh=False`; its output is our `state`",
    ),
    _GLOBAL(
        name="luong_location",
        build=_luong_location,
        formula="a[t, :] = softmax(W h[t]),  h̃ = tanh(Wc [c; h])",
        score="location: no keys",
        positional=True,
        deviations="W has a row for each of `positions`, 512 unless told; shorter sources use the first S",
    ),
    _LOCAL(
        name="luong_local_m",
        build=partial(LuongLocalAttention, position="monotonic"),
        formula="p[t] = t,  a[t, s] = softmax over s in [p - D, p + D] of score(h[t], s[s])",
        weigh="softmax in a window",
        state="position",
        deviations="positions count from 0; a window beyond the end of the source is empty",
    ),
    _LOCAL(
        name="luong_local_p",
        build=partial(LuongLocalAttention, position="predictive"),
        formula="p[t] = S σ(v' tanh(Wp h[t])),  a[t, s] = softmax in [p - D, p + D] · exp(-(s - p)² / 2σ²),  σ = D/2",
        weigh="softmax in a window, times a Gaussian, not renormalised",
        state="position (counts steps; the prediction does not use it)",
        deviations=_POSITIONS,
    ),
    Mechanism(
        "self_attention",
        _self_attention,
        "context = softmax(Q K' / √d) V,  Q = X Wq,  K = X Wk,  V = X Wv",
        VASWANI,
        "scaled dot",
    ),
    Mechanism(
        "multi_head",
        _multi_head,
        "head[i] = softmax(Q Wq[i] (K Wk[i])' / √d) V Wv[i],  context = [head[1]; ...; head[H]] Wo",
        VASWANI,
        "scaled dot per head",
        combine="average per head, joined and projected",
        same_as="torch.nn.MultiheadAttention (MultiHeadAttention.from_torch), Keras MultiHeadAttention "
        "(libraries.from_keras)",
        deviations="projections have a bias unless told otherwise; an empty row is zero, bias and all",
    ),
    Mechanism(
        "grouped_query",
        _grouped,
        "multi-head, each head of keys and values shared by a run of query heads",
        "Ainslie et al. 2023, GQA: Training Generalized Multi-Query Transformer Models",
        "scaled dot per head",
        combine="average per head, joined and projected",
        deviations="as multi_head",
        same_as="Keras GroupQueryAttention (libraries.from_keras)",
    ),
    _CHOROWSKI(
        name="location_content",
        build=partial(LocationSensitiveAttention, mode="content"),
        formula="e[i, j] = w' tanh(W s[i-1] + V h[j] + b)",
        score="additive",
        state="previous weights, out only",
        same_as="SpeechBrain ContentBasedAttention (libraries.from_speechbrain)",
        positional=False,
    ),
    _CHOROWSKI(
        name="location_only",
        build=partial(LocationSensitiveAttention, mode="location"),
        formula="f = F * a[i-1],  e[i, j] = w' tanh(V h[j] + U f[j] + b)",
        score="additive, of keys and location features",
        state="previous or cumulative weights",
        deviations=_UNIFORM,
    ),
    _CHOROWSKI(
        name="location_sensitive",
        build=partial(LocationSensitiveAttention, mode="hybrid"),
        formula="f = F * a[i-1],  e[i, j] = w' tanh(W s[i-1] + V h[j] + U f[j] + b)",
        score="additive, of query, keys and location features",
        weigh="softmax, sharpened by β, top-k or a window, or smoothed",
        same_as="SpeechBrain LocationAwareAttention (libraries.from_speechbrain)",
        state="previous or cumulative weights",
        deviations=_UNIFORM,
    ),
    Mechanism(
        "pool",
        _pool,
        "u[s] = tanh(W h[s] + b),  a = softmax(u·q),  c = Σₛ a[s] h[s],  q learned",
        "Serrano and Smith 2019, Is Attention Interpretable? (FLAN); one level of Yang et al. 2016",
        "dot with a learned query",
        form="pool",
    ),
    Mechanism(
        "hierarchical",
        _hierarchical,
        "words: u = tanh(W h + b), softmax(u·uw);  the same over sentences",
        YANG,
        "dot with a learned query, on two levels",
        form="documents",
        deviations="the paper's recurrent encoders are the caller's: `encode` for sentences",
    ),
    Mechanism(
        "dual_local",
        _local_gate,
        "s[i] = σ(W · window[i] + b),  x'[i] = s[i] x[i]",
        SEO,
        "a filter around each word; no query",
        weigh="sigmoid gate",
        combine="gate",
        form="pool",
        positional=True,
        weighable=False,
    ),
    Mechanism(
        "dual_global",
        _global_gate,
        "s = σ(W · document + b),  x'[i] = s x[i]",
        SEO,
        "a filter as long as the longest document, 512 words unless told; no query",
        weigh="sigmoid gate",
        combine="gate",
        form="pool",
        positional=True,
        weighable=False,
        deviations="chosen: one gate a document; one a word by `per_word`",
    ),
    Mechanism(
        "dual",
        _dual,
        "both gates, then tanh of filters of several widths, then the maximum over the document",
        SEO,
        "filters; no query",
        weigh="sigmoid gates",
        combine="gate, convolutions, maximum",
        form="pool",
        positional=True,
        weighable=False,
        deviations="words beyond the end count as zeros, so that padding changes nothing",
    ),
    Mechanism(
        "nested",
        NestedAttention,
        "u[s, k] = φ1(d[s])·φ2(h[k]),  φ = tanh of a linear map;  "
        "to spell: the same over the characters of argmaxₖ α[s, k]",
        "Ji et al. 2017, A Nested Attention Neural Hybrid Model for Grammatical Error Correction",
        "dot of two small networks",
        deviations='chosen: softmax; the printed u / Σ u, which may be negative, by weigh="literal"',
    ),
    Mechanism(
        "memory",
        _memory,
        "a = softmax(u·k),  c = Σᵢ a[i] v[i],  u ← u + c, several hops",
        "Weston, Chopra and Bordes 2015, Memory Networks; Sukhbaatar et al. 2015, End-To-End Memory Networks",
        "dot, or any",
        state="the question after the last hop, out only",
    ),
    Mechanism(
        "pointer",
        PointerAttention,
        "u[i, j] = v' tanh(W1 e[j] + W2 d[i]),  p(j) = softmax(u[i])[j]",
        "Vinyals, Fortunato and Jaitly 2015, Pointer Networks",
        "additive",
        combine="none: the weights are the answer; the average is there as well",
    ),
    Mechanism(
        "collaborative",
        _collaborative,
        "b[l, m] = w2' relu(W2u u + W2x x[l, m] + b2) + c2,  a[l] = w1' relu(W1u u + W1v v + W1p p + W1x x̄ + b1) + c1",
        "Chen et al. 2017, Attentive Collaborative Filtering",
        "small networks, on two levels",
        form="items",
        deviations="β is normalised by its own scores b, where the paper prints a",
    ),
    Mechanism(
        "graph",
        _graph,
        "g[i] = Σ over j in A(i) of a[i, j] e[j],  a = softmax(u' tanh(W [e[i]; e[j]] + b))",
        "Choi et al. 2017, GRAM: Graph-based Attention Model for Healthcare Representation Learning",
        "additive",
        form="codes",
        deviations="A(i) is the code and all its ancestors, the root included",
    ),
    Mechanism(
        "hardmax",
        _hardmax,
        "x[i] ← x[i] + α / (1 + α) · (mean over C(i) - x[i]),  C(i) = argmaxⱼ <A x[i], x[j]>",
        "Alcalde, Fantuzzi and Zuazua 2024, Clustering in pure-attention hardmax transformers",
        "dot, A = B'B",
        weigh="hardmax, ties share",
        combine="a step toward the average",
        deviations="scores are compared in double precision; A gets no gradient",
    ),
)

CATALOGUE: dict[str, Mechanism] = {entry.name: entry for entry in _ALL}
