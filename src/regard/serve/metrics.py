"""Numbers for an operator, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from pathlib import Path

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What has happened since the start; only the thread of the event loop writes."""

    def __init__(self) -> None:
        self.active = 0
        self.texts = 0
        self.characters = 0
        self.loads = 1
        self.failures = 0
        self._answers: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._total: Counter[str] = Counter()

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request; ``path`` is one of a few, whatever was asked for."""
        self._answers[path, status] += 1
        if path not in self._times:
            self._times[path] = [0] * (len(_SECONDS) + 1)
        self._times[path][bisect_left(_SECONDS, seconds)] += 1
        self._total[path] += seconds  # type: ignore[assignment]

    def text(self, model: str) -> str:
        """All of them."""
        lines = [
            *_family("regard_requests_total", "counter", "Requests answered."),
            *(f'regard_requests_total{{path="{p}",status="{s}"}} {n}' for (p, s), n in sorted(self._answers.items())),
            *_family("regard_request_seconds", "histogram", "From the head of a request to the end of its answer."),
        ]
        for path, times in sorted(self._times.items()):
            so_far = 0
            for bound, n in zip((*map(str, _SECONDS), "+Inf"), times, strict=True):
                so_far += n
                lines.append(f'regard_request_seconds_bucket{{path="{path}",le="{bound}"}} {so_far}')
            lines.append(f'regard_request_seconds_sum{{path="{path}"}} {self._total[path]:.6f}')
            lines.append(f'regard_request_seconds_count{{path="{path}"}} {so_far}')
        for name, kind, what, value in (
            ("regard_requests_active", "gauge", "Requests that are being answered.", self.active),
            ("regard_texts_total", "counter", "Texts predicted or explained.", self.texts),
            ("regard_characters_total", "counter", "Their characters.", self.characters),
            ("regard_model_loads_total", "counter", "Models loaded.", self.loads),
            ("regard_model_failures_total", "counter", "Files that were no whole model.", self.failures),
            ("process_resident_memory_bytes", "gauge", "Memory of the process.", resident()),
        ):
            lines += [*_family(name, kind, what), f"{name} {value}"]
        lines += [*_family("regard_model_info", "gauge", "The model."), f'regard_model_info{{model="{model}"}} 1']
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP {name} {what}", f"# TYPE {name} {kind}"


def resident() -> int:
    """Bytes of memory of this process, where the system says."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0
