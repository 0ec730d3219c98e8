"""A summary of a result that fits a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np
import xarray as xr


def summary(dataset: xr.Dataset, width: int) -> str:
    """Title, axes, the range or the shares of every variable, and why values are missing, in lines of some width.

    Takes a dataset with codes, not labels.
    """
    column = max(len(str(name)) for name in (*dataset.dims, *dataset.data_vars)) + 4
    lines = textwrap.wrap(dataset.attrs["title"], width) or [""]
    for name, text in _rows(dataset):
        lines += textwrap.wrap(f"  {name}".ljust(column) + text, width, subsequent_indent=" " * column) or [""]
    return "\n".join(lines)


def _rows(dataset: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Names and what there is to say of each; empty between axes and variables."""
    yield "", ""
    for dim in dict.fromkeys((*dataset["status"].dims, *dataset.sizes)):
        yield str(dim), f"{dataset.sizes[dim]:>5} x  {_ends(dataset[dim])}"
    if dataset.sizes:
        yield "", ""
    for name, variable in dataset.data_vars.items():
        if name != "status":
            yield str(name), _range(variable)
    yield "status", _shares(dataset["status"])


def _ends(coordinate: xr.DataArray) -> str:
    values = [text(value) for value in (coordinate.values[[0, -1]] if coordinate.size > 4 else coordinate.values)]
    return (" .. " if coordinate.size > 4 else ", ").join(values) + unit_of(coordinate)


def text(value: object) -> str:
    """A coordinate or a value, short."""
    return f"{value:.6g}" if isinstance(value, (int, float, np.number)) else str(value)


def unit_of(variable: xr.DataArray) -> str:
    """The unit with a space before it; nothing for pure numbers and labels."""
    unit = variable.attrs.get("units", "1")
    return "" if unit == "1" else f" {unit}"


def _range(variable: xr.DataArray) -> str:
    if "flag_meanings" in variable.attrs:
        return _shares(variable)
    finite = variable.where(np.isfinite(variable))
    if not bool(finite.notnull().any()):
        return "no values"
    low, high = finite.min().item(), finite.max().item()
    return f"{low:.6g} .. {high:.6g}{unit_of(variable)}"


def _shares(variable: xr.DataArray) -> str:
    ordered = sorted(counts(variable).items(), key=lambda pair: -pair[1])
    return ", ".join(f"{label} {100 * count / variable.size:.3g} %" for label, count in ordered)


def counts(variable: xr.DataArray) -> dict[str, int]:
    """How often each label occurs in a variable of codes, those that do not left out."""
    labels = variable.attrs["flag_meanings"].split()
    found = np.bincount(variable.values.ravel(), minlength=len(labels))
    return {label: int(count) for label, count in zip(labels, found, strict=True) if count}


def failures(status: xr.DataArray) -> tuple[int, dict[str, int]]:
    """How many points failed (exit code 1), and how many there are of every status but ok.

    Takes the codes of a fresh result. Undefined, infeasible and unstable points are answers, not failures.
    """
    missing = {label: count for label, count in counts(status).items() if label != "ok"}
    answers = {"undefined", "infeasible", "unstable"}
    return sum(count for label, count in missing.items() if label not in answers), missing
