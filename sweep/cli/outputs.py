"""`sweep outputs`: what a grid can ask for."""

from __future__ import annotations

import click

from sweep.cli.options import with_option


@click.command("outputs")
@with_option
def command(with_files: tuple[str, ...]) -> None:
    """List the outputs that a grid can ask for, with their units."""
    from sweep.catalog import extended_registry
    from sweep.views.tables import outputs_table

    click.echo(outputs_table(extended_registry(with_files)))
