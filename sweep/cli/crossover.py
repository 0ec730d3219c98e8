"""`sweep crossover`: where along an axis the best choice changes."""

from __future__ import annotations

from pathlib import Path

import click

from sweep.cli.options import Made, choice_options, required, say, with_option


@click.command("crossover")
@click.argument("result", type=click.Path())
@click.option("--along", required=True, help="Numeric axis along which the winner changes.")
@choice_options
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
    from sweep.store.netcdf import read
    from sweep.views.crossover import crossover_table, crossovers

    place = Made(output, overwrite, None)
    with read(Path(result), labels=False) as dataset:
        found = crossovers(dataset, along, over, minimise, maximise, required(require), with_files, say)
    place.deliver(found, crossover_table(found), lambda path: None)
