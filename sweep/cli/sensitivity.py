"""`sweep sensitivity`: which parameters matter, and how much, at a point or over a grid."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import Made, layout_of, made_options, panel_options, read_at, required, say, with_option


@click.command("sensitivity")
@click.argument("grid", type=click.Path())
@click.option("--of", "output_name", metavar="OUTPUT", help="Output to look at; default: the grid's first number.")
@click.option("--at", multiple=True, metavar="NAME=VALUE", help="Value of a parameter, or position of zipped ones.")
@click.option(
    "--step", type=click.FloatRange(1e-9, 0.5), help="Share by which numbers move; default: 1e-4, everywhere 1e-2."
)
@click.option("--everywhere", is_flag=True, help="In every cell of the grid; without it axes stand at their first.")
@click.option("--parameters", multiple=True, metavar="NAME,...", help="With --everywhere: only these.")
@with_option
@made_options
@panel_options
def command(
    grid: str,
    output_name: str | None,
    at: tuple[str, ...],
    step: float | None,
    everywhere: bool,
    parameters: tuple[str, ...],
    with_files: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
) -> None:
    """Say by how many percent an output changes per percent of every numeric parameter, at a point of GRID.

    GRID is a grid file, or a result, whose own grid is then taken. The picture has a bar for each parameter, or with
    --everywhere is a map of the strongest one.
    """
    from sweep.errors import Fault, InputError
    from sweep.views.cells import grid_of
    from sweep.views.elasticity import STEP as WIDE_STEP
    from sweep.views.elasticity import elasticities, elasticity_table
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.sensitivity import STEP, draw_sensitivity, sensitivity, sensitivity_table

    if not everywhere and (output, x, y, facet, parameters) != (None, None, None, None, ()):
        raise InputError([Fault("sensitivity", "--output, --parameters, --x, --y and --facet go with --everywhere")])
    place = Made(output, overwrite, picture)
    loaded = grid_of(Path(grid), with_files)
    if everywhere:
        found = elasticities(loaded, output_name, required(parameters), read_at(at), step or WIDE_STEP, say)
        layout = layout_of(x, y, facet, (), picture)
        place.deliver(found, elasticity_table(found), lambda path: draw_heatmap(found, "strongest", layout, path))
    else:
        point = sensitivity(loaded, output_name, read_at(at), step or STEP)
        place.deliver(None, sensitivity_table(point), lambda path: draw_sensitivity(point, path))
