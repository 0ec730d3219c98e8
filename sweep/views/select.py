"""Choosing: which value along a dimension is best in each cell, what the next best costs, and what cannot be chosen.

Candidates are the values along `over` (packet formats, say) that have a finite objective and every required
capability. The winner has the smallest or the largest objective; values within a part in 1e12 of it tie, and the first
of them in the order of the axis wins. The runner-up is the best that does not tie; the margin is what it costs more.
"""

from __future__ import annotations

import functools
import json
import math
import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.errors import Fault, InputError, not_one_of
from sweep.registry import NO_VALUE, STATUS_CODE, STATUSES
from sweep.store.dataset import code_type, flags
from sweep.views.record import distinct, made_from
from sweep.views.require import lacking, requirements
from sweep.views.summary import text, unit_of

TIE = 1e-12
"""Objectives that differ by no more than this share of the best are equal: rounding may differ."""

CANDIDATES = 1 << 18
"""Candidates that are compared at once; they stay in the cache."""

OUT = np.array([-np.inf, np.inf])
"""What is no more than any cost, and no less."""

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
        raise InputError([Fault("--over", not_one_of(over, known))])
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
        option = "--minimise" if minimise is not None else "--maximise"
        raise InputError([Fault(option, not_one_of(wanted, numbers))])
    if over not in dataset[wanted].dims:
        raise InputError([Fault("--over", f"{wanted} does not depend on {over}")])
    return wanted, maximise is not None


def names_of(
    positions: NDArray[Any], dims: Sequence[str], coordinate: xr.DataArray, name: str
) -> tuple[Sequence[str], NDArray[Any], dict[str, Any]]:
    """A variable that names positions along a coordinate, -1 for none: labels as codes, numbers as they are."""
    attributes = {"long_name": f"{name} ({coordinate.attrs.get('long_name', coordinate.name)})"}
    values = coordinate.values
    if values.dtype.kind in "iuf":
        found = np.where(positions < 0, np.nan, values.astype(float)[positions])
        return dims, found, attributes | {"units": coordinate.attrs.get("units", "1")}
    labels = [*distinct(values.tolist()), NO_VALUE]
    codes = positions.astype(code_type(labels))
    codes[positions < 0] = len(labels) - 1
    return dims, codes, attributes | flags(labels)


def best_along(values: NDArray[np.float64], axis: int, mask: NDArray[np.bool_], sign: float) -> dict[str, NDArray[Any]]:
    """Winner, runner-up and margins along one axis of an array, block by block; `sign` -1 looks for the largest."""
    outer = int(np.prod(values.shape[:axis]))
    count, inner = values.shape[axis], int(np.prod(values.shape[axis + 1 :]))
    small = np.int8 if count <= FEW else np.int32
    kinds: dict[str, type[Any]] = dict.fromkeys(("winner", "runner_up", "tied_with", "tied"), small)
    kinds |= dict.fromkeys(("best", "margin", "margin_absolute"), np.float64)
    found = {name: np.empty((outer, inner), kind) for name, kind in kinds.items()}
    blocks = values.reshape(outer, count, inner)
    masks = None if mask.strides == (0,) * mask.ndim else mask.reshape(outer, count, inner)
    columns = max(min(inner, CANDIDATES // count), 1)
    rows = max(CANDIDATES // (count * columns), 1)

    def fill(corner: tuple[int, int]) -> None:
        top, left = corner
        here = np.s_[top : top + rows, left : left + columns]
        part = np.s_[top : top + rows, :, left : left + columns]
        into = {name: each[here] for name, each in found.items()}
        compare_into(into, blocks[part], None if masks is None else masks[part], sign)

    corners = product(range(0, outer, rows), range(0, inner, columns))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # NumPy lets go of the interpreter while it works
        deque(pool.map(fill, corners), maxlen=0)
    found["status"] = np.where(found["winner"] < 0, STATUS_CODE["infeasible"], 0).astype(np.int8)
    shape = (*values.shape[:axis], *values.shape[axis + 1 :])
    return {name: array.reshape(shape) for name, array in found.items()}


def compare_into(
    into: Mapping[str, NDArray[Any]], values: NDArray[np.float64], mask: NDArray[np.bool_] | None, sign: float
) -> None:
    """Fill one block of cells from its values: rows, candidates, columns."""
    with np.errstate(all="ignore"):
        usable = np.isfinite(values) if mask is None else np.isfinite(values) & mask
        costs = values if sign == 1 else values * sign
        costs = (costs if usable.all() else without(costs, ~usable, "usable")).transpose(1, 0, 2)
        least, ranks = ranked(costs)
        for name in ("winner", "runner_up", "tied_with", "tied"):
            into[name][...] = getattr(ranks, name)
        np.multiply(least, sign, out=into["best"])
        np.subtract(ranks.second, least, out=into["margin_absolute"])
        np.divide(into["margin_absolute"], np.abs(least), out=into["margin"])
        into["margin"][...] *= 100
    for name, missing in (
        ("best", ranks.winner < 0),
        ("margin_absolute", ranks.runner_up < 0),
        ("margin", (ranks.runner_up < 0) | (least == 0)),
    ):
        if missing.any():
            into[name][missing] = np.nan


class Ranks(NamedTuple):
    """Positions of candidates along the first axis (-1 for none), how many tie, and the cost of the runner-up."""

    winner: NDArray[Any]
    tied_with: NDArray[Any]
    tied: NDArray[Any]
    runner_up: NDArray[Any]
    second: NDArray[np.float64]


def ranked(costs: NDArray[np.float64]) -> tuple[NDArray[np.float64], Ranks]:
    """The least cost along the first axis, inf where there is none, and the ranks of the candidates."""
    least = costs.min(axis=0)
    with np.errstate(invalid="ignore"):
        limit = np.where(least < np.inf, least + TIE * np.abs(least), -np.inf)
    return least, (ranked_of_few if len(costs) <= FEW else ranked_of_many)(costs, limit)


def ranked_of_few(costs: NDArray[np.float64], limit: NDArray[np.float64]) -> Ranks:
    """Ranks of the candidates along the first axis; up to `limit` they tie with the best.

    Which candidates tie is a set of bits for each cell, and what follows from it is looked up.
    """
    first, next_, count = bit_tables(len(costs))
    ties = costs <= limit
    best = as_bits(ties)
    rest = without(costs, ties, "rest")
    second = rest.min(axis=0)
    runner_up = first.take(as_bits((rest == second) & (rest < np.inf)))
    return Ranks(first.take(best), next_.take(best), count.take(best), runner_up, second)


def without(costs: NDArray[np.float64], out: NDArray[np.bool_], place: str) -> NDArray[np.float64]:
    """Costs, inf where something is `out`, at a place of this thread's memory: good until the next call for it.

    A choice by mask takes several times as long, and so does new memory for each block.
    """
    found = _memory.array(place, costs.shape)
    OUT.take(out.view(np.uint8), out=found, mode="clip")
    return np.fmax(costs, found, out=found)


class _Memory(threading.local):
    def __init__(self) -> None:
        self.places: dict[str, NDArray[np.float64]] = {}

    def array(self, place: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        size = math.prod(shape)
        if place not in self.places or self.places[place].size < size:
            self.places[place] = np.empty(size)
        return self.places[place][:size].reshape(shape)


_memory = _Memory()


def as_bits(where: NDArray[np.bool_]) -> NDArray[Any]:
    """Flags along the first axis as one number: the first is its lowest bit."""
    kind = np.uint8 if len(where) <= 8 else np.uint16
    bits = where[0].astype(kind)
    for place in range(1, len(where)):
        bits |= where[place].astype(kind) << kind(place)
    return np.asarray(bits)


@functools.cache
def bit_tables(places: int) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int8]]:
    """For each set of bits: position of the lowest, of the next, -1 for none, and how many there are."""
    flags = np.arange(1 << places)[:, np.newaxis] >> np.arange(places) & 1
    count = flags.sum(axis=1)
    first = np.where(count > 0, flags.argmax(axis=1), -1)
    np.put_along_axis(flags, np.maximum(first, 0)[:, np.newaxis], 0, axis=1)
    next_ = np.where(count > 1, flags.argmax(axis=1), -1)
    return first.astype(np.int8), next_.astype(np.int8), count.astype(np.int8)


def ranked_of_many(costs: NDArray[np.float64], limit: NDArray[np.float64]) -> Ranks:
    """The same by reductions over a last axis."""
    rows = np.ascontiguousarray(np.moveaxis(costs, 0, -1))
    ties = rows <= limit[..., np.newaxis]
    tied = ties.sum(axis=-1, dtype=np.int32)
    winner = np.where(tied > 0, ties.argmax(axis=-1), -1).astype(np.int32)
    rest = np.where(ties, np.inf, rows)
    runner_up = rest.argmin(axis=-1)
    second = np.take_along_axis(rest, runner_up[..., np.newaxis], axis=-1)[..., 0]
    np.put_along_axis(ties, np.maximum(winner, 0)[..., np.newaxis].astype(np.intp), False, axis=-1)
    tied_with = np.where(tied > 1, ties.argmax(axis=-1), -1).astype(np.int32)
    return Ranks(winner, tied_with, tied, np.where(second < np.inf, runner_up, -1).astype(np.int32), second)


def selection_table(chosen: xr.Dataset) -> list[str]:
    """What was chosen how often, in lines: shares of the cells, runner-up and margin, ties, and what lacks what."""
    about = json.loads(chosen.attrs["sweep"])["selection"]
    names, winner = coded(chosen["winner"])
    cells = winner.size
    lines = [*chosen.attrs["title"].split("\n"), ""]
    margins = chosen["margin"].values.ravel()
    runners, tied = coded(chosen["runner_up"]), coded(chosen["tied_with"])
    counts = counted(winner, len(names) + 1)
    for code in sorted(np.flatnonzero(counts[:-1]).tolist(), key=lambda code: -int(counts[code])):
        where = winner == code
        known = margins[where]
        known = known[np.isfinite(known)]
        said = f"{names[code]:<16} {100 * counts[code] / cells:5.1f} % of {cells} cells"
        if known.size:
            spread = f"{_number(known.min())} .. {_number(known.max())} %, median {_number(np.median(known))} %"
            said += f"; margin {spread}, mostly to {_most(runners, where)}"
        ties = int(np.count_nonzero(tied[1][where] < len(tied[0])))
        if ties:
            said += f"; tie with {_most(tied, where)} in {100 * ties / counts[code]:.3g} % of them"
        lines.append(f"  {said}")
    if counts[-1]:
        lines.append(f"  {'none':<16} {100 * counts[-1] / cells:5.1f} % of {cells} cells: nothing to choose")
    lines += [f"  {name} lacks {', '.join(what)}" for name, what in about["lacking"].items()]
    return lines


def _number(value: Any) -> str:
    return f"{value:.3g}"


def coded(variable: xr.DataArray) -> tuple[list[str], NDArray[Any]]:
    """The names of the values of a variable, and their positions in that list, flat; the length of it for none."""
    values = variable.values.ravel()
    if "flag_meanings" in variable.attrs:
        return variable.attrs["flag_meanings"].split()[:-1], values
    present = np.unique(values)
    present = present[np.isfinite(present)]
    return [text(value) + unit_of(variable) for value in present], np.searchsorted(present, values)


def counted(codes: NDArray[Any], kinds: int) -> NDArray[np.intp]:
    """How often each code occurs; few of them are counted one by one, which is faster than by bincount."""
    if kinds > FEW:
        return np.bincount(codes, minlength=kinds)
    return np.array([np.count_nonzero(codes == code) for code in range(kinds)])


def _most(variable: tuple[list[str], NDArray[Any]], where: NDArray[np.bool_]) -> str:
    """The name that occurs most often in some cells."""
    names, codes = variable
    return names[int(counted(codes[where], len(names) + 1)[:-1].argmax())]
