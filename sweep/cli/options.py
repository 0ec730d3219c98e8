"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import xarray as xr

    from sweep.grid.reader import Grid
    from sweep.views.cut import Layout

with_option = click.option(
    "--with",
    "with_files",
    multiple=True,
    metavar="FILE.py",
    help="Python file with quantities and parameters of your own; it is executed.",
)


def grid_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a grid and the options that change what is read from it; see `load`."""
    return click.argument("grid", type=click.Path())(change_options(command))


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that change what is read from a grid; see `load`."""
    set_option = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Value of a parameter in place of the grid's; a list such as [1, 2] or a form such as {range: [0, 3]} "
        "makes it an axis.",
    )
    outputs_option = click.option(
        "--outputs",
        multiple=True,
        metavar="NAME,...",
        help="Outputs in place of the grid's; axes on which none of them depends are dropped.",
    )
    for option in (with_option, outputs_option, set_option):
        command = option(command)
    return command


def map_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that lay out a picture; see `layout_of`."""
    at = click.option(
        "--at",
        multiple=True,
        metavar="DIM=VALUE",
        help="Value of a dimension that is not shown; default: its first.",
    )
    return panel_options(at(command))


def panel_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which dimensions a picture has along its axes."""
    facet = click.option("--facet", help="Dimension with one panel per value.")
    y = click.option("--y", help="Dimension along y; default: the one before it.")
    x = click.option("--x", help="Dimension along x; default: the last one.")
    for option in (facet, y, x):
        command = option(command)
    return command


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say along what to choose, by which objective, among which; see `required`."""
    over = click.option("--over", default="packet_format", show_default=True, help="Dimension along which to choose.")
    minimise = click.option("--minimise", metavar="OUTPUT", help="Output of which the smallest is best.")
    maximise = click.option("--maximise", metavar="OUTPUT", help="Output of which the largest is best.")
    require = click.option(
        "--require", multiple=True, metavar="NAME,...", help="Outputs that must be yes (ecn, pfc_class), or NAME=LABEL."
    )
    for option in (require, maximise, minimise, over):
        command = option(command)
    return command


def made_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that makes something from a result the options for where it goes; see `Made`."""
    output = click.option("-o", "--output", type=click.Path(), help="NetCDF file for all that was found.")
    overwrite = click.option("--overwrite", is_flag=True, help="Replace what is at the output.")
    picture = click.option("--picture", type=click.Path(), help="PNG, SVG or PDF file for a picture.")
    for option in (picture, overwrite, output):
        command = option(command)
    return command


class Made:
    """Where what a command makes goes: checked before any work, written after the picture is drawn, told at the end.

    Raises InputError for places that cannot be.
    """

    def __init__(self, output: str | None, overwrite: bool, picture: str | None) -> None:
        from sweep.errors import Fault, InputError
        from sweep.store.target import check_new

        self.output = Path(output) if output is not None else None
        self.picture = picture_path(picture) if picture is not None else None
        self.overwrite = overwrite
        if overwrite and output is None:
            raise InputError([Fault("--overwrite", "goes with -o; a picture is always replaced")])
        if self.output is not None:
            check_new(self.output, overwrite)

    def deliver(self, made: xr.Dataset | None, lines: list[str], draw: Callable[[Path], list[Path]]) -> None:
        """Draw, write and say what was made, where that is wanted."""
        from sweep.store.netcdf import write_new

        pictures = draw(self.picture) if self.picture is not None else []
        if self.output is not None and made is not None:
            write_new(made, self.output, self.overwrite)
        for line in lines:
            click.echo(line)
        if self.output is not None:
            click.echo(f"written to {self.output}")
        if pictures:
            click.echo(drawn(pictures))


def drawn(pictures: list[Path]) -> str:
    """Where pictures went, in a line."""
    last = f" .. {pictures[-1]}" if len(pictures) > 1 else ""
    return f"drawn to {pictures[0]}{last}"


def required(items: tuple[str, ...]) -> list[str]:
    """Names of a --require that takes several, parted by commas too."""
    return [name for item in items for name in item.split(",") if name]


def layout_of(x: str | None, y: str | None, facet: str | None, at: tuple[str, ...], picture: str | None = "") -> Layout:
    """The layout that a picture was asked for. Raises InputError where there is to be no picture."""
    from sweep.errors import Fault, InputError
    from sweep.views.cut import Layout

    if picture is None and (x, y, facet, at) != (None, None, None, ()):
        raise InputError([Fault("--picture", "--x, --y, --facet and --at lay out a picture; say where to draw it")])

    return Layout(x, y, facet, read_at(at))


def check_of(variable: str | None, picture: str | None) -> None:
    """Raise InputError for --of where there is to be no picture."""
    from sweep.errors import Fault, InputError

    if variable is not None and picture is None:
        raise InputError([Fault("--of", "names what --picture draws; say where to draw it")])


def read_at(pairs: tuple[str, ...]) -> dict[str, str]:
    """Values of dimensions as --at gives them."""
    from sweep.errors import Fault, InputError

    values: dict[str, str] = {}
    for pair in pairs:
        dim, value = split_pair(pair, "--at")
        if dim in values:
            raise InputError([Fault("--at", f"{dim!r} is given twice")])
        values[dim] = value
    return values


def split_pair(pair: str, option: str) -> tuple[str, str]:
    """The two sides of DIM=VALUE."""
    from sweep.errors import Fault, InputError

    dim, equals, value = pair.partition("=")
    if not equals:
        raise InputError([Fault(option, f"{pair!r} is not of the form DIM=VALUE")])
    return dim, value


def picture_path(name: str) -> Path:
    """The path of a picture. Raises InputError for a kind that cannot be drawn."""
    from sweep.errors import Fault, InputError

    path = Path(name)
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError([Fault(name, "a picture is a .png, .svg or .pdf file")])
    return path


def load(
    grid: str, settings: tuple[str, ...], outputs: tuple[str, ...], with_files: tuple[str, ...], option: str = "--set"
) -> Grid:
    """The grid that a command was given, with what its options change; axes that are dropped are named in a line.

    `settings` are of the `option`.
    """
    from sweep import api
    from sweep.errors import Fault, InputError
    from sweep.located import Located, from_text

    values: dict[str, Located] = {}
    faults: list[Fault] = []
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals:
            faults.append(Fault(option, f"{setting!r} is not of the form NAME=VALUE"))
            continue
        if name in values:
            faults.append(Fault(option, f"{name!r} is given twice"))
        try:
            values[name] = from_text(text, f"{option} {name}")
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    names = [Located(name.strip(), "--outputs") for group in outputs for name in group.split(",")]
    loaded = api.load_located(grid, with_files, values, names)
    if loaded.dropped:
        say(f"no output depends on {', '.join(loaded.dropped)}: dropped")
    for note in loaded.notes:
        say(note)
    return loaded


def terminal_width() -> int:
    """Columns of the terminal, within reason; in a pipe a fixed number, so that output does not depend on who looks."""
    import shutil
    import sys

    return min(max(shutil.get_terminal_size().columns, 60), 160) if sys.stdout.isatty() else 100


def say(line: str) -> None:
    """A line for the person at the terminal, apart from the command's output."""
    click.echo(line, err=True)
