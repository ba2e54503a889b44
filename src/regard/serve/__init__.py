"""A model behind HTTP: predictions, explanations, its page, and what an operator needs to know (extra: serve)."""

from regard.serve.app import application
from regard.serve.limits import Limits
from regard.serve.running import serve

__all__ = ["Limits", "application", "serve"]
