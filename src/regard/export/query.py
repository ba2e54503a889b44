"""One query that scores a column of texts: the same steps for every engine, written in its dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.export.dialects import Dialect
from regard.export.rule import pattern
from regard.export.tables import columns, polarity_columns

if TYPE_CHECKING:
    from regard.models.table import TableModel


def query(model: TableModel, dialect: Dialect, *, table: str, text: str, words: str, characters: str) -> str:
    """The query.

        weight[j] ∝ exp(attention[j]),   score = bias + Σⱼ weight[j] polarity[j]

    over the words and phrases ``j`` of a text, each time they occur. A text is known by its SHA-256, and equal texts
    are scored once, so rows need no key of their own. The engine is asked for nothing in which engines differ: no class
    of characters, no lower case but that of ASCII, no normal form, no order of rows.

    Parameters
    ----------
    model
        The table.
    dialect
        Whose SQL it is.
    table, text
        Where the texts are.
    words, characters
        What the two tables of ``tables`` are called.

    Returns
    -------
    sql
        Every row of ``table`` with ``prediction``, ``probability`` and one ``probability_CLASS`` for each class; where
        the text is NULL, so are they.
    """
    name = dialect.identifier
    source, column = dialect.table(table), name(text)
    polarity = [name(each) for each in polarity_columns(model)]
    sides = range(1, model.sides + 1)
    scores = [f"score_{k}" for k in range(1, len(model.classes) + 1)]
    loud = [f"loud_{k}" for k in range(1, len(model.classes) + 1)]
    chances = columns("probability", model.classes)
    labels = [_literal(dialect, label) for label in model.classes.tolist()]
    spoken = ", ".join(f"SUM(loudness * {p}) / SUM(loudness) AS side_{k}" for k, p in zip(sides, polarity, strict=True))
    steps = {
        "regard_texts": f"""\
SELECT {dialect.key.format(column)} AS text_key, MIN({column}) AS text
FROM {source}
WHERE {column} IS NOT NULL
GROUP BY {dialect.key.format(column)}""",
        "regard_cut": f"""\
SELECT text_key, {dialect.ascii.format("text")} AS plain, {_tokens(dialect)} AS tokens
FROM regard_texts""",
        "regard_lists": f"""\
SELECT text_key, plain, {_phrases(dialect, model.vocabulary.ngrams)} AS phrases
FROM regard_cut""",
        "regard_said": dialect.each.format(
            key="text_key, plain", list="phrases", entry="phrase", source="regard_lists"
        ),
        "regard_odd": f"""\
SELECT phrase, {dialect.letters.format("phrase")} AS letters
FROM (SELECT DISTINCT phrase FROM regard_said WHERE NOT plain) AS said
WHERE NOT ({dialect.ascii.format("phrase")})""",
        "regard_letters": dialect.each.format(key="phrase", list="letters", entry="letter", source="regard_odd"),
        "regard_forms": f"""\
SELECT phrase, place, COALESCE(part, 0) AS part, COALESCE(rank, 0) AS rank,
  CASE WHEN part IS NULL THEN given.letter ELSE form END AS form,
  SUM(CASE WHEN rank > 0 THEN 0 ELSE 1 END) OVER (PARTITION BY phrase ORDER BY place, part) AS base
FROM regard_letters AS given LEFT JOIN {dialect.table(characters)} AS known ON known.letter = given.letter""",
        "regard_spelled": f"""\
SELECT phrase, {dialect.spell} AS spelled
FROM regard_forms
GROUP BY phrase""",
        "regard_found": f"""\
SELECT said.text_key, known.attention, {", ".join(f"known.{each}" for each in polarity)}
FROM regard_said AS said
LEFT JOIN regard_spelled AS odd ON odd.phrase = said.phrase
JOIN {dialect.table(words)} AS known ON known.phrase = COALESCE(odd.spelled, LOWER(said.phrase))""",
        "regard_heard": f"""\
SELECT text_key, EXP(attention - MAX(attention) OVER (PARTITION BY text_key)) AS loudness, {", ".join(polarity)}
FROM regard_found""",
        "regard_summed": f"""\
SELECT text_key, {spoken}
FROM regard_heard
GROUP BY text_key""",
        "regard_scored": f"""\
SELECT texts.text_key, {_scores(model, dialect)}
FROM regard_texts AS texts LEFT JOIN regard_summed AS summed ON summed.text_key = texts.text_key""",
        "regard_topped": f"""\
SELECT text_key, GREATEST({", ".join(scores)}) AS top, {", ".join(scores)}
FROM regard_scored""",
        "regard_loud": f"""\
SELECT text_key, {", ".join(f"EXP({s} - top) AS {e}" for s, e in zip(scores, loud, strict=True))},
  CASE {" ".join(f"WHEN {s} = top THEN {label}" for s, label in zip(scores, labels, strict=True))} END AS prediction
FROM regard_topped""",
        "regard_chances": f"""\
SELECT text_key, prediction, 1 / ({" + ".join(loud)}) AS probability,
  {", ".join(f"{e} / ({' + '.join(loud)}) AS {name(c)}" for e, c in zip(loud, chances, strict=True))}
FROM regard_loud""",
    }
    comma = ",\n"
    return f"""\
WITH {comma.join(f"{step} AS ({chr(10)}{_indented(sql)}{chr(10)})" for step, sql in steps.items())}
SELECT given.*, found.prediction, found.probability, {", ".join(f"found.{name(c)}" for c in chances)}
FROM {source} AS given LEFT JOIN regard_chances AS found ON found.text_key = {dialect.key.format(f"given.{column}")}
"""


def _tokens(dialect: Dialect) -> str:
    return dialect.tokens.format(text="text", pattern=dialect.regex(pattern(dialect.backtracks)))


def _phrases(dialect: Dialect, ngrams: int) -> str:
    """All words, then all pairs, then all triples."""
    longest = together = "tokens"
    for n in range(2, ngrams + 1):
        longest = dialect.phrases.format(shorter=longest, n=n)
        together = dialect.concat.format(together, longest)
    return together


def _scores(model: TableModel, dialect: Dialect) -> str:
    """One score a class; two classes share one side, and half of it speaks for the second, half against the first."""
    sides = [
        f"{_number(dialect, bias)} + COALESCE(summed.side_{k}, 0)"
        for k, bias in enumerate(model.bias.tolist(), start=1)
    ]
    if model.sides == 1:
        sides = [f"-({sides[0]}) / 2", f"({sides[0]}) / 2"]
    return ", ".join(f"{side} AS score_{k}" for k, side in enumerate(sides, start=1))


def _literal(dialect: Dialect, label: Any) -> str:
    if isinstance(label, bool):
        return str(label).upper()
    if isinstance(label, str):
        return dialect.string(label)
    return _number(dialect, label) if isinstance(label, float) else str(label)


def _number(dialect: Dialect, value: float) -> str:
    """A number with all its digits: written bare, some engines would read it as a decimal fraction and round it."""
    return f"CAST('{value!r}' AS {dialect.double})"


def _indented(sql: str) -> str:
    return "\n".join(f"  {line}" for line in sql.splitlines())
