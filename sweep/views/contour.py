"""Lines over the cells of a heat map: where a number has a value, and where another choice becomes the best."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.errors import Fault, InputError
from sweep.units import exact
from sweep.views.cut import Cut
from sweep.views.ticks import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
WIDTH = 1.4
FACTOR = 1.5
"""From this ratio of two neighbours on, what lies between them is measured by factors."""


@dataclass(frozen=True)
class Overlay:
    """Lines over every panel: `draw` takes a panel and the index of its facet, `handles` are for the legend."""

    draw: Callable[[Axes, Mapping[str, int]], None]
    handles: Sequence[Any]


def cased() -> list[Any]:
    """Black lines with a white edge, to be seen on any colour."""
    from matplotlib import patheffects

    return [patheffects.withStroke(linewidth=WIDTH + 1.6, foreground="white")]


def handle(name: str, style: Literal["-", "--", ":", "-."], **marker: Any) -> Any:
    """A line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color="black", linestyle=style, linewidth=WIDTH, label=name, **marker)


def is_number_line(data: xr.DataArray, dim: str) -> bool:
    """Whether a dimension has numbers of its own, and not positions of zipped parameters."""
    others = [name for name, each in data.coords.items() if each.dims == (dim,) and name != dim]
    return data[dim].dtype.kind in "iuf" and not others


def value_lines(shown: Cut, wanted: Sequence[str]) -> Overlay:
    """Lines at some values (texts, with a unit or in that of the variable), straight from cell to cell; the logarithm
    is what is straight where all numbers are positive. Raises InputError where there can be none."""
    data, layout = shown.data, shown.layout
    if "flag_meanings" in data.attrs:
        raise InputError([Fault("--contour", f"{data.name} has labels, not numbers")])
    for dim in (layout.x, layout.y):
        if dim is None or data.sizes[dim] < 2 or data[dim].dtype.kind not in "iuf":
            raise InputError([Fault("--contour", "lines need two numeric dimensions of two values or more")])
    unit = str(data.attrs.get("units", "1"))
    levels = {text: level_of(text, unit) for text in wanted}
    low, high = float(data.min()), float(data.max())
    panels = [data.isel(shown.panel(index)) for index in range(shown.facets)]
    for text, level in levels.items():
        if not any(float(panel.min()) < level < float(panel.max()) for panel in panels):
            what = f"no map has values on both sides of {text}; {label(data)} is {low:.6g} .. {high:.6g} here"
            raise InputError([Fault("--contour", what)])
    scale = np.log if low > 0 else np.asarray
    names = {level: text.strip() for text, level in levels.items()}
    ordered = sorted(names)
    styles = {level: STYLES[place % len(STYLES)] for place, level in enumerate(ordered)}

    def draw(panel: Axes, here: Mapping[str, int]) -> None:
        cells = data.isel(here).transpose(layout.y, layout.x).values
        known = cells[np.isfinite(cells)]
        inside = [level for level in ordered if known.size and known.min() < level < known.max()]
        if not inside:
            return
        lines = panel.contour(
            scale(cells), [float(scale(level)) for level in inside], colors="black", linewidths=WIDTH,
            linestyles=[styles[level] for level in inside], zorder=3,
        )  # fmt: skip
        lines.set_path_effects(cased())

    return Overlay(draw, [handle(names[level], styles[level]) for level in ordered])


def level_of(text: str, unit: str) -> float:
    """The number of a contour. Raises InputError."""
    try:
        return float(exact(text, unit))
    except ValueError as error:
        raise InputError([Fault("--contour", str(error))]) from None


def crossing_lines(shown: Cut, crossings: xr.Dataset) -> Overlay:
    """Lines where another winner takes over, between the cells, at the numbers that were solved for.

    Raises InputError unless the axis along which it does is one of the map's.
    """
    along = json.loads(crossings.attrs["sweep"])["crossover"]["along"]
    layout = shown.layout
    if along not in (layout.x, layout.y):
        raise InputError([Fault("plot", f"the changes are along {along}; give it as --x or --y")])
    across = layout.y if along == layout.x else layout.x
    joined = across is not None and is_number_line(shown.data, across)
    marker: dict[str, Any] = {"marker": "o" if joined else "", "markersize": 4, "markerfacecolor": "white"}

    def draw(panel: Axes, here: Mapping[str, int]) -> None:
        part = shown.data.isel(here)
        found = crossings.isel(crossing=is_here(crossings, part))
        place = index_of(part[along].values, found["value"].values)
        row = row_of(found, part, across)
        kinds = found["below"].values, found["above"].values
        lines = joined_lines(place, row, kinds) if joined else bars(place, row)
        style: dict[str, Any] = {"color": "black", "linewidth": WIDTH, "path_effects": cased(), "zorder": 3}
        for line in lines:
            points = np.array(line)[:, :: 1 if along == layout.x else -1]
            panel.plot(points[:, 0], points[:, 1], **marker, **style)

    parts = [shown.data.isel(shown.panel(index)) for index in range(shown.facets)]
    if not any(is_here(crossings, part).any() for part in parts):
        return Overlay(draw, [])
    return Overlay(draw, [handle("the winner changes", "-", **marker)])


def is_here(crossings: xr.Dataset, part: xr.DataArray) -> NDArray[np.bool_]:
    """Which crossings belong to a panel: those with the values that all its other dimensions stand at."""
    here = np.ones(crossings.sizes["crossing"], bool)
    for name, value in part.coords.items():
        if value.ndim == 0 and name in crossings.coords:
            here &= np.asarray(crossings[name].values == value.item())
    return here


def row_of(crossings: xr.Dataset, part: xr.DataArray, dim: str | None) -> NDArray[np.intp]:
    """Position along a dimension of each crossing."""
    if dim is None:
        return np.zeros(crossings.sizes["crossing"], np.intp)
    same = np.ones((crossings.sizes["crossing"], part.sizes[dim]), bool)
    for name, values in part.coords.items():
        if values.dims == (dim,) and name in crossings.coords:
            same &= np.asarray(crossings[name].values[:, np.newaxis] == values.values)
    return np.asarray(same.argmax(axis=1))


def index_of(axis: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions of numbers between those of an ascending axis, in proportion: of their logarithms where two neighbours
    are a factor apart."""
    numbers = axis.astype(float)
    left = np.clip(np.searchsorted(numbers, values, side="right") - 1, 0, max(numbers.size - 2, 0))
    low, high = numbers[left], numbers[np.minimum(left + 1, numbers.size - 1)]
    with np.errstate(all="ignore"):
        share = (values - low) / (high - low)
        factor = np.log(values / low) / np.log(high / low)
    return np.asarray(left + np.where((low > 0) & (high >= FACTOR * low), factor, share))


def bars(place: NDArray[np.float64], row: NDArray[np.intp]) -> list[list[tuple[float, float]]]:
    """A line across its row for each change."""
    return [[(x, y - 0.5), (x, y + 0.5)] for x, y in zip(place.tolist(), row.tolist(), strict=True)]


def joined_lines(
    place: NDArray[np.float64], row: NDArray[np.intp], kinds: tuple[NDArray[Any], NDArray[Any]]
) -> list[list[tuple[float, float]]]:
    """Changes of one kind, the first of each row, then the second, and so on, as lines through rows that follow each
    other."""
    rows: dict[tuple[Any, ...], dict[int, float]] = {}
    seen: dict[tuple[Any, ...], int] = {}
    for spot in np.lexsort((place, row)):
        kind = (kinds[0][spot], kinds[1][spot])
        count = seen[(*kind, row[spot])] = seen.get((*kind, row[spot]), 0) + 1
        rows.setdefault((*kind, count), {})[int(row[spot])] = float(place[spot])
    lines: list[list[tuple[float, float]]] = []
    for points in rows.values():
        for at, x in points.items():
            if at - 1 not in points:
                lines.append([])
            lines[-1].append((x, float(at)))
    return lines
