"""`sweep show`: a summary of a result."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("show")
@click.argument("result", type=click.Path())
def command(result: str) -> None:
    """Summarise RESULT: axes, ranges of the outputs, and how many points are missing and why."""
    from sweep.cli.options import terminal_width
    from sweep.store.netcdf import read
    from sweep.views.summary import summary

    with read(Path(result), labels=False) as dataset:
        click.echo(summary(dataset, terminal_width()))
