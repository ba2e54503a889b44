"""Leading axes."""

from __future__ import annotations

import torch


def broadcast(*shapes: torch.Size) -> torch.Size:
    """The shape to which all of these broadcast."""
    return torch.Size(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]  # torch forgot the hint
