"""A model as one page: it shows what the model learned, and it is the model."""

from regard.report.assessment import Assessment, Bin, assess
from regard.report.building import report
from regard.report.data import Document, Documents, Epoch, Map, Mistake, Overview, Part, Report, Row, Side, Turn, Words

__all__ = [
    "Assessment",
    "Bin",
    "Document",
    "Documents",
    "Epoch",
    "Map",
    "Mistake",
    "Overview",
    "Part",
    "Report",
    "Row",
    "Side",
    "Turn",
    "Words",
    "assess",
    "report",
]
