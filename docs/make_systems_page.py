"""Write docs/systems.md from the list of systems and their kept results; ``--check`` tells whether it is fresh."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from regard.reproduce.page import Table
from regard.reproduce.systems import SYSTEMS, Entry

PAGE = Path(__file__).with_name("systems.md")
KEPT = Path(__file__).parent / "results" / "systems"
HEAD = """# Systems

<!-- Made by docs/make_systems_page.py from regard.reproduce.systems and docs/results/systems; edit those. -->

The complete systems that attention was invented for, each a short composition of the parts of `regard.nn` in one
file of `regard.systems`, trained with attention and, otherwise the same, without. `regard systems` lists them;

    regard systems run NAME [--quick] [--seed N] [--seeds N] [--out DIR]

makes the data, trains, evaluates, and writes the page with its pictures, the numbers and the models of the first
seed. Numbers are the mean and spread over the seeds. Each has an example in `examples/systems/`, and each is kept in
one file, without pickle, by `model.save(path)` and `EncoderDecoder.load(path)`, or whatever its class is.
"""


def page() -> str:
    """The text of docs/systems.md."""
    names = ["", "| system | paper |", "|---|---|"]
    names += [f"| [{entry.title}](#{entry.name}) | {entry.paper} |" for entry in SYSTEMS.values()]
    return "\n".join([HEAD.rstrip(), *names, *(section(entry) for entry in SYSTEMS.values())]) + "\n"


def section(entry: Entry) -> str:
    """One system, with what is kept of its results."""
    lines = [f"## {entry.name}", f"**{entry.title}.** {entry.paper}.", f"    {entry.formula}", entry.claim]
    numbers = KEPT / f"{entry.name}.json"
    if numbers.exists():
        found = json.loads(numbers.read_text(encoding="utf-8"))
        lines += [Table(**found["table"]).markdown(), found["reading"]]
        for picture in found["pictures"][:1]:
            caption = picture["caption"]
            lines += [f"![{caption}](results/systems/{entry.name}/{picture['name']}.svg)", f"*{caption}*"]
        seeds = ", ".join(map(str, found["seeds"]))
        lines.append(f"`{found['command']}`, seeds {seeds}: [the whole page](results/systems/{entry.name}.md).")
    else:
        lines.append(f"`regard systems run {entry.name}`; no results are kept yet.")
    return "\n" + "\n\n".join(lines)


def main() -> int:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted:
            return 0
        print("docs/systems.md is not what docs/make_systems_page.py makes: run `make docs`.", file=sys.stderr)
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
