"""The package from Python: load a grid, plan it, run it, open a result, or ask for one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweep.catalog import default_registry, extended_registry
from sweep.engine.loopnest import KernelSource, write_kernel
from sweep.engine.machine import available_memory, readable
from sweep.engine.news import Announce, Progress, ignore
from sweep.engine.plan import Plan, make_plan
from sweep.errors import Fault, InputError
from sweep.grid.reader import Grid
from sweep.grid.reader import load_grid as read_grid
from sweep.located import Located, from_python
from sweep.registry import Parameter, Registry

if TYPE_CHECKING:
    import xarray as xr


def load_grid(
    source: str | Path | Mapping[str, Any],
    with_files: Sequence[str | Path] = (),
    settings: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = (),
) -> Grid:
    """Read and check a grid file, or a dict of the same shape.

    `with_files` are Python files that add quantities and parameters; they are executed. `settings` are values that
    come before those of the grid: one value, or a list or a spaced form for an axis. `outputs` come instead of the
    grid's; axes on which none of them depends are then `dropped`. Raises InputError with every fault.
    """
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        raise InputError([Fault("outputs", f"a list of names is wanted, such as ['steps'], not {outputs!r}")])
    if not isinstance(settings, Mapping | None):
        raise InputError([Fault("settings", "a dict of parameters is wanted")])
    files = [with_files] if isinstance(with_files, (str, Path)) else with_files
    items = {str(name): from_python(value, f"settings.{name}") for name, value in (settings or {}).items()}
    return load_located(source, files, items, [from_python(name, "outputs") for name in outputs])


def load_located(
    source: str | Path | Mapping[str, Any],
    with_files: Sequence[str | Path],
    settings: Mapping[str, Located],
    outputs: Sequence[Located],
) -> Grid:
    """What `load_grid` does, for settings and outputs that know where they were written."""
    grid = read_grid(source, extended_registry(with_files), settings, outputs)
    if not outputs:
        return grid
    idle = idle_axes(grid, make_plan(grid.registry, grid.outputs, grid.axes, grid.fixed))
    return replace(grid, axes=tuple(axis for axis in grid.axes if axis.name not in idle), dropped=idle)


def plan(grid: Grid | str | Path | Mapping[str, Any]) -> Plan:
    """Work out what a grid computes. Raises InputError for an axis that no output depends on."""
    grid = grid if isinstance(grid, Grid) else load_grid(grid)
    made = make_plan(grid.registry, grid.outputs, grid.axes, grid.fixed)
    idle = idle_axes(grid, made)
    if idle:
        outputs = ", ".join(grid.outputs)
        raise InputError([Fault(grid.places[name], f"no output depends on {name!r} here ({outputs})") for name in idle])
    return made


def idle_axes(grid: Grid, made: Plan) -> tuple[str, ...]:
    """Names of axes that no output depends on."""
    return tuple(axis.name for axis in grid.axes if axis.name not in made.status_dims)


def unused(grid: Grid, made: Plan) -> list[str]:
    """Names of values that no output depends on: fixed ones, 'name (preset)' for those of a preset, and members of
    zipped dimensions."""
    used = made.graph.parameters
    fixed = [f"{name} ({grid.given_by[name]})".removesuffix(" ()") for name in grid.fixed if name not in used]
    zipped = [f"{name} (zip {axis.name})" for axis in grid.axes for name in axis.members if name not in used]
    return fixed + zipped


def run(
    grid: Grid | str | Path | Mapping[str, Any],
    threads: int | None = None,
    announce: Announce = ignore,
    progress: Progress = ignore,
) -> xr.Dataset:
    """Compute a grid in memory, on `threads` threads or one per core, and return it as a labelled dataset.

    `announce` is told, in a line, of work that takes time; `progress` of which loop nest, and how many points, each
    finished block is, and of 0 points once a nest is compiled. Raises InputError for what is wrong with the grid, and
    for a result that memory cannot hold.
    """
    grid = grid if isinstance(grid, Grid) else load_grid(grid)
    made = plan(grid)
    source = write_kernel(made, grid.statuses)
    return compute(grid, made, source, threads, announce, progress)


def compute(
    grid: Grid,
    made: Plan,
    source: KernelSource,
    threads: int | None = None,
    announce: Announce = ignore,
    progress: Progress = ignore,
) -> xr.Dataset:
    """What `run` does for a grid that is planned and whose kernel is written."""
    from sweep.engine.execute import execute
    from sweep.store.dataset import to_dataset
    from sweep.store.record import attributes

    if threads is not None and (not isinstance(threads, Integral) or threads < 1):
        raise InputError([Fault("threads", f"a whole number from 1 is wanted, not {threads!r}")])
    check_memory(grid, made)
    values = execute(made, threads, grid.statuses, announce=announce, progress=progress, source=source)
    return to_dataset(grid, made, values, attributes(grid, made, source.text))


def check_memory(grid: Grid, made: Plan) -> None:
    """Raise InputError if the arrays of a plan do not fit into the memory that is available."""
    needed, available = made.needed_bytes(grid.statuses), available_memory()
    if needed > available:
        what = f"{readable(needed)} of memory are needed and {readable(available)} are available"
        raise InputError([Fault(grid.name, f"{what}; use fewer points or outputs")])


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
