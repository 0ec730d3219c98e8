"""One HTML page of a result: maps with menus and sliders, the choice, the sensitivities, the grid.

The page has all that it shows in itself, and asks no network for anything: numbers as float32 (seven digits), packed,
and a script that draws them. The elasticities have four digits.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import string
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import sweep
from sweep.catalog import extended_registry
from sweep.engine.machine import readable
from sweep.engine.news import Announce, ignore
from sweep.errors import Fault, InputError
from sweep.views.cells import planned_again
from sweep.views.cut import fixed_at, labels_of
from sweep.views.elasticity import PARAMETER, elasticities, elasticity_table
from sweep.views.figure import NUMBERS, PALETTE
from sweep.views.heatmap import full_colour_from
from sweep.views.record import record_of
from sweep.views.select import find_objective, select, selection_table
from sweep.views.sensitivity import named
from sweep.views.ticks import label, tick_positions, tick_texts

MOST_BYTES = 64 * 2**20
"""Bytes of unpacked numbers that a page holds: what a browser opens without a wait."""
MOST_NUMBERS = 5000
"""Cells of a map that are also shown as a table."""
NO_STATUS = "no value"
OWN = "page."
"""How the names begin of what no grid has."""

CHOSEN = {
    "winner": "best",
    "runner_up": "second best",
    "margin": "margin to the second best",
    "tied": "how many are best",
}
"""What a page shows of a choice, and by which name."""


def report(
    dataset: xr.Dataset,
    over: str | None = None,
    minimise: str | None = None,
    maximise: str | None = None,
    require: Sequence[str] = (),
    at: Mapping[str, str] | None = None,
    with_files: Sequence[str] = (),
    announce: Announce = ignore,
) -> str:
    """The page as text, of a result with codes (not labels).

    `over`, `minimise`, `maximise` and `require` are those of `select`; `over` is the packet format, or else the first
    dimension of labels, unless it is given. `at` puts dimensions at one value, which makes the page smaller. What
    cannot be chosen from, or has no sensitivities, is said on the page. Raises InputError for what is wrong with the
    arguments, and for a result that is too large for a page.
    """
    here = fixed_at(dataset, at or {})
    if not all(here.sizes.values()):
        raise InputError([Fault("report", "the result has no points")])
    page = _Page(here)
    for name in here.data_vars:
        group = "" if name == "status" or str(name).endswith("_status") else "results"
        page.add(str(name), here[name], group, status_of(here, str(name)))
    page.check()
    choice = add_choice(page, here, over, minimise, maximise, require, with_files)
    sensitivity = add_sensitivity(page, here, with_files, announce)
    return page.text(here, choice, sensitivity, with_files)


def status_of(dataset: xr.Dataset, name: str) -> str:
    """The variable that says why values of another are missing."""
    return f"{name}_status" if f"{name}_status" in dataset else "status"


def add_choice(
    page: _Page,
    dataset: xr.Dataset,
    over: str | None,
    minimise: str | None,
    maximise: str | None,
    require: Sequence[str],
    with_files: Sequence[str],
) -> str:
    """Put winners and margins on a page; returns what there is to say of them."""
    asked = (over, minimise, maximise) != (None, None, None) or require
    if "selection" in json.loads(dataset.attrs.get("sweep", "{}")) and not asked:
        return paragraph("This is a choice already.")
    categorical = [str(dim) for dim in dataset.dims if dim in dataset.coords and dataset[dim].dtype.kind not in "iuf"]
    dim = over or next((name for name in ("packet_format", *categorical) if name in categorical), None)
    if dim is None:
        return paragraph("No dimension has labels; --over DIM chooses along one of numbers.")
    try:
        find_objective(dataset, dim, minimise, maximise)
        chosen = select(dataset, dim, minimise, maximise, require, with_files)
    except InputError as error:
        if asked:
            raise
        return paragraph(f"Nothing was chosen along {dim}: {'; '.join(fault.what for fault in error.faults)}.")
    for name, shown in CHOSEN.items():
        page.add(OWN + name, chosen[name], "choice", "", "nothing to choose", f"{shown} ({dim})".replace("_", " "))
    page.full_margin = full_colour_from(chosen["margin"].values)
    return preformatted(selection_table(chosen)[len(dataset.attrs.get("title", "").split("\n")) :])


def add_sensitivity(page: _Page, dataset: xr.Dataset, with_files: Sequence[str], announce: Announce) -> str:
    """Put elasticities and the strongest parameters on a page; returns what there is to say of them."""
    try:
        grid, _, is_current = planned_again(dataset, with_files)
    except InputError as error:
        return paragraph(f"None: {error}.")
    note = ""
    if not is_current:
        announce("the formulas have changed since this result was computed; the sensitivities are of those of now")
        note = paragraph("The formulas have changed since this result was computed; these are of those of now.")
    try:
        found = elasticities(grid, announce=announce)
    except InputError as error:
        return note + paragraph(f"None: {'; '.join(fault.what for fault in error.faults)}.")
    values = found["elasticity"].copy(data=four_digits(found["elasticity"].values))
    lines = preformatted(elasticity_table(found)[len(dataset.attrs.get("title", "").split("\n")) :])
    found = found.rename({PARAMETER: OWN + PARAMETER})
    page.add(OWN + "sensitivity_status", found["status"], "", "")
    page.add(OWN + "strongest", found["strongest"], "sensitivity", OWN + "sensitivity_status", "nothing matters")
    if page.size + 4 * values.size > MOST_BYTES:
        what = f"the elasticities of all cells ({readable(4 * values.size)}) would make this page too large"
        announce(f"{what}; they are left out, only the strongest parameter of each cell is there")
        return note + lines + paragraph(f"Left out: {what}.")
    values = values.rename({PARAMETER: OWN + PARAMETER})
    page.add(OWN + "elasticity", values, "sensitivity", OWN + "sensitivity_status", NO_STATUS)
    return note + lines


def four_digits(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Numbers rounded to thirteen bits after the first (a part in 16000), so that they pack well; missing as NaN."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded: NDArray[np.float32] = ((bits + np.uint32(1 << 9)) & np.uint32(0xFFFFFC00)).view(np.float32)
    return np.where(np.isfinite(values), rounded, np.float32(np.nan))


class _Page:
    def __init__(self, dataset: xr.Dataset) -> None:
        self.dims: dict[str, dict[str, Any]] = {}
        self.variables: list[dict[str, Any]] = []
        self.arrays: list[NDArray[Any]] = []
        self.size = 0
        self.full_margin = 1.0
        for dim in dataset.dims:
            self.add_dim(dataset[dim])

    def add_dim(self, coordinate: xr.DataArray) -> None:
        """Put a dimension on the page, its values as texts."""
        unit = coordinate.attrs.get("units", "1")
        names = tick_texts(coordinate.values, unit)
        with_unit = unit == "1" or (unit == "B" and names[0].endswith("B"))
        self.dims[str(coordinate.name)] = {
            "name": str(coordinate.name),
            "label": str(coordinate.attrs.get("long_name", coordinate.name)) + ("" if with_unit else f" ({unit})"),
            "names": names,
            "ticks": tick_positions(coordinate.values),
            "is_number": coordinate.dtype.kind in "iuf",
        }

    def add(
        self, name: str, variable: xr.DataArray, group: str, status: str, none: str = NO_STATUS, shown: str = ""
    ) -> None:
        """Put a variable on the page; `group` heads it in the menu, `none` is what a missing value is called."""
        for dim in variable.dims:
            if dim not in self.dims:
                self.add_dim(variable[dim])
        array = packed(variable)
        self.variables.append(
            {
                "name": name,
                "label": shown or str(variable.attrs.get("long_name", name)),
                "unit": variable.attrs.get("units", "1"),
                "group": group,
                "dims": [str(dim) for dim in variable.dims],
                "labels": labels_of(variable) if "flag_meanings" in variable.attrs else None,
                "status": status,
                "none": none,
                "kind": f"{array.dtype.kind}{array.dtype.itemsize}",
                "offset": self.size,
            }
        )
        self.arrays.append(array)
        self.size += -(-array.nbytes // 8) * 8

    def check(self) -> None:
        """Raise InputError for more numbers than a page can hold."""
        if self.size > MOST_BYTES:
            what = f"{readable(self.size)} of numbers are too many for a page, which takes {readable(MOST_BYTES)}"
            raise InputError([Fault("report", f"{what}; put dimensions at one value by --at")])

    def text(self, dataset: xr.Dataset, choice: str, sensitivity: str, with_files: Sequence[str]) -> str:
        """The whole page."""
        self.check()
        import matplotlib as mpl

        colours = [mpl.colors.to_hex(mpl.colormaps[NUMBERS](place)) for place in np.linspace(0, 1, 64)]
        about = {
            "dims": list(self.dims.values()),
            "variables": sorted(self.variables, key=lambda each: each["group"] == ""),
            "palette": [colour.lower() for colour in PALETTE],
            "numbers": colours,
            "full_margin": self.full_margin,
            "most_numbers": MOST_NUMBERS,
            "own": OWN,
        }
        blob = b"".join(array.tobytes().ljust(-(-array.nbytes // 8) * 8, b"\0") for array in self.arrays)
        parts = resources.files("sweep.views") / "page"
        return string.Template((parts / "report.html").read_text("utf-8")).substitute(
            title=html.escape(dataset.attrs.get("title", "sweep")),
            style=(parts / "report.css").read_text("utf-8"),
            script=(parts / "report.js").read_text("utf-8"),
            page=json.dumps(about, ensure_ascii=False).replace("<", "\\u003c"),
            data=base64.b64encode(gzip.compress(blob, mtime=0)).decode("ascii"),
            choice=choice,
            sensitivity=sensitivity,
            grid=grid_table(dataset, with_files),
        )


def packed(variable: xr.DataArray) -> NDArray[Any]:
    """Values as little-endian numbers of few bytes; codes as they are."""
    values = variable.values
    if "flag_meanings" in variable.attrs:
        return np.ascontiguousarray(values, "<i1" if len(variable.attrs["flag_meanings"].split()) <= 127 else "<i2")
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    single = np.finfo(np.float32)
    fits = not sizes.size or (sizes.max() < float(single.max) and sizes.min() > float(single.tiny))
    return np.ascontiguousarray(values, "<f4" if fits else "<f8")


def paragraph(words: str) -> str:
    """A paragraph of plain words."""
    return f"<p>{html.escape(words)}</p>\n"


def preformatted(lines: Sequence[str]) -> str:
    """Lines as a terminal has them."""
    return f"<pre>{html.escape(chr(10).join(lines).strip(chr(10)))}</pre>\n"


def grid_table(dataset: xr.Dataset, with_files: Sequence[str]) -> str:
    """Axes, fixed values and origin of a result."""
    rows = []
    parameters = extended_registry(with_files).parameters
    for name, values in dataset.coords.items():
        names = tick_texts(values.values.ravel(), values.attrs.get("units", "1"))
        shown = ", ".join(names if len(names) <= 12 else [*names[:3], "...", names[-1]])
        count = f"{values.size} values" if values.ndim else "here"
        rows.append((label(values.rename(name)), count, shown))
    for name, value in recorded(dataset).items():
        if name not in dataset.coords:
            shown = named(value, parameters[name].unit) if not isinstance(value, dict) else "a table"
            rows.append((name.replace("_", " "), "fixed", shown))
    rows.append(("sweep", "version", str(dataset.attrs.get("sweep_version", sweep.__version__))))
    cells = ("".join(f"<td>{html.escape(part)}</td>" for part in row) for row in rows)
    return "<table>\n" + "".join(f"<tr>{row}</tr>\n" for row in cells) + "</table>\n"


def recorded(dataset: xr.Dataset) -> Mapping[str, Any]:
    """The fixed values of a result's grid; none where it has no record."""
    try:
        fixed: Mapping[str, Any] = record_of(dataset)["grid"]["fixed"]
    except InputError:
        return {}
    return fixed
