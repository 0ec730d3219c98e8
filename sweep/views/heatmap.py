"""Heat maps: two dimensions as rows and columns, a third as facets, the rest fixed at one value each.

Cells stand on index positions, so any axis can be drawn: logarithmic, categorical, of one value. Ticks show the
values with their units. Numbers use a colour map that keeps its order in grey and for the colour-blind; labels use
the palette of Okabe and Ito. Missing cells are hatched, and the legend says why they are missing.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sweep.errors import Fault, InputError, nearest
from sweep.grid.units import exact
from sweep.registry import NO_VALUE, STATUSES
from sweep.views.figure import save_figure
from sweep.views.summary import text

PALETTE = ("#999999", "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442")
NOT_COMPARED = "nothing to compare with"
"""Why a cell has a value, but no percentage: what it is compared with is 0 or missing."""
PALEST = 0.25
"""Share of its colour that a winner without a margin keeps."""
MAX_FACETS = 40
MAX_TICKS = 9
ANNOTATED_WIDTH = 0.38
"""Inches that a cell must be wide to show its value."""
ANNOTATED_HEIGHT = 0.15
CHARACTER_WIDTH = 0.075
"""Inches of a character of a label, roughly."""


def draw_heatmap(
    dataset: xr.Dataset,
    variable: str,
    x: str | None,
    y: str | None,
    facet: str | None,
    at: Mapping[str, str],
    best: str | None,
    against: tuple[str, str] | None,
    path: Path,
) -> None:
    """Draw one variable to a PNG, SVG or PDF file. With `best`, each cell is how many percent it lies above the
    smallest value along that dimension; with `against`, a dimension and a value on it, how many percent it differs from
    what is there. Raises InputError for names and values that the dataset does not have."""
    check_name(variable, [str(name) for name in dataset.data_vars], "variable")
    data = dataset[variable]
    dims = [str(dim) for dim in data.dims]
    named = [(x, "--x"), (y, "--y"), (facet, "--facet"), (best, "--best"), *((dim, "--at") for dim in at)]
    for name, role in (*named, (against[0] if against else None, "--against")):
        if name is not None:
            check_name(name, dims, role)
    x, y = default_dims(dims, x, y, facet, at)
    shown = dict.fromkeys(dim for dim in (x, y, facet) if dim is not None)
    if len(shown) < sum(dim is not None for dim in (x, y, facet)) or any(dim in at for dim in shown):
        raise InputError([Fault("plot", "--x, --y, --facet and --at must name different dimensions")])
    if best is not None and against is not None:
        raise InputError([Fault("plot", "--best and --against are two ways to compare; give one of them")])
    if best is not None:
        data = above_best(data, best)
    if against is not None:
        dim, index = against[0], position(data[against[0]], against[1], "--against")
        data, dataset = compared(data, dim, index), dataset.drop_isel({dim: index})
    chosen = {dim: position(data[dim], at[dim]) if dim in at else 0 for dim in dims if dim not in shown}
    if not data.size:
        raise InputError([Fault("plot", f"{variable} has no points; there is nothing to draw")])
    data, here = data.isel(chosen), dataset.isel(chosen)
    margins, ties = (here["margin"], here["tied"] > 1) if variable == "winner" and "margin" in here else (None, None)
    figure = _Figure(data.transpose(*shown), reasons_of(here, variable), x, y, facet, margins, ties)
    figure.save(path, title(dataset, data, variable))


def reasons_of(dataset: xr.Dataset, variable: str) -> xr.DataArray:
    """Codes that say why values of a variable are missing: its own status, or else the one of all outputs, and of
    that the least bad over dimensions that the variable does not have."""
    codes = dataset.get(f"{variable}_status", dataset["status"])
    return codes.min([dim for dim in codes.dims if dim not in dataset[variable].dims])


def check_name(name: str, known: Sequence[str], role: str) -> None:
    """Raise InputError for a name that is not known."""
    if name not in known:
        raise InputError([Fault("plot", f"{role}: {name!r} is not one of {', '.join(known)}{nearest(name, known)}")])


def default_dims(
    dims: Sequence[str], x: str | None, y: str | None, facet: str | None, at: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """The last free dimension along x, the one before it along y, where nothing else is asked for."""
    free = [dim for dim in dims if dim not in (x, y, facet) and dim not in at]
    if x is None and free:
        x = free.pop()
    if y is None and free:
        y = free.pop()
    return x, y


def position(coordinate: xr.DataArray, wanted: str, role: str = "--at") -> int:
    """Position of a value given as text: a label, or a number, with its unit or not, to one part in a million."""
    values = coordinate.values
    if values.dtype.kind in "iuf":
        try:
            number = float(exact(wanted, str(coordinate.attrs.get("units", "1"))))
        except ValueError:
            number = math.nan
        index = int(np.argmin(abs(values - number))) if math.isfinite(number) else 0
        if abs(values[index] - number) <= 1e-6 * abs(number):
            return index
    elif wanted in list(values):
        return list(values).index(wanted)
    allowed = ", ".join(text(value) for value in values[:12]) + (", ..." if values.size > 12 else "")
    raise InputError([Fault("plot", f"{role} {coordinate.name}: {wanted!r} is not one of {allowed}")])


def compared(data: xr.DataArray, dim: str, index: int) -> xr.DataArray:
    """Percent by which each value differs from the one at a position of a dimension, which is left out."""
    if "flag_meanings" in data.attrs:
        raise InputError([Fault("plot", f"--against: {data.name} has labels, not numbers")])
    if data.sizes[dim] == 1:
        raise InputError([Fault("plot", f"--against: {dim} has no other value to compare")])
    data = data.where(np.isfinite(data))
    reference, others = data.isel({dim: index}, drop=True), data.drop_isel({dim: index})
    result: xr.DataArray = ((others / reference - 1) * 100).where(others != reference, 0.0)
    result = result.where(np.isfinite(result)).transpose(*data.dims)
    name = text(data[dim].values[index])
    result.attrs = {"long_name": f"{data.name} against {dim} {name}".replace("_", " "), "units": "%"}
    return result


def above_best(data: xr.DataArray, dim: str) -> xr.DataArray:
    """Percent by which each value lies above the smallest along a dimension."""
    if "flag_meanings" in data.attrs:
        raise InputError([Fault("plot", f"--best: {data.name} has labels, not numbers")])
    data = data.where(np.isfinite(data))
    least = data.min(dim)
    result: xr.DataArray = ((data / least - 1) * 100).where(data != least, 0.0)
    result.attrs = {"long_name": f"{data.name} above the best {dim}".replace("_", " "), "units": "%"}
    return result


def title(dataset: xr.Dataset, data: xr.DataArray, variable: str) -> str:
    """The grid's title, and below it what is held fixed."""
    held = [
        f"{value.attrs.get('long_name', name)} {value_text(value)}"
        for name, value in data.coords.items()
        if value.ndim == 0 and name in dataset.dims
    ]
    lines = [dataset.attrs.get("title", variable)]
    if held:
        lines.append(", ".join(held))
    return "\n".join(lines)


def label(variable: xr.DataArray) -> str:
    """Long name and unit of a variable or coordinate."""
    name = variable.attrs.get("long_name", variable.name)
    unit = variable.attrs.get("units", "1")
    return f"{name} ({unit})" if unit != "1" else str(name)


def tick_positions(values: np.ndarray[Any, Any]) -> list[int]:
    """Positions of at most MAX_TICKS ticks: at powers of two or ten where the values have enough, else evenly."""
    every = list(range(values.size))
    if values.size > MAX_TICKS and values.dtype.kind in "iuf":
        for base in (np.log2, np.log10):
            exponents = base(np.where(values > 0, values, np.nan).astype(float))
            round_ones = [spot for spot in every if exponents[spot] == np.rint(exponents[spot])]
            if len(round_ones) >= 4:
                return thinned(round_ones)
    return thinned(every)


def thinned(spots: list[int]) -> list[int]:
    """At most MAX_TICKS of some positions, evenly, with the first and the last where that is possible."""
    step = -(-len(spots) // MAX_TICKS)
    even = [s for s in range(step, 2 * step) if (len(spots) - 1) % s == 0]
    return spots[:: even[0] if even else step]


def tick_text(value: Any, unit: str, digits: int = 4) -> str:
    """A tick label: bytes in powers of 1024 where that is short and exact, other numbers to some digits."""
    if not isinstance(value, (int, float, np.number)):
        return str(value)
    if unit == "B" and value >= 1024:
        power = min(int(math.log2(value) / 10), 5)
        scaled = value / 1024**power
        if scaled == round(scaled, 2):
            return f"{scaled:g} {('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi')[power]}B"
    return f"{value:.{digits}g}"


def tick_texts(values: np.ndarray[Any, Any], unit: str) -> list[str]:
    """Tick labels with as many digits as it takes to tell different values apart."""
    for digits in (4, 6, 9, 12, 17):
        names = [tick_text(value, unit, digits) for value in values]
        if len(set(names)) == len(names):
            break
    return names


def value_text(value: xr.DataArray) -> str:
    """One value of a coordinate with its unit."""
    unit = value.attrs.get("units", "1")
    shown = tick_text(value.item(), unit)
    return shown if unit == "1" or shown.endswith("B") else f"{shown} {unit}"


def full_colour_from(margins: np.ndarray[Any, Any]) -> float:
    """A round margin (percent) that one cell in ten exceeds, or nearly."""
    known = margins[np.isfinite(margins)]
    high = float(np.percentile(known, 90)) if known.size else 1.0
    return next((x for x in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if x >= high), 100.0)


class _Figure:
    """A picture of `data`; where labels have `margins` (percent), small ones are pale, and `ties` have dots."""

    def __init__(
        self,
        data: xr.DataArray,
        reasons: xr.DataArray,
        x: str | None,
        y: str | None,
        facet: str | None,
        margins: xr.DataArray | None = None,
        ties: xr.DataArray | None = None,
    ) -> None:
        self.data = data
        self.reasons = reasons
        self.margins = margins
        self.ties = ties
        self.full = full_colour_from(margins.values) if margins is not None else 0.0
        self.x, self.y, self.facet = x, y, facet
        self.facets = data.sizes[facet] if facet else 1
        if self.facets > MAX_FACETS:
            raise InputError([Fault("plot", f"--facet {facet} has {self.facets} values; at most {MAX_FACETS} fit")])
        self.categories = "flag_meanings" in data.attrs
        self.labels = [label for label in data.attrs.get("flag_meanings", "").split() if label != NO_VALUE]
        self.missing: set[str] = set()

    def save(self, path: Path, heading: str) -> None:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt

        columns = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}.get(self.facets, 4)
        rows = -(-self.facets // columns)
        across, down = (self.data.sizes[dim] if dim else 1 for dim in (self.x, self.y))
        wide = min(max(3.4, 0.42 * across), 7.5) if self.facets == 1 else 4.4
        high = min(max(1.6, 0.42 * down), 5.0) if self.facets == 1 else min(max(1.3, 0.34 * down), 3.4)
        size = (1.9 + wide * columns, 1.5 + (high + 0.75) * rows)
        self.annotated = wide / across >= ANNOTATED_WIDTH and high / down >= ANNOTATED_HEIGHT
        mappable, norm = self.colours()
        with mpl.rc_context({"font.size": 10, "svg.hashsalt": "sweep", "hatch.linewidth": 0.6}):
            figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
            for index, panel in enumerate(axes.flat):
                if index >= self.facets:
                    panel.axis("off")
                    continue
                self.panel(panel, index, mappable, norm, columns)
            self.legend(figure, axes, mappable)
            lines = [textwrap.fill(line, int(size[0] / CHARACTER_WIDTH)) for line in heading.split("\n")]
            figure.suptitle("\n".join(lines), fontsize=11)
            save_figure(figure, path)

    def colours(self) -> tuple[Any, Any]:
        import matplotlib as mpl
        from matplotlib.cm import ScalarMappable

        norm: Any
        if self.categories:
            cmap = mpl.colors.ListedColormap(self.palette()[: max(len(self.labels), 1)])
            norm = mpl.colors.BoundaryNorm(np.arange(len(self.labels) + 1) - 0.5, cmap.N)
            return ScalarMappable(norm, cmap), norm
        values = self.data.values[np.isfinite(self.data.values)]
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        least = float(values[values > 0].min()) if (values > 0).any() else high
        if low > 0 and high / low > 100:
            norm = mpl.colors.LogNorm(low, high)
        elif low == 0 and high > 100 * least and self.data.attrs.get("units") != "%":  # logarithmic but for the zeros
            norm = mpl.colors.SymLogNorm(linthresh=least, linscale=0.5, vmin=0, vmax=high)
        elif low < 0 and high - low > 200:  # percentages of both signs
            norm = mpl.colors.SymLogNorm(linthresh=1, vmin=low, vmax=high)
        else:
            norm = mpl.colors.Normalize(low, high if high > low else low + 1)
        return ScalarMappable(norm, "cividis"), norm

    def palette(self) -> Sequence[Any]:
        """One colour per label; where there are more than the palette has, a larger and less distinct one."""
        import matplotlib as mpl

        if len(self.labels) <= len(PALETTE):
            return PALETTE
        return [mpl.colormaps["turbo"](x) for x in np.linspace(0, 1, len(self.labels))]

    def cells(self, part: xr.DataArray) -> np.ndarray[Any, Any]:
        """What one panel shows, rows from below: numbers, or codes of labels; NaN where there is no value."""
        values = self.cells_of(part)
        if not self.categories:
            return np.asarray(np.where(np.isfinite(values), values, np.nan), float)
        return np.where(values < len(self.labels), values.astype(float), np.nan)

    def cells_of(self, part: xr.DataArray) -> np.ndarray[Any, Any]:
        """Values of a panel as rows and columns, one of them where there is no such dimension."""
        shape = [part.sizes[dim] if dim else 1 for dim in (self.y, self.x)]
        values: np.ndarray[Any, Any] = part.transpose(*(dim for dim in (self.y, self.x) if dim)).values.reshape(shape)
        return values

    def panel(self, panel: Any, index: int, mappable: Any, norm: Any, columns: int) -> None:
        from matplotlib.patches import Rectangle

        here = {self.facet: index} if self.facet else {}
        part = self.data.isel(here)
        cells = self.cells(part)
        reasons = self.cells_of(self.reasons.isel(here, missing_dims="ignore").broadcast_like(part))
        found = np.unique(reasons[np.isnan(cells)]).tolist()
        self.missing.update(STATUSES[code] if code else NOT_COMPARED for code in found)
        hatched = Rectangle((0, 0), 1, 1, transform=panel.transAxes, hatch="////", fc="white", ec="#999999", zorder=0)
        panel.add_patch(hatched)
        if self.categories and self.margins is not None:
            cells = self.pale(mappable.to_rgba(cells), self.cells_of(self.margins.isel(here)), here)
        panel.imshow(
            cells, cmap=mappable.cmap, norm=norm, aspect="auto", origin="lower", interpolation="nearest", zorder=1
        )
        if self.ties is not None:
            rows, columns_of_ties = np.nonzero(self.cells_of(self.ties.isel(here)))
            panel.scatter(columns_of_ties, rows, s=3, c="black", linewidths=0, zorder=2)
        if self.annotated and not self.categories:
            self.annotate(panel, cells, mappable)
        self.ticks(panel, index, columns)
        if self.facet:
            value = part[self.facet]
            panel.set_title(f"{value.attrs.get('long_name', self.facet)} = {value_text(value)}", fontsize=10)

    def pale(
        self, colours: np.ndarray[Any, Any], margins: np.ndarray[Any, Any], here: Mapping[Any, int]
    ) -> np.ndarray[Any, Any]:
        """Colours mixed with white, the more the smaller the margin; full ones where nothing else can be chosen."""
        alone = 1.0 - self.cells_of(self.ties.isel(here)) if self.ties is not None else 1.0
        share = np.where(np.isnan(margins), alone, np.clip(margins / self.full, 0, 1))
        strength = (PALEST + (1 - PALEST) * share)[..., np.newaxis]
        colours[..., :3] = strength * colours[..., :3] + (1 - strength)
        return colours

    def annotate(self, panel: Any, cells: np.ndarray[Any, Any], mappable: Any) -> None:
        for (row, column), value in np.ndenumerate(cells):
            if np.isnan(value):
                continue
            red, green, blue, _ = mappable.to_rgba(value)
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            shown = f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}" if abs(value) < 99999.5 else f"{value:.1e}"
            panel.text(column, row, shown, ha="center", va="center", fontsize=7, color="white" if dark else "black")

    def ticks(self, panel: Any, index: int, columns: int) -> None:
        for dim, axis, edge in (
            (self.x, panel.xaxis, index >= self.facets - columns),
            (self.y, panel.yaxis, index % columns == 0),
        ):
            if dim is None:
                axis.set_visible(False)
                continue
            coordinate = self.data[dim]
            unit = coordinate.attrs.get("units", "1")
            categorical = coordinate.dtype.kind not in "iuf"
            few = categorical and coordinate.size <= 16
            spots = list(range(coordinate.size)) if few else tick_positions(coordinate.values)
            names = tick_texts(coordinate.values[spots], unit)
            axis.set_ticks(spots, names if edge else [""] * len(spots))
            if edge:
                own_unit = unit == "B" and any("B" in name for name in names)
                axis.set_label_text(coordinate.attrs.get("long_name", dim) if own_unit else label(coordinate))
        if max((len(t.get_text()) for t in panel.get_xticklabels()), default=0) > 6:
            panel.tick_params(axis="x", rotation=35)
            for tick in panel.get_xticklabels():
                tick.set_ha("right")
                tick.set_rotation_mode("anchor")

    def legend(self, figure: Any, axes: Any, mappable: Any) -> None:
        from matplotlib.patches import Patch

        handles = []
        if self.missing:
            reasons = ", ".join(label for label in (*STATUSES[1:], NOT_COMPARED) if label in self.missing)
            handles.append(Patch(hatch="////", fc="white", ec="#999999", label=reasons))
        if not self.categories:
            room = int(figure.get_figheight() * 0.8 / CHARACTER_WIDTH)
            text_of_bar = textwrap.fill(label(self.data), max(room, 12))
            bar = figure.colorbar(mappable, ax=axes, label=text_of_bar, shrink=0.9, pad=0.02)
            bar.ax.minorticks_off()
            if handles:
                figure.legend(handles=handles, loc="outside lower right")
            return
        heading = label(self.data)
        if self.margins is not None:
            heading += f"\nfull colour: margin from {self.full:g} %,\npale: none; dots: ties"
        present = [code for code in range(len(self.labels)) if (self.data == code).any()]
        colours = [Patch(fc=self.palette()[code], ec="black", label=self.labels[code]) for code in present]
        figure.legend(handles=[*colours, *handles], title=heading, loc="outside right upper")
