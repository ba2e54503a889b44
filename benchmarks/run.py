"""Run every benchmark that writes a page in docs/results; one that fails does not keep the others from running."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = ("speed", "startup", "memory", "accuracy", "ablation", "attention", "report_page", "width", "reading")
failed = [
    name
    for name in NAMES
    if subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py"))], check=False).returncode
]
sys.exit(f"These benchmarks failed: {', '.join(failed)}; what they said is above." if failed else 0)
