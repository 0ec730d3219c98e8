"""An output as a function of lists of numbers: the compiled formulas at points that are on no grid.

Used to solve for where something changes between the points of a grid. Numbers move together along one axis; choices
keep an axis of their own, so that one kernel serves all calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.axis import Axis
from sweep.engine.execute import Execution
from sweep.engine.kernelcache import load_kernel
from sweep.engine.loopnest import write_kernel
from sweep.engine.news import Announce, ignore
from sweep.engine.plan import make_plan
from sweep.registry import Registry

POINT = "point_of_function"

PRECISION = 1e-13
"""Width of a bracket, in proportion, at which it counts as one number."""


class PointFunction:
    """One number of a grid over its axes of choices (`kept`) and lists of values for all its other axes (`moving`)."""

    def __init__(
        self,
        registry: Registry,
        axes: Sequence[Axis],
        fixed: Mapping[str, Any],
        output: str,
        keep: tuple[str, ...] = (),
        announce: Announce = ignore,
    ) -> None:
        self.output = output
        self.announce = announce
        self.kept = tuple(
            axis for axis in axes if axis.name in keep or any(isinstance(x, tuple) for x in axis.members.values())
        )
        self.moving = tuple(name for axis in axes if axis not in self.kept for name in axis.members)
        one = Axis(POINT, {name: np.ones(1) for name in self.moving})
        self.plan = make_plan(registry, [output], [*self.kept, one], fixed)
        self.source = write_kernel(self.plan)

    def __call__(self, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Values over the kept axes and the points; `columns` has an array of equal length for each moving name."""
        count = len(columns[self.moving[0]])
        here = Axis(POINT, {name: np.asarray(columns[name], np.float64) for name in self.moving})
        plan = replace(self.plan, axes={**self.plan.axes, POINT: here})
        execution = Execution(plan, self.source, load_kernel(self.source.text, self.announce))
        execution.run(os.cpu_count() or 1)
        values = execution.values().outputs[self.output]
        dims = plan.dims[self.output]
        wanted = (*(axis.name for axis in self.kept), POINT)
        shape = [plan.axes[dim].size if dim in dims else 1 for dim in wanted]
        sizes = [axis.size for axis in self.kept]
        return np.broadcast_to(values.reshape(shape), (*sizes, count))


def bisected(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    is_met: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    whole: bool,
) -> NDArray[np.float64]:
    """Where a condition that does not hold at `low` and does at `high` begins to hold, for many brackets at once.

    The smallest number known to meet it: exact for `whole` numbers, else to a part in 1e13. Where a condition changes
    several times between the two, one of its changes is found.
    """
    low, high = low.astype(float), high.astype(float)
    for _ in range(200):
        middle = np.floor((low + high) / 2) if whole else low + (high - low) / 2
        open_ = (middle > low) & (middle < high) & (high - low > (0 if whole else PRECISION) * np.abs(high))
        if not open_.any():
            break
        met = is_met(middle)
        high = np.where(open_ & met, middle, high)
        low = np.where(open_ & ~met, middle, low)
    return high
