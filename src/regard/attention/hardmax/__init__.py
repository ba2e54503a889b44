"""Hardmax transformers: points move toward those that they like best, and gather around leaders.

``reference.py`` is one layer as formulas, ``running.py`` all of them, fast; ``docs/hardmax.md`` has
the proofs.
"""

from regard.attention.hardmax.reference import chosen, step
from regard.attention.hardmax.running import Clustering, run

__all__ = ["Clustering", "chosen", "run", "step"]
