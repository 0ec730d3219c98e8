"""`sweep run`: compute a grid and write the result."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from sweep.cli.options import grid_argument, say, with_option


@click.command("run")
@grid_argument
@click.option("-o", "--output", type=click.Path(), help="Result file; default: results/<name of the grid>.nc.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads; default: one per core.")
@click.option("--overwrite", is_flag=True, help="Replace a result that is there.")
@with_option
def command(grid: str, output: str | None, threads: int | None, overwrite: bool, with_files: tuple[str, ...]) -> None:
    """Compute GRID and write the result as NetCDF.

    Exit code 1 if points failed (error, deadlock, budget).
    """
    from sweep import api

    loaded = api.load_grid(grid, with_files)
    made = api.plan(loaded)
    path = Path(output) if output else Path("results") / f"{loaded.name}.nc"
    check_path(path, overwrite)
    idle = api.unused(loaded, made)
    if idle:
        say(f"not used by these outputs: {', '.join(idle)}")
    check_memory(made.result_bytes)
    from sweep.store.netcdf import write
    from sweep.views.summary import failures

    start = time.perf_counter()
    dataset = api.run(loaded, threads, announce=say)
    computed = time.perf_counter()
    write(dataset, path)
    written = time.perf_counter()
    points = dataset["status"].size
    click.echo(
        f"{points} points x {len(loaded.outputs)} outputs in {computed - start:.2f} s, "
        f"written in {written - computed:.2f} s to {path}"
    )
    failed, missing = failures(dataset["status"])
    for label, count in missing.items():
        click.echo(f"  {count} {'points have' if count > 1 else 'point has'} status {label}")
    if failed:
        sys.exit(1)


def check_path(path: Path, overwrite: bool) -> None:
    """Refuse, before any work, a result file that is there or could not be written."""
    import os

    from sweep.errors import Fault, InputError

    if path.exists() and not path.is_file():
        raise InputError([Fault(str(path), "is not a file")])
    if path.exists() and not overwrite:
        raise InputError([Fault(str(path), "is already there; --overwrite replaces it, -o writes elsewhere")])
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError([Fault(str(path), f"cannot be written: {folder} is not a folder to write to")])


def check_memory(needed: int) -> None:
    """Refuse a result that does not fit into memory."""
    import os

    from sweep.errors import Fault, InputError

    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.9 * available:
        sizes = f"{needed / 1e9:.3g} GB, and this machine has {available / 1e9:.3g} GB of memory"
        raise InputError([Fault("grid", f"the result would take {sizes}; use fewer points or outputs")])
