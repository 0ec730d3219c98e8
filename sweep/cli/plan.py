"""`sweep plan`: what a grid would compute."""

from __future__ import annotations

import click

from sweep.cli.options import grid_options, load


@click.command("plan")
@grid_options
def command(grid: str, settings: tuple[str, ...], outputs: tuple[str, ...], with_files: tuple[str, ...]) -> None:
    """Say what GRID would compute: points, dimensions and bytes, how long it takes, which points fail and why.

    Computes nothing.
    """
    from sweep import api
    from sweep.views.plan import plan_text

    loaded = load(grid, settings, outputs, with_files)
    click.echo(plan_text(loaded, api.plan(loaded)))
