"""Options that several commands share."""

from __future__ import annotations

import click

grid_argument = click.argument("grid", type=click.Path())
with_option = click.option(
    "--with",
    "with_files",
    multiple=True,
    metavar="FILE.py",
    help="Python file with quantities and parameters of your own; it is executed.",
)


def say(line: str) -> None:
    """A line for the person at the terminal, apart from the command's output."""
    click.echo(line, err=True)
