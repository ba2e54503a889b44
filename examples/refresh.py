"""Run the notebooks beside this file and keep their outputs: python examples/refresh.py."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with fresh outputs."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": path.parent}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day
    return notebook


if __name__ == "__main__":
    for path in sorted(Path(__file__).parent.glob("*.ipynb")):
        nbformat.write(run(path), path)
        print(path.name)
