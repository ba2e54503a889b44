"""One way to call every mechanism of the catalogue, so that a new one is tested by being listed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from regard.nn import CATALOGUE, ancestors_of, mechanism, ratio, top_k

DIM = 8
POSITIONS = 12  # the longest source in the tests
OPTIONS: dict[str, dict[str, Any]] = {
    "luong_location": {"positions": POSITIONS},
    "luong_local_m": {"window": 2},
    "luong_local_p": {"window": 2},
    "location_only": {"width": 5},
    "location_sensitive": {"width": 5},
    "dual_global": {"length": POSITIONS},
    "dual": {"length": POSITIONS, "local_filters": 3, "filters": 2},
    "graph": {"ancestors": ancestors_of([[], [0], [0], [1], [1, 2], [4], [4, 3]])},
    "grouped_query": {"heads": 4, "kv_heads": 2},
}
WEIGHINGS: dict[str, Any] = {
    **{name: name for name in ("softmax", "hardmax", "sparsemax", "entmax15", "smooth", "gate", "literal")},
    "top_k": partial(top_k, k=2),
    "ratio": partial(ratio, of=F.softplus),
    "ratio_exp": ratio,
}
SUMS_TO_ONE = ("softmax", "hardmax", "sparsemax", "entmax15", "smooth", "ratio", "ratio_exp", "top_k")
FLAT = ("hardmax", "top_k")  # no gradient for the scores

NAMES = list(CATALOGUE)
KEYED = [name for name, entry in CATALOGUE.items() if entry.form != "codes"]  # those that take keys
QUERIED = [name for name, entry in CATALOGUE.items() if entry.form == "query"]


@dataclass(frozen=True)
class Inputs:
    """Batch 3, T = 4 queries, S = 6 sources, unless told otherwise."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None

    def tensors(self) -> list[Tensor]:
        return [self.query, self.key, self.value]


@dataclass(frozen=True)
class Outcome:
    """A result in the shape of the others; ``raw`` is what the module returned."""

    context: Tensor
    weights: Tensor | None
    state: Tensor | None
    raw: Any


def inputs(
    seed: int = 0, lead: tuple[int, ...] = (3,), steps: int = 4, size: int = 6, dtype: Any = torch.float64
) -> Inputs:
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype)

    return Inputs(normal(*lead, steps, DIM), normal(*lead, size, DIM), normal(*lead, size, DIM))


def masked(given: Inputs, seed: int = 1, empty: bool = True) -> Inputs:
    """A mask of any pattern, whose first row of the first batch is empty."""
    draw = torch.Generator().manual_seed(seed)
    shape = (*given.query.shape[:-1], given.key.shape[-2])
    mask = torch.rand(shape, generator=draw) < 0.6
    mask[..., 0] = True
    if empty:
        mask.view(-1, *shape[-2:])[0, 0] = False
    return replace(given, mask=mask)


def build(name: str, weigh: Any = "softmax", dtype: Any = torch.float64, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    options = dict(OPTIONS.get(name, {}))
    if CATALOGUE[name].weighable:
        options["weigh"] = WEIGHINGS.get(weigh, weigh) if isinstance(weigh, str) else weigh
    module = mechanism(name, query_dim=DIM, key_dim=DIM, **options).to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():  # away from the zeros in which some start
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def call(name: str, module: nn.Module, given: Inputs, **options: Any) -> Outcome:
    """Call a mechanism with what it takes; masks are (..., T, S) throughout."""
    mask = given.mask
    match CATALOGUE[name].form:
        case "query":
            result = module(given.query, given.key, given.value, mask=mask, **options)
            return Outcome(result.context, result.weights, result.state, result)
        case "pool":  # the first row of the mask
            key = given.key + given.value
            result = module(key, mask=mask if mask is None else mask[..., 0, :], **options)
        case "documents":  # T sentences of S words
            result = module(_table(given), mask=mask, **options)
        case "items":  # T items of S components
            result = module(
                given.query[..., 0, :], given.query, given.query.flip(-1), _table(given), mask=mask, **options
            )
        case "codes":
            codes = torch.tensor([3, 5, 6])[: len(given.query)]
            result = module(codes, mask=mask if mask is None else kin(mask, module), **options)
    return Outcome(result.context, result.weights, None, result)


def kin(mask: Tensor, module: nn.Module) -> Tensor:
    """A mask for the ancestors: the first row of the mask, and False beyond it."""
    width = module.ancestors.shape[1]
    return F.pad(mask[..., 0, :], (0, width))[..., :width]


def empty_rows(name: str, given: Inputs) -> Tensor:
    """Which rows of the context had nothing to attend to."""
    assert given.mask is not None
    none = ~given.mask.any(-1)
    match CATALOGUE[name].form:
        case "query":
            return none
        case "pool" | "codes":
            return none[..., 0]
        case _:
            return none.all(-1)


def _table(given: Inputs) -> Tensor:
    """Sources for each query, (..., T, S, D)."""
    return given.key[..., None, :, :] + given.value[..., None, :, :] * given.query[..., :, None, :].sigmoid()


def loss(outcome: Outcome) -> Tensor:
    """A number that moves with every number of the context."""
    context = outcome.context
    return (context * torch.linspace(0.5, 1.5, context.numel(), dtype=context.dtype).view(context.shape)).sum()
