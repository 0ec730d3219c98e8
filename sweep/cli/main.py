"""The `sweep` command: finds a subcommand by name and imports its module only then."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click

COMMANDS = {
    "run": "Compute a grid and write the result.",
    "plan": "Say what a grid would compute, without computing it.",
    "explain": "Show the graph of a grid and the kernel made for it.",
    "trace": "Follow a program of several chips, command by command.",
    "topology": "Show what a topology has between its chips.",
    "params": "List the parameters that a grid can set.",
    "outputs": "List the outputs that a grid can ask for.",
    "show": "Summarise a result.",
    "select": "Say which packet format, or other value, is best where.",
    "threshold": "Find the smallest value of a parameter that meets a bound.",
    "crossover": "Find where the best choice changes.",
    "sensitivity": "Say which parameters matter, and how much.",
    "pareto": "Find the points that no other beats in all objectives.",
    "compare": "Say where two results differ.",
    "validate": "Say how far formulas are from simulations of the same points.",
    "plot": "Draw a heat map, or lines, of a result.",
    "report": "Make one page of a result for a browser.",
}

MAX_FAULTS = 50
"""Faults that are printed; more would hide the first ones."""


class LazyGroup(click.Group):
    """A group that knows the names and help lines of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"sweep.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed, or fail with the nearest one."""
        if args and args[0] not in COMMANDS:
            from sweep.errors import nearest

            ctx.fail(f"there is no command {args[0]!r}; there are {', '.join(COMMANDS)}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands for --help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        import sweep

        click.echo(f"sweep {sweep.__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
def group() -> None:
    """Vectorised parameter sweeps over the interconnects of AI accelerators."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Raises SystemExit where it does not end well: 1 done with points that failed, 2 wrong input,
    130 or 143 interrupted."""
    from sweep.cli import interrupt
    from sweep.errors import InputError

    gc.set_threshold(100_000)  # imports make many objects and no garbage: collecting seldom starts 10 % faster
    try:
        with group.make_context("sweep", list(sys.argv[1:] if arguments is None else arguments)) as context:
            group.invoke(context)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except InputError as error:
        for fault in error.faults[:MAX_FAULTS]:
            click.echo(f"error: {fault}", err=True)
        if len(error.faults) > MAX_FAULTS:
            click.echo(f"error: and {len(error.faults) - MAX_FAULTS} more faults", err=True)
        sys.exit(2)
    except MemoryError as error:
        click.echo(f"error: not enough memory: {error or 'nothing is left'}; use fewer points or outputs", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing was written", err=True)
        sys.exit(interrupt.exit_code())


def console() -> None:
    """The installed command: `main`, and then leave at once.

    Taking down numba, xarray and the like piece by piece takes as long as a small grid does.
    """
    from sweep.cli import interrupt

    interrupt.listen()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as the process lives
    code = exit_code()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def exit_code() -> int:
    """Run the command of this process; what its output meets counts too."""
    code = 0
    try:
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has left, as `head` does
        return 141
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        return 2
    return code
