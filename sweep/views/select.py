"""Choosing: which value along a dimension is best in each cell, what the next best costs, and what cannot be chosen.

Candidates are the values along `over` (packet formats, say) that have a finite objective and every required
capability. The winner has the smallest or the largest objective; values within a part in 1e12 of it tie, and the first
of them in the order of the axis wins. The runner-up is the best that does not tie; the margin is what it costs more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.errors import Fault, InputError, nearest
from sweep.registry import NO_VALUE, STATUS_CODE, STATUSES
from sweep.store.dataset import code_type, flags
from sweep.views.record import distinct, made_from
from sweep.views.require import lacking, requirements
from sweep.views.summary import text, unit_of

TIE = 1e-12
"""Objectives that differ by no more than this share of the best are equal: rounding may differ."""

CANDIDATES = 1 << 17
"""Candidates that are compared at once; they stay in the cache."""

FEW = 16
"""So many candidates per cell are compared one after the other, more by reductions."""


def select(
    dataset: xr.Dataset,
    over: str = "packet_format",
    minimise: str | None = None,
    maximise: str | None = None,
    require: Sequence[str] = (),
    with_files: Sequence[str] = (),
) -> xr.Dataset:
    """The best value along `over` in every cell of a result.

    `minimise` or `maximise` names the objective; without either it is the first number that depends on `over`: a time
    is the better the smaller, a bandwidth the larger; for other units one must be named. `require` names outputs that
    must be "yes", or `output=label`, those of `with_files` too. Gives `winner`, `runner_up`, `tied_with` (labels as
    codes, or values of a numeric axis), `best` and `margin_absolute` in the unit of the objective, `margin` in percent
    of the best, `tied` (how many are best), and `status` (infeasible where there is nothing to choose). Raises
    InputError for names that the result does not have.
    """
    require = [require] if isinstance(require, str) else list(require)
    objective, largest = find_objective(dataset, over, minimise, maximise)
    allowed = requirements(dataset, require, with_files)
    values = dataset[objective]
    extra = [dim for mask in allowed.values() for dim in mask.dims if dim not in values.dims]
    if extra:  # a capability depends on more than the objective does
        values = values.broadcast_like(dataset[list(dict.fromkeys(extra))], exclude=list(values.dims))
    mask = np.broadcast_to(True, values.shape)
    for each in allowed.values():
        mask = mask & each.broadcast_like(values).transpose(*values.dims).values
    found = best_along(values.values, values.get_axis_num(over), mask, -1.0 if largest else 1.0)
    dims = [str(dim) for dim in values.dims if dim != over]
    coordinates = {name: each for name, each in dataset.coords.items() if set(each.dims) <= set(dims)}
    goal = "maximise" if largest else "minimise"
    title = f"Best {over}: {'largest' if largest else 'smallest'} {objective}".replace("_", " ")
    if require:
        title += f", with {', '.join(require)}"
    about = {"over": over, goal: objective, "require": list(require), "lacking": lacking(dataset[over], allowed)}
    attributes = made_from(dataset, title, selection=about)
    unit = values.attrs.get("units", "1")
    variables = {
        "winner": names_of(found["winner"], dims, dataset[over], "winner"),
        "runner_up": names_of(found["runner_up"], dims, dataset[over], "runner up"),
        "tied_with": names_of(found["tied_with"], dims, dataset[over], "tied with"),
        "best": (dims, found["best"], {"long_name": f"best {objective}".replace("_", " "), "units": unit}),
        "margin": (dims, found["margin"], {"long_name": "margin to the runner-up", "units": "%"}),
        "margin_absolute": (dims, found["margin_absolute"], {"long_name": "margin to the runner-up", "units": unit}),
        "tied": (dims, found["tied"], {"long_name": "values that are best", "units": "1"}),
        "status": (dims, found["status"], {"long_name": "status"} | flags(STATUSES)),
    }
    return xr.Dataset(variables, coordinates, attributes)


def find_objective(dataset: xr.Dataset, over: str, minimise: str | None, maximise: str | None) -> tuple[str, bool]:
    """The name of the objective, and whether the largest is best."""
    if minimise is not None and maximise is not None:
        raise InputError([Fault("select", "minimise one output or maximise one, not both")])
    if over not in dataset.dims:
        known = [str(dim) for dim in dataset.dims]
        raise InputError([Fault("--over", f"{over!r} is not one of {', '.join(known)}{nearest(over, known)}")])
    numbers = [
        str(name) for name, x in dataset.data_vars.items() if "flag_meanings" not in x.attrs and x.dtype.kind == "f"
    ]
    if not all(dataset.sizes.values()):
        raise InputError([Fault("result", "has no points")])
    wanted = minimise if minimise is not None else maximise
    if wanted is None:
        depending = [name for name in numbers if over in dataset[name].dims]
        unit = dataset[depending[0]].attrs.get("units") if depending else None
        if unit not in ("ns", "GB/s"):
            what = f"say what is best: minimise or maximise one of {', '.join(depending)}"
            none = f"no number of this result depends on {over}"
            raise InputError([Fault("select", what if depending else none)])
        return depending[0], unit == "GB/s"
    if wanted not in numbers:
        what = f"{wanted!r} is not one of {', '.join(numbers)}{nearest(wanted, numbers)}"
        raise InputError([Fault("--minimise" if minimise is not None else "--maximise", what)])
    if over not in dataset[wanted].dims:
        raise InputError([Fault("--over", f"{wanted} does not depend on {over}")])
    return wanted, maximise is not None


def names_of(
    positions: NDArray[np.int32], dims: Sequence[str], coordinate: xr.DataArray, name: str
) -> tuple[Sequence[str], NDArray[Any], dict[str, Any]]:
    """A variable that names positions along a coordinate, -1 for none: labels as codes, numbers as they are."""
    attributes = {"long_name": f"{name} ({coordinate.attrs.get('long_name', coordinate.name)})"}
    values = coordinate.values
    if values.dtype.kind in "iuf":
        found = np.where(positions < 0, np.nan, values.astype(float)[positions])
        return dims, found, attributes | {"units": coordinate.attrs.get("units", "1")}
    labels = [*distinct(values.tolist()), NO_VALUE]
    codes = np.where(positions < 0, len(labels) - 1, positions).astype(code_type(labels))
    return dims, codes, attributes | flags(labels)


def best_along(values: NDArray[np.float64], axis: int, mask: NDArray[np.bool_], sign: float) -> dict[str, NDArray[Any]]:
    """Winner, runner-up and margins along one axis of an array, block by block; `sign` -1 looks for the largest."""
    outer = int(np.prod(values.shape[:axis]))
    count, inner = values.shape[axis], int(np.prod(values.shape[axis + 1 :]))
    kinds: dict[str, type[Any]] = dict.fromkeys(("winner", "runner_up", "tied_with", "tied"), np.int32)
    kinds |= dict.fromkeys(("best", "margin", "margin_absolute"), np.float64)
    found = {name: np.empty((outer, inner), kind) for name, kind in kinds.items()}
    blocks = values.reshape(outer, count, inner)
    masks = None if mask.strides == (0,) * mask.ndim else mask.reshape(outer, count, inner)
    columns = max(min(inner, CANDIDATES // count), 1)
    rows = max(CANDIDATES // (count * columns), 1)
    for top in range(0, outer, rows):
        for left in range(0, inner, columns):
            here = np.s_[top : top + rows, left : left + columns]
            part = np.s_[top : top + rows, :, left : left + columns]
            for name, block in compared(blocks[part], None if masks is None else masks[part], sign).items():
                found[name][here] = block
    found["status"] = np.where(found["winner"] < 0, STATUS_CODE["infeasible"], 0).astype(np.int8)
    shape = (*values.shape[:axis], *values.shape[axis + 1 :])
    return {name: array.reshape(shape) for name, array in found.items()}


def compared(values: NDArray[np.float64], mask: NDArray[np.bool_] | None, sign: float) -> dict[str, NDArray[Any]]:
    """One block of cells: rows, candidates, columns."""
    with np.errstate(all="ignore"):
        usable = np.isfinite(values) if mask is None else np.isfinite(values) & mask
        costs = np.where(usable, values * sign, np.inf).transpose(1, 0, 2)
        least, (winner, tied_with, tied, runner_up, second) = ranked(costs)
        difference = np.where(runner_up < 0, np.nan, second - least)
        return {
            "winner": winner,
            "runner_up": runner_up,
            "tied_with": tied_with,
            "tied": tied,
            "best": np.where(winner < 0, np.nan, least * sign),
            "margin": np.where(least == 0, np.nan, 100 * difference / np.abs(least)),
            "margin_absolute": difference,
        }


Ranks = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Winner, what it ties with, how many tie, runner-up (positions, -1 for none), and the cost of the runner-up."""


def ranked(costs: NDArray[np.float64]) -> tuple[NDArray[np.float64], Ranks]:
    """The least cost along the first axis, inf where there is none, and the ranks of the candidates."""
    least = costs.min(axis=0)
    with np.errstate(invalid="ignore"):
        limit = least + TIE * np.abs(least)
        return least, (ranked_of_few if len(costs) <= FEW else ranked_of_many)(costs, limit)


def ranked_of_few(costs: NDArray[np.float64], limit: NDArray[np.float64]) -> Ranks:
    """Ranks of the candidates along the first axis; up to `limit` they tie with the best."""
    winner = np.full(limit.shape, -1, np.int32)
    runner_up, tied_with = winner.copy(), winner.copy()
    tied = np.zeros(limit.shape, np.int32)
    second = np.full(limit.shape, np.inf)
    for position in range(len(costs) - 1, -1, -1):
        cost = costs[position]
        ties = (cost <= limit) & (cost < np.inf)
        tied += ties
        np.copyto(tied_with, winner, where=ties)
        np.copyto(winner, position, where=ties)
        better = (cost <= second) & ~ties & (cost < np.inf)
        np.copyto(second, cost, where=better)
        np.copyto(runner_up, position, where=better)
    return winner, tied_with, tied, runner_up, second


def ranked_of_many(costs: NDArray[np.float64], limit: NDArray[np.float64]) -> Ranks:
    """The same by reductions over a last axis."""
    rows = np.ascontiguousarray(np.moveaxis(costs, 0, -1))
    ties = (rows <= limit[..., np.newaxis]) & (rows < np.inf)
    tied = ties.sum(axis=-1, dtype=np.int32)
    winner = np.where(tied > 0, ties.argmax(axis=-1), -1).astype(np.int32)
    rest = np.where(ties, np.inf, rows)
    runner_up = rest.argmin(axis=-1)
    second = np.take_along_axis(rest, runner_up[..., np.newaxis], axis=-1)[..., 0]
    np.put_along_axis(ties, np.maximum(winner, 0)[..., np.newaxis].astype(np.intp), False, axis=-1)
    tied_with = np.where(tied > 1, ties.argmax(axis=-1), -1).astype(np.int32)
    return winner, tied_with, tied, np.where(second < np.inf, runner_up, -1).astype(np.int32), second


def selection_table(chosen: xr.Dataset) -> list[str]:
    """What was chosen how often, in lines: shares of the cells, runner-up and margin, ties, and what lacks what."""
    about = json.loads(chosen.attrs["sweep"])["selection"]
    names, winner = coded(chosen["winner"])
    cells = winner.size
    lines = [*chosen.attrs["title"].split("\n"), ""]
    counts = np.bincount(winner, minlength=len(names) + 1)
    groups = np.split(chosen["margin"].values.ravel()[np.argsort(winner, kind="stable")], np.cumsum(counts))
    second_names, seconds = paired(winner, len(names), chosen["runner_up"])
    tied_names, ties = paired(winner, len(names), chosen["tied_with"])
    for code in sorted(np.flatnonzero(counts[:-1]), key=lambda code: -int(counts[code])):
        known = groups[code][np.isfinite(groups[code])]
        said = f"{names[code]:<16} {100 * counts[code] / cells:5.1f} % of {cells} cells"
        if known.size:
            low, middle, high = np.percentile(known, [0, 50, 100])
            said += f"; margin {_number(low)} .. {_number(high)} %, median {_number(middle)} %"
            said += f", mostly to {second_names[int(seconds[code].argmax())]}"
        if ties[code].any():
            share = 100 * ties[code].sum() / counts[code]
            said += f"; tie with {tied_names[int(ties[code].argmax())]} in {share:.3g} % of them"
        lines.append(f"  {said}")
    if counts[-1]:
        lines.append(f"  {'none':<16} {100 * counts[-1] / cells:5.1f} % of {cells} cells: nothing to choose")
    lines += [f"  {name} lacks {', '.join(what)}" for name, what in about["lacking"].items()]
    return lines


def _number(value: float) -> str:
    return f"{value:.3g}"


def coded(variable: xr.DataArray) -> tuple[list[str], NDArray[Any]]:
    """The names of the values of a variable, and their positions in that list, flat; the length of it for none."""
    values = variable.values.ravel()
    if "flag_meanings" in variable.attrs:
        return variable.attrs["flag_meanings"].split()[:-1], values
    present = np.unique(values)
    present = present[np.isfinite(present)]
    return [text(value) + unit_of(variable) for value in present], np.searchsorted(present, values)


def paired(winner: NDArray[Any], winners: int, variable: xr.DataArray) -> tuple[list[str], NDArray[np.intp]]:
    """The names of the values of a variable, and how often each stands beside each winner: winners x names."""
    names, codes = coded(variable)
    count = len(names) + 1
    pairs = np.bincount(winner.astype(np.intp) * count + codes, minlength=(winners + 1) * count)
    return names, pairs.reshape(-1, count)[:winners, :-1]
