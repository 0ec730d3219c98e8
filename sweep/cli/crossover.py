"""`sweep crossover`: where along an axis the best choice changes."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import say, with_option


@click.command("crossover")
@click.argument("result", type=click.Path())
@click.option("--along", required=True, help="Numeric axis along which the winner changes.")
@click.option("--over", default="packet_format", show_default=True, help="Dimension along which to choose.")
@click.option("--minimise", metavar="OUTPUT", help="Output of which the smallest is best.")
@click.option("--maximise", metavar="OUTPUT", help="Output of which the largest is best.")
@click.option(
    "--require", multiple=True, metavar="NAME,...", help="Outputs that must be yes (ecn, pfc_class), or NAME=LABEL."
)
@with_option
@click.option("-o", "--output", type=click.Path(), help="NetCDF file for all changes.")
@click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
def command(
    result: str,
    along: str,
    over: str,
    minimise: str | None,
    maximise: str | None,
    require: tuple[str, ...],
    with_files: tuple[str, ...],
    output: str | None,
    overwrite: bool,
) -> None:
    """Find the values along an axis of RESULT at which another choice becomes the best, on the formulas themselves."""
    from sweep.store.netcdf import read, write_new
    from sweep.store.target import check_new
    from sweep.views.crossover import crossover_table, crossovers

    names = [name for item in require for name in item.split(",") if name]
    if output is not None:
        check_new(Path(output), overwrite)
    with read(Path(result), labels=False) as dataset:
        found = crossovers(dataset, along, over, minimise, maximise, names, with_files, say)
    for line in crossover_table(found):
        click.echo(line)
    if output is not None:
        write_new(found, Path(output), overwrite)
        click.echo(f"written to {output}")
