"""`sweep sensitivity`: which parameters matter at a point, and how much."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import picture_path, read_at, with_option


@click.command("sensitivity")
@click.argument("grid", type=click.Path())
@click.option("--of", "output", metavar="OUTPUT", help="Output to look at; default: the grid's first number.")
@click.option("--at", multiple=True, metavar="NAME=VALUE", help="Value of a parameter; axes stand at their first.")
@click.option(
    "--step", type=click.FloatRange(1e-9, 0.5), default=1e-4, show_default=True, help="Share by which numbers move."
)
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a bar chart.")
@with_option
def command(
    grid: str,
    output: str | None,
    at: tuple[str, ...],
    step: float,
    picture: str | None,
    with_files: tuple[str, ...],
) -> None:
    """Say by how many percent an output changes per percent of every numeric parameter, at a point of GRID.

    GRID is a grid file, or a result, whose own grid is then taken.
    """
    from sweep.views.cells import grid_of
    from sweep.views.sensitivity import draw_sensitivity, sensitivity, sensitivity_table

    drawn = picture_path(picture) if picture is not None else None
    found = sensitivity(grid_of(Path(grid), with_files), output, read_at(at), step)
    for line in sensitivity_table(found):
        click.echo(line)
    if drawn is not None:
        draw_sensitivity(found, drawn)
        click.echo(f"drawn to {drawn}")
