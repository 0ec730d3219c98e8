"""Runs a plan: allocate arrays, prepare tables, run each nest over blocks on all cores.

A block is a range per axis; blocks cover a nest exactly once, so results do not depend on how many there are or on
who runs them. Nests release the GIL and run on plain threads: one level of parallelism, nothing to configure.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.engine.embed import reject
from sweep.engine.forecast import steps_of_points
from sweep.engine.graph import Node
from sweep.engine.kernelcache import forget_kernel, load_kernel, seal_kernel, wide_vectors
from sweep.engine.loopnest import KernelSource, NestCall, write_kernel
from sweep.engine.news import Announce, Progress, ignore
from sweep.engine.plan import Plan
from sweep.errors import Fault, InputError
from sweep.file import content_of
from sweep.registry import NO_VALUE, as_numbers

Array = NDArray[Any]
Block = tuple[tuple[int, int], ...]

BLOCK_POINTS = 2_000_000
"""Iterations of one block: long enough that starting it costs nothing, short enough to show progress."""
COSTLY_BLOCK_POINTS = 512
"""Iterations of one block of a nest with costly quantities at the most, so that progress can be shown."""
SERIAL_BELOW = 100_000
"""Nests with fewer iterations run on one thread, if they are cheap."""


@dataclass(frozen=True)
class Values:
    """Arrays of the wanted outputs and their status; `statuses` has that of single outputs for which it was asked."""

    outputs: Mapping[str, Array]
    status: Array
    statuses: Mapping[str, Array]


def execute(
    plan: Plan,
    threads: int | None = None,
    status_of: tuple[str, ...] = (),
    block_points: int = BLOCK_POINTS,
    announce: Announce = ignore,
    progress: Progress = ignore,
    source: KernelSource | None = None,
) -> Values:
    """Compute a plan in memory.

    `progress` is told of which nest, and how many iterations, each finished block is, and of 0 once a nest is
    compiled; `source` is the text of the compiled kernel, if it is there already.
    """
    from sweep.engine.branchless import JIT

    if source is None or not JIT:
        source = write_kernel(plan, status_of, branchless=JIT)
    execution = Execution(plan, source, load_kernel(source.text, announce))
    execution.run(threads or os.cpu_count() or 1, block_points, progress)
    return execution.values(status_of)


class Execution:
    """The arrays of one plan, under the names that its nests give them, and the nests."""

    def __init__(self, plan: Plan, source: KernelSource, module: ModuleType) -> None:
        self.plan = plan
        self.source = source
        self.module = module
        self.arrays: dict[str, Any] = {}
        self.nest_status: dict[str, Array] = {}
        for name, parameter in plan.graph.parameters.items():
            if parameter.is_file:
                continue  # only prepared quantities take it
            if name in plan.axis_of:
                self.arrays[f"{name}_"] = self.axis_values(name)
            elif isinstance(plan.fixed[name], (int, float)):
                self.arrays[name] = np.float64(plan.fixed[name])
        for node in plan.graph.nodes.values():
            for dim, points in node.quantity.dims.items():
                self.arrays[dim] = np.array(as_numbers(points), np.float64)
        for name in plan.prepared:
            self.arrays[f"kept_{name}"] = self.prepare(name)
        for call in source.calls:
            for name in call.arguments:
                if name not in self.arrays and name != "out_status":
                    self.arrays[name] = self.allocate(name)
            self.nest_status[call.name] = self.empty(call.dims, np.int8)

    def axis_values(self, name: str) -> Array:
        """Values of a parameter along its axis; labels as codes."""
        values = self.plan.axes[self.plan.axis_of[name]].members[name]
        if not isinstance(values, tuple):
            return values
        labels = self.plan.graph.labels[name]
        return np.array([labels.index(label) for label in values], np.int64)

    def prepare(self, name: str) -> Array:
        """Values of a prepared quantity for each combination of its own axes; labels as codes.

        It is called once for each combination of values that it takes, however many points have them.
        """
        plan = self.plan
        node = plan.graph.nodes[name]
        dims = plan.dims[name]
        labels = plan.graph.output(name).categories
        shape = tuple(plan.axes[dim].size for dim in dims)
        _, firsts, number = np.unique(self.combinations(node, dims, shape), return_index=True, return_inverse=True)
        results = []
        for index in firsts.tolist():
            position = dict(zip(dims, map(int, np.unravel_index(index, shape)), strict=True))
            case = tuple(self.prepared_argument(x, position) for x in node.selectors)
            branch = node.branch_of(case)
            if branch is None:
                results.append(np.asarray(len(labels) if labels else np.nan))
                continue
            arguments = [self.prepared_argument(x, position) for x in branch.variant.inputs]
            try:
                result = branch.variant.function(*arguments)
                results.append(np.asarray(labels.index(result) if labels else result, np.float64))
            except Exception as error:
                raise reject(branch.variant.function, 1, f"{type(error).__name__}: {error}") from error
        rank = len(plan.graph.output(name).dims)
        shapes = [result.shape or (0,) * rank for result in results]  # () stands for no value
        own_shape = tuple(map(max, zip(*shapes, strict=True)))
        together = np.full((len(results), *own_shape), np.nan)
        for place, result in enumerate(results):
            index_of_result: tuple[Any, ...] = (place, *map(slice, result.shape))
            together[index_of_result] = result
        return together[number.ravel()].reshape(shape + own_shape)

    def combinations(self, node: Node, dims: Sequence[str], shape: tuple[int, ...]) -> Array:
        """For each point of a prepared quantity a number, the same where it takes the same values."""
        plan = self.plan
        total = np.zeros(shape, np.int64)
        for name in dict.fromkeys((*node.selectors, *node.inputs)):
            if name in plan.fixed:
                continue
            own = plan.dims[name]
            codes = np.arange(math.prod(plan.axes[dim].size for dim in own))
            if name not in plan.axis_of and not plan.graph.output(name).dims:
                codes = np.unique(self.arrays[f"kept_{name}"], return_inverse=True)[1].ravel()
            codes = codes.reshape([plan.axes[dim].size if dim in own else 1 for dim in dims])
            total = np.unique(total * (codes.max() + 1) + codes, return_inverse=True)[1].reshape(shape)
        return total

    def prepared_argument(self, name: str, position: Mapping[str, int]) -> Any:
        """The value of an input of a prepared quantity at a position along its axes."""
        plan = self.plan
        if name in plan.fixed:
            return content_of(plan.fixed[name])
        if name in plan.axis_of:
            dim = plan.axis_of[name]
            return content_of(plan.axes[dim].members[name][position[dim]])
        value = self.arrays[f"kept_{name}"][tuple(position[dim] for dim in plan.dims[name])]
        labels = plan.graph.output(name).categories
        return (*labels, NO_VALUE)[int(value)] if labels else value

    def allocate(self, argument: str) -> Array:
        """The array that a nest's argument stands for: statuses and labels as int8, numbers as float64."""
        kind, _, name = argument.partition("_")
        if name.startswith("status_"):
            owner = name.removeprefix("status_")
            value = owner if kind == "out" else self.plan.value_of(owner)
            return self.empty(self.plan.dims[value], np.int8)
        categorical = kind == "out" and self.plan.graph.output(name).categories
        return np.empty(self.plan.shape(name), np.int8 if categorical else np.float64)

    def empty(self, dims: Sequence[str], kind: Any) -> Array:
        """A new array over some axes."""
        return np.empty(tuple(self.plan.axes[dim].size for dim in dims), kind)

    def run(self, threads: int, block_points: int = BLOCK_POINTS, progress: Progress = ignore) -> None:
        """Run all nests, each over blocks; large ones on several threads."""
        for call in self.source.calls:
            self.run_nest(call, threads, block_points, progress)

    def run_nest(self, call: NestCall, threads: int, block_points: int, progress: Progress) -> None:
        """Run one nest."""
        function = getattr(self.module, call.name)
        arguments = [
            self.nest_status[call.name] if name == "out_status" else self.arrays[name] for name in call.arguments
        ]
        sizes = [self.plan.axes[dim].size for dim in call.dims]
        points = math.prod(sizes)

        def run_bounds(bounds: Iterable[int]) -> None:
            with np.errstate(all="ignore"):  # matters without JIT: there, too, a status explains what is not finite
                function(*map(np.uint64, bounds), *arguments)

        def run_part(block: Block) -> None:
            run_block(block)
            progress(call.name, math.prod(stop - start for start, stop in block))

        def run_block(block: Block) -> None:
            try:
                run_bounds(bound for pair in block for bound in pair)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise InputError([Fault("model", f"a formula fails: {type(error).__name__}: {error}")]) from error

        if sizes:
            self.compile_nest(lambda: run_bounds([0] * 2 * len(sizes)))
        else:  # a nest without axes has no empty block: compiling it is running it
            self.compile_nest(lambda: run_block(()))
        if hasattr(function, "stats") and function.stats.cache_misses:  # without JIT it is plain Python
            seal_kernel(self.module)
        progress(call.name, 0)
        if not sizes:
            progress(call.name, 1)
            return
        split = split_into(points, call.is_costly, threads, block_points)
        items = blocks(sizes, split.block_points)
        if call.is_costly and split.threads > 1:
            items = self.heavy_first(call, items)
        run_on_threads(run_part, items, split.threads)

    def heavy_first(self, call: NestCall, items: Iterator[Block]) -> Iterator[Block]:
        """Blocks of a nest with those first that take the most steps, so that no thread is left with one at the end."""
        (nest,) = (nest for nest in self.plan.nests if nest.name == call.name)
        dims, steps = steps_of_points(self.plan, nest.nodes)
        if not steps.any():
            return items

        def work(block: Block) -> float:
            ranges = dict(zip(call.dims, block, strict=True))
            return float(steps[tuple(slice(*ranges[dim]) for dim in dims)].mean())

        return iter(sorted(items, key=work, reverse=True))

    def compile_nest(self, run_empty_block: Callable[[], object]) -> None:
        """Compile a nest by running a block without points. Raises InputError for a formula that numba refuses."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        try:
            with wide_vectors():
                run_empty_block()
        except UnsupportedBytecodeError:
            what = "its Python code is beyond numba, as where 'x if c else y' stands among the many arguments of a call"
            raise InputError([Fault("model", f"a formula cannot be compiled: {what}; give it a name before")]) from None
        except NumbaError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            source = next((f" ({line})" for line in lines if line.startswith("def q_")), "")
            what = f"a formula cannot be compiled{source}: {lines[1] if lines[1:] else lines[0]}"
            raise InputError([Fault("model", what)]) from None
        except InputError:
            raise
        except Exception:  # another process has just removed what was loaded, or there is no room for it
            forget_kernel(self.module)
            with wide_vectors():
                run_empty_block()

    def values(self, status_of: tuple[str, ...] = ()) -> Values:
        """The result after a run: outputs, and the worst status over all of them."""
        plan = self.plan
        wanted = [(call.dims, self.nest_status[call.name]) for call in self.source.calls if call.writes_outputs]
        whole = [status for dims, status in wanted if dims == plan.status_dims]
        status = whole[0] if whole else np.zeros([plan.axes[dim].size for dim in plan.status_dims], np.int8)
        for dims, part in wanted:
            if dims != plan.status_dims:
                shape = [plan.axes[dim].size if dim in dims else 1 for dim in plan.status_dims]
                np.maximum(status, part.reshape(shape), out=status)
        outputs = {name: self.arrays[f"out_{name}"] for name in plan.graph.outputs}
        statuses = {name: self.arrays[f"out_status_{name}"] for name in status_of}
        return Values(outputs, status, statuses)


@dataclass(frozen=True)
class Split:
    """How a nest is run: on how many threads, in blocks of about how many iterations."""

    threads: int
    block_points: int


def split_into(points: int, is_costly: bool, threads: int, block_points: int = BLOCK_POINTS) -> Split:
    """The split of a nest of some iterations: some blocks per thread, none too long; small nests on one thread."""
    if is_costly:
        return Split(threads, max(min(COSTLY_BLOCK_POINTS, block_points, points // (16 * threads)), 1))
    if threads == 1 or points < SERIAL_BELOW:
        return Split(1, block_points)
    return Split(threads, max(min(block_points, -(-points // (4 * threads))), 1))


def blocks(sizes: Sequence[int], points: int) -> Iterator[Block]:
    """Cut a nest into blocks of about `points` iterations, by ranges of its outer axes."""
    starts = [range(0, size, length) for size, length in zip(sizes, block_lengths(sizes, points), strict=True)]
    for corner in product(*starts):
        yield tuple(
            (start, min(start + each.step, size)) for start, each, size in zip(corner, starts, sizes, strict=True)
        )


def block_lengths(sizes: Sequence[int], points: int) -> list[int]:
    """Length of a block of about `points` iterations along each axis."""
    inner = 1
    lengths = [1] * len(sizes)
    for position in range(len(sizes) - 1, -1, -1):
        lengths[position] = max(min(points // inner, sizes[position]), 1)
        inner *= sizes[position]
    return lengths


def run_on_threads(work: Callable[[Block], None], items: Iterator[Block], threads: int) -> None:
    """Let threads take blocks until none is left. The first exception stops them all and is raised.

    The calling thread waits, so that an interruption is answered at once; blocks that run then end for nothing.
    """
    lock = threading.Lock()
    stop = threading.Event()
    errors: list[BaseException] = []

    def loop() -> None:
        try:
            while not stop.is_set():
                with lock:
                    item = next(items, None)
                if item is None:
                    return
                work(item)
        except BaseException as error:
            errors.append(error)
            stop.set()

    workers = [threading.Thread(target=loop, daemon=True) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        stop.set()
    if errors:
        raise errors[0]
