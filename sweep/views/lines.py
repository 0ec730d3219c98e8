"""Line families: a number along one dimension, one line for each value of a second, panels over a third.

Lines differ in colour, dashes and markers, so that they can be told apart in grey print. A line ends where a value is
missing, and the legend says why. Numbers along x stand at their values, labels one after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from sweep.errors import Fault, InputError
from sweep.registry import STATUSES
from sweep.views.cut import NOT_COMPARED, Cut, Layout, cut
from sweep.views.figure import COLUMN_WIDTH, NUMBERS, PALETTE, columns_of, draw_pages, power_ticks
from sweep.views.heatmap import turn_long_labels
from sweep.views.ticks import axis_ticks, is_geometric, label, tick_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_LINES = 16
"""More could not be told apart."""
FEW_POINTS = 25
"""Up to so many points along x have a marker each."""
COLOURS = (*(PALETTE[place] for place in (1, 5, 3, 6, 4, 7, 0)), "black")
"""Those of the palette that can be seen on white."""
DASHES = ("-", "--", ":", "-.")
MARKERS = "osD^v<>p"


def draw_lines(
    dataset: xr.Dataset,
    variable: str,
    layout: Layout,
    path: Path,
    best: str | None = None,
    against: tuple[str, str] | None = None,
) -> list[Path]:
    """Draw one variable as lines along `layout.x`, one for each value of `layout.y`, and return the files.

    `best` and `against` are those of `cut`. Raises InputError for labels, names and values that the dataset does not
    have, too many lines, and where nothing can be written.
    """
    shown = cut(dataset, variable, layout, best, against)
    if "flag_meanings" in shown.data.attrs:
        raise InputError([Fault("plot", f"--lines: {variable} has labels, not numbers; a heat map shows them")])
    if shown.layout.x is None:
        raise InputError([Fault("plot", f"--lines: {variable} has no dimension to draw lines along")])
    count = shown.data.sizes[shown.layout.y] if shown.layout.y else 1
    if count > MAX_LINES:
        what = f"{shown.layout.y} has {count} values; at most {MAX_LINES} lines can be told apart"
        raise InputError([Fault("plot", f"--lines: {what}")])
    lines = _Lines(shown)
    widest = COLUMN_WIDTH[columns_of(shown.facets)]
    size = (6.0, 4.0) if shown.facets == 1 else (widest, 0.75 * widest)
    return draw_pages(path, shown, size, lines.page)


class _Lines:
    def __init__(self, shown: Cut) -> None:
        self.cut = shown
        self.data = shown.data
        self.x, self.y = str(shown.layout.x), shown.layout.y
        self.along = self.data[self.x]
        self.is_number = self.along.dtype.kind in "iuf" and has_room(self.along.values)
        values = self.data.values[np.isfinite(self.data.values)]
        self.logarithmic = bool(values.size and values.min() > 0 and values.max() > 30 * values.min())

    def page(self, figure: Figure, axes: list[Axes], indices: range, columns: int) -> None:
        """Fill one page; all panels share both scales."""
        missing: set[str] = set()
        handles: list[Any] = []
        for place, (panel, index) in enumerate(zip(axes, indices, strict=True)):
            part = self.data.isel(self.cut.panel(index))
            missing |= self.cut.why_missing(part, index)
            drawn = self.panel(panel, part)
            handles = drawn if self.y else []
            panel.set_title(self.cut.panel_title(index), fontsize=10)
            self.scales(panel, bottom=place >= len(indices) - columns, left=place % columns == 0)
        if missing:
            from matplotlib.patches import Patch

            reasons = ", ".join(name for name in (*STATUSES[1:], NOT_COMPARED) if name in missing)
            handles.append(Patch(fc="none", ec="none", label=f"gaps: {reasons}"))
        title = self.data[self.y].attrs.get("long_name", self.y) if self.y else None
        if self.y or missing:
            figure.legend(handles=handles, title=title, loc="outside right center")

    def panel(self, panel: Axes, part: xr.DataArray) -> list[Any]:
        """Draw the lines of one panel."""
        rows = part.transpose(self.y, self.x).values if self.y else part.values[np.newaxis]
        names = self.names()
        order = np.argsort(self.along.values, kind="stable") if self.is_number else np.arange(self.along.size)
        places = self.along.values[order].astype(float) if self.is_number else order
        drawn = []
        for place, (row, name) in enumerate(zip(rows, names, strict=True)):
            marked = self.along.size <= FEW_POINTS or lonely(row[order]).any()
            dashes, marker = look(place)
            drawn += panel.plot(
                places, row[order], color=self.colour(place, len(names)), linestyle=dashes,
                marker=marker if marked else "", markersize=4, linewidth=1.6, label=name,
            )  # fmt: skip
        return drawn

    def names(self) -> list[str]:
        """What the lines are called: their value, with its unit."""
        if not self.y:
            return [""]
        values = self.data[self.y]
        unit = values.attrs.get("units", "1")
        shown = tick_texts(values.values, unit)
        return [name if unit == "1" or name.endswith("B") else f"{name} {unit}" for name in shown]

    def colour(self, place: int, count: int) -> Any:
        """Colours of labels are apart, those of numbers are in order."""
        import matplotlib as mpl

        if self.y and self.data[self.y].dtype.kind in "iuf" and count > 2:
            return mpl.colormaps[NUMBERS](place / (count - 1) * 0.9)
        return COLOURS[place % len(COLOURS)]

    def scales(self, panel: Axes, bottom: bool, left: bool) -> None:
        """Scales, ticks and names of both axes; names and labels at the edges of the page only."""
        from matplotlib.ticker import NullFormatter, NullLocator

        spots, names, name = axis_ticks(self.along)
        if self.is_number and is_geometric(self.along.values):
            panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
        places = [float(self.along.values[spot]) if self.is_number else spot for spot in spots]
        panel.set_xticks(places, names if bottom else [""] * len(places))
        if self.logarithmic:
            panel.set_yscale("log")
            panel.yaxis.set_major_formatter(power_ticks())
            panel.yaxis.set_minor_formatter(NullFormatter())
        values = self.data.values[np.isfinite(self.data.values)]
        if not values.size:
            panel.set_yticks([])
        else:
            panel.set_ylim(*padded(float(values.min()), float(values.max()), self.logarithmic))
        if left:
            panel.set_ylabel(label(self.data), wrap=True)
        else:
            panel.yaxis.set_major_formatter(NullFormatter())
            panel.yaxis.set_minor_formatter(NullFormatter())
        if bottom:
            panel.set_xlabel(name)
        panel.grid(color="#dddddd", linewidth=0.6)
        turn_long_labels(panel)


def has_room(values: np.ndarray[Any, Any]) -> bool:
    """Whether numbers can stand at their values, on a linear or a logarithmic axis, without falling together."""
    if is_geometric(values) or values.size < 2:
        return True
    ordered = np.sort(values.astype(float))
    return bool(np.diff(ordered).min() > (ordered[-1] - ordered[0]) / 500)


def look(place: int) -> tuple[str, str]:
    """Dashes and marker of a line, different for each of MAX_LINES."""
    return DASHES[(place + place // len(MARKERS)) % len(DASHES)], MARKERS[place % len(MARKERS)]


def lonely(row: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which values have none beside them, so that no line shows them."""
    known = np.concatenate([[False], np.isfinite(row), [False]])
    alone: np.ndarray[Any, Any] = known[1:-1] & ~known[:-2] & ~known[2:]
    return alone


def padded(low: float, high: float, logarithmic: bool) -> tuple[float, float]:
    """Ends of an axis with some room beyond the values."""
    if logarithmic:
        room = (high / low) ** 0.05
        return low / room, high * room
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room
