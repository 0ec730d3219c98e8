"""`sweep threshold`: the smallest value of a parameter that meets a bound, cell by cell."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import Made, layout_of, made_options, map_options, say, with_option


@click.command("threshold")
@click.argument("result", type=click.Path())
@click.option("--meet", required=True, metavar="BOUND", help="Such as 'collective_latency <= 20 us', or with >=.")
@click.option("--along", required=True, help="Numeric axis of which the smallest value is looked for.")
@click.option("--solve", is_flag=True, help="Solve for it between points of the grid, on the formulas themselves.")
@with_option
@made_options
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
    from sweep.store.netcdf import read
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.threshold import threshold, threshold_table

    layout = layout_of(x, y, facet, at, picture)
    place = Made(output, overwrite, picture)
    with read(Path(result), labels=False) as dataset:
        found = threshold(dataset, meet, along, solve, with_files, say)
    place.deliver(
        found,
        threshold_table(found),
        lambda path: draw_heatmap(found, "threshold", layout, path),
    )
