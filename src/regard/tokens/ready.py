"""Whether the loops have been compiled for this machine before."""

from __future__ import annotations

import sys
from pathlib import Path


def compiled_before() -> bool:
    """True if an earlier run left compiled loops where numba keeps them."""
    from regard.tokens import kernels

    return any(Path(str(kernels.cut.stats.cache_path)).glob("kernels.cut-*.nbc"))


def say_if_compiling(aloud: bool) -> None:
    """Tell the user, on standard error, why the very first use takes some seconds longer."""
    if aloud and not compiled_before():
        print("Compiling the loops for this machine: some seconds, the first time only.", file=sys.stderr)  # noqa: T201
