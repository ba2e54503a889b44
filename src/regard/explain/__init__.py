"""What did the model attend to, and what did each word contribute?"""

from regard.explain.explaining import explain
from regard.explain.explanation import Explanation, Explanations, Part, Word

__all__ = ["Explanation", "Explanations", "Part", "Word", "explain"]
