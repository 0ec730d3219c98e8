"""`sweep params`: what a grid can set."""

from __future__ import annotations

import click

from sweep.cli.options import with_option


@click.command("params")
@with_option
def command(with_files: tuple[str, ...]) -> None:
    """List the parameters that a grid can set, with units, defaults, bounds and sources."""
    from sweep.catalog import extended_registry
    from sweep.views.tables import parameters_table

    click.echo(parameters_table(extended_registry(with_files)))
