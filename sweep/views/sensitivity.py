"""Sensitivity at a point: which parameters an output depends on there, and how strongly.

The elasticity d ln(output) / d ln(parameter) says by how many percent the output changes if a parameter grows by one
percent; the slope says by how much per unit. Both are central differences: numbers move by a small share of
themselves, whole numbers by one or by that share, whichever is more, so that steps of frames and credits are seen as
what they are. At a bound, or at 0, the difference is one-sided; at 0 there is only a slope.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.axis import Axis
from sweep.engine.graph import resolve
from sweep.engine.point import evaluate
from sweep.errors import Fault, InputError, nearest
from sweep.grid.reader import Grid
from sweep.registry import Parameter, Registry
from sweep.units import exact
from sweep.views.figure import PALETTE, drawing, new_figure, save_figures
from sweep.views.summary import text
from sweep.views.ticks import tick_text

Array = NDArray[np.float64]

STEP = 1e-4
"""Share of itself by which a number is moved."""


@dataclass(frozen=True)
class Effect:
    """What one parameter does: its value, elasticity (NaN at 0) and slope; NaN where the output has no value beside."""

    name: str
    unit: str
    value: float
    elasticity: float
    slope: float


@dataclass(frozen=True)
class Sensitivity:
    """An output at a point, and the effect of each numeric parameter that it is computed from, strongest first."""

    output: str
    unit: str
    value: float
    status: str
    effects: tuple[Effect, ...]
    where: str

    @property
    def idle(self) -> tuple[str, ...]:
        """Parameters that do nothing here."""
        return tuple(effect.name for effect in self.effects if effect.slope == 0)


def sensitivity(
    grid: Grid | str | Path | Mapping[str, Any],
    output: str | None = None,
    at: Mapping[str, Any] | None = None,
    step: float = STEP,
) -> Sensitivity:
    """Elasticities of an output (the grid's first number) to all numeric parameters at one point of a grid.

    Where the output has no value nothing is said of effects. `at` gives values to parameters, on the grid's axes or
    not; other axes stand at their first value. Evaluated in plain Python, nothing is compiled. Raises InputError.
    """
    from sweep.api import load_grid

    if not 0 < step < 1:
        raise InputError([Fault("step", f"a share between 0 and 1 is wanted, not {step}")])
    loaded = grid if isinstance(grid, Grid) else load_grid(grid)
    registry = loaded.registry
    name = first_number(loaded, output)
    given = point_of(loaded, at or {})
    graph = resolve(registry, [name], given, {})
    values, statuses = evaluate(graph, used(given, graph.parameters))
    effects = [
        effect_of(registry, name, given, parameter, float(values[parameter.name]), float(values[name]), step)
        for parameter in registry.parameters.values()
        if (parameter.name in graph.parameters or parameter.name in graph.nodes)
        and parameter.is_number
        and values.get(parameter.name) is not None
        and math.isfinite(float(values[parameter.name]))
        and math.isfinite(float(values[name]))
    ]
    effects.sort(
        key=lambda effect: (-abs(effect.elasticity if math.isfinite(effect.elasticity) else 0), -abs(effect.slope))
    )
    axes = [x for axis in loaded.axes for x in axis.members]
    shown = [
        f"{x.replace('_', ' ')} {named(given[x], registry.parameters[x].unit)}"
        for x in dict.fromkeys((*axes, *(at or {})))
        if x in given
    ]
    unit = graph.output(name).unit
    status = statuses[graph.owner[name]]
    return Sensitivity(name, unit, float(values[name]), status, tuple(effects), ", ".join(shown))


def first_number(grid: Grid, output: str | None) -> str:
    """The output that is looked at: the one asked for, or the grid's first number. Raises InputError."""
    registry = grid.registry
    name = output or next((x for x in grid.outputs if is_number(registry, x)), grid.outputs[0])
    if not is_number(registry, name):
        numbers = [x for x in registry.outputs if is_number(registry, x)]
        raise InputError([Fault("--of", f"{name!r} is no output that is a number{nearest(name, numbers)}")])
    return name


def with_unit(value: Any, unit: str) -> str:
    """A value with its unit, if it has one."""
    return text(value) if isinstance(value, str) or unit == "1" else f"{text(value)} {unit}"


def named(value: Any, unit: str) -> str:
    """A value as pictures name it, bytes in powers of 1024."""
    shown = tick_text(value, unit, 6)
    return shown if unit == "1" or isinstance(value, str) or shown.endswith("iB") else f"{shown} {unit}"


def is_number(registry: Registry, name: str) -> bool:
    """Whether an output is one number per point."""
    owner = registry.output_owner.get(name)
    if owner is None:
        return False
    description = registry.quantities[owner].outputs[name]
    return not description.categories and not description.dims


def point_of(grid: Grid, at: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all parameters that a grid gives, its axes at one position each. Raises InputError."""
    given = dict(grid.fixed)
    faults = []
    for axis in grid.axes:
        given |= members_at(axis, 0)
    places: dict[str, int] = {}
    for name, value in at.items():
        own = next((each for each in grid.axes if name in (each.name, *each.members)), None)
        parameter = grid.registry.parameters.get(name)
        try:
            if own is not None and (name not in own.members or len(own.members) > 1):
                place = place_on(grid.registry, own, name, value, given)
                if places.setdefault(own.name, place) != place:
                    raise ValueError(f"{value} is at another position of {own.name} than what else is given along it")
                given |= members_at(own, place)
            elif parameter is None or parameter.is_table:
                known = [*grid.registry.parameters, *(each.name for each in grid.axes)]
                faults.append(Fault("--at", f"{name!r} is not a parameter{nearest(name, known)}"))
            else:
                given[name] = value_of(grid.registry, parameter, value, given)
        except ValueError as error:
            faults.append(Fault(f"--at {name}", str(error)))
    if faults:
        raise InputError(faults)
    return given


def members_at(axis: Axis, place: int) -> dict[str, Any]:
    """Values of the parameters along an axis at a position."""
    return {
        name: values[place] if isinstance(values, tuple) else float(values[place])
        for name, values in axis.members.items()
    }


def place_of(axis: Axis, value: Any) -> int:
    """The position of a zipped dimension that a label, or a number from 0, names. Raises ValueError."""
    names = list(axis.labels) or [str(place) for place in range(axis.size)]
    if str(value) not in names:
        raise ValueError(f"{axis.name} is one of {', '.join(names)}, not {value!r}{nearest(str(value), names)}")
    return names.index(str(value))


def place_on(registry: Registry, axis: Axis, name: str, value: Any, given: Mapping[str, Any]) -> int:
    """The position of a zipped dimension that its own name, or a value of one of its parameters, names. Raises
    ValueError."""
    if name not in axis.members:
        return place_of(axis, value)
    parameter = registry.parameters[name]
    wanted = value_of(registry, parameter, value, given)
    values = list(axis.members[name])
    if wanted in values:
        return values.index(wanted)
    others = ", ".join(each for each in axis.members if each != name)
    shown = ", ".join(with_unit(each, parameter.unit) for each in values)
    raise ValueError(f"{name} moves with {others} along {axis.name}; it is one of {shown} there")


def value_of(registry: Registry, parameter: Parameter, value: Any, given: Mapping[str, Any]) -> Any:
    """A value as a parameter takes it, from a number or a text with a unit. Raises ValueError."""
    if parameter.is_choice:
        labels = registry.labels(parameter, given)
        if str(value) not in labels:
            raise ValueError(
                f"{parameter.name} is one of {', '.join(labels)}, not {value!r}{nearest(str(value), labels)}"
            )
        return str(value)
    if parameter.is_file:
        raise ValueError(f"{parameter.name} is a file; only a grid can name it")
    number = float(exact(value, parameter.unit)) if isinstance(value, str) else float(value)
    if not parameter.allows(number) or (parameter.integer and number != math.floor(number)):
        kind = "a whole number" if parameter.integer else "a number"
        raise ValueError(f"{parameter.name} is {kind} {parameter.bounds}, not {text(number)}")
    return number


def used(given: Mapping[str, Any], needed: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given values that a graph needs."""
    return {name: value for name, value in given.items() if name in needed}


def effect_of(
    registry: Registry,
    output: str,
    given: Mapping[str, Any],
    parameter: Parameter,
    value: float,
    here: float,
    step: float,
) -> Effect:
    """The effect of one parameter on an output."""

    def output_at(moved: float) -> float:
        there = {**given, parameter.name: moved}
        graph = resolve(registry, [output], there, {})
        return float(evaluate(graph, used(there, graph.parameters))[0][output])

    low, high = beside(parameter, value, step)
    below, above = (here if x == value else output_at(x) for x in (low, high))
    numbers = (np.array(x) for x in (value, low, high, here, below, above))
    elasticity, slope = differences(*numbers)
    return Effect(parameter.name, parameter.unit, value, float(elasticity), float(slope))


def beside(parameter: Parameter, value: float, step: float) -> tuple[float, float]:
    """The values on both sides to which a number is moved; the value itself where it may not move."""
    size = abs(value) * step if value else step
    size = max(math.floor(size), 1.0) if parameter.integer else size
    low = value - size if parameter.allows(value - size) and value else value
    return low, value + size if parameter.allows(value + size) else value


def differences(value: Array, low: Array, high: Array, here: Array, below: Array, above: Array) -> tuple[Array, Array]:
    """Elasticities and slopes of outputs `here`, `below` and `above` at a parameter's `value`, `low` and `high`.

    Of one side where the other has no output. Where there is no logarithm the elasticity is the slope in proportion;
    NaN at 0.
    """
    ends, sides = np.isfinite(below), np.isfinite(above)
    low, below = np.where(ends, low, value), np.where(ends, below, here)
    high, above = np.where(sides, high, value), np.where(sides, above, here)
    with np.errstate(all="ignore"):
        slope = np.where(high > low, (above - below) / (high - low), np.nan)
        elasticity = np.where((value != 0) & (here != 0), slope * value / here, np.nan)
        elasticity = np.where(slope == 0, 0.0, elasticity)
        logarithmic = (low > 0) & (below > 0) & (above > 0) & (high > low)
        elasticity = np.where(logarithmic, np.log(above / below) / np.log(high / low), elasticity)
    known = np.isfinite(here)
    return np.where(known, elasticity, np.nan), np.where(known, slope, np.nan)


def sensitivity_table(found: Sensitivity) -> list[str]:
    """Lines: the point, each parameter that does something, and those that do nothing."""
    value = found.status if found.status != "ok" else with_unit(found.value, found.unit)
    lines = [f"{found.output} is {value} at {found.where or 'the defaults'}", ""]
    active = [effect for effect in found.effects if effect.slope != 0]
    if active:
        lines.append(f"  {'parameter':<24} {'value':>20} {'elasticity':>12}  slope")
    for effect in active:
        own = with_unit(effect.value, effect.unit)
        elastic = "" if math.isnan(effect.elasticity) else f"{effect.elasticity:+.4f}"
        slope = f"{effect.slope:+.6g} {found.unit} per {effect.unit}"
        lines.append(f"  {effect.name:<24} {own:>20} {elastic:>12}  {slope}")
    if found.idle:
        lines += ["", f"  no effect here: {', '.join(found.idle)}"]
    return lines


def draw_sensitivity(found: Sensitivity, path: Path) -> list[Path]:
    """A bar chart of the elasticities, strongest on top. Raises InputError where it cannot be written."""
    bars = [effect for effect in found.effects if effect.elasticity and math.isfinite(effect.elasticity)][::-1]
    with drawing():
        figure = new_figure(8, 1.6 + 0.32 * max(len(bars), 1))
        axes = figure.subplots()
        names = [effect.name.replace("_", " ") for effect in bars]
        sizes = [effect.elasticity for effect in bars]
        colours = [PALETTE[5] if size > 0 else PALETTE[1] for size in sizes]
        hatches = ["" if size > 0 else "///" for size in sizes]
        drawn = axes.barh(names, sizes, color=colours, hatch=hatches, edgecolor="white")
        axes.bar_label(drawn, [f"{size:+.3f}" for size in sizes], padding=3, fontsize=9)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.margins(x=0.18)
        if not bars:
            axes.set_xticks([])
            axes.set_yticks([])
            axes.text(0.5, 0.5, "no elasticities here", transform=axes.transAxes, ha="center", va="center")
        axes.set_xlabel("elasticity: percent of change per percent of the parameter (hatched: the output falls)")
        value = found.status if found.status != "ok" else with_unit(found.value, found.unit)
        heading = f"{found.output.replace('_', ' ')} {value}"
        axes.set_title("\n".join([heading, textwrap.fill(found.where, 80)]), fontsize=11)
        return save_figures([figure], path)
