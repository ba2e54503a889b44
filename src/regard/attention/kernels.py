"""The loops over the rows of documents, compiled by numba; ``ragged.py`` says the same in NumPy.

Sums run in double precision and in the order of the document, so a result does not depend on threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def score_rows(
    ids: NDArray[np.int32],
    counts: NDArray[np.float32],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    loudness: NDArray[np.float64],
    polarity: NDArray[np.float32],
    bias: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the scores of the documents ``first:stop``.

        out[d] = bias + Σⱼ w[j] polarity[ids[j]],   w[j] ∝ counts[j] loudness[ids[j]],   j in document d

    Parameters
    ----------
    ids, counts, starts
        Ragged rows: a CSR matrix.
    loudness : (rows,)
        exp(attention), up to a common factor.
    polarity : (rows, sides)
        What each row says.
    bias : (sides,)
        The score of a document without rows.
    out : (documents, sides), output
        The scores.
    """
    sides = bias.size
    for doc in range(first, stop):
        mass = 0.0
        for side in range(sides):
            out[doc, side] = 0.0
        for j in range(starts[doc], starts[doc + 1]):
            row = ids[j]
            weight = counts[j] * loudness[row]
            mass += weight
            for side in range(sides):
                out[doc, side] += weight * polarity[row, side]
        for side in range(sides):
            out[doc, side] = bias[side] + (out[doc, side] / mass if mass > 0 else 0.0)
