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
    from sweep.registry import GIVEN, Output, kernel, parameter, prepared, quantity, scope
    from sweep.views.compare import compare
    from sweep.views.crossover import crossovers
    from sweep.views.elasticity import elasticities
    from sweep.views.pareto import pareto
    from sweep.views.report import report
    from sweep.views.select import select
    from sweep.views.sensitivity import sensitivity
    from sweep.views.threshold import threshold
    from sweep.views.validate import validate

__all__ = [
    "GIVEN",
    "Output",
    "compare",
    "crossovers",
    "elasticities",
    "kernel",
    "load_grid",
    "open_result",
    "parameter",
    "parameters",
    "pareto",
    "plan",
    "prepared",
    "quantities",
    "quantity",
    "report",
    "run",
    "scope",
    "select",
    "sensitivity",
    "threshold",
    "validate",
]

_DECLARING = ("GIVEN", "Output", "kernel", "parameter", "prepared", "quantity", "scope")
_HOMES = dict.fromkeys(_DECLARING, "sweep.registry") | {
    "compare": "sweep.views.compare",
    "crossovers": "sweep.views.crossover",
    "elasticities": "sweep.views.elasticity",
    "pareto": "sweep.views.pareto",
    "report": "sweep.views.report",
    "select": "sweep.views.select",
    "sensitivity": "sweep.views.sensitivity",
    "threshold": "sweep.views.threshold",
    "validate": "sweep.views.validate",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sweep' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "sweep.api")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
