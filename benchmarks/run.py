"""Run every benchmark; each writes its page in docs/results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

for name in ("speed", "startup", "memory", "accuracy", "ablation", "attention", "width"):
    subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py"))], check=True)
