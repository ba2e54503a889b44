"""Write docs/cli.md from the help texts of the program; with --check, only say whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from typer.testing import CliRunner

from regard.cli.app import app

PAGE = Path(__file__).parent / "cli.md"
HEAD = "# The command line\n\nGenerated from `--help` by `make docs`.\n"


def page() -> str:
    """The help of the program and of each command."""
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    within = [
        [group.name, *command]
        for group in app.registered_groups
        if group.name and group.typer_instance
        for command in [
            [],
            *([one.callback.__name__] for one in group.typer_instance.registered_commands if one.callback),
        ]
    ]
    parts = [HEAD]
    for arguments in [[], *([name] for name in names), *within]:
        shown = CliRunner().invoke(
            app,
            [*arguments, "--help"],
            env={"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "TERM": "dumb"},
        )
        title = " ".join(["regard", *arguments])
        lines = "\n".join(line.rstrip() for line in shown.output.strip("\n").splitlines())
        parts.append(f"\n## {title}\n\n```text\n{lines}\n```\n")
    return "".join(parts)


def main() -> int:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == wanted:
            return 0
        print("docs/cli.md is not what --help says: run `make docs`.", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
