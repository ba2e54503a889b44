"""Dates as people write them, to ISO 8601."""

from __future__ import annotations

import datetime
import string

import numpy as np

from regard.systems.data.symbols import Pairs, Symbols

CHARACTERS = Symbols((*string.ascii_lowercase, *string.digits, *" ,./-'"))
DIGITS = Symbols((*string.digits, "-"))
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FORMS = 8
_FIRST, _LAST = datetime.date(1950, 1, 1).toordinal(), datetime.date(2049, 12, 31).toordinal()


def written(day: datetime.date, form: int) -> str:
    """A date in one of the ``FORMS`` ways to write it.

    >>> written(datetime.date(1979, 5, 3), 3)
    'thursday, the 3rd of may 1979'
    """
    month, name = MONTHS[day.month - 1], DAYS[day.weekday()]
    ending = "th" if 10 <= day.day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    forms = (
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{month[:3]} {day.day}{ending} '{day.year % 100:02d}",
        f"{name}, the {day.day}{ending} of {month} {day.year}",
        f"{day.day}. {day.month}. {day.year}",
        f"{day.month}/{day.day}/{day.year}",
        f"{name[:3]} {day.day:02d}-{month[:3]}-{day.year}",
        f"{name} {month} {day.day:02d} {day.year % 100:02d}",
    )
    return forms[form]


def dates(n: int, seed: int) -> Pairs:
    """Days from 1950 to 2049, each as somebody would write it, and as ISO 8601 writes it.

    Years of two digits are those of this hundred: '49 is 2049, '50 is 1950.

    Examples
    --------
    >>> pairs = dates(1, seed=0)
    >>> "".join(CHARACTERS.decode(pairs.sources[0])), "".join(DIGITS.decode(pairs.targets[0]))
    ('1/24/2035', '2035-01-24')
    """
    rng = np.random.default_rng(seed)
    days = [datetime.date.fromordinal(day) for day in rng.integers(_FIRST, _LAST + 1, size=n).tolist()]
    forms = rng.integers(FORMS, size=n).tolist()
    sources = [CHARACTERS.encode(written(day, form)) for day, form in zip(days, forms, strict=True)]
    return Pairs(sources, [DIGITS.encode(day.isoformat()) for day in days], CHARACTERS, DIGITS)
