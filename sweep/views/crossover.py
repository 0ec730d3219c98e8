"""Crossovers: the values of a numeric axis at which the best choice changes, solved on the compiled formulas.

Between two neighbours on the grid that have different winners, the point is found from which on the first of them no
longer wins: of whole numbers the smallest, else to a part in 1e13. Where winners change more than once in between, one
of the changes is found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.engine.news import Announce, ignore
from sweep.errors import Fault, InputError
from sweep.registry import STATUSES
from sweep.store.dataset import flags
from sweep.views.record import made_from
from sweep.views.require import requirements
from sweep.views.select import find_objective, names_of, ranked, select
from sweep.views.summary import text, unit_of
from sweep.views.threshold import numeric_axis


def crossovers(
    dataset: xr.Dataset,
    along: str,
    over: str = "packet_format",
    minimise: str | None = None,
    maximise: str | None = None,
    require: Sequence[str] = (),
    with_files: Sequence[str] = (),
    announce: Announce = ignore,
) -> xr.Dataset:
    """Changes of the winner along an axis, as rows of a dimension `crossing`.

    There is one between any two neighbours of the grid whose winners differ; a finer grid may show more.

    Each has `value` (in the unit of the axis), `below` and `above` (the winners on both sides), and the coordinates of
    its cell. Raises InputError.
    """
    from sweep.engine.points import bisected
    from sweep.views.cells import Cells, function_of, is_whole

    require = [require] if isinstance(require, str) else list(require)
    objective, largest = find_objective(dataset, over, minimise, maximise)
    axis = numeric_axis(dataset, dataset[objective], along)
    if over == along:
        raise InputError([Fault("--over", f"choosing among values of {along} cannot change along it")])
    masks = requirements(dataset, require, with_files)
    for item, mask in masks.items():
        if along in mask.dims:
            raise InputError([Fault("--require", f"{item} itself changes along {along}")])
    ordered = dataset.isel({along: np.argsort(axis.values, kind="stable")})
    chosen = select(ordered, over, None if largest else objective, objective if largest else None, require, with_files)
    winner = positions(chosen["winner"], ordered[over])
    place = winner.dims.index(along)
    before = np.moveaxis(winner.values, place, -1)[..., :-1]
    after = np.moveaxis(winner.values, place, -1)[..., 1:]
    changes = np.argwhere((before != after) & (before >= 0) & (after >= 0))
    dims = [str(dim) for dim in winner.dims if dim != along]
    points = ordered[along].values.astype(float)
    low, high = points[changes[:, -1]], points[changes[:, -1] + 1]
    below, above = before[tuple(changes.T)], after[tuple(changes.T)]
    value = high.copy()
    function = function_of(dataset, objective, along, with_files, announce, keep=(over,))
    if len(changes):
        cells = Cells(ordered, dims, changes[:, :-1], function)
        allowed = allowed_of(masks, ordered.sizes[over], over, dims, changes[:, :-1])

        def winners(middle: NDArray[np.float64]) -> NDArray[np.int32]:
            return best_of(cells.values({along: middle}), allowed, largest)

        value = bisected(low, high, lambda middle: winners(middle) != below, is_whole(function, along))
        above = winners(value)
    return table(dataset, ordered, chosen, along, over, dims, changes[:, :-1], value, below, above)


def positions(winner: xr.DataArray, over: xr.DataArray) -> xr.DataArray:
    """Winners as positions along the dimension of choice, -1 for none."""
    if "flag_meanings" in winner.attrs:
        codes = winner.astype(int)
        return codes.where(codes < over.size, -1)
    found = np.argmax(winner.values[..., np.newaxis] == over.values.astype(float), axis=-1)
    return winner.copy(data=np.where(np.isnan(winner.values), -1, found))


def allowed_of(
    masks: Mapping[str, xr.DataArray], count: int, over: str, dims: Sequence[str], index: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which of `count` candidates have what is required, for each of some cells: candidates x cells."""
    allowed = np.ones((count, len(index)), bool)
    for mask in masks.values():
        wanted = [dim for dim in dims if dim in mask.dims]
        full = mask.expand_dims({over: count}) if over not in mask.dims else mask
        values = full.transpose(over, *wanted).values
        own: tuple[Any, ...] = tuple(index[:, dims.index(dim)] for dim in wanted)
        allowed &= values[(slice(None), *own)].reshape(count, -1)
    return allowed


def best_of(values: NDArray[np.float64], allowed: NDArray[np.bool_], largest: bool) -> NDArray[np.int32]:
    """Positions of the best of candidates x cells, -1 where there is none."""
    costs = np.where(np.isfinite(values) & allowed, -values if largest else values, np.inf)
    return ranked(costs)[1].winner


def table(
    dataset: xr.Dataset,
    ordered: xr.Dataset,
    chosen: xr.Dataset,
    along: str,
    over: str,
    dims: Sequence[str],
    index: NDArray[np.intp],
    value: NDArray[np.float64],
    below: NDArray[np.int32],
    above: NDArray[np.int32],
) -> xr.Dataset:
    """Crossings with the coordinates of their cells."""
    coordinates = {
        name: ("crossing", each.values[index[:, dims.index(str(each.dims[0]))]], each.attrs)
        for name, each in ordered.coords.items()
        if each.dims and each.dims[0] in dims
    }
    axis = dataset[along]
    variables = {
        "value": ("crossing", value, {"long_name": along.replace("_", " "), "units": axis.attrs.get("units", "1")}),
        "below": names_of(below, ["crossing"], ordered[over], "best below"),
        "above": names_of(above, ["crossing"], ordered[over], "best from there on"),
        "status": ("crossing", np.zeros(len(value), np.int8), {"long_name": "status"} | flags(STATUSES)),
    }
    selection = json.loads(chosen.attrs["sweep"])["selection"]
    choice = chosen.attrs["title"].rpartition("\n")[2]
    title = choice + f": where it changes along {along}".replace("_", " ")
    return xr.Dataset(variables, coordinates, made_from(dataset, title, crossover=selection | {"along": along}))


def crossover_table(found: xr.Dataset, most: int = 20) -> list[str]:
    """Lines: how many changes there are of each kind, and the first of them."""
    lines = [*found.attrs["title"].split("\n"), ""]
    count = found.sizes["crossing"]
    if not count:
        return [*lines, "  the winner changes nowhere"]
    below, above, value = (_names(found[name]) for name in ("below", "above", "value"))
    kinds: dict[tuple[str, str], list[float]] = {}
    for one, other, number in zip(below, above, found["value"].values, strict=True):
        kinds.setdefault((one, other), []).append(float(number))
    for (one, other), numbers in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        low, high = (text(x) + unit_of(found["value"]) for x in (min(numbers), max(numbers)))
        lines.append(f"  {one} -> {other}: {len(numbers)} times, at {low} .. {high}")
    lines.append("")
    where = [str(name) for name in found.coords]
    for row in range(min(count, most)):
        cell = ", ".join(f"{name} {text(found[name].values[row])}{unit_of(found[name])}" for name in where)
        lines.append(f"  {value[row]:>16}  {below[row]} -> {above[row]}  ({cell})")
    if count > most:
        lines.append(f"  and {count - most} more")
    return lines


def _names(variable: xr.DataArray) -> list[str]:
    """Values as texts, labels for codes."""
    if "flag_meanings" in variable.attrs:
        labels = variable.attrs["flag_meanings"].split()
        return [labels[code] for code in variable.values]
    return [f"{value:.15g}{unit_of(variable)}" for value in variable.values.tolist()]
