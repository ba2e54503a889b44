"""Whether the loops have been compiled for this machine before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def compiled_before() -> bool:
    """True if an earlier run left compiled loops where numba keeps them."""
    from regard.tokens import kernels

    return any(Path(str(kernels.cut.stats.cache_path)).glob("kernels.cut-*.nbc"))


def say_if_compiling(report: Callable[[str, float], None]) -> None:
    """Tell the user why the very first use takes some seconds longer."""
    if not compiled_before():
        report("Compiling the loops for this machine (first use only)", 0.0)
