"""What a result says of itself, for views that go back to its grid."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import xarray as xr

import sweep
from sweep.errors import Fault, InputError
from sweep.registry import NO_VALUE


def record_of(dataset: xr.Dataset) -> dict[str, Any]:
    """The record of a result. Raises InputError for what has none, such as a selection made from a result."""
    try:
        record: dict[str, Any] = json.loads(dataset.attrs["sweep"])
        if isinstance(record["grid"]["fixed"], dict):
            return record
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError([Fault("result", "is no result of a grid, but something made from one, or without its record")])


def made_from(dataset: xr.Dataset, title: str, **about: Any) -> dict[str, str]:
    """Attributes of what is made from a result: `about` says how, and the result's own record stays with it."""
    return {
        "title": f"{dataset.attrs.get('title', '')}\n{title}".strip(),
        "Conventions": dataset.attrs.get("Conventions", ""),
        "sweep_version": sweep.__version__,
        "sweep": json.dumps(about | {"of": json.loads(dataset.attrs.get("sweep", "null"))}, ensure_ascii=False),
    }


def distinct(labels: Sequence[object]) -> list[str]:
    """Labels as single words, as flag_meanings have them; those that would be equal get a number."""
    found: list[str] = []
    for label in labels:
        word = re.sub(r"\s+", "_", str(label)) or "_"
        taken = {*found, NO_VALUE}
        found.append(next(x for x in (word, *(f"{word}_{n}" for n in range(2, len(labels) + 3))) if x not in taken))
    return found
