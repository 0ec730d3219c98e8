"""Runs a plan: allocate arrays, prepare tables, run each nest over blocks on all cores.

A block is a range per axis; blocks cover a nest exactly once, so results do not depend on how many there are or on
who runs them. Nests release the GIL and run on plain threads: one level of parallelism, nothing to configure.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.engine.kernelcache import load_kernel
from sweep.engine.loopnest import KernelSource, NestCall, write_kernel
from sweep.engine.news import Announce, Progress, ignore
from sweep.engine.plan import Plan

Array = NDArray[Any]
Block = tuple[tuple[int, int], ...]

BLOCK_POINTS = 2_000_000
"""Iterations of one block: long enough that starting it costs nothing, short enough to show progress."""
SERIAL_BELOW = 100_000
"""Nests with fewer iterations run as one block on the calling thread."""


@dataclass(frozen=True)
class Values:
    """Arrays of the wanted outputs and their status, and the text of the kernel that computed them.

    `statuses` has the status of single outputs for which it was asked.
    """

    outputs: Mapping[str, Array]
    status: Array
    statuses: Mapping[str, Array]
    kernel: str


def execute(
    plan: Plan,
    threads: int | None = None,
    status_of: tuple[str, ...] = (),
    block_points: int = BLOCK_POINTS,
    announce: Announce = ignore,
    progress: Progress = ignore,
) -> Values:
    """Compute a plan in memory. `progress` is told the iterations that each finished block adds."""
    from numba import config

    source = write_kernel(plan, status_of, branchless=not config.DISABLE_JIT)  # type: ignore[attr-defined]
    return Execution(plan, source, load_kernel(source.text, announce), status_of).run(
        threads or os.cpu_count() or 1, block_points, progress
    )


class Execution:
    """The arrays of one plan, and its nests bound to them."""

    def __init__(self, plan: Plan, source: KernelSource, module: ModuleType, status_of: tuple[str, ...]) -> None:
        self.plan = plan
        self.source = source
        self.module = module
        self.arrays: dict[str, Array] = {}
        for name in plan.graph.parameters:
            if name in plan.axis_of:
                self.arrays[f"{name}_"] = self.axis_codes(name)
        for name in plan.prepared:
            self.arrays[f"in_{name}"] = self.prepare(name)
        self.status_of = status_of
        self.statuses: dict[str, Array] = {}

    def axis_codes(self, name: str) -> Array:
        """Values of a parameter along its axis; labels as codes."""
        values = self.plan.axes[self.plan.axis_of[name]].members[name]
        if not isinstance(values, tuple):
            return values
        labels = self.plan.graph.labels[name]
        return np.array([labels.index(label) for label in values], np.int64)

    def prepare(self, name: str) -> Array:
        """Call a prepared quantity for each combination of its own axes."""
        plan = self.plan
        (branch,) = plan.graph.nodes[name].branches
        dims = plan.dims[name]
        results = []
        for index in product(*(range(plan.axes[dim].size) for dim in dims)):
            position = dict(zip(dims, index, strict=True))
            arguments = [self.prepared_argument(x, position) for x in branch.variant.inputs]
            results.append(np.asarray(branch.variant.function(*arguments), np.float64))
        shape = tuple(plan.axes[dim].size for dim in dims)
        return np.stack(results).reshape(shape + results[0].shape)

    def prepared_argument(self, name: str, position: Mapping[str, int]) -> Any:
        """The value of an input of a prepared quantity at a position along its axes."""
        plan = self.plan
        if name in plan.fixed:
            return plan.fixed[name]
        if name in plan.axis_of:
            dim = plan.axis_of[name]
            return plan.axes[dim].members[name][position[dim]]
        return self.arrays[f"in_{name}"][tuple(position[dim] for dim in plan.dims[name])]

    def run(self, threads: int, block_points: int, progress: Progress) -> Values:
        """Run all nests; the result's arrays."""
        plan = self.plan
        for name in plan.graph.outputs:
            kind = np.int8 if plan.graph.output(name).categories else np.float64
            self.arrays[f"out_{name}"] = np.empty(plan.shape(name), kind)
        status = np.zeros(tuple(plan.axes[dim].size for dim in plan.status_dims), np.int8)
        smaller = []
        for call in self.source.calls:
            own_status = status if call.dims == plan.status_dims else self.empty(call.dims, np.int8)
            self.run_nest(call, own_status, threads, block_points, progress)
            if call.outputs and own_status is not status:
                smaller.append((call.dims, own_status))
        for dims, part in smaller:
            np.maximum(status, self.broadcast(part, dims), out=status)
        outputs = {name: self.arrays[f"out_{name}"] for name in plan.graph.outputs}
        return Values(outputs, status, self.statuses, self.source.text)

    def empty(self, dims: Sequence[str], kind: Any) -> Array:
        """A new array over some axes."""
        return np.empty(tuple(self.plan.axes[dim].size for dim in dims), kind)

    def broadcast(self, array: Array, dims: Sequence[str]) -> Array:
        """The array with a length-1 axis for each axis of `status` that it does not have."""
        return array.reshape([self.plan.axes[dim].size if dim in dims else 1 for dim in self.plan.status_dims])

    def run_nest(self, call: NestCall, status: Array, threads: int, block_points: int, progress: Progress) -> None:
        """Run one nest over blocks, on all threads if it is large."""
        function = getattr(self.module, call.name)
        arguments = self.arguments(call, status)
        sizes = [self.plan.axes[dim].size for dim in call.dims]

        def run_block(block: Block) -> None:
            function(*(np.uint64(bound) for pair in block for bound in pair), *arguments)
            progress(int(np.prod([stop - start for start, stop in block], dtype=np.int64)))

        points = int(np.prod(sizes, dtype=np.int64))
        if threads == 1 or points < SERIAL_BELOW:
            for block in blocks(sizes, max(block_points, 1)):
                run_block(block)
        else:
            run_on_threads(run_block, blocks(sizes, max(min(block_points, -(-points // (4 * threads))), 1)), threads)

    def arguments(self, call: NestCall, status: Array) -> list[Any]:
        """Arguments of a nest after its bounds, in the order of its signature."""
        plan = self.plan
        arguments: list[Any] = [self.arrays[f"{name}_"] for name in call.axes]
        arguments += [float(plan.fixed[name]) for name in call.numbers]
        nodes = plan.graph.nodes.values()
        coordinates = {dim: points for node in nodes for dim, points in node.quantity.dims.items()}
        arguments += [np.array(coordinates[dim], np.float64) for dim in call.coordinates]
        arguments += [self.arrays[f"in_{name}"] for name in call.reads]
        arguments += [self.arrays[f"in_status_{name}"] for name in call.status_reads]
        for name in call.stages:
            self.arrays[f"in_{name}"] = np.empty(plan.shape(name))
            arguments.append(self.arrays[f"in_{name}"])
        for name in call.status_stages:
            value = next(iter(plan.graph.nodes[name].quantity.outputs))
            self.arrays[f"in_status_{name}"] = self.empty(plan.dims[value], np.int8)
            arguments.append(self.arrays[f"in_status_{name}"])
        arguments += [self.arrays[f"out_{name}"] for name in call.outputs]
        if call.outputs:
            arguments.append(status)
        for name in call.outputs:
            if name in self.status_of:
                array = self.statuses[name] = self.empty(plan.dims[name], np.int8)
                arguments.append(array)
        return arguments


def blocks(sizes: Sequence[int], points: int) -> Iterator[Block]:
    """Cut a nest into blocks of about `points` iterations, by ranges of its outer axes."""
    inner = 1
    lengths = [1] * len(sizes)
    for position in range(len(sizes) - 1, -1, -1):
        lengths[position] = max(min(points // inner, sizes[position]), 1)
        inner *= sizes[position]
    starts = [range(0, size, length) for size, length in zip(sizes, lengths, strict=True)]
    for corner in product(*starts):
        yield tuple(
            (start, min(start + length, size)) for start, length, size in zip(corner, lengths, sizes, strict=True)
        )


def run_on_threads(work: Callable[[Block], None], items: Iterator[Block], threads: int) -> None:
    """Let threads take blocks until none is left. The first exception stops them all and is raised."""
    lock = threading.Lock()
    stop = threading.Event()
    errors: list[BaseException] = []

    def loop() -> None:
        while not stop.is_set():
            with lock:
                item = next(items, None)
            if item is None:
                return
            try:
                work(item)
            except BaseException as error:
                errors.append(error)
                stop.set()

    first = next(items, None)
    if first is not None:
        work(first)  # compiles, once, before the threads start
    workers = [threading.Thread(target=loop) for _ in range(threads - 1)]
    for worker in workers:
        worker.start()
    try:
        loop()
    finally:
        if errors:
            stop.set()
        for worker in workers:
            worker.join()
    if errors:
        raise errors[0]
