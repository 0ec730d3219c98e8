"""`sweep plan`: what a grid would compute."""

from __future__ import annotations

import click

from sweep.cli.options import grid_argument, with_option


@click.command("plan")
@grid_argument
@with_option
def command(grid: str, with_files: tuple[str, ...]) -> None:
    """Say what GRID would compute: points, dimensions and bytes per output. Computes nothing."""
    import math

    from sweep import api

    loaded = api.load_grid(grid, with_files)
    made = api.plan(loaded)
    click.echo(loaded.title)
    click.echo(f"\n{made.points(made.status_dims)} points, {readable(made.result_bytes)}\n")
    for axis in loaded.axes:
        members = "" if axis.name in axis.members else f"  ({', '.join(axis.members)})"
        click.echo(f"  axis    {axis.name:<24} {axis.size:>8}{members}")
    for name in loaded.outputs:
        dims = ", ".join((*made.dims[name], *made.extra_dims(name))) or "none"
        size = math.prod(made.shape(name)) * (1 if made.graph.output(name).categories else 8)
        click.echo(f"  output  {name:<24} {readable(size):>8}  ({dims})")
    click.echo(
        f"  output  {'status':<24} {readable(made.points(made.status_dims)):>8}  ({', '.join(made.status_dims)})"
    )
    idle = api.unused(loaded, made)
    if idle:
        click.echo(f"\nnot used by these outputs: {', '.join(idle)}")


def readable(size: float) -> str:
    """Bytes, short."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
