"""`sweep select`: the best value along a dimension of a result, cell by cell."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import Made, choice_options, layout_of, made_options, map_options, required, with_option


@click.command("select")
@click.argument("result", type=click.Path())
@choice_options
@with_option
@made_options
@map_options
def command(
    result: str,
    over: str,
    minimise: str | None,
    maximise: str | None,
    require: tuple[str, ...],
    with_files: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Say which value along a dimension of RESULT is best, how often, and by how much."""
    from sweep.store.netcdf import read
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.select import select, selection_table

    layout = layout_of(x, y, facet, at, picture)
    place = Made(output, overwrite, picture)
    with read(Path(result), labels=False) as dataset:
        chosen = select(dataset, over, minimise, maximise, required(require), with_files)
    place.deliver(
        chosen,
        selection_table(chosen),
        lambda path: draw_heatmap(chosen, "winner", layout, path),
    )
