"""Leading axes, and shares of work for threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.tokens.threads import in_threads

SMALL = 1 << 16  # fewer scalar steps than this are not worth a thread


def broadcast(*shapes: torch.Size) -> torch.Size:
    """The shape to which all of these broadcast."""
    return torch.Size(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]  # torch forgot the hint


def transformed() -> bool:
    """Whether ``torch.func`` or ``vmap`` looks on, or a compiler: they want plain operations, nothing in place."""
    mapped: bool = torch._C._are_functorch_transforms_active()  # noqa: SLF001 - PyTorch has no public word for it
    return mapped or torch.compiler.is_compiling()


def one_axis(lead: Sequence[int], x: Tensor, kept: int = 2) -> Tensor:
    """Broadcast the leading axes to ``lead`` and make them one: (..., T, D) becomes (B, T, D)."""
    tail = x.shape[x.ndim - kept :]
    return x.expand(*lead, *tail).reshape(math.prod(lead), *tail)


def array(x: Tensor) -> NDArray[Any]:
    """The same memory as a NumPy array, in C order."""
    return np.ascontiguousarray(x.detach().numpy())


def by_rows(work: Callable[[int, int], None], rows: int, steps: int) -> None:
    """Call ``work(first, stop)`` on shares of the rows, in as many threads as PyTorch uses.

    Parameters
    ----------
    steps : int
        Scalar steps in all, to tell whether threads pay.
    """
    threads = torch.get_num_threads() if steps > SMALL else 1
    shares = shards(rows, threads)
    in_threads(lambda share: work(*share), shares, len(shares))


def shards(rows: int, count: int) -> list[tuple[int, int]]:
    """Cut ``rows`` into at most ``count`` even runs."""
    cuts = np.linspace(0, rows, max(1, min(rows, count)) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def fold_vmap(size: int, dims: Sequence[int | None], args: Sequence[Any]) -> list[Any]:
    """Merge the axis of ``vmap`` into the batch axis, which every tensor has first."""
    folded = []
    for dim, x in zip(dims, args, strict=True):
        if isinstance(x, Tensor):
            x = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
            x = x.flatten(0, 1)
        folded.append(x)
    return folded
