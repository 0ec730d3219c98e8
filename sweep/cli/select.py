"""`sweep select`: the best value along a dimension of a result, cell by cell."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import map_options, picture_path, read_at


@click.command("select")
@click.argument("result", type=click.Path())
@click.option("--over", default="packet_format", show_default=True, help="Dimension along which to choose.")
@click.option("--minimise", metavar="OUTPUT", help="Output of which the smallest is best.")
@click.option("--maximise", metavar="OUTPUT", help="Output of which the largest is best.")
@click.option(
    "--require", multiple=True, metavar="NAME,...", help="Outputs that must be yes (ecn, pfc_class), or NAME=LABEL."
)
@click.option("-o", "--output", type=click.Path(), help="NetCDF file for winner, runner-up and margins per cell.")
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a map of the winners.")
@map_options
def command(
    result: str,
    over: str,
    minimise: str | None,
    maximise: str | None,
    require: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Say which value along a dimension of RESULT is best, how often, and by how much."""
    from sweep.store.netcdf import read, write_new
    from sweep.store.target import check_new
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.select import select, selection_table

    drawn = picture_path(picture) if picture is not None else None
    values = read_at(at)
    names = [name for item in require for name in item.split(",") if name]
    if output is not None:
        check_new(Path(output), overwrite)
    with read(Path(result), labels=False) as dataset:
        chosen = select(dataset, over, minimise, maximise, names)
    if drawn is not None:
        draw_heatmap(chosen, "winner", x, y, facet, values, None, None, drawn)
    if output is not None:
        write_new(chosen, Path(output), overwrite)
    for line in selection_table(chosen):
        click.echo(line)
    if output is not None:
        click.echo(f"written to {output}")
    if drawn is not None:
        click.echo(f"drawn to {drawn}")
