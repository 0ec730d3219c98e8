"""`sweep plot`: a heat map of a result."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import map_options, picture_path, read_at, split_pair


@click.command("plot")
@click.argument("result", type=click.Path())
@click.option("--of", "variable", help="Variable to draw; default: the first output.")
@map_options
@click.option("--best", metavar="DIM", help="Show percent above the smallest value along DIM.")
@click.option("--against", metavar="DIM=VALUE", help="Show percent of difference from what is at VALUE of DIM.")
@click.option("-o", "--output", type=click.Path(), help="PNG, SVG or PDF; default: RESULT with .png.")
def command(
    result: str,
    variable: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
    best: str | None,
    against: str | None,
    output: str | None,
) -> None:
    """Draw a heat map of any two dimensions of RESULT, with panels over a third."""
    from sweep.store.netcdf import read
    from sweep.views.heatmap import draw_heatmap

    values = read_at(at)
    reference = split_pair(against, "--against") if against is not None else None
    path = picture_path(output) if output else None
    with read(Path(result), labels=False) as dataset:
        path = path or Path(result).with_suffix(".png")
        names = [str(name) for name in dataset.data_vars if name != "status"]
        draw_heatmap(dataset, variable or names[0], x, y, facet, values, best, reference, path)
    click.echo(f"drawn to {path}")
