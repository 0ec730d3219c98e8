"""`sweep trace`: one point of a grid with a program, command by command."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from sweep.cli.options import with_option


@click.command("trace")
@click.argument("grid", type=click.Path())
@click.option(
    "--at", multiple=True, metavar="NAME=VALUE,...", help="Values of parameters; default: the first of each axis."
)
@with_option
@click.option("-o", "--output", type=click.Path(), help="Trace file; default: results/NAME.json.")
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a picture of all commands over time.")
def command(
    grid: str, at: tuple[str, ...], with_files: tuple[str, ...], output: str | None, picture: str | None
) -> None:
    """Follow the program of one point of GRID, and write when each command begins and ends: a Chrome trace.

    Perfetto (https://ui.perfetto.dev) opens the file. In a deadlock the commands are named that wait for each other,
    and the exit code is 1.
    """
    from sweep.cli.options import drawn, load, picture_path, say
    from sweep.errors import Fault, InputError
    from sweep.store.target import check_new
    from sweep.views.figure import write_whole
    from sweep.views.gantt import draw_gantt
    from sweep.views.trace import firsts_of, trace, trace_events, trace_lines

    drawing = picture_path(picture) if picture is not None else None
    path = Path(output) if output is not None else Path("results") / f"{Path(grid).stem}.json"
    if path.suffix != ".json":
        raise InputError([Fault("-o", f"a trace is a .json file, not {path.name!r}")])
    check_new(path, overwrite=True)
    settings = tuple(setting for group in at for setting in group.split(",") if setting)
    loaded = load(grid, settings, ("makespan",), with_files, "--at")
    firsts = [f"{name}={x:g}" if isinstance(x, float) else f"{name}={x}" for name, x in firsts_of(loaded)]
    if firsts:
        say(f"at {', '.join(firsts)}; --at says where else")
    made = trace(loaded, say)
    made = replace(made, title="\n".join([made.title, ", ".join([*settings, *firsts])]).rstrip())
    write_whole(path, trace_events(made).encode())
    pictures = draw_gantt(made, drawing) if drawing is not None else []
    for line in trace_lines(made):
        click.echo(line)
    click.echo(f"written to {path}")
    if pictures:
        click.echo(drawn(pictures))
    if made.waiting:
        sys.exit(1)
