"""What a mechanism returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from torch import Tensor
from torch.utils import _pytree as pytree

from regard.errors import SettingError

Result = TypeVar("Result", bound=type)


def register_result(cls: Result) -> Result:
    """Let ``vmap``, ``torch.compile`` and ``torch.export`` see the tensors of a result; fields that are
    None vanish.

    The registry is the one behind ``torch.export.register_dataclass``, whose import costs seconds.
    """
    names = [field.name for field in fields(cls)]

    def flatten(result: Any) -> tuple[list[Any], list[str]]:
        there = [name for name in names if getattr(result, name) is not None]
        return [getattr(result, name) for name in there], there

    def flatten_with_keys(result: Any) -> tuple[list[Any], list[str]]:
        leaves, there = flatten(result)
        return [(pytree.GetAttrKey(name), leaf) for name, leaf in zip(there, leaves, strict=True)], there

    def unflatten(leaves: Iterable[Any], there: list[str]) -> Any:
        return cls(**{**dict.fromkeys(names), **dict(zip(there, leaves, strict=True))})

    pytree.register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )
    return cls


@register_result
@dataclass(frozen=True)
class AttentionResult:
    """What came of attending.

    Attributes
    ----------
    context : (..., T, D)
        What was read: the weighted average of the values, unless the mechanism combines them otherwise.
    weights : (..., T, S), optional
        How much each query step attends to each source position, per head and before dropout. Exactly zero
        where the mask forbids. None when called with ``need_weights=False``.
    scores : (..., T, S), optional
        What the weights were made from, the bias included, before masking. In float32 for half inputs.
        None when the weights are.
    state : optional
        What the next call needs; the mechanism says what it is. None where there is nothing to carry.
    """

    context: Tensor
    weights: Tensor | None = None
    scores: Tensor | None = None
    state: Tensor | None = None

    @property
    def mass(self) -> Tensor:
        """The sum of each row, (..., T): one for a distribution, less or more for a gate or a local-p row."""
        if self.weights is None:
            raise SettingError(
                "The mass is a sum of weights, and they were not asked for: call with need_weights=True."
            )
        return self.weights.sum(-1)
