"""Pareto fronts: the points of a result that no other point beats in all of two or three objectives at once.

A point is dominated if another is at least as good in every objective and better in one; equal points do not dominate
each other, and all of them stay. Objectives are outputs, or parameters that cost something, such as link_bandwidth.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sweep.errors import Fault, InputError, not_one_of
from sweep.registry import STATUSES
from sweep.store.dataset import flags
from sweep.views.cut import fixed_at, held_text
from sweep.views.figure import NUMBERS, PALETTE, drawing, new_figure, save_figures
from sweep.views.record import made_from
from sweep.views.summary import text, unit_of
from sweep.views.ticks import label

SAMPLE = 2000
"""Of more points than this, those that a few promising ones dominate are thrown out before the exact search."""

LEADERS = 20
"""How many those few are."""

SHOWN = 20_000
"""Points in the background of a picture, at the most."""


def pareto(
    dataset: xr.Dataset,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    at: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """The non-dominated points of a result over two or three objectives, best in the first one first.

    `minimise` and `maximise` name outputs or numeric parameters; `at` fixes dimensions. Gives the objectives and all
    coordinates along a dimension `point`. Points without a value in one objective are left out. Raises InputError.
    """
    names = [*minimise, *maximise]
    check_objectives(dataset, names)
    here = fixed_at(dataset, at or {})
    arrays = xr.broadcast(*(here[name] for name in names))
    dims = [str(dim) for dim in arrays[0].dims]
    values = np.stack([array.transpose(*dims).values.ravel().astype(float) for array in arrays])
    signs = np.array([1.0] * len(minimise) + [-1.0] * len(maximise))[:, np.newaxis]
    usable = np.flatnonzero(np.isfinite(values).all(axis=0))
    front = usable[non_dominated(values[:, usable] * signs)]
    sizes = [arrays[0].sizes[dim] for dim in dims]
    index = np.unravel_index(front, sizes) if sizes else ()
    place = dict(zip(dims, index, strict=True))
    variables: dict[str, Any] = {
        name: ("point", row, attributes_of(here[name])) for name, row in zip(names, values[:, front], strict=True)
    }
    coordinates = {
        str(name): ("point", each.values[place[str(each.dims[0])]], attributes_of(each))
        for name, each in here.coords.items()
        if each.dims and str(each.dims[0]) in place and name not in names
    }
    variables["status"] = ("point", np.zeros(front.size, np.int8), {"long_name": "status"} | flags(STATUSES))
    goals = ", ".join([f"smallest {name}" for name in minimise] + [f"largest {name}" for name in maximise])
    about = {"minimise": list(minimise), "maximise": list(maximise), "at": dict(at or {}), "points": int(usable.size)}
    title = f"Pareto front: {goals}".replace("_", " ")
    return xr.Dataset(variables, coordinates, made_from(dataset, title, pareto=about))


def check_objectives(dataset: xr.Dataset, names: Sequence[str]) -> None:
    """Raise InputError unless there are two or three different numbers."""
    known = [
        str(name)
        for name, each in (*dataset.data_vars.items(), *dataset.coords.items())
        if each.dtype.kind in "iuf" and "flag_meanings" not in each.attrs
    ]
    for name in names:
        if name not in known:
            raise InputError([Fault("--minimise, --maximise", not_one_of(name, known))])
    if len(set(names)) != len(names) or not 2 <= len(names) <= 3:
        raise InputError([Fault("--minimise, --maximise", "two or three different objectives are wanted")])


def attributes_of(variable: xr.DataArray) -> dict[str, Any]:
    """Name and unit of a variable."""
    return {key: variable.attrs[key] for key in ("long_name", "units") if key in variable.attrs}


def non_dominated(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Positions of the points (objectives x points, smaller is better) that none dominates, in ascending order of the
    first objective, then of the others."""
    kept = undominated_by_sample(costs)
    order = kept[np.lexsort(costs[::-1, kept])]
    rows = costs[:, order]
    keep = front_of_two(rows) if len(rows) == 2 else front_of_three(rows)
    return order[keep]


def undominated_by_sample(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Positions of points that no promising point dominates: most of a large result goes here."""
    count = costs.shape[1]
    left = np.arange(count)
    if count <= SAMPLE:
        return left
    with np.errstate(invalid="ignore", divide="ignore"):
        order = np.argsort(scaled(costs))
    for leader in order[:LEADERS]:
        point = costs[:, leader, np.newaxis]
        part = costs[:, left]
        dominated = (point <= part).all(axis=0) & (point < part).any(axis=0)
        left = left[~dominated]
    return left


def scaled(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the objectives, each from 0 to 1."""
    low, high = costs.min(axis=1, keepdims=True), costs.max(axis=1, keepdims=True)
    total: NDArray[np.float64] = np.nan_to_num((costs - low) / (high - low)).sum(axis=0)
    return total


def front_of_two(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of sorted points are on the front: those below all that are better in the first objective."""
    first, second = rows
    if not first.size:
        return np.zeros(0, bool)
    least = np.minimum.accumulate(second)
    starts = np.flatnonzero(np.diff(first, prepend=np.nan) != 0)  # of points that are equal in the first objective
    group = np.cumsum(np.diff(first, prepend=np.nan) != 0) - 1
    before = np.concatenate([[np.inf], least])[starts][group]
    return np.asarray((second < before) & (second == second[starts][group]))


def front_of_three(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of sorted points are on the front: those that no earlier one is at least as good as in both others.

    The earlier ones that matter are a staircase: ascending in the second objective, descending in the third.
    """
    keep = np.zeros(rows.shape[1], bool)
    seconds: list[float] = []
    thirds: list[float] = []
    before: tuple[float, ...] = ()
    for place, point in enumerate(map(tuple, rows.T.tolist())):
        if point == before:  # equal to one that was just judged
            keep[place] = keep[place - 1]
            continue
        before = point
        _, second, third = point
        at = bisect_right(seconds, second)
        if at and thirds[at - 1] <= third:
            continue
        keep[place] = True
        start = bisect_left(seconds, second)
        end = start
        while end < len(seconds) and thirds[end] >= third:
            end += 1
        seconds[start:end], thirds[start:end] = [second], [third]
    return keep


def pareto_table(front: xr.Dataset, most: int = 20) -> list[str]:
    """Lines: the front's points with their coordinates."""
    about = json.loads(front.attrs["sweep"])["pareto"]
    names = [*about["minimise"], *about["maximise"]]
    count = front.sizes["point"]
    lines = [*front.attrs["title"].split("\n"), "", f"  {count} of {about['points']} points are not dominated"]
    rows = range(count) if count <= most else np.unique(np.linspace(0, count - 1, most).astype(int))
    for row in rows:
        goals = ", ".join(f"{text(float(front[name].values[row]))}{unit_of(front[name])}" for name in names)
        cell = ", ".join(
            f"{name} {text(each.values[row])}{unit_of(each)}" for name, each in front.coords.items() if each.dims
        )
        lines.append(f"  {goals}  ({cell})")
    if count > most:
        lines.append(f"  {most} of them shown, evenly along the first objective")
    return lines


def draw_pareto(dataset: xr.Dataset, front: xr.Dataset, path: Path) -> list[Path]:
    """The front over all points: first objective along x, second along y, a third as colour. Raises InputError."""
    about = json.loads(front.attrs["sweep"])["pareto"]
    names = [*about["minimise"], *about["maximise"]]
    x, y = front[names[0]], front[names[1]]
    here = fixed_at(dataset, about["at"])
    behind = [array.values.ravel().astype(float) for array in xr.broadcast(here[names[0]], here[names[1]])]
    some = np.unique(np.linspace(0, behind[0].size - 1, min(behind[0].size, SHOWN)).astype(int))
    with drawing():
        figure = new_figure(8, 5.5)
        axes = figure.subplots()
        axes.scatter(
            behind[0][some], behind[1][some], s=2, c="#bbbbbb", linewidths=0, label="all points", rasterized=True
        )
        colours: dict[str, Any] = {"c": PALETTE[5]}
        if len(names) == 3:
            colours = {"c": front[names[2]].values, "cmap": NUMBERS}
        else:
            axes.step(x, y, where="post", color=PALETTE[5], linewidth=1)
        drawn = axes.scatter(x, y, s=24, edgecolors="black", linewidths=0.5, zorder=3, label="not dominated", **colours)
        if len(names) == 3:
            figure.colorbar(drawn, ax=axes, label=label(front[names[2]]))
        for values, scale in ((x.values, axes.set_xscale), (y.values, axes.set_yscale)):
            if values.size and values.min() > 0 and values.max() > 30 * values.min():
                scale("log")
        axes.set_xlabel(label(x))
        axes.set_ylabel(label(y))
        held = held_text(dataset, here)
        axes.set_title("\n".join(filter(None, [*front.attrs["title"].split("\n"), held])), fontsize=11, wrap=True)
        axes.legend(loc="best")
        return save_figures([figure], path)
