"""From a similarity to a weight: increasing functions F, with weights F(v[j]) / Σ F(v[l]).

Each takes NumPy arrays and PyTorch's tensors alike. None of them is ever negative.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

from regard.errors import SettingError, nearest

# Weights are F / ΣF, so an F that does not depend on one similarity alone takes all of a row at once.
Family = Callable[[Any], Any]


def exp(v: Any) -> Any:
    """e^v; weights are computed as a softmax, which never overflows."""
    return _module(v).exp(v)


def power(v: Any, exponent: float = 3.0) -> Any:
    """What is above zero of v, to the power ``exponent``."""
    above = linear(v)
    if exponent != int(exponent) or not 1 <= exponent <= 16:
        return above**exponent
    product = above
    for _ in range(int(exponent) - 1):  # ten times as fast as a power
        product = product * above
    return product


def sigmoid(v: Any) -> Any:
    """1 / (1 + e^-v)."""
    module = _module(v)
    small = module.exp(-module.abs(v))
    return module.where(v >= 0, 1, small) / (1 + small)


def softplus(v: Any) -> Any:
    """log(1 + e^v)."""
    module = _module(v)
    return linear(v) + module.log1p(module.exp(-module.abs(v)))


def linear(v: Any) -> Any:
    """What is above zero of v."""
    return v * (v > 0)


def quadratic(v: Any) -> Any:
    """The square of what is above zero of v."""
    return linear(v) * linear(v)


def rank(v: Any) -> Any:
    """One for the least similar, n for the most; ties share the mean. Not a function of one similarity alone."""
    if isinstance(v, np.ndarray):
        return rankdata(v, axis=-1).astype(v.dtype)
    torch = _module(v)
    rising = v.sort(-1).values
    return (torch.searchsorted(rising, v) + torch.searchsorted(rising, v, right=True) + 1).to(v.dtype) / 2


FAMILIES: dict[str, Family] = {
    "exp": exp,
    "power": power,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "linear": linear,
    "quadratic": quadratic,
    "rank": rank,
}
TOP_K = "top_k"


def family(weigh: str | Family) -> Family:
    """A function F by its name; one of the user's."""
    if callable(weigh):
        return weigh
    if weigh not in FAMILIES:
        known = (*FAMILIES, TOP_K)
        close = nearest(weigh, known) if isinstance(weigh, str) else ""
        raise SettingError(f"`weigh` must be {', '.join(known)} or a function; got {weigh!r}.{close}")
    return FAMILIES[weigh]


def weights(v: Any, weigh: str | Family = "exp") -> Any:
    """The weights of whole rows of similarities: F(v[j]) / Σ F(v[l]) along the last axis.

    Where F is zero everywhere, nobody is more similar than anybody else, and all weights are equal.
    """
    of = family(weigh)
    if of is exp:
        module = _module(v)
        highest = v.max(-1, keepdims=True) if module is np else v.amax(-1, keepdim=True)
        amounts = module.exp(v - highest)
    else:
        amounts = of(v)
    total = amounts.sum(-1)[..., None]
    none = total == 0
    return (amounts + none) / (total + none * amounts.shape[-1])


def _module(v: Any) -> Any:
    return np if isinstance(v, np.ndarray | np.generic) else sys.modules["torch"]
