"""`sweep crossover`: where along an axis the best choice changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from sweep.cli.options import (
    Made,
    choice_options,
    layout_of,
    made_options,
    map_options,
    required,
    say,
    with_option,
)


@click.command("crossover")
@click.argument("result", type=click.Path())
@click.option("--along", required=True, help="Numeric axis along which the winner changes.")
@choice_options
@with_option
@made_options
@map_options
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
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Find the values along an axis of RESULT at which another choice becomes the best, on the formulas themselves.

    The picture is a map of the winners with lines where they change.
    """
    from sweep.errors import Fault, InputError
    from sweep.store.netcdf import read
    from sweep.views.crossover import crossover_table, crossovers
    from sweep.views.heatmap import draw_heatmap
    from sweep.views.select import select

    layout = layout_of(x, y, facet, at, picture)
    if along not in (x, y):
        layout = replace(layout, x=along) if x is None else replace(layout, y=along) if y is None else layout
    if along == facet or along in layout.at:
        raise InputError([Fault("--facet, --at", f"the changes are along {along}; it goes along --x or --y")])
    place = Made(output, overwrite, picture)
    choice = (over, minimise, maximise, required(require), with_files)
    with read(Path(result), labels=False) as dataset:
        found = crossovers(dataset, along, *choice, say)
        chosen = select(dataset, *choice)
    place.deliver(
        found,
        crossover_table(found),
        lambda path: draw_heatmap(chosen, "winner", layout, path, crossings=found),
    )
