"""What differs between the engines: how each writes a handful of expressions. The query itself is one."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """How an engine writes what standard SQL has no word for.

    ``{}`` stands for an expression.

    Attributes
    ----------
    name : str
        What it is called.
    quote : str
        Around a name.
    backslash : bool
        Whether a backslash in a string is an escape; then a regular expression is written as ``r'...'``.
    backtracks : bool
        Whether its regular expressions work like Java's: see ``rule.pattern``.
    double : str
        The type of a 64-bit number.
    key : str
        What stands for a text: its SHA-256.
    ascii : str
        Whether all characters of a string are ASCII.
    tokens : str
        All matches of a ``{pattern}`` in a ``{text}``, in order, without markup.
    letters : str
        The characters of a string, in order.
    phrases : str
        Two lists as phrases: each of the ``{shorter}`` ones with the token that stands ``{n}`` places after its first.
    concat : str
        Two lists, one after the other.
    each : str
        A query: the column ``{key}`` and, for each entry of a ``{list}``, its place and itself as ``{entry}``.
    spell : str
        The ``form`` of the rows of a group as one string, by ``base``, ``rank``, ``place`` and ``part``.
    load : str
        How the file ``{file}`` becomes the table ``{table}``.
    """

    name: str
    quote: str
    backslash: bool
    backtracks: bool
    double: str
    key: str
    ascii: str
    tokens: str
    letters: str
    phrases: str
    concat: str
    each: str
    spell: str
    load: str

    def identifier(self, name: str) -> str:
        """A name of a column, in quotes."""
        if self.backslash and self.quote == "`" and self.name == "bigquery":
            name = name.replace("\\", "\\\\").replace("`", "\\`")
        else:
            name = name.replace(self.quote, 2 * self.quote)
        return f"{self.quote}{name}{self.quote}"

    def table(self, name: str) -> str:
        """A name of a table, whose parts are separated by points; DuckDB also reads files by their names."""
        whole = self.name == "duckdb" and re.search(r"\.(parquet|csv|tsv|json|jsonl|ndjson)(\.gz|\.zst)?$", name)
        return self.identifier(name) if whole else ".".join(map(self.identifier, name.split(".")))

    def string(self, text: str) -> str:
        """A string."""
        if not self.backslash:
            plain = re.sub(r"[\x00-\x1f]", lambda found: f"' || CHR({ord(found[0])}) || '", text.replace("'", "''"))
            return f"'{plain}'"
        return "'" + "".join(map(_escaped, text)) + "'"

    def regex(self, pattern: str) -> str:
        """A regular expression as a string; it is ASCII, and its apostrophes are spelled."""
        spelled = pattern.replace("'", r"\x27")
        return f"r'{spelled}'" if self.backslash else f"'{spelled}'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


DUCKDB = Dialect(
    name="duckdb",
    quote='"',
    backslash=False,
    backtracks=False,
    double="DOUBLE",
    key="SHA256({})",
    ascii="STRLEN({0}) = LENGTH({0})",
    tokens="[token FOR token IN REGEXP_EXTRACT_ALL({text}, {pattern}) IF token[1] <> '<']",
    letters="REGEXP_EXTRACT_ALL({}, '(?s).')",
    phrases="[pair[1] || ' ' || pair[2] FOR pair IN LIST_ZIP({shorter}, tokens[{n}:])]",
    concat="LIST_CONCAT({}, {})",
    each="SELECT {key}, UNNEST({list}) AS {entry}, GENERATE_SUBSCRIPTS({list}, 1) AS place FROM {source}",
    spell="STRING_AGG(form, '' ORDER BY base, rank, place, part)",
    load="CREATE TABLE {table} AS FROM '{file}';",
)

SPARK = Dialect(
    name="spark",
    quote="`",
    backslash=True,
    backtracks=True,
    double="DOUBLE",
    key="SHA2({}, 256)",
    ascii="OCTET_LENGTH({0}) = CHAR_LENGTH({0})",
    tokens="FILTER(REGEXP_EXTRACT_ALL({text}, {pattern}, 0), token -> NOT STARTSWITH(token, '<'))",
    letters="REGEXP_EXTRACT_ALL({}, r'(?s).', 0)",
    phrases="ZIP_WITH({shorter}, SLICE(tokens, {n}, SIZE(tokens)), (a, b) -> CONCAT(a, ' ', b))",
    concat="CONCAT({}, {})",
    each="SELECT {key}, POSEXPLODE({list}) AS (place, {entry}) FROM {source}",
    spell=(
        "ARRAY_JOIN(TRANSFORM(ARRAY_SORT(COLLECT_LIST(STRUCT(base, rank, place, part, form))), one -> one.form), '')"
    ),
    load="CREATE TABLE {table} USING parquet AS SELECT * FROM parquet.`{file}`;",
)

BIGQUERY = Dialect(
    name="bigquery",
    quote="`",
    backslash=True,
    backtracks=False,
    double="FLOAT64",
    key="TO_HEX(SHA256({}))",
    ascii="BYTE_LENGTH({0}) = CHAR_LENGTH({0})",
    tokens=(
        "ARRAY(SELECT token FROM UNNEST(REGEXP_EXTRACT_ALL({text}, {pattern})) AS token WITH OFFSET AS place "
        "WHERE NOT STARTS_WITH(token, '<') ORDER BY place)"
    ),
    letters="REGEXP_EXTRACT_ALL({}, r'(?s).')",
    phrases=(
        "ARRAY(SELECT shorter || ' ' || tokens[OFFSET(place + {n} - 1)] FROM UNNEST({shorter}) AS shorter "
        "WITH OFFSET AS place WHERE place + {n} <= ARRAY_LENGTH(tokens) ORDER BY place)"
    ),
    concat="ARRAY_CONCAT({}, {})",
    each="SELECT {key}, place, {entry} FROM {source}, UNNEST({list}) AS {entry} WITH OFFSET AS place",
    spell="STRING_AGG(form, '' ORDER BY base, rank, place, part)",
    load="LOAD DATA OVERWRITE {table} FROM FILES (format = 'PARQUET', uris = ['gs://BUCKET/{file}']);",
)

DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, SPARK, BIGQUERY)}
