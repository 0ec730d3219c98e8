"""`sweep explain`: the graph of a grid and the kernel made for it."""

from __future__ import annotations

import click

from sweep.cli.options import grid_options, load


@click.command("explain")
@grid_options
@click.option("--graph", "part", flag_value="graph", help="Only the graph.")
@click.option("--kernel", "part", flag_value="kernel", help="Only the kernel.")
def command(
    grid: str, part: str | None, settings: tuple[str, ...], outputs: tuple[str, ...], with_files: tuple[str, ...]
) -> None:
    """Show which quantities GRID needs, on which axes each depends, and the loop nests that compute them."""
    from sweep import api
    from sweep.engine.loopnest import write_kernel
    from sweep.views.graph import graph_text

    loaded = load(grid, settings, outputs, with_files)
    made = api.plan(loaded)
    if part != "kernel":
        click.echo(graph_text(made))
    if part is None:
        click.echo()
    if part != "graph":
        click.echo(write_kernel(made, loaded.statuses).text)
