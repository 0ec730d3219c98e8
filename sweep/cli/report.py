"""`sweep report`: one page of a result for a browser."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import read_at, required, say, with_option


@click.command("report")
@click.argument("result", type=click.Path())
@click.option("--over", help="Dimension along which to choose; default: packet_format, else the first of labels.")
@click.option("--minimise", metavar="OUTPUT", help="Output of which the smallest is best.")
@click.option("--maximise", metavar="OUTPUT", help="Output of which the largest is best.")
@click.option("--require", multiple=True, metavar="NAME,...", help="Outputs that must be yes, or NAME=LABEL.")
@click.option("--at", multiple=True, metavar="DIM=VALUE", help="Value of a dimension, which makes the page smaller.")
@with_option
@click.option("-o", "--output", type=click.Path(), help="HTML file; default: RESULT with .html.")
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
def command(
    result: str,
    over: str | None,
    minimise: str | None,
    maximise: str | None,
    require: tuple[str, ...],
    at: tuple[str, ...],
    with_files: tuple[str, ...],
    output: str | None,
    overwrite: bool,
) -> None:
    """Make one HTML page of RESULT: maps with menus and sliders, the choice, the sensitivities, the grid.

    It needs nothing but a browser, and no network.
    """
    from sweep.errors import Fault, InputError
    from sweep.store.netcdf import read
    from sweep.store.target import check_new
    from sweep.views.figure import write_whole
    from sweep.views.report import report

    values = read_at(at)
    path = Path(output) if output is not None else Path(result).with_suffix(".html")
    if path.suffix != ".html":
        raise InputError([Fault(str(path), "a page is a .html file")])
    with read(Path(result), labels=False) as dataset:
        check_new(path, overwrite)
        page = report(dataset, over, minimise, maximise, required(require), values, with_files, say)
    write_whole(path, page.encode(), overwrite)
    click.echo(f"written to {path}")
