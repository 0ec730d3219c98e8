"""`sweep outputs`: what a grid can ask for."""

from __future__ import annotations

import click

from sweep.cli.options import terminal_width, with_option


@click.command("outputs")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@with_option
def command(names: tuple[str, ...], with_files: tuple[str, ...]) -> None:
    """List the outputs that a grid can ask for, or those with NAME in theirs: units and meaning."""
    from sweep.catalog import extended_registry
    from sweep.views.tables import outputs_listing

    click.echo(outputs_listing(extended_registry(with_files), names, terminal_width()))
