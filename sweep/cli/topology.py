"""`sweep topology`: what is between the chips of a system."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("topology")
@click.argument("file", type=click.Path())
@click.option("--chip", type=click.Path(), help="File of the chip, for what tiers do not say.")
@click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a picture.")
def command(file: str, chip: str | None, picture: str | None) -> None:
    """Show the places of FILE, a topology, and what lies between two chips that meet in one."""
    from sweep.cli.options import drawn, picture_path, say
    from sweep.located import read_text
    from sweep.models.topology_file import read_chip, read_topology
    from sweep.views.topology import draw_topology, topology_lines

    path = picture_path(picture) if picture is not None else None
    topology = read_topology(read_text(Path(file)), file)
    values = read_chip(read_text(Path(chip)), chip) if chip is not None else None
    for note in topology.notes:
        say(note)
    pictures = draw_topology(topology, path) if path is not None else []
    for line in topology_lines(topology, values):
        click.echo(line)
    if pictures:
        click.echo(drawn(pictures))
