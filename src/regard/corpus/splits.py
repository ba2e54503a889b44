"""A seeded split that keeps the shares of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import SettingError


def stratified_mask(labels: NDArray[Any], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Mark the rows to hold out.

    Every class gives its share ``fraction · n``, rounded so that the total is right (largest remainders
    first), but keeps at least one row: a class with one example is never held out.

    Parameters
    ----------
    labels : (rows,)
        The class of each row.
    fraction : float
        Of the rows to hold out, between 0 and 1.
    seed : int
        Of the draw; the same seed draws the same rows.

    Returns
    -------
    held_out : (rows,)
        True where the row is held out; at least one row, if any class can spare one.
    """
    if not 0 < fraction < 1:
        raise SettingError(f"fraction must lie between 0 and 1, both excluded; got {fraction!r}.")
    if seed < 0:
        raise SettingError(f"seed must be 0 or more; got {seed!r}.")
    rng = np.random.default_rng(seed)
    _, of_class, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    share = fraction * sizes
    take = np.minimum(np.floor(share).astype(np.int64), sizes - 1)
    spare = sizes - 1 - take
    missing = max(round(fraction * len(labels)), 1) - int(take.sum())
    if missing > 0:
        # Ties are broken by the draw, so that no class is preferred for its name.
        order = np.lexsort((rng.random(len(sizes)), -(share - np.floor(share))))
        take[order[spare[order] > 0][:missing]] += 1
    held_out = np.zeros(len(labels), dtype=np.bool_)
    for i, n in enumerate(take):
        held_out[rng.permutation(np.flatnonzero(of_class == i))[:n]] = True
    return held_out
