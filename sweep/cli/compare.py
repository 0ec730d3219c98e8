"""`sweep compare`: where two results differ, worst cells first."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import Made, check_of, layout_of, made_options, map_options


@click.command("compare")
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option("--of", "variable", metavar="OUTPUT", help="Output to draw; default: the first.")
@made_options
@map_options
def command(
    first: str,
    second: str,
    variable: str | None,
    output: str | None,
    overwrite: bool,
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Say where SECOND differs from FIRST, in percent of FIRST; points are matched by their labels and values."""
    from sweep.store.netcdf import read
    from sweep.views.compare import compare, comparison_table
    from sweep.views.heatmap import draw_heatmap

    check_of(variable, picture)
    layout = layout_of(x, y, facet, at, picture)
    place = Made(output, overwrite, picture)
    with read(Path(first), labels=False) as one, read(Path(second), labels=False) as other:
        found = compare(one, other).load()
    names = [str(name) for name in found.data_vars]
    wanted = variable or names[0]
    shown = next((name for name in (f"{wanted}_difference", f"{wanted}_changed") if name in names), wanted)
    place.deliver(
        found,
        comparison_table(found),
        lambda path: draw_heatmap(found, shown, layout, path),
    )
