"""How well a query matches a key.

A score is built from three short steps, so that what belongs to the source alone can be computed once
(``keys``), what belongs to the query once per step (``queries``), and the rest compares: ``score(query,
key) = compare(queries(query), keys(key))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError, nearest
from regard.nn.shapes import broadcast, transformed


class Factors(NamedTuple):
    """A score as a dot product, and a term of the query alone, which softmax does not see.

    score[t, s] = scale · query[t] · key[s] + own()[t],   own() (..., T, 1), computed only where it counts
    """

    query: Tensor
    key: Tensor
    scale: float = 1.0
    own: Callable[[], Tensor] | None = None


class Score(nn.Module):
    """A score of queries (..., T, Q) and keys (..., S, K), shape (..., T, S)."""

    def queries(self, query: Tensor) -> Tensor:
        """What is computed once per query."""
        return query

    def keys(self, key: Tensor) -> Tensor:
        """What is computed once per source; ``precompute`` keeps it."""
        return key

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores from ``queries(query)`` and ``keys(key)``."""
        raise NotImplementedError  # as in torch.nn.Module.forward: every score says how

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores of raw queries and keys."""
        return self.compare(self.queries(query), self.keys(key))


class DotFamily(Score):
    """Scores that are dot products, which fused kernels can compute without a tensor of shape (T, S)."""

    def factors(self, query: Tensor, key: Tensor) -> Factors:
        """The same score as a dot product, from ``queries(query)`` and ``keys(key)``."""
        return Factors(query, key)

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores as one matrix product."""
        query, key, scale, own = self.factors(query, key)
        scores = products(query, key, scale)
        return scores if own is None else scores + own().to(scores.dtype)


def products(query: Tensor, key: Tensor, scale: float = 1.0) -> Tensor:
    """All dot products, in float32 for half inputs, whose range a sum of squares can leave."""
    if query.dtype in (torch.float16, torch.bfloat16):
        query, key = query.float(), key.float()
    return (query if scale == 1.0 else query * scale) @ key.mT


class Dot(DotFamily):
    """score = scale · q·k  (Luong 2015 "dot"; Weston 2015)."""

    def __init__(self, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def factors(self, query: Tensor, key: Tensor) -> Factors:
        """The dot product itself."""
        return Factors(query, key, self.scale)


class ScaledDot(DotFamily):
    """score = q·k / √d, or q·k / λ  (Vaswani 2017; λ as in Sun and Lu 2020)."""

    def __init__(self, *, divisor: float | None = None) -> None:
        super().__init__()
        self.divisor = divisor

    def factors(self, query: Tensor, key: Tensor) -> Factors:
        """The dot product, divided."""
        return Factors(query, key, 1 / (self.divisor or math.sqrt(query.shape[-1])))


class General(DotFamily):
    """score = q' W k  (Luong 2015 "general")."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(key_dim, query_dim, bias=False)

    def keys(self, key: Tensor) -> Tensor:
        """W k."""
        keys: Tensor = self.linear(key)
        return keys


class Biaffine(DotFamily):
    """score = q' W k + u·q + w·k + b  (Dozat and Manning 2017)."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(query_dim, key_dim)  # W' q + w: the key's own term rides along
        self.own = nn.Linear(query_dim, 1)  # u·q + b

    def queries(self, query: Tensor) -> Tensor:
        """[W' q + w; u·q + b]."""
        return torch.cat([self.linear(query), self.own(query)], -1)

    def factors(self, query: Tensor, key: Tensor) -> Factors:
        """(W' q + w)·k, and u·q + b."""
        return Factors(query[..., :-1], key, own=lambda: query[..., -1:])


class Cosine(DotFamily):
    """score = scale · q·k / |q||k|; zero where either is the zero vector."""

    def __init__(self, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def queries(self, query: Tensor) -> Tensor:
        """The unit query."""
        return unit(query)

    def keys(self, key: Tensor) -> Tensor:
        """The unit key."""
        return unit(key)

    def factors(self, query: Tensor, key: Tensor) -> Factors:
        """The dot product of unit vectors."""
        return Factors(query, key, self.scale)


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length one; the zero vector stays."""
    half = vectors.dtype in (torch.float16, torch.bfloat16)
    units: Tensor
    units, _ = _Unit.apply(vectors.float() if half else vectors)  # type: ignore[no-untyped-call]
    return units.to(vectors.dtype)


class _Unit(torch.autograd.Function):
    """``torch.nn.functional.normalize`` in fewer passes over memory, which matters beside a fused kernel.

    u = x / |x|,   d_x = (g - (u·g) u) / |x|
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(vectors: Tensor) -> tuple[Tensor, Tensor]:
        inverse = _inverse_length(vectors)
        return vectors * inverse, inverse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> Any:
        vectors, units, inverse = ctx.saved_tensors
        if torch.is_grad_enabled():  # the way back is itself differentiated, and lengths are not constant
            inverse = _inverse_length(vectors)
            units = vectors * inverse
        along = torch.linalg.vecdot(units, grad)[..., None]
        return torch.addcmul(grad, units, along, value=-1) * inverse


def _inverse_length(vectors: Tensor) -> Tensor:
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return torch.where(length > 0, 1 / torch.where(length > 0, length, 1), 0)


class SquaredDistance(DotFamily):
    """score = -scale · |q - k|²  =  2 scale · q·k - scale |k|² - scale |q|²."""

    def __init__(self, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def factors(self, query: Tensor, key: Tensor) -> Factors:
        """A dot product with the key's own term in a dimension more."""
        if query.dtype in (torch.float16, torch.bfloat16):  # squares leave the range of halves, and their digits
            query, key = query.float(), key.float()
        query, key = _Squares.apply(query, key)  # type: ignore[no-untyped-call]
        return Factors(query, key, 2 * self.scale, lambda: -self.scale * _square(query[..., :-1]))


def _square(vectors: Tensor) -> Tensor:
    square: Tensor = torch.linalg.vecdot(vectors, vectors)
    return square[..., None]


class _Squares(torch.autograd.Function):
    """Vectors whose dot products rank keys as squared distances do: -|q - k|² = 2 q'·k' - |q - m|².

    q' = [q - m; 1],   k' = [k - m; -|k - m|² / 2]

    Distances do not move with the middle m of the keys, but without it the digits of points far from zero
    would go into |k|². For the same reason m gets no gradient.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        middle = key.sum(-2, keepdim=True) / max(1, key.shape[-2])
        query, key = _beside(query, middle), _beside(key, middle)
        query[..., -1] = 1.0
        key[..., -1] = torch.linalg.vecdot(key[..., :-1], key[..., :-1]) / -2
        return query, key

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.shapes = inputs[0].shape, inputs[1].shape
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, d_query: Tensor, d_key: Tensor) -> Any:
        (key,) = ctx.saved_tensors
        d_key = torch.addcmul(d_key[..., :-1], key[..., :-1], d_key[..., -1:], value=-1)
        return d_query[..., :-1].sum_to_size(ctx.shapes[0]), d_key.sum_to_size(ctx.shapes[1])


def _beside(vectors: Tensor, middle: Tensor) -> Tensor:
    """Vectors less the middle, and room for one number more; in one pass over memory where nobody minds."""
    if transformed():
        return F.pad(vectors - middle, (0, 1))
    lead = broadcast(vectors.shape[:-2], middle.shape[:-2])
    out = vectors.new_empty(*lead, vectors.shape[-2], vectors.shape[-1] + 1)
    torch.sub(vectors, middle, out=out[..., :-1])
    return out


class Distance(Score):
    """score = -scale · |q - k|_p  for any p >= 1; the square of p = 2 is ``SquaredDistance``."""

    def __init__(self, *, p: float = 2.0, scale: float = 1.0) -> None:
        super().__init__()
        if not p >= 1:
            raise SettingError(f"`p` must be at least 1 for |x|_p to be a norm; got {p}.")
        self.p, self.scale = p, scale

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """Distances without the detour over dot products, which loses digits where points are close."""
        if query.dtype in (torch.float16, torch.bfloat16):
            query, key = query.float(), key.float()
        return -self.scale * torch.cdist(query, key, self.p, "donot_use_mm_for_euclid_dist")


class Location(Score):
    """score[t, j] = (W q[t])[j]: the query alone decides where to look  (Luong 2015 "location").

    Parameters
    ----------
    query_dim : int
    positions : int
        The longest source.
    """

    def __init__(self, query_dim: int, positions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(query_dim, positions, bias=False)

    def queries(self, query: Tensor) -> Tensor:
        """W q, for all positions."""
        scores: Tensor = self.linear(query)
        return scores

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """The first S positions."""
        if key.shape[-2] > self.linear.out_features:
            raise SettingError(
                f"`positions` must cover the longest source; got {self.linear.out_features} "
                f"for a source of {key.shape[-2]}."
            )
        scores = query[..., : key.shape[-2]]
        return scores.expand(*broadcast(scores.shape[:-2], key.shape[:-2]), -1, -1)


class Kernel(Score):
    """score = F(s) of another score s, for any increasing F."""

    def __init__(self, score: str | Score, of: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.score, self.of = resolve(score), of

    def queries(self, query: Tensor) -> Tensor:
        """Those of the inner score."""
        return self.score.queries(query)

    def keys(self, key: Tensor) -> Tensor:
        """Those of the inner score."""
        return self.score.keys(key)

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """F of the inner score."""
        return self.of(self.score.compare(query, key))


class Custom(Score):
    """Any function of query and key that returns scores (..., T, S)."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        """The user's function."""
        return self.function(query, key)


SCORES: dict[str, Callable[[], Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "cosine": Cosine,
    "squared_distance": SquaredDistance,
    "distance": Distance,
}


def resolve(score: str | Score | Callable[[Tensor, Tensor], Tensor]) -> Score:
    """A score without parameters by its name; a score itself; a function of the user's."""
    if isinstance(score, Score):
        return score
    if isinstance(score, str):
        if score not in SCORES:
            raise SettingError(f"Unknown score {score!r}.{nearest(score, SCORES)} Known by name: {', '.join(SCORES)}.")
        return SCORES[score]()
    return Custom(score)
