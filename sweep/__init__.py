"""Vectorised parameter sweeps over the interconnects of AI accelerators.

import sweep
grid = sweep.load_grid("grids/tp_allreduce.yaml")
result = sweep.run(grid)                                   # xarray.Dataset
sweep.quantities.collective_latency(chip_count=8)          # one number
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sweep.api import load_grid, open_result, parameters, plan, quantities, run
    from sweep.registry import Output, kernel, parameter, prepared, quantity

__all__ = [
    "Output",
    "kernel",
    "load_grid",
    "open_result",
    "parameter",
    "parameters",
    "plan",
    "prepared",
    "quantities",
    "quantity",
    "run",
]

_REGISTRY_NAMES = {"Output", "kernel", "parameter", "prepared", "quantity"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sweep' has no attribute {name!r}")
    home = "sweep.registry" if name in _REGISTRY_NAMES else "sweep.api"
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
