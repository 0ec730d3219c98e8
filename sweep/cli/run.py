"""`sweep run`: compute a grid and write the result."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sweep.cli import interrupt
from sweep.cli.options import grid_options, load, say
from sweep.cli.progress import Bar, rate_text

if TYPE_CHECKING:
    import xarray as xr

    from sweep.engine.plan import Plan


@click.command("run")
@grid_options
@click.option("-o", "--output", type=click.Path(), help="Result file; default: results/<name of the grid>.nc.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads; default: one per core.")
@click.option("--overwrite", is_flag=True, help="Compute again and replace a result that is there.")
def command(
    grid: str,
    output: str | None,
    threads: int | None,
    overwrite: bool,
    settings: tuple[str, ...],
    outputs: tuple[str, ...],
    with_files: tuple[str, ...],
) -> None:
    """Compute GRID and write the result as NetCDF.

    Does nothing where the file has this result already. Exit code 1 if points failed (error, deadlock, budget).
    """
    from sweep import api
    from sweep.engine.loopnest import write_kernel
    from sweep.store.record import attributes
    from sweep.store.target import check_place, check_room, is_up_to_date

    loaded = load(grid, settings, outputs, with_files)
    made = api.plan(loaded)
    path = result_path(output, loaded.name)
    idle = api.unused(loaded, made)
    if idle:
        say(f"not used by these outputs: {', '.join(idle)}")
    check_place(path)
    source = write_kernel(made, loaded.statuses)
    described = attributes(loaded, made, source.text)
    if not overwrite and is_up_to_date(path, described):
        click.echo(f"{path} is up to date")
        return
    api.check_memory(loaded, made)
    check_room(path, made.result_bytes(loaded.statuses))

    start = time.perf_counter()
    with Bar("computing", rate_text("points")) as bar:
        dataset = api.compute(loaded, made, source, threads, announce=say, progress=nest_progress(made, bar))
    computed = time.perf_counter()
    if not write_result(dataset, path, overwrite):
        if is_up_to_date(path, described):
            click.echo(f"{path} is up to date; another run has written it meanwhile")
        return
    click.echo(
        f"{dataset['status'].size} points x {len(loaded.outputs)} outputs in {computed - start:.2f} s, "
        f"written in {time.perf_counter() - computed:.2f} s to {path}"
    )
    report_failures(dataset)


def result_path(output: str | None, name: str) -> Path:
    """Where the result goes."""
    from sweep.errors import Fault, InputError

    if output is None:
        return Path("results") / f"{name}.nc"
    if not output or output.endswith(os.sep):
        raise InputError([Fault("-o", f"{output!r} names no file")])
    return Path(output)


def nest_progress(made: Plan, bar: Bar) -> Callable[[str, int], None]:
    """Moves a bar by the share of the time that each finished block of a nest is expected to take."""
    if not sys.stderr.isatty():
        return lambda nest, points: interrupt.check()
    from sweep.engine.estimate import nest_seconds
    from sweep.engine.forecast import forecast

    stepping = any(node.quantity.steps for node in made.graph.nodes.values())
    seconds = nest_seconds(made, forecast(made).steps if stepping else {})
    total = sum(seconds.values())
    share = {nest.name: seconds[nest.name] / total / made.points(nest.dims) for nest in made.nests}

    def finished(nest: str, points: int) -> None:
        interrupt.check()
        bar.add(share[nest] * points, points)

    return finished


def write_result(dataset: xr.Dataset, path: Path, overwrite: bool) -> bool:
    """Write the file; whether it was written, and not kept back because there is one by now."""
    from sweep.store.netcdf import write

    with Bar("writing", rate_text("B")) as bar:

        def written(amount: int) -> None:
            interrupt.check()
            bar.add(amount / dataset.nbytes, amount)

        try:
            write(dataset, path, written, overwrite)
        except FileExistsError:
            return False
    return True


def report_failures(dataset: xr.Dataset) -> None:
    """Say how many points have no value; exit with 1 if some of them should have one."""
    from sweep.views.summary import failures

    failed, missing = failures(dataset["status"])
    for label, count in missing.items():
        click.echo(f"  {count} {'points have' if count > 1 else 'point has'} status {label}")
    if failed:
        sys.exit(1)
