"""Settings and data that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Read when scikit-learn is first imported: without it, its check of arrays by the array API standard would skip itself.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# No deadline: the first call of a kernel compiles it. Derandomised, so that a red run is red again.
settings.register_profile("regard", deadline=None, derandomize=True)
settings.load_profile("regard")

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets."""
    if not DATA.is_dir():
        pytest.skip(f"no data sets at {DATA}: set REGARD_DATA to their folder")
    return DATA
