"""How long a plan will take, roughly: for people who wonder whether to wait, fetch a coffee or ask for a cluster.

The rates are what a core of an ordinary server did on the shipped grids; other machines differ by a factor of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sweep.engine.execute import block_lengths, split_into
from sweep.engine.forecast import Forecast
from sweep.engine.graph import Node
from sweep.engine.loopnest import KernelSource
from sweep.engine.plan import Nest, Plan, cost

SECONDS_PER_ADDITION = 0.2e-9
"""Of one thread, for one unit of `plan.cost` in a vectorised loop."""
SECONDS_PER_STEP = 12e-9
"""Of one thread, for one step of a kernel's own loop."""
SECONDS_PER_BYTE = 0.25e-9
"""For writing results into new memory, all threads together."""
SECONDS_PER_BYTE_ON_DISK = 1e-9
SECONDS_PER_KERNEL_LINE = 0.015
"""For compiling."""


@dataclass(frozen=True)
class Estimate:
    """Seconds to compute, to write and to compile, and in how many blocks.

    `uncounted` are kernels that do not declare how many steps they take: their time comes on top.
    """

    compute: float
    write: float
    compile: float
    blocks: int
    uncounted: tuple[str, ...]


def estimate(plan: Plan, source: KernelSource, known: Forecast, result_bytes: int, threads: int) -> Estimate:
    """The estimate of a plan of which the forecast is known."""
    count = 0
    for call in source.calls:
        split = split_into(plan.points(call.dims), call.is_costly, threads)
        sizes = [plan.axes[dim].size for dim in call.dims]
        lengths = block_lengths(sizes, split.block_points)
        count += math.prod(-(-size // length) for size, length in zip(sizes, lengths, strict=True))
    computing = sum(nest_seconds(plan, known.steps).values()) / threads
    return Estimate(
        compute=max(computing, result_bytes * SECONDS_PER_BYTE),
        write=result_bytes * SECONDS_PER_BYTE_ON_DISK,
        compile=source.text.count("\n") * SECONDS_PER_KERNEL_LINE,
        blocks=count,
        uncounted=tuple(
            name
            for name, node in plan.graph.nodes.items()
            if node.quantity.kind == "kernel" and name not in known.steps
        ),
    )


def nest_seconds(plan: Plan, steps: Mapping[str, float]) -> dict[str, float]:
    """Seconds that each nest takes on one thread, if memory keeps up; `steps` are those of kernels."""
    return {nest.name: one_nest_seconds(plan, nest, steps) for nest in plan.nests}


def one_nest_seconds(plan: Plan, nest: Nest, steps: Mapping[str, float]) -> float:
    """Seconds of one nest: its points, its values, each as often as the loops around it say, and steps of kernels."""
    additions = plan.points(nest.dims)
    for name in nest.nodes:
        additions += node_cost(plan.graph.nodes[name]) * plan.points(loops(plan, nest, name))
    walking = sum(steps.get(name, 0.0) for name in nest.nodes)
    return additions * SECONDS_PER_ADDITION + walking * SECONDS_PER_STEP


def loops(plan: Plan, nest: Nest, node: str) -> tuple[str, ...]:
    """The axes of the loops in which a node of a nest is computed."""
    dims = plan.dims[plan.value_of(node)]
    depth = max((nest.dims.index(dim) + 1 for dim in dims), default=0)
    return nest.dims[:depth]


def node_cost(node: Node) -> int:
    """What a node costs in additions; its dearest branch counts, a kernel's own loop not."""
    return max((cost(branch.variant.function) for branch in node.branches), default=0)
