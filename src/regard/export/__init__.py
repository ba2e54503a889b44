"""A model that is a table, where the data already live: two tables and one query for DuckDB, Spark or BigQuery."""

from regard.export.dialects import DIALECTS, Dialect
from regard.export.exporting import Exported, export
from regard.export.query import query

__all__ = ["DIALECTS", "Dialect", "Exported", "export", "query"]
