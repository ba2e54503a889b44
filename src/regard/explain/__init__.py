"""What the model attended to, and what each word contributed."""

from regard.explain.explaining import explain
from regard.explain.explanation import Explanation, Explanations, Part, Word

__all__ = ["Explanation", "Explanations", "Part", "Word", "explain"]
