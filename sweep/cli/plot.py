"""`sweep plot`: a heat map of a result."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("plot")
@click.argument("result", type=click.Path())
@click.option("--of", "variable", help="Variable to draw; default: the first output.")
@click.option("--x", help="Dimension along x; default: the last one.")
@click.option("--y", help="Dimension along y; default: the one before it.")
@click.option("--facet", help="Dimension with one panel per value.")
@click.option("--at", multiple=True, metavar="DIM=VALUE", help="Value of another dimension; default: its first.")
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
    from sweep.errors import Fault, InputError
    from sweep.store.netcdf import read
    from sweep.views.heatmap import draw_heatmap

    path = Path(output) if output else Path(result).with_suffix(".png")
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError([Fault(str(path), "a picture is a .png, .svg or .pdf file")])
    values: dict[str, str] = {}
    for pair in at:
        dim, value = split_pair(pair, "--at")
        if dim in values:
            raise InputError([Fault("--at", f"{dim!r} is given twice")])
        values[dim] = value
    reference = split_pair(against, "--against") if against is not None else None
    with read(Path(result), labels=False) as dataset:
        names = [str(name) for name in dataset.data_vars if name != "status"]
        draw_heatmap(dataset, variable or names[0], x, y, facet, values, best, reference, path)
    click.echo(f"drawn to {path}")


def split_pair(pair: str, option: str) -> tuple[str, str]:
    """The two sides of DIM=VALUE."""
    from sweep.errors import Fault, InputError

    dim, equals, value = pair.partition("=")
    if not equals:
        raise InputError([Fault(option, f"{pair!r} is not of the form DIM=VALUE")])
    return dim, value
