"""Two results side by side: where they differ, by how much, worst cells first.

Points are matched by their labels and values, not by position: dimensions that both have are cut down to what they
share, and one that only one of them has is an error, unless it has one value. Numbers are compared in percent of the
first result's, labels and statuses by being the same or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import sweep
from sweep.errors import Fault, InputError
from sweep.registry import STATUSES
from sweep.store.dataset import flags
from sweep.views.summary import text, unit_of

SAME = ("no", "yes")


def compare(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """Differences of two results, for each output that both have.

    Numbers give `<output>_difference` in percent of the first (NaN where one is missing; 0 where both are equal, zeros
    and endless ones too; inf from 0, and where only the second is endless); labels give `<output>_changed` (no, yes).
    `status_changed` says where one has a value and the other has not. Takes datasets with codes. Raises InputError if
    they have no output, or no point, in common.
    """
    first, second = reduced(first, second), reduced(second, first)
    first, second = told_apart(first, second)
    names = [str(name) for name in first.data_vars if name in second.data_vars and name != "status"]
    if not names:
        raise InputError([Fault("compare", "the two results have no output in common")])
    variables: dict[str, Any] = {}
    for name in names:
        one, other = xr.align(first[name], second[name], join="inner")
        if not one.size:
            raise InputError([Fault("compare", f"the two results have no point of {name} in common")])
        check_unit(name, one, other)
        one, other = xr.broadcast(one, other)
        other = other.transpose(*one.dims)
        if "flag_meanings" in one.attrs:
            changed = codes_of_same(one, other)
            attributes = {"long_name": f"{name} changed".replace("_", " ")} | flags(SAME)
            variables[f"{name}_changed"] = (one.dims, changed, attributes)
        else:
            attributes = {"long_name": f"difference of {name}".replace("_", " "), "units": "%"}
            variables[f"{name}_difference"] = (one.dims, percent(one.values, other.values), attributes)
    one, other = xr.align(first["status"], second["status"], join="inner")
    one, other = xr.broadcast(one, other)
    ok = np.asarray((one.values == 0) != (other.transpose(*one.dims).values == 0))
    variables["status_changed"] = (one.dims, ok.astype(np.int8), {"long_name": "status changed"} | flags(SAME))
    variables["status"] = ((), np.int8(0), {"long_name": "status"} | flags(STATUSES))
    template = xr.align(first, second, join="inner")[0]
    return xr.Dataset(
        variables,
        template.coords,
        {
            "title": f"{second.attrs.get('title', '')}\nagainst {first.attrs.get('title', '')}",
            "Conventions": first.attrs.get("Conventions", ""),
            "sweep_version": sweep.__version__,
            "sweep": json.dumps(
                {"comparison": [json.loads(each.attrs.get("sweep", "null")) for each in (first, second)]},
                ensure_ascii=False,
            ),
        },
    )


def reduced(dataset: xr.Dataset, other: xr.Dataset) -> xr.Dataset:
    """A result without dimensions of one value that the other has not. Raises InputError for longer ones."""
    own = [str(dim) for dim in dataset.dims if dim not in other.dims]
    long = [dim for dim in own if dataset.sizes[dim] > 1]
    if long:
        raise InputError([Fault("compare", f"only one of the results has the dimension {', '.join(long)}")])
    return dataset.isel(dict.fromkeys(own, 0), drop=True)


def told_apart(first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Two results of which zipped dimensions without labels have the values along them as labels.

    Positions say nothing of what stands there; they stay where both results have the same values.
    """
    for dim in [str(dim) for dim in first.dims if dim in second.dims]:
        members = [
            {str(name): each.values for name, each in dataset.coords.items() if each.dims == (dim,) and name != dim}
            for dataset in (first, second)
        ]
        if not members[0] or not members[1] or first[dim].dtype.kind not in "iu" or second[dim].dtype.kind not in "iu":
            continue
        if members[0].keys() != members[1].keys():
            what = f"{dim} has {', '.join(members[0])} in one result and {', '.join(members[1])} in the other"
            raise InputError([Fault("compare", what)])
        if all(np.array_equal(members[0][name], members[1][name]) for name in members[0]):
            continue
        first, second = (
            dataset.assign_coords({dim: [", ".join(map(text, row)) for row in zip(*each.values(), strict=True)]})
            for dataset, each in zip((first, second), members, strict=True)
        )
    return first, second


def check_unit(name: str, one: xr.DataArray, other: xr.DataArray) -> None:
    """Raise InputError if an output is in other units, or labels in one and numbers in the other."""
    units = [each.attrs.get("units", "labels") for each in (one, other)]
    if units[0] != units[1]:
        raise InputError([Fault("compare", f"{name} is in {units[0]} and {units[1]}")])


def codes_of_same(one: xr.DataArray, other: xr.DataArray) -> NDArray[np.int8]:
    """Where labels differ: codes may stand for other labels in the other result."""
    own, others = (np.array(each.attrs["flag_meanings"].split(), object) for each in (one, other))
    return np.asarray(own[one.values] != others[other.values]).astype(np.int8)


def percent(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how many percent the other differs; 0 where both are equal."""
    with np.errstate(all="ignore"):
        return np.where(one == other, 0.0, (other / one - 1) * 100)


def comparison_table(found: xr.Dataset, most: int = 5) -> list[str]:
    """Lines: for each output how much differs, and its worst cells."""
    lines = [*found.attrs["title"].split("\n"), ""]
    for name, variable in found.data_vars.items():
        if str(name).endswith("_changed"):
            count = int((variable.values == 1).sum())
            lines.append(f"  {name}: {count} of {variable.size} cells")
        elif str(name).endswith("_difference"):
            lines += difference_lines(str(name), variable, most)
    return lines


def difference_lines(name: str, variable: xr.DataArray, most: int) -> list[str]:
    """What there is to say of the difference of one output."""
    values = variable.values.ravel()
    both = ~np.isnan(values)
    if not both.any():
        return [f"  {name}: no cell has a value in both"]
    known = values[both]
    differing = int((known != 0).sum())
    if not differing:
        return [f"  {name}: none in {known.size} cells"]
    finite = known[np.isfinite(known)]
    low, middle, high = np.percentile(finite, [0, 50, 100]) if finite.size else (np.nan,) * 3
    spread = f", {low:+.4g} .. {high:+.4g} %, median {middle:+.4g} %" if finite.size else ""
    if finite.size < known.size:
        spread += f"; {known.size - finite.size} from 0 or to inf"
    lines = [f"  {name}: {differing} of {known.size} cells{spread}; worst first:"]
    for index, cell in islice(worst_cells(variable), most):
        lines.append(f"    {variable.values[index]:+.4g} %  ({cell})")
    return lines


def worst_cells(variable: xr.DataArray) -> Iterator[tuple[tuple[np.intp, ...], str]]:
    """Where a variable is not 0, farthest from it first: the index and its labels."""
    sizes = np.abs(variable.values.ravel())
    order = np.argsort(np.where(np.isnan(sizes), 0.0, -sizes), kind="stable")
    for place in order[sizes[order] > 0]:
        index = tuple(np.unravel_index(place, variable.shape))
        labels = [f"{dim} {found_value(variable, str(dim), at)}" for dim, at in zip(variable.dims, index, strict=True)]
        yield index, ", ".join(labels) or "the only cell"


def found_value(variable: xr.DataArray, dim: str, at: int | np.intp) -> str:
    """A coordinate with its unit."""
    if dim not in variable.coords:
        return str(at)
    return text(variable[dim].values[at]) + unit_of(variable[dim])
