"""Write docs/api.md from the public modules; with --check, only say whether it is up to date.

What stands on the page is public: a name that goes, or a signature that changes, changes the page, and so is seen
before it reaches anyone.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
MODULES = (
    "regard",
    "regard.corpus",
    "regard.tokens",
    "regard.models",
    "regard.explain",
    "regard.audit",
    "regard.report",
    "regard.similarity",
    "regard.attention.hardmax",
    "regard.nn",
    "regard.systems",
    "regard.serve",
    "regard.export",
    "regard.reproduce",
)
HEAD = """# Public names

<!-- Made by docs/make_api_page.py from the modules themselves; run `make docs`. -->

What is listed here stays, or changes with a word in the changelog. Whatever is not listed may change at any time.
"""


def lines(module: str, listed: dict[Any, str]) -> Iterator[str]:
    """Each public name of a module with its signature and what it is, and the methods of a class.

    ``listed`` says where a class or function stands already.
    """
    home = import_module(module)
    for name in sorted(home.__all__, key=str.lower):
        thing = getattr(home, name)
        described = inspect.isclass(thing) or inspect.isroutine(thing)
        if described and listed.setdefault(thing, module) != module:
            yield f"- **`{name}`** is that of `{listed[thing]}`."
            continue
        if described:
            yield f"- **`{name}{signature(thing)}`** {first_line(thing)}"
        else:
            yield f"- **`{name}`** {type(thing).__name__}"
        if inspect.isclass(thing):
            yield from (f"  - `{member}`" for member in members(thing))


def members(cls: type) -> Iterator[str]:
    """Public methods and properties that the project itself defines."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("regard")]
    names = {name for base in ours for name in vars(base) if not name.startswith("_")}
    for name in sorted(names):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        if inspect.isfunction(member):
            yield f"{name}{signature(member)}"
        elif isinstance(member, property) or type(member).__name__ == "cached_property":
            yield name


def signature(thing: Any) -> str:
    """Parameters and defaults, without annotations."""
    try:
        found = inspect.signature(thing)
    except ValueError:  # a class whose constructor is written in C has none
        return ""
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for name, each in found.parameters.items()
        if name not in ("self", "cls")
    ]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    text = re.sub(
        r"<(?:function|built-in method) (?:[\w.<>]*\.)?([\w<>]+)(?: of type object)? at 0x[0-9a-f]+>", r"\1", text
    )
    return re.sub(r"<class '([\w.]+)'>", r"\1", text)


def first_line(thing: Any) -> str:
    """What its docstring says first."""
    said = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(said.split())


def page() -> str:
    """All modules."""
    listed: dict[Any, str] = {}
    return HEAD + "".join(f"\n## {module}\n\n" + "\n".join(lines(module, listed)) + "\n" for module in MODULES)


def main() -> int:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == wanted:
            return 0
        print("docs/api.md is not what the modules offer: run `make docs`, and tell the changelog.", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
