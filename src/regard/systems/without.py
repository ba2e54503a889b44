"""What a system is without attention: the same parts, all sources weighed alike."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.weigh import softmax


def flat(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """The same weight for every source, whatever the scores: a ``weigh`` for any mechanism.

    w[s] = 1 / S over the sources that may be attended to
    """
    return softmax(torch.zeros_like(scores), mask)
