"""`sweep threshold`: the smallest value of a parameter that meets a bound, cell by cell."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import map_options, picture_path, read_at, say, with_option


@click.command("threshold")
@click.argument("result", type=click.Path())
@click.option("--meet", required=True, metavar="BOUND", help="Such as 'collective_latency <= 20 us', or with >=.")
@click.option("--along", required=True, help="Numeric axis of which the smallest value is looked for.")
@click.option("--solve", is_flag=True, help="Solve for it between points of the grid, on the formulas themselves.")
@with_option
@click.option("-o", "--output", type=click.Path(), help="NetCDF file for the threshold of each cell.")
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a map of the thresholds.")
@map_options
def command(
    result: str,
    meet: str,
    along: str,
    solve: bool,
    with_files: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Find the smallest value along an axis of RESULT at which an output is within a bound, cell by cell."""
    from sweep.store.netcdf import read, write_new
    from sweep.store.target import check_new
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.threshold import threshold, threshold_table

    drawn = picture_path(picture) if picture is not None else None
    values = read_at(at)
    if output is not None:
        check_new(Path(output), overwrite)
    with read(Path(result), labels=False) as dataset:
        found = threshold(dataset, meet, along, solve, with_files, say)
    if drawn is not None:
        draw_heatmap(found, "threshold", x, y, facet, values, None, None, drawn)
    if output is not None:
        write_new(found, Path(output), overwrite)
    for line in threshold_table(found):
        click.echo(line)
    if output is not None:
        click.echo(f"written to {output}")
    if drawn is not None:
        click.echo(f"drawn to {drawn}")
