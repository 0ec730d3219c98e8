"""`sweep pareto`: the points that no other beats in all objectives."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import picture_path, read_at


@click.command("pareto")
@click.argument("result", type=click.Path())
@click.option("--minimise", multiple=True, metavar="NAME", help="Output or parameter of which less is better.")
@click.option("--maximise", multiple=True, metavar="NAME", help="Output or parameter of which more is better.")
@click.option("--at", multiple=True, metavar="DIM=VALUE", help="Only points at this value of a dimension.")
@click.option("-o", "--output", type=click.Path(), help="NetCDF file for the front.")
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a picture.")
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
    from sweep.store.netcdf import read, write_new
    from sweep.store.target import check_new
    from sweep.views.pareto import draw_pareto, pareto, pareto_table

    drawn = picture_path(picture) if picture is not None else None
    values = read_at(at)
    if output is not None:
        check_new(Path(output), overwrite)
    with read(Path(result), labels=False) as dataset:
        front = pareto(dataset, minimise, maximise, values)
        if drawn is not None:
            draw_pareto(dataset, front, drawn)
    if output is not None:
        write_new(front, Path(output), overwrite)
    for line in pareto_table(front):
        click.echo(line)
    if output is not None:
        click.echo(f"written to {output}")
    if drawn is not None:
        click.echo(f"drawn to {drawn}")
