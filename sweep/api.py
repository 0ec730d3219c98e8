"""The package from Python: load a grid, plan it, run it, open a result, or ask for one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweep.catalog import default_registry, extended_registry
from sweep.engine.news import Announce, Progress, ignore
from sweep.engine.plan import Plan, make_plan
from sweep.errors import Fault, InputError
from sweep.grid.reader import Grid
from sweep.grid.reader import load_grid as read_grid
from sweep.registry import Parameter, Registry

if TYPE_CHECKING:
    import xarray as xr


def load_grid(source: str | Path | Mapping[str, Any], with_files: Sequence[str | Path] = ()) -> Grid:
    """Read and check a grid file, or a dict of the same shape.

    `with_files` are Python files that add quantities and parameters; they are executed. Raises InputError.
    """
    return read_grid(source, extended_registry(with_files))


def plan(grid: Grid) -> Plan:
    """Work out what a grid computes. Raises InputError for an axis that no output depends on."""
    made = make_plan(grid.registry, grid.outputs, grid.axes, grid.fixed)
    idle = [axis.name for axis in grid.axes if axis.name not in made.status_dims]
    if idle:
        outputs = ", ".join(grid.outputs)
        raise InputError([Fault(grid.places[name], f"no output depends on {name!r} here ({outputs})") for name in idle])
    return made


def unused(grid: Grid, made: Plan) -> list[str]:
    """Names of fixed values that no output depends on, 'name (preset)' for those of a preset."""
    idle = [name for name in grid.fixed if name not in made.graph.parameters]
    return [f"{name} ({grid.given_by[name]})" if grid.given_by[name] else name for name in idle]


def run(
    grid: Grid | str | Path | Mapping[str, Any],
    threads: int | None = None,
    announce: Announce = ignore,
    progress: Progress = ignore,
) -> xr.Dataset:
    """Compute a grid in memory and return it as a labelled dataset.

    `announce` is told, in a line, of work that takes time; `progress` how many points each finished block adds.
    """
    from sweep.engine.execute import execute
    from sweep.store.dataset import to_dataset

    if not isinstance(grid, Grid):
        grid = load_grid(grid)
    made = plan(grid)
    values = execute(made, threads, grid.statuses, announce=announce, progress=progress)
    return to_dataset(grid, made, values)


def open_result(path: str | Path) -> xr.Dataset:
    """Open a result file; categorical variables come as labels. Raises InputError if it is not one."""
    from sweep.store.netcdf import read

    return read(Path(path))


class Parameters:
    """Parameters by name: `sweep.parameters.link_bandwidth.default`."""

    def __init__(self, registry: Callable[[], Registry]) -> None:
        self._registry = registry

    def __dir__(self) -> list[str]:
        return sorted(self._registry().parameters)

    def __getattr__(self, name: str) -> Parameter:
        try:
            return self._registry().parameters[name]
        except KeyError:
            raise AttributeError(f"no parameter is called {name!r}") from None


def __getattr__(name: str) -> Any:
    if name == "quantities":
        from sweep.engine.point import Quantities

        return Quantities(default_registry())
    if name == "parameters":
        return Parameters(default_registry)
    raise AttributeError(f"module 'sweep.api' has no attribute {name!r}")
