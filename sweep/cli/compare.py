"""`sweep compare`: where two results differ, worst cells first."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import map_options, picture_path, read_at


@click.command("compare")
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="NetCDF file for the differences.")
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a map of the differences.")
@click.option("--of", "variable", metavar="OUTPUT", help="Output to draw; default: the first.")
@map_options
def command(
    first: str,
    second: str,
    output: str | None,
    overwrite: bool,
    picture: str | None,
    variable: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Say where SECOND differs from FIRST, in percent of FIRST; points are matched by their labels and values."""
    from sweep.store.netcdf import read, write_new
    from sweep.store.target import check_new
    from sweep.views.compare import compare, comparison_table
    from sweep.views.heatmap import draw_heatmap

    drawn = picture_path(picture) if picture is not None else None
    values = read_at(at)
    if output is not None:
        check_new(Path(output), overwrite)
    with read(Path(first), labels=False) as one, read(Path(second), labels=False) as other:
        found = compare(one, other).load()
    if drawn is not None:
        names = [str(name) for name in found.data_vars]
        name = variable or names[0]
        name = next((x for x in (f"{name}_difference", f"{name}_changed") if x in names), name)
        draw_heatmap(found, name, x, y, facet, values, None, None, drawn)
    if output is not None:
        write_new(found, Path(output), overwrite)
    for line in comparison_table(found):
        click.echo(line)
    if output is not None:
        click.echo(f"written to {output}")
    if drawn is not None:
        click.echo(f"drawn to {drawn}")
