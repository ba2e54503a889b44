"""The example notebooks run, and were kept with their outputs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install '.[dev]'")
pytest.importorskip("nbclient", reason="nbclient is not installed: pip install '.[dev]'")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install '.[dev]'")

# The kernel's own libraries warn about sockets and event loops; that is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def refresh():
    spec = importlib.util.spec_from_file_location("refresh", EXAMPLES / "refresh.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    notebook = refresh().run(path)

    html = "".join(o.get("data", {}).get("text/html", "") for c in notebook.cells for o in c.get("outputs", []))
    assert "<iframe" in html
    assert "contribution" in html


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert "Traceback" not in path.read_text("utf-8")
