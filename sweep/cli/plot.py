"""`sweep plot`: a picture of a result."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import drawn, layout_of, map_options, picture_path, split_pair


@click.command("plot")
@click.argument("result", type=click.Path())
@click.option("--of", "variable", help="Variable to draw; default: the first output.")
@map_options
@click.option("--lines", metavar="DIM", help="Draw lines along x, one for each value of DIM, in place of cells.")
@click.option("--contour", "contours", multiple=True, metavar="VALUE", help="Draw a line where the variable is VALUE.")
@click.option(
    "--best",
    metavar="DIM",
    help="Show percent from the best along DIM: above the smallest, or below the largest bandwidth.",
)
@click.option("--against", metavar="DIM=VALUE", help="Show percent of difference from what is at VALUE of DIM.")
@click.option("-o", "--output", type=click.Path(), help="PNG, SVG or PDF; default: RESULT with .png.")
def command(
    result: str,
    variable: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
    lines: str | None,
    contours: tuple[str, ...],
    best: str | None,
    against: str | None,
    output: str | None,
) -> None:
    """Draw any two dimensions of RESULT as a heat map or as lines, with panels over a third.

    More than 12 panels go to pages: of one PDF, or of files with numbers.
    """
    from sweep.errors import Fault, InputError
    from sweep.store.netcdf import read
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.lines import draw_lines

    if lines is not None and (y is not None or contours):
        raise InputError([Fault("plot", "--lines stands in place of --y, and has no --contour")])
    layout = layout_of(x, lines or y, facet, at)
    reference = split_pair(against, "--against") if against is not None else None
    path = picture_path(output) if output else None
    with read(Path(result), labels=False) as dataset:
        path = path or Path(result).with_suffix(".png")
        name = variable or next(str(name) for name in dataset.data_vars if name != "status")
        if lines is not None:
            paths = draw_lines(dataset, name, layout, path, best, reference)
        else:
            paths = draw_heatmap(dataset, name, layout, path, best, reference, contours)
    click.echo(drawn(paths))
