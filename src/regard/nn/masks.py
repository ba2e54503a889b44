"""One rule for masks: boolean, True = may attend, broadcast to (..., T, S)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from regard.errors import RegardError, SettingError

Causal = bool | Literal["top-left", "bottom-right"]


class MaskError(RegardError, TypeError):
    """A mask that is not boolean."""


def check_mask(mask: Tensor | None, *, name: str = "mask") -> Tensor | None:
    """Refuse masks that other libraries read in opposite ways.

    Raises
    ------
    MaskError
        For anything but a boolean tensor; it is a ``TypeError``.
    """
    if mask is None:
        return None
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        came = str(mask.dtype) if isinstance(mask, Tensor) else type(mask).__name__
        raise MaskError(
            f"`{name}` must be a boolean tensor, True = may attend; got {came}. "
            f"Numbers to add to the scores go to `bias=`; 0/1 masks become boolean by `{name} == 1`."
        )
    return mask


def lengths_mask(lengths: Tensor, size: int | None = None, *, heads: bool = False) -> Tensor:
    """A mask from the lengths of the sources.

        mask[..., 0, s] = s < lengths[...]

    Parameters
    ----------
    lengths : (...)
        How many positions of each source are real; integers.
    size : int, optional
        S, the padded length; the longest length, if not given.
    heads : bool
        Whether scores carry an axis of heads between the batch and T.

    Returns
    -------
    mask : (..., 1, S), or (..., 1, 1, S) with heads
        Ready to be broadcast to (..., T, S).

    Examples
    --------
    >>> lengths_mask(torch.tensor([1, 3])).tolist()
    [[[True, False, False]], [[True, True, True]]]
    """
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise SettingError(f"`lengths` must be whole numbers of positions; got {lengths.dtype}.")
    size = int(lengths.max()) if size is None else size
    mask = (torch.arange(size, device=lengths.device) < lengths[..., None])[..., None, :]
    return mask[..., None, :, :] if heads else mask


def causal_mask(
    queries: int, sources: int, align: Causal = True, *, device: torch.device | str | None = None
) -> Tensor:
    """Which sources a step may see if it must not look ahead.

        top-left:       mask[t, s] = s <= t
        bottom-right:   mask[t, s] = s <= t + S - T

    Parameters
    ----------
    align : True, "top-left" or "bottom-right"
        True needs T = S, where both readings agree.

    Returns
    -------
    mask : (T, S)
    """
    if align not in (True, "top-left", "bottom-right"):
        raise SettingError(f"`causal` must be a bool, 'top-left' or 'bottom-right'; got {align!r}.")
    if align is True and queries != sources:
        raise SettingError(
            f"`causal=True` needs as many queries as sources; got {queries} and {sources}. "
            "Say where they meet: causal='top-left' or causal='bottom-right'."
        )
    offset = sources - queries if align == "bottom-right" else 0
    steps = torch.arange(queries, device=device)[:, None]
    return torch.arange(sources, device=device) <= steps + offset


def source_mask(mask: Tensor | None, sources: int, device: torch.device) -> Tensor | None:
    """``join`` where there is no axis of queries: the mask is (..., S)."""
    mask = check_mask(mask)
    rows = join(mask if mask is None or not mask.ndim else mask[..., None, :], False, 1, sources, device)
    return rows if rows is None else rows[..., 0, :]


def join(mask: Tensor | None, causal: Causal, queries: int, sources: int, device: torch.device) -> Tensor | None:
    """The mask and the causal mask in one, of two axes or more; None where everything may be attended to, and
    there is something.
    """
    mask = _check_sources(mask, sources)
    if mask is not None and mask.shape[-2] not in (1, queries):
        raise SettingError(
            f"`mask` must broadcast to (..., T, S) with T = {queries} and S = {sources}; got {tuple(mask.shape)}. "
            "A mask (batch, S) needs an axis for the queries: mask[:, None]."
        )
    if mask is None and not sources:
        mask = torch.zeros(1, 0, dtype=torch.bool, device=device)
    if causal is False:
        return mask
    ahead = causal_mask(queries, sources, causal, device=device)
    return ahead if mask is None else mask & ahead


def _check_sources(mask: Tensor | None, sources: int) -> Tensor | None:
    """A boolean mask that fits the sources, with an axis for the queries and one for the sources."""
    mask = check_mask(mask)
    if mask is None:
        return None
    if mask.ndim and mask.shape[-1] not in (1, sources):
        raise SettingError(
            f"`mask` must broadcast to (..., T, S) with S = {sources}; got {tuple(mask.shape)}. "
            "lengths_mask(lengths, size) makes one."
        )
    rows: Tensor = torch.atleast_2d(mask)  # type: ignore[no-untyped-call]
    return rows


def silence(mask: Tensor | None, source: Tensor) -> Tensor:
    """Zero the positions that no query may attend to, so that nothing in the padding, not even NaN, gets out.

    Parameters
    ----------
    mask : broadcast to (..., T, S), optional
    source : (..., S, D)
        Keys or values.
    """
    mask = _check_sources(mask, source.shape[-2])
    return source if mask is None else torch.where(_like(mask.any(-2), source)[..., None], source, 0)


def silence_all(mask: Tensor | None, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``silence`` for keys and values, and likewise for queries that may not attend to anything."""
    if mask is None:
        return query, key, value
    silent = silence(mask, key)
    return silence_queries(mask, query), silent, silent if value is key else silence(mask, value)


def silence_queries(mask: Tensor | None, query: Tensor) -> Tensor:
    """Zero the queries that may not attend to anything."""
    return query if mask is None else silence(mask.mT, query)


def _like(seen: Tensor, source: Tensor) -> Tensor:
    """Reduce (..., S) to the leading axes that a source (..., S, D) has: what any of its users may see."""
    while seen.ndim > source.ndim - 1:
        seen = seen.any(0)
    for axis in range(-seen.ndim, -1):
        if source.shape[axis - 1] == 1 and seen.shape[axis] > 1:
            seen = seen.any(axis, keepdim=True)
    return seen
