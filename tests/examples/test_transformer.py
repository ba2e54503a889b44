"""The example that fine-tunes a transformer and audits it, with a small model and few texts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")

from tests.audit.transformers_cases import folder  # noqa: E402 - it needs what was looked for

SCRIPT = Path(__file__).parents[2] / "examples" / "audit_a_transformer.py"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_is_fine_tuned_saved_and_audited(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("audit_a_transformer", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    torch.set_num_threads(1)
    folder(tmp_path / "base")
    rows = [("a great film", 1), ("a dull plot", 0)] * 10
    parts = ["train"] * 12 + ["dev"] * 4 + ["test"] * 4
    lines = [{"text": text, "label": label, "split": part} for (text, label), part in zip(rows, parts, strict=True)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))

    paths = [str(tmp_path / "data.jsonl"), "--out", str(tmp_path / "out"), "--base", str(tmp_path / "base")]
    script.main([*paths, "--epochs", "2", "--texts", "2"])

    form = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert form["texts"] == 2
    assert form["classes"] == ["0", "1"]
    assert "validation loss" in capsys.readouterr().out
