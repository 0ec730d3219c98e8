"""`sweep run`: compute a grid and write the result."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sweep.cli.options import grid_options, load, say
from sweep.cli.progress import Bar

if TYPE_CHECKING:
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
    path = Path(output) if output else Path("results") / f"{loaded.name}.nc"
    idle = api.unused(loaded, made)
    if idle:
        say(f"not used by these outputs: {', '.join(idle)}")
    check_place(path)
    source = write_kernel(made, loaded.statuses)
    if not overwrite and is_up_to_date(path, attributes(loaded, made, source.text)):
        click.echo(f"{path} is up to date")
        return
    api.check_memory(loaded, made)
    size = made.result_bytes(loaded.statuses)
    check_room(path, size)
    from sweep.store.netcdf import write
    from sweep.views.summary import failures

    start = time.perf_counter()
    with Bar("computing", lambda rate: f"{rate / 1e6:.3g} M points/s") as bar:
        dataset = api.compute(loaded, made, source, threads, announce=say, progress=nest_progress(made, bar))
    computed = time.perf_counter()
    with Bar("writing", lambda rate: f"{rate / 1e6:.3g} MB/s") as bar:
        write(dataset, path, progress=lambda written: bar.add(written / size, written))
    written = time.perf_counter()
    click.echo(
        f"{dataset['status'].size} points x {len(loaded.outputs)} outputs in {computed - start:.2f} s, "
        f"written in {written - computed:.2f} s to {path}"
    )
    failed, missing = failures(dataset["status"])
    for label, count in missing.items():
        click.echo(f"  {count} {'points have' if count > 1 else 'point has'} status {label}")
    if failed:
        sys.exit(1)


def nest_progress(made: Plan, bar: Bar) -> Callable[[str, int], None]:
    """Moves a bar by the share of the time that each finished block of a nest is expected to take."""
    if not sys.stderr.isatty():
        return lambda nest, points: None
    from sweep.engine.estimate import nest_seconds
    from sweep.engine.forecast import forecast

    stepping = any(node.quantity.steps for node in made.graph.nodes.values())
    seconds = nest_seconds(made, forecast(made).steps if stepping else {})
    total = sum(seconds.values())
    share = {nest.name: seconds[nest.name] / total / made.points(nest.dims) for nest in made.nests}
    return lambda nest, points: bar.add(share[nest] * points, points)
