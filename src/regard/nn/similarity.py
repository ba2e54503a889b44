"""Every object becomes an average of the objects like it: attention among the rows of a data set."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from regard.nn.attend import attend
from regard.nn.score import Score
from regard.nn.weigh import Weigh


def average_similar(
    points: Tensor,
    values: Tensor | None = None,
    *,
    among: Tensor | None = None,
    score: str | Score | Callable[[Tensor, Tensor], Tensor] = "squared_distance",
    weigh: str | Weigh = "softmax",
    block: int = 256,
) -> Tensor:
    """Replace noisy points by averages of similar ones, or read off what similar ones have.

        y[i] = Σⱼ w[i, j] v[j],   w[i, :] = weigh(score(x[i], z))

    No tensor of all pairs is ever made: scores that are dot products run under softmax in a fused kernel,
    everything else on ``block`` points at a time. With ``weigh=partial(top_k, k=5)`` and values that are
    labels it is k nearest neighbours; with softmax, kernel regression.

    Parameters
    ----------
    points : (n, D)
        x.
    values : (m, V), optional
        v; the points z themselves, if not given.
    among : (m, D), optional
        z; the points x, if not given.
    score, weigh
        See ``attend``. ``SquaredDistance(scale=...)`` sets how far "similar" reaches.
    block : int
        Points at a time where no fused kernel helps.

    Returns
    -------
    averages : (n, V)
    """
    key = points if among is None else among
    return attend(points, key, values, score=score, weigh=weigh, block=block, need_weights=False).context
