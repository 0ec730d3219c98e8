"""`sweep params`: what a grid can set."""

from __future__ import annotations

import click

from sweep.cli.options import terminal_width, with_option


@click.command("params")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@with_option
def command(names: tuple[str, ...], with_files: tuple[str, ...]) -> None:
    """List the parameters that a grid can set, or those with NAME in theirs: units, bounds, defaults, sources."""
    from sweep.catalog import extended_registry
    from sweep.views.tables import parameters_listing

    click.echo(parameters_listing(extended_registry(with_files), names, terminal_width()))
