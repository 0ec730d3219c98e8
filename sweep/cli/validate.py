"""`sweep validate`: formulas against simulations, worst cells first."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sweep.cli.options import Made, change_options, check_of, layout_of, load, made_options, map_options, say
from sweep.cli.progress import Bar, rate_text

if TYPE_CHECKING:
    import xarray as xr

    from sweep.engine.plan import Plan
    from sweep.grid.reader import Grid


@click.command("validate")
@click.argument("grid", type=click.Path(), required=False)
@change_options
@click.option("--tolerance", default=1.0, show_default=True, type=click.FloatRange(min=0), help="In percent.")
@click.option("--by", metavar="DIM", help="Dimension for each value of which errors are counted apart.")
@click.option("--of", "variable", metavar="FORMULA", help="Formula of which errors are drawn; default: the first.")
@made_options
@map_options
def command(
    grid: str | None,
    settings: tuple[str, ...],
    outputs: tuple[str, ...],
    with_files: tuple[str, ...],
    tolerance: float,
    by: str | None,
    variable: str | None,
    output: str | None,
    overwrite: bool,
    picture: str | None,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: tuple[str, ...],
) -> None:
    """Compute the formulas of GRID, simulate the same points, and say where they differ; without GRID that of each
    grids/validate_*.yaml.

    Exit code 1 if a formula is off by more than the tolerance and outside the interval of its simulation, or has a
    value where the simulation has none, other than an undefined one.
    """
    from sweep import api
    from sweep.errors import Fault, InputError, not_one_of
    from sweep.views.validate import bad_points, draw_errors, twins, validation_table, with_errors, with_twins

    if not tolerance >= 0:
        raise InputError([Fault("--tolerance", f"a number of percent from 0 is wanted, not {tolerance}")])
    check_of(variable, picture)
    layout = layout_of(x, y, facet, at, picture)
    names = [grid] if grid is not None else shipped_grids()
    if len(names) > 1 and (output is not None or picture is not None):
        raise InputError([Fault("GRID", "-o and --picture are for one grid; name it")])
    place = Made(output, overwrite, picture)
    # All that can be wrong is found before anything is computed.
    loaded = [load(name, settings, outputs, with_files) for name in names]
    formulas = [twins(each.outputs, each.registry) for each in loaded]
    grids = [with_twins(each, own) for each, own in zip(loaded, formulas, strict=True)]
    plans = [api.plan(each) for each in grids]
    dims = sorted({dim for each in plans for dim in each.status_dims})
    if by is not None and by not in dims:
        raise InputError([Fault("--by", not_one_of(by, dims) if dims else "the grid has no dimensions")])
    shown = variable or formulas[0][0]
    if shown not in formulas[0]:
        raise InputError([Fault("--of", not_one_of(shown, formulas[0]))])
    bad = 0
    for number, (each, own, made) in enumerate(zip(grids, formulas, plans, strict=True)):
        found = with_errors(computed(each, made), own)
        table = validation_table(found, own, by)
        lines = ["", *table] if number else table
        place.deliver(found, lines, partial(draw_errors, found, shown, layout))
        bad += sum(bad_points(found, formula, tolerance) for formula in own)
    if bad:
        click.echo(f"\n{bad} points are off by more than {tolerance:g} %, or fail")
        sys.exit(1)


def shipped_grids() -> list[str]:
    """The grids that are there to validate formulas. Raises InputError where there are none."""
    from sweep.errors import Fault, InputError

    paths = sorted(Path("grids").glob("validate_*.yaml"))
    if not paths:
        raise InputError([Fault("GRID", "there is no grids/validate_*.yaml here; name a grid")])
    return [str(path) for path in paths]


def computed(grid: Grid, made: Plan) -> xr.Dataset:
    """The result of a grid that is planned, with a bar on a terminal."""
    from sweep import api
    from sweep.cli.run import nest_progress
    from sweep.engine.loopnest import write_kernel

    source = write_kernel(made, grid.statuses)
    with Bar("computing", rate_text("points")) as bar:
        return api.compute(grid, made, source, announce=say, progress=nest_progress(made, bar))
