"""How far "similar" reaches: the bandwidth at which each object's value is best foretold by the others'."""

from __future__ import annotations

import numpy as np

from regard.similarity.averages import WHOLE, Rows, applied, dense, one_blas_thread, with_own, without_own
from regard.similarity.families import Family, weights
from regard.similarity.measures import Objects, Similarity

# In units of how much similarities differ; squared distances grow with the square of the reach.
STEPS = tuple(2.0**k for k in range(-11, 4))
_ASKED = 1000
_PAIRS = 2**27


def leave_one_out(key: Objects, value: Rows, similarity: Similarity, of: Family) -> float:
    """The bandwidth with the least squared error of each value against the average of the others'.

        b = argmin Σ_t |v[t] - Σ_(s≠t) w[t, s] v[s]|²

    Where noise is independent from object to object, the same bandwidth also comes nearest to the values without
    noise. At most a thousand objects are asked, evenly spread, fewer of very many; all others answer.

    Parameters
    ----------
    key : (m, d)
    value
        (m, V).
    similarity, of
        See ``average``.
    """
    m = key.shape[0]
    asked = np.unique(np.linspace(0, m - 1, min(m, _ASKED, max(50, _PAIRS // m))).astype(np.intp))
    if m < 3:
        return 1.0
    some = max(1, WHOLE // m)
    spreads: list[float] = []
    errors = np.zeros(len(STEPS))
    with one_blas_thread():
        for start in range(0, len(asked), some):
            places = asked[start : start + some]
            spreads.append(float(without_own(similarity.compare(key[places], key), places).std(axis=1).mean()))
        spread = float(np.mean(spreads))
        if not spread > 0:
            return 1.0
        for start in range(0, len(asked), some):
            places = asked[start : start + some]
            scores = without_own(similarity.compare(key[places], key), places)
            own = dense(value.read(places))
            for k, step in enumerate(STEPS):
                shares = weights(scores / scores.dtype.type(spread * step), of)
                found = applied(with_own(shares, places), value)
                errors[k] += float(np.square(found - own).sum(dtype=np.float64))
    return spread * STEPS[int(errors.argmin())]
