"""The part of a result that a picture shows: some dimensions whole, all others at one value each.

Also what is made of its numbers on the way: percent from the best along a dimension, or against one of its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr

from sweep.errors import Fault, InputError, not_one_of
from sweep.registry import NO_VALUE, STATUSES
from sweep.units import exact
from sweep.views.summary import text
from sweep.views.ticks import value_text

NOT_COMPARED = "nothing to compare with"
"""Why a cell has a value, but no percentage: what it is compared with is 0 or missing."""


MOST_POWERS = 100


@dataclass(frozen=True)
class Layout:
    """Which dimensions a picture has along x, along y (or one line for each value), in panels; the rest `at` a value.

    What is not named is chosen: the last free dimension along x, the one before it along y.
    """

    x: str | None = None
    y: str | None = None
    facet: str | None = None
    at: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """Dimensions that are not at one value."""
        return tuple(dim for dim in (self.x, self.y, self.facet) if dim is not None)

    def on(self, dims: Sequence[str]) -> Layout:
        """The layout for a variable of some dimensions. Raises InputError for names that it does not have."""
        named = [(self.x, "--x"), (self.y, "--y"), (self.facet, "--facet")]
        for name, role in (*named, *((dim, "--at") for dim in self.at)):
            if name is not None:
                check_name(name, dims, role)
        free = [dim for dim in dims if dim not in self.shown and dim not in self.at]
        full = replace(self, x=self.x or (free.pop() if free else None))
        full = replace(full, y=self.y or (free.pop() if free else None))
        if len({*full.shown, *full.at}) < len(full.shown) + len(full.at):
            raise InputError([Fault("plot", "--x, --y, --facet and --at must name different dimensions")])
        return full


@dataclass(frozen=True)
class Cut:
    """What a picture shows: `data` over the dimensions of `layout`, `reasons` why values are missing (status codes),
    the rest of the dataset at the same place, and a `heading`."""

    data: xr.DataArray
    reasons: xr.DataArray
    rest: xr.Dataset
    layout: Layout
    heading: str

    @property
    def facets(self) -> int:
        """How many panels there are."""
        return self.data.sizes[self.layout.facet] if self.layout.facet else 1

    def panel(self, index: int) -> dict[str, int]:
        """Where the data of a panel stand."""
        return {self.layout.facet: index} if self.layout.facet else {}

    def panel_title(self, index: int) -> str:
        """The value of the facet."""
        if not self.layout.facet:
            return ""
        value = self.data[self.layout.facet][index]
        return f"{value.attrs.get('long_name', self.layout.facet)} = {value_text(value)}"

    def why_missing(self, part: xr.DataArray, index: int) -> set[str]:
        """Why values of a panel are missing."""
        reasons = self.reasons.isel(self.panel(index), missing_dims="ignore").broadcast_like(part)
        found = np.unique(reasons.transpose(*part.dims).values[np.isnan(part.values)]).tolist()
        return {STATUSES[code] if code else NOT_COMPARED for code in found}


def cut(
    dataset: xr.Dataset,
    variable: str,
    layout: Layout,
    best: str | None = None,
    against: tuple[str, str] | None = None,
) -> Cut:
    """The part of a variable that a layout shows; as numbers or codes of labels, NaN where there is none.

    With `best`, each value is how many percent it lies from the best along that dimension; with `against`, a
    dimension and a value on it, how many percent it differs from what is there. Raises InputError for names and values
    that the dataset does not have.
    """
    check_name(variable, [str(name) for name in dataset.data_vars], "variable")
    data = dataset[variable]
    dims = [str(dim) for dim in data.dims]
    for name, role in ((best, "--best"), (against[0] if against else None, "--against")):
        if name is not None:
            check_name(name, dims, role)
    full = layout.on(dims)
    if best is not None and against is not None:
        raise InputError([Fault("plot", "--best and --against are two ways to compare; give one of them")])
    if best is not None:
        data = from_best(data, best)
    if against is not None:
        dim, index = against[0], position(data[against[0]], against[1], "--against")
        data, dataset = compared(data, dim, index), dataset.drop_isel({dim: index})
    chosen = {dim: position(data[dim], full.at[dim]) if dim in full.at else 0 for dim in dims if dim not in full.shown}
    if not data.size:
        raise InputError([Fault("plot", f"{variable} has no points; there is nothing to draw")])
    data, rest = data.isel(chosen).transpose(*full.shown), dataset.isel(chosen)
    data = data.where(data < len(labels_of(data)) if "flag_meanings" in data.attrs else np.isfinite(data))
    check_range(data)
    return Cut(data, reasons_of(rest, variable), rest, full, heading(dataset, data, variable))


def check_range(data: xr.DataArray) -> None:
    """Raise InputError for numbers over more powers of ten than a scale can have."""
    sizes = np.abs(data.values[(data.values != 0) & np.isfinite(data.values)])
    if sizes.size and math.log10(sizes.max()) - math.log10(sizes.min()) > MOST_POWERS:
        what = f"{data.name} is {sizes.min():.3g} .. {sizes.max():.3g}, more than {MOST_POWERS} powers of ten"
        raise InputError([Fault("plot", f"{what}; no scale has room for that")])


def labels_of(data: xr.DataArray) -> list[str]:
    """Labels of a variable of codes, in the order of the codes, without that of no value, which comes last."""
    return [label for label in data.attrs.get("flag_meanings", "").split() if label != NO_VALUE]


def reasons_of(dataset: xr.Dataset, variable: str) -> xr.DataArray:
    """Codes that say why values of a variable are missing: its own status, or else the one of all outputs, and of
    that the least bad over dimensions that the variable does not have."""
    codes = dataset.get(f"{variable}_status", dataset["status"])
    return codes.min([dim for dim in codes.dims if dim not in dataset[variable].dims])


def check_name(name: str, known: Sequence[str], role: str) -> None:
    """Raise InputError for a name that is not known."""
    if name not in known:
        raise InputError([Fault("plot", f"{role}: {not_one_of(name, known)}")])


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
        names = [text(value) for value in values]  # as messages and tables have them
        if wanted in names:
            return names.index(wanted)
    elif wanted in list(values):
        return list(values).index(wanted)
    allowed = ", ".join(text(value) for value in values[:12]) + (", ..." if values.size > 12 else "")
    raise InputError([Fault("plot", f"{role} {coordinate.name}: {wanted!r} is not one of {allowed}")])


def fixed_at(dataset: xr.Dataset, at: Mapping[str, str]) -> xr.Dataset:
    """A dataset with some dimensions at one value."""
    known = [str(dim) for dim in dataset.dims]
    for name in at:
        if name not in known:
            raise InputError([Fault("--at", not_one_of(name, known))])
    return dataset.isel({name: position(dataset[name], value) for name, value in at.items()})


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


def from_best(data: xr.DataArray, dim: str) -> xr.DataArray:
    """Percent by which each value lies above the smallest along a dimension, or, of a bandwidth, below the largest."""
    if "flag_meanings" in data.attrs:
        raise InputError([Fault("plot", f"--best: {data.name} has labels, not numbers")])
    data = data.where(np.isfinite(data))
    unit = data.attrs.get("units")
    best = data.max(dim) if unit == "GB/s" else data.min(dim)
    result: xr.DataArray = (abs(data / best - 1) * 100).where(data != best, 0.0)
    names = {"GB/s": f"below the best {dim}", "ns": f"above the best {dim}"}
    shown = names.get(str(unit), f"above the smallest along {dim}")
    result.attrs = {"long_name": f"{data.name} {shown}".replace("_", " "), "units": "%"}
    return result


def heading(dataset: xr.Dataset, data: xr.DataArray, variable: str) -> str:
    """The grid's title, and below it what is held fixed."""
    held = held_text(dataset, data)
    return "\n".join([dataset.attrs.get("title", variable), *([held] if held else [])])


def held_text(dataset: xr.Dataset, data: xr.DataArray | xr.Dataset) -> str:
    """The values of the dimensions of a dataset that a part of it is cut at."""
    return ", ".join(
        f"{value.attrs.get('long_name', name)} {value_text(value)}"
        for name, value in data.coords.items()
        if value.ndim == 0 and name in dataset.dims
    )
