"""Heat maps: two dimensions as rows and columns, a third as panels, the rest fixed at one value each.

Cells stand on index positions, so any axis can be drawn: logarithmic, categorical, of one value. Ticks show the
values with their units. Missing cells are hatched, and the legend says why they are missing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from sweep.registry import STATUSES
from sweep.views.contour import Overlay, crossing_lines, is_number_line, value_lines
from sweep.views.cut import NOT_COMPARED, Cut, Layout, cut, labels_of
from sweep.views.figure import CHARACTER_WIDTH, COLUMN_WIDTH, NUMBERS, PALETTE, columns_of, draw_pages, power_ticks
from sweep.views.ticks import axis_ticks, label, tick_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALEST = 0.25
"""Share of its colour that a winner without a margin keeps."""
ANNOTATED_WIDTH = 0.38
"""Inches that a cell must be wide to show its value."""
ANNOTATED_HEIGHT = 0.15
NAME_WIDTH = 0.07
"""Inches of a character of a label in a cell."""
FEW_VALUES = 10
"""Up to so many different numbers, not written into the cells, have a colour each."""


def draw_heatmap(
    dataset: xr.Dataset,
    variable: str,
    layout: Layout,
    path: Path,
    best: str | None = None,
    against: tuple[str, str] | None = None,
    contours: Sequence[str] = (),
    crossings: xr.Dataset | None = None,
) -> list[Path]:
    """Draw one variable to a PNG, SVG or PDF file, and return the files.

    `best` and `against` are those of `cut`. `contours` are values of the variable that get a line; `crossings`, of a
    map of winners, where another one wins, as `crossovers` found them. Raises InputError for names and values that the
    dataset does not have, and where nothing can be written.
    """
    if crossings is not None:  # lines join what follows each other
        numeric = [dim for dim in dataset.dims if dim in dataset.coords and is_number_line(dataset[variable], str(dim))]
        dataset = dataset.sortby(numeric)
    shown = cut(dataset, variable, layout, best, against)
    overlays: list[Overlay] = []
    if contours:
        overlays.append(value_lines(shown, contours))
    if crossings is not None:
        overlays.append(crossing_lines(shown, crossings))
    drawing = _HeatMap(shown, overlays)
    return draw_pages(path, shown, drawing.panel_size, drawing.page)


def full_colour_from(margins: np.ndarray[Any, Any]) -> float:
    """A round margin (percent) that one cell in ten exceeds, or nearly."""
    known = margins[np.isfinite(margins)]
    high = float(np.percentile(known, 90)) if known.size else 1.0
    return next((x for x in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if x >= high), 100.0)


def cell_text(value: float) -> str:
    """A number for a cell: three digits or more, in thousands or millions where it would be too long."""
    if abs(value) < 999.5:
        return f"{value:.3g}"
    for factor, suffix in ((1.0, ""), (1e3, "k"), (1e6, "M")):
        if abs(value) < 99999.5 * factor:
            return f"{value / factor:.0f}{suffix}"
    return f"{value:.1e}"


def widest_run(where: np.ndarray[Any, Any]) -> tuple[int, int, int]:
    """Length, row and first column of the longest run of cells in a row; of equal ones that nearest to the middle of
    those rows."""
    edges = np.diff(np.pad(where, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    lengths = np.nonzero(edges == -1)[1] - starts
    if not lengths.size:
        return 0, 0, 0
    longest = np.flatnonzero(lengths == lengths.max())
    spot = longest[len(longest) // 2]
    return int(lengths[spot]), int(rows[spot]), int(starts[spot])


def distinct(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The finite numbers among values, in order; where they are few, those that only rounding tells apart are one."""
    found = np.unique(values[np.isfinite(values)])
    return found if found.size > 100 else np.unique([float(f"{value:.12g}") for value in found])


class _HeatMap:
    """A picture of a cut; winners with small margins (percent) are pale, and ties have dots."""

    def __init__(self, shown: Cut, overlays: Sequence[Overlay]) -> None:
        self.cut = shown
        self.data = shown.data
        self.overlays = overlays
        self.categories = "flag_meanings" in self.data.attrs
        self.labels = labels_of(self.data)
        self.margins: xr.DataArray | None = None
        self.ties: xr.DataArray | None = None
        if self.data.name == "winner" and "margin" in shown.rest:
            self.margins, self.ties = shown.rest["margin"], shown.rest["tied"] > 1
            self.full = full_colour_from(self.margins.values)
        across, down = (self.data.sizes[dim] if dim else 1 for dim in (shown.layout.x, shown.layout.y))
        widest = COLUMN_WIDTH[columns_of(shown.facets)]
        alone = shown.facets == 1
        wide = min(max(3.4, 0.42 * across), widest) if alone else widest
        high = min(max(1.6, 0.42 * down), 5.0) if alone else min(max(1.3, 0.34 * down), 0.8 * widest)
        self.panel_size = (wide, high)
        self.annotated = wide / across >= ANNOTATED_WIDTH and high / down >= ANNOTATED_HEIGHT
        values = distinct(self.data.values)
        self.few = [] if self.categories or values.size > (1 if self.annotated else FEW_VALUES) else values.tolist()
        self.mappable = self.colours(values)

    def colours(self, values: np.ndarray[Any, Any]) -> Any:
        """What gives numbers or codes their colours, one for all panels."""
        import matplotlib as mpl
        from matplotlib.cm import ScalarMappable

        if self.categories:
            cmap = mpl.colors.ListedColormap(self.palette()[: max(len(self.labels), 1)])
            return ScalarMappable(mpl.colors.BoundaryNorm(np.arange(max(len(self.labels), 1) + 1) - 0.5, cmap.N), cmap)
        if self.few:
            middles = [(one + other) / 2 for one, other in pairwise(self.few)]
            room = 1 + abs(self.few[0]) + abs(self.few[-1])
            bounds = [self.few[0] - room, *middles, self.few[-1] + room]
            spots = np.linspace(0, 1, len(self.few)) if len(self.few) > 1 else [0.5]
            cmap = mpl.colors.ListedColormap([mpl.colormaps[NUMBERS](spot) for spot in spots])
            return ScalarMappable(mpl.colors.BoundaryNorm(bounds, cmap.N), cmap)
        low, high = (float(values[0]), float(values[-1])) if values.size else (0.0, 1.0)
        least = float(values[values > 0].min()) if (values > 0).any() else high
        norm: mpl.colors.Normalize
        if low > 0 and high / low > 100:
            norm = mpl.colors.LogNorm(low, high)
        elif low == 0 and high > 100 * least and self.data.attrs.get("units") != "%":  # logarithmic but for the zeros
            norm = mpl.colors.SymLogNorm(linthresh=least, linscale=0.5, vmin=0, vmax=high)
        elif low < 0 and high - low > 200:  # percentages of both signs
            norm = mpl.colors.SymLogNorm(linthresh=1, vmin=low, vmax=high)
        else:
            norm = mpl.colors.Normalize(low, high)
        return ScalarMappable(norm, NUMBERS)

    def palette(self) -> Sequence[Any]:
        """One colour per label, or per label that occurs if there are more than the palette has; where those are too
        many too, a larger and less distinct one."""
        import matplotlib as mpl

        if len(self.labels) <= len(PALETTE):
            return PALETTE
        present = [code for code in range(len(self.labels)) if (self.data == code).any()]
        if len(present) <= len(PALETTE):
            return [PALETTE[present.index(code)] if code in present else "white" for code in range(len(self.labels))]
        return [mpl.colormaps["turbo"](x) for x in np.linspace(0, 1, len(self.labels))]

    def cells_of(self, part: xr.DataArray) -> np.ndarray[Any, Any]:
        """Values of a panel as rows, from below, and columns; one of them where there is no such dimension."""
        dims = [dim for dim in (self.cut.layout.y, self.cut.layout.x) if dim]
        shape = [part.sizes[dim] if dim else 1 for dim in (self.cut.layout.y, self.cut.layout.x)]
        values: np.ndarray[Any, Any] = part.transpose(*dims).values.reshape(shape)
        return values

    def page(self, figure: Figure, axes: list[Axes], indices: range, columns: int) -> None:
        """Fill one page."""
        missing: set[str] = set()
        for place, (panel, index) in enumerate(zip(axes, indices, strict=True)):
            missing |= self.panel(panel, index)
            self.ticks(panel, bottom=place >= len(indices) - columns, left=place % columns == 0)
        self.legend(figure, axes, missing)

    def panel(self, panel: Axes, index: int) -> set[str]:
        """Draw one panel; returns why cells of it are missing."""
        from matplotlib.patches import Rectangle

        here = self.cut.panel(index)
        part = self.data.isel(here)
        cells = self.cells_of(part)
        hatched = Rectangle((0, 0), 1, 1, transform=panel.transAxes, hatch="////", fc="white", ec="#999999", zorder=0)
        panel.add_patch(hatched)
        shown = cells
        if self.margins is not None and self.categories:
            shown = self.pale(self.mappable.to_rgba(cells), self.cells_of(self.margins.isel(here)), here)
        look = {"cmap": self.mappable.cmap, "norm": self.mappable.norm, "aspect": "auto", "origin": "lower"}
        panel.imshow(shown, interpolation="nearest", zorder=1, **look)
        if self.ties is not None:
            rows, columns = np.nonzero(self.cells_of(self.ties.isel(here)))
            points = 72 * min(self.panel_size[0] / cells.shape[1], self.panel_size[1] / cells.shape[0])
            size = min(max(0.4 * points, 0.8), 4.0)
            panel.scatter(columns, rows, s=size**2, fc="black", ec="white", linewidths=size / 6, zorder=2)
        for overlay in self.overlays:
            overlay.draw(panel, here)
        if self.categories:
            self.name_regions(panel, cells)
        elif self.annotated:
            self.annotate(panel, cells)
        panel.set_title(self.cut.panel_title(index), fontsize=10)
        return self.cut.why_missing(part, index)

    def pale(
        self, colours: np.ndarray[Any, Any], margins: np.ndarray[Any, Any], here: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        """Colours mixed with white, the more the smaller the margin; full ones where nothing else can be chosen."""
        alone = 1.0 - self.cells_of(self.ties.isel(here)) if self.ties is not None else 1.0
        share = np.where(np.isnan(margins), alone, np.clip(margins / self.full, 0, 1))
        strength = (PALEST + (1 - PALEST) * share)[..., np.newaxis]
        colours[..., :3] = strength * colours[..., :3] + (1 - strength)
        return colours

    def name_regions(self, panel: Axes, cells: np.ndarray[Any, Any]) -> None:
        """Write each label into its widest row of cells where it fits, so that the map can be read in grey."""
        from matplotlib import patheffects

        wide, high = (size / count for size, count in zip(self.panel_size, cells.shape[::-1], strict=True))
        for code, name in enumerate(self.labels):
            length, row, start = widest_run(cells == code)
            if length * wide >= (len(name) + 1) * NAME_WIDTH and high >= ANNOTATED_HEIGHT:
                casing = [patheffects.withStroke(linewidth=2, foreground="white")]
                look: dict[str, Any] = {"fontsize": 8, "path_effects": casing, "zorder": 4}
                panel.text(start + (length - 1) / 2, row, name, ha="center", va="center", **look)

    def annotate(self, panel: Axes, cells: np.ndarray[Any, Any]) -> None:
        """Write the values into their cells."""
        for (row, column), value in np.ndenumerate(cells):
            if np.isnan(value):
                continue
            red, green, blue, _ = self.mappable.to_rgba(value)
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            panel.text(
                column, row, cell_text(value), ha="center", va="center", fontsize=7, color="white" if dark else "black"
            )

    def ticks(self, panel: Axes, bottom: bool, left: bool) -> None:
        """Put ticks along both dimensions, and their labels at the edges of the page."""
        for dim, axis, edge in ((self.cut.layout.x, panel.xaxis, bottom), (self.cut.layout.y, panel.yaxis, left)):
            if dim is None:
                axis.set_visible(False)
                continue
            spots, names, name = axis_ticks(self.data[dim])
            axis.set_ticks(spots, names if edge else [""] * len(spots))
            if edge:
                axis.set_label_text(name)
        turn_long_labels(panel)

    def legend(self, figure: Figure, axes: list[Axes], missing: set[str]) -> None:
        """A colour bar of numbers, patches of labels and of what is missing."""
        from matplotlib.colors import Normalize
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles = [handle for overlay in self.overlays for handle in overlay.handles]
        if missing:
            reasons = ", ".join(name for name in (*STATUSES[1:], NOT_COMPARED) if name in missing)
            handles.append(Patch(hatch="////", fc="white", ec="#999999", label=reasons))
        if not self.categories and not self.few and self.data.notnull().any():
            room = int(figure.get_figheight() * 0.8 / CHARACTER_WIDTH)
            text_of_bar = textwrap.fill(label(self.data), max(room, 12))
            powers = None if type(self.mappable.norm) is Normalize else power_ticks()
            look: dict[str, Any] = {"label": text_of_bar, "shrink": 0.9, "pad": 0.02, "format": powers}
            bar = figure.colorbar(self.mappable, ax=axes, **look)
            bar.ax.minorticks_off()
            if self.ties is not None and bool(self.ties.any()):
                handles.insert(0, Line2D([], [], color="black", marker=".", linestyle="", label="tie"))
            if handles:
                figure.legend(handles=handles, loc="outside lower right")
            return
        heading = textwrap.fill(label(self.data), 24)
        if self.margins is not None and self.categories:
            heading += f"\nfull colour: margin\nfrom {self.full:g} %,\npale: none"
        if self.ties is not None and bool(self.ties.any()):
            heading += "\ndots: ties"
        names = tick_texts(np.array(self.few), self.data.attrs.get("units", "1"))
        present = [
            Patch(fc=self.mappable.to_rgba(value), ec="black", label=name)
            for value, name in zip(self.few, names, strict=True)
        ]
        present += [
            Patch(fc=self.palette()[code], ec="black", label=name)
            for code, name in enumerate(self.labels)
            if (self.data == code).any()
        ]
        figure.legend(handles=[*present, *handles], title=heading, loc="outside right center")


def turn_long_labels(panel: Axes) -> None:
    """Slant the labels along x where they would touch."""
    if max((len(tick.get_text()) for tick in panel.get_xticklabels()), default=0) <= 6:
        return
    panel.tick_params(axis="x", rotation=35)
    for tick in panel.get_xticklabels():
        tick.set_horizontalalignment("right")
        tick.set_rotation_mode("anchor")
