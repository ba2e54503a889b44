"""The command line: one command a file; they ask the other rooms and compute nothing."""

from regard.cli.app import main

__all__ = ["main"]
