"""Vaswani et al. 2017: Attention Is All You Need."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.attend import allowed, compare_and_read
from regard.nn.attention import Memory
from regard.nn.masks import Causal, check_mask, join, silence, silence_all, silence_queries
from regard.nn.result import AttentionResult
from regard.nn.score import Score
from regard.nn.score import resolve as resolve_score
from regard.nn.weigh import Weigh
from regard.nn.weigh import resolve as resolve_weigh


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projection.

        head[i] = attend(Q Wq[i], K Wk[i], V Wv[i]),   context = [head[1]; ...; head[H]] Wo
        with score q·k / √d, d the size of a head's queries and keys, and softmax, unless told otherwise

    Parameters
    ----------
    dim : int
        Size of queries.
    heads : int
        H; divides ``dim`` where ``head_dim`` is not given.
    key_dim, value_dim : int, optional
        Sizes of keys and values; ``dim`` and ``key_dim``, if not given.
    kv_heads : int, optional
        Heads of keys and values, each shared by a run of H / kv_heads query heads (grouped queries); H, if
        not given.
    head_dim : int, optional
        d, the size of queries and keys in a head; ``dim / H``, if not given.
    head_value_dim : int, optional
        Size of values in a head; d, if not given.
    out_dim : int, optional
        Size of the context; ``dim``, if not given.
    bias : bool
        Whether the projections have one.
    score, weigh, dropout
        See ``Attention``; a score with parameters gets queries and keys of size d.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        key_dim: int | None = None,
        value_dim: int | None = None,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        head_value_dim: int | None = None,
        out_dim: int | None = None,
        bias: bool = True,
        score: str | Score | Callable[[Tensor, Tensor], Tensor] = "scaled_dot",
        weigh: str | Weigh = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kv_heads = kv_heads or heads
        if (head_dim is None and dim % heads) or heads % kv_heads:
            raise SettingError(
                f"`heads` must divide `dim`, and `kv_heads` divide `heads`; got dim={dim}, heads={heads}, "
                f"kv_heads={kv_heads}. With `head_dim` any number of heads goes."
            )
        key_dim, head_dim = key_dim or dim, head_dim or dim // heads
        head_value_dim = head_value_dim or head_dim
        self.heads, self.kv_heads, self.dropout = heads, kv_heads, dropout
        self.score, self.weigh = resolve_score(score), resolve_weigh(weigh)
        self.query = nn.Linear(dim, heads * head_dim, bias=bias)
        self.key = nn.Linear(key_dim, kv_heads * head_dim, bias=bias)
        self.value = nn.Linear(value_dim or key_dim, kv_heads * head_value_dim, bias=bias)
        self.out = nn.Linear(heads * head_value_dim, out_dim or dim, bias=bias)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> MultiHeadAttention:
        """A copy of ``torch.nn.MultiheadAttention`` with the same outputs; batch first, masks by our rule."""
        if module.bias_k is not None or module.add_zero_attn:
            raise SettingError(
                "`add_bias_kv` and `add_zero_attn` have no equal here: append such a slot to the source."
            )
        assert module.kdim is not None
        assert module.vdim is not None
        biased = module.in_proj_bias is not None
        ours = cls(
            module.embed_dim,
            module.num_heads,
            key_dim=module.kdim,
            value_dim=module.vdim,
            bias=biased,
            dropout=module.dropout,
        ).to(module.out_proj.weight)
        weights = (
            module.in_proj_weight.chunk(3)
            if module.in_proj_weight is not None
            else (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        )
        with torch.no_grad():
            for linear, weight in zip((ours.query, ours.key, ours.value), weights, strict=True):
                assert weight is not None
                linear.weight.copy_(weight)
            ours.out.weight.copy_(module.out_proj.weight)
            if biased:
                for linear, part in zip((ours.query, ours.key, ours.value), module.in_proj_bias.chunk(3), strict=True):
                    linear.bias.copy_(part)
                ours.out.bias.copy_(module.out_proj.bias)
        return ours.train(module.training)

    def precompute(self, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None) -> Memory:
        """Keys and values, projected and split into heads: (..., kv_heads, S, d)."""
        over_heads = _over_heads(_per_head(check_mask(mask), key.ndim))
        value = key if value is None else value
        return self._memory(self.key(silence(over_heads, key)), self.value(silence(over_heads, value)))

    def forward(
        self,
        query: Tensor,
        key: Tensor | Memory | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: Causal = False,
        need_weights: bool = True,
    ) -> AttentionResult:
        """Attend; without a key, the query attends to itself.

        Parameters
        ----------
        mask, bias : broadcast to (..., T, S), or with an axis of heads to (..., H, T, S)
            The axis of heads is told by there being one axis more than queries or keys have.

        Returns
        -------
        AttentionResult
            Weights and scores are (..., H, T, S).
        """
        key = query if key is None else key
        sources = (key.keys if isinstance(key, Memory) else key).shape[-2]
        axes = max(query.ndim, key.keys.ndim - 1 if isinstance(key, Memory) else key.ndim)
        mask, bias = (_per_head(x, axes) for x in (mask, bias))
        mask = allowed(join(mask, causal, query.shape[-2], sources, query.device), bias)
        over_heads = _over_heads(mask)
        if isinstance(key, Memory):
            q, memory = self.query(silence_queries(over_heads, query)), key
        else:
            query, key, value = silence_all(over_heads, query, key, key if value is None else value)
            q, k, v = self._projected(query, key, value)
            memory = self._memory(k, v)
        result = compare_and_read(
            self.score.queries(self._split(q, self.heads)),
            self._shared(memory.keys),
            self._shared(memory.value),
            score=self.score,
            weigh=self.weigh,
            mask=mask,
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        context = self.out(result.context.transpose(-2, -3).flatten(-2))
        if over_heads is not None:  # nothing read, nothing said, not even the bias
            context = torch.where(over_heads.any(-1, keepdim=True), context, 0)
        return AttentionResult(context, result.weights, result.scores)

    def _memory(self, k: Tensor, v: Tensor) -> Memory:
        """Projected keys and values in heads."""
        return Memory(self.score.keys(self._split(k, self.kv_heads)), self._split(v, self.kv_heads))

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The three projections; one matrix product where all read the same."""
        if query is key and key is value and self.query.bias is not None:
            linears = (self.query, self.key, self.value)
            weight, bias = torch.cat([x.weight for x in linears]), torch.cat([x.bias for x in linears])
            sizes = [linear.out_features for linear in linears]
            q, k, v = torch.split(F.linear(query, weight, bias), sizes, -1)
            return q, k, v
        return self.query(query), self.key(key), self.value(value)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        """From (..., S, heads · d) to (..., heads, S, d)."""
        return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).transpose(-2, -3)

    def _shared(self, x: Tensor) -> Tensor:
        """Each head of keys or values, once for every query head that it serves."""
        return x if self.kv_heads == self.heads else x.repeat_interleave(self.heads // self.kv_heads, -3)


def _per_head(x: Tensor | None, axes: int) -> Tensor | None:
    """Give masks and biases without an axis of heads one."""
    return x if x is None or x.ndim < 3 or x.ndim > axes else x.unsqueeze(-3)


def _over_heads(mask: Tensor | None) -> Tensor | None:
    """What any head may attend to."""
    return mask.any(-3) if mask is not None and mask.ndim > 2 else mask
