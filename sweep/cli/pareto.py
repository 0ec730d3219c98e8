"""`sweep pareto`: the points that no other beats in all objectives."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import Made, made_options, read_at


@click.command("pareto")
@click.argument("result", type=click.Path())
@click.option("--minimise", multiple=True, metavar="NAME", help="Output or parameter of which less is better.")
@click.option("--maximise", multiple=True, metavar="NAME", help="Output or parameter of which more is better.")
@click.option("--at", multiple=True, metavar="DIM=VALUE", help="Only points at this value of a dimension.")
@made_options
def command(
    result: str,
    minimise: tuple[str, ...],
    maximise: tuple[str, ...],
    at: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    picture: str | None,
) -> None:
    """Find the points of RESULT that no other beats in two or three objectives at once."""
    from sweep.store.netcdf import read
    from sweep.views.pareto import draw_pareto, pareto, pareto_table

    values = read_at(at)
    place = Made(output, overwrite, picture)
    with read(Path(result), labels=False) as dataset:
        front = pareto(dataset, minimise, maximise, values)
        place.deliver(front, pareto_table(front), lambda path: draw_pareto(dataset, front, path))
