"""Names of axes, values and ticks in pictures and pages: with units, short, and different where values are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr

MAX_TICKS = 9


def label(variable: xr.DataArray) -> str:
    """Long name and unit of a variable or coordinate."""
    name = variable.attrs.get("long_name", variable.name)
    unit = variable.attrs.get("units", "1")
    return f"{name} ({unit})" if unit != "1" else str(name)


def tick_positions(values: np.ndarray[Any, Any]) -> list[int]:
    """Positions of at most MAX_TICKS ticks: at multiples of 1, 2 or 5 times a power of ten where whole numbers are at
    equal distances, at powers of two or ten where the values have enough, else evenly."""
    every = list(range(values.size))
    if values.size > MAX_TICKS and values.dtype.kind in "iuf":
        whole = values.astype(float)
        if (whole == np.rint(whole)).all() and np.ptp(np.diff(whole)) == 0:
            steps = (factor * 10**power for power in range(16) for factor in (1, 2, 5))
            spots = next(found for step in steps if len(found := np.flatnonzero(whole % step == 0)) <= MAX_TICKS)
            if len(spots) >= 4:
                return spots.tolist()
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
    if unit == "B" and any(name.endswith("B") for name in names):
        return [name if name.endswith("B") else f"{name} B" for name in names]
    return names


def value_text(value: xr.DataArray) -> str:
    """One value of a coordinate with its unit."""
    unit = value.attrs.get("units", "1")
    shown = tick_text(value.item(), unit)
    return shown if unit == "1" or shown.endswith("B") else f"{shown} {unit}"


def axis_ticks(coordinate: xr.DataArray) -> tuple[list[int], list[str], str]:
    """Positions and labels of the ticks along a dimension, and the name of the axis."""
    unit = coordinate.attrs.get("units", "1")
    few = coordinate.dtype.kind not in "iuf" and coordinate.size <= 16
    spots = list(range(coordinate.size)) if few else tick_positions(coordinate.values)
    names = tick_texts(coordinate.values[spots], unit)
    has_units = unit == "B" and any("B" in name for name in names)
    return spots, names, str(coordinate.attrs.get("long_name", coordinate.name)) if has_units else label(coordinate)


def is_geometric(values: np.ndarray[Any, Any]) -> bool:
    """Whether numbers are spaced rather by factors than by differences."""
    if values.dtype.kind not in "iuf" or values.size < 3 or not (values > 0).all():
        return False
    ordered = np.sort(values.astype(float))
    factors, differences = np.diff(np.log(ordered)), np.diff(ordered)
    return float(np.std(factors) / np.mean(factors)) < float(np.std(differences) / np.mean(differences))
