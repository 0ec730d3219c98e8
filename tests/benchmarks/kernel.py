"""The fused kernel against filling the same arrays, NumPy broadcasting, and a Python loop over points."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np

import sweep
from sweep.api import plan
from sweep.engine.execute import Execution, run_on_threads
from sweep.engine.kernelcache import load_kernel
from sweep.engine.loopnest import write_kernel
from sweep.engine.news import ignore
from tests.benchmarks import row

OUTPUTS = ("collective_latency", "bus_bandwidth", "algorithm_bandwidth", "credit_time")
FORMATS = {"standard": 58.0, "afh_gen1": 30.0, "afh_gen2_16b": 30.0, "afh_lite": 16.0}
THREADS = os.cpu_count() or 1


@dataclass(frozen=True)
class Size:
    """Points along link bandwidth and message size; the other four axes are those of grids/tp_allreduce.yaml."""

    bandwidths: int
    messages: int

    @property
    def points(self) -> int:
        return self.bandwidths * 4 * 6 * 4 * 8 * self.messages


FULL = Size(32, 641)
TINY = Size(2, 5)


def grid(size: Size) -> dict:
    """Exact ring all-reduce, all six axes, four outputs that depend on all of them."""
    return {
        "outputs": list(OUTPUTS),
        "axes": {
            "link_bandwidth": {"linspace": [25, 400, size.bandwidths]},
            "packet_format": list(FORMATS),
            "credit_size": [32, 64, 128, 256, 1024, 2048],
            "switch_hops": {"range": [0, 3]},
            "chip_count": {"powers_of_two": [2, 256]},
            "message_size": {"geomspace": ["1 KiB", "1 GiB", size.messages]},
        },
        "fixed": {"credit_limit": 512},
    }


def executions(size: Size) -> Execution:
    made = plan(sweep.load_grid(grid(size)))
    source = write_kernel(made)
    return Execution(made, source, load_kernel(source.text, ignore))


@numba.njit(nogil=True)
def fill_rows(a, b, c, d, status, start, stop):
    for i in range(start, stop):
        a[i] = 1.0
        b[i] = 2.0
        c[i] = 3.0
        d[i] = 4.0
        status[i] = 1


def fill(arrays: list[np.ndarray]) -> None:
    """Fill the result's arrays in parallel: nothing that writes them can be faster."""
    rows = [array.reshape(array.shape[0] * array.shape[1], -1) for array in arrays]
    step = max(len(rows[0]) // (4 * THREADS), 1)
    blocks = [((start, min(start + step, len(rows[0]))),) for start in range(0, len(rows[0]), step)]
    run_on_threads(lambda block: fill_rows(*rows, *block[0]), iter(blocks), THREADS)


def result_arrays(execution: Execution) -> list[np.ndarray]:
    return [*(execution.arrays[f"out_{name}"] for name in OUTPUTS), execution.values().status]


def new_arrays(execution: Execution) -> list[np.ndarray]:
    """The same arrays, never touched."""
    return [np.empty(array.shape, array.dtype) for array in result_arrays(execution)]


def numpy_broadcast(execution: Execution) -> dict[str, np.ndarray]:
    """The same formulas in NumPy, each step on the axes it depends on, the large ones in place."""
    axes = execution.plan.axes

    def along(name: str, position: int) -> np.ndarray:
        values = axes[name].members[name]
        return np.reshape(values, tuple(-1 if i == position else 1 for i in range(6)))

    b, credit, hops = along("link_bandwidth", 0), along("credit_size", 2), along("switch_hops", 3)
    n, size = along("chip_count", 4), along("message_size", 5)
    overhead = np.reshape(list(FORMATS.values()), (1, 4, 1, 1, 1, 1))
    frame, gap, limit = np.maximum(1344 + overhead, 64), 20.0, 512.0
    chunk = np.ceil(size / n)
    frames = np.ceil(chunk / 1344)
    last = np.maximum(chunk - (frames - 1) * 1344 + overhead, 64)
    first = np.maximum(np.minimum(chunk, 1344) + overhead, 64)
    chunk_time = ((frames - 1) * (frame + gap) + last + gap) / b
    steps = 2 * (n - 1)
    alpha = 150 + np.where(hops > 0, 5.0, 0.0) * (hops + 1) + hops * (500 + np.minimum(64.0, first) / b)
    cells = np.ceil(frame / credit)
    window = np.floor(limit / cells)
    earlier = np.floor((frames - 2) / window)
    lender = frames - 2 - np.floor((limit - np.ceil(last / credit)) / cells)
    lender_windows = np.floor(lender / window)
    t = (frame + gap) / b
    loop = t + 2 * alpha
    wait = loop - window * t
    stall = np.where(wait > 0, earlier, 1.0) * wait
    returned = lender_windows * np.maximum(wait, 0.0)
    returned += loop
    returned += lender * t - (frames - 1) * t
    np.maximum(stall, np.where(lender >= 0, returned, 0.0), out=stall)
    np.maximum(stall, 0.0, out=stall)
    stall *= steps
    latency = stall + steps * (alpha + chunk_time)
    bandwidth = size / latency
    return {
        "collective_latency": latency,
        "bus_bandwidth": bandwidth * (steps / n),
        "algorithm_bandwidth": bandwidth,
        "credit_time": stall,
    }


def one_point(b: float, overhead: float, credit: float, hops: float, n: float, size: float) -> tuple[float, ...]:
    """The same formulas for one point in plain Python."""
    frame, gap = max(1344 + overhead, 64), 20.0
    chunk = math.ceil(size / n)
    frames = math.ceil(chunk / 1344)
    last = max(chunk - (frames - 1) * 1344 + overhead, 64)
    chunk_time = ((frames - 1) * (frame + gap) + last + gap) / b
    first = max(min(chunk, 1344) + overhead, 64)
    alpha = 150 + (5.0 if hops > 0 else 0.0) * (hops + 1) + hops * (500 + min(64.0, first) / b)
    cells = math.ceil(frame / credit)
    window = math.floor(512 / cells)
    t = (frame + gap) / b
    loop = t + 2 * alpha
    wait = loop - window * t
    lender = frames - 2 - math.floor((512 - math.ceil(last / credit)) / cells)
    stall = (math.floor((frames - 2) / window) if wait > 0 else 1) * wait
    if lender >= 0:
        stall = max(stall, loop + math.floor(lender / window) * max(wait, 0.0) + lender * t - (frames - 1) * t)
    stall = max(stall, 0.0) * 2 * (n - 1)
    latency = stall + 2 * (n - 1) * (alpha + chunk_time)
    bandwidth = size / latency
    return latency, bandwidth * 2 * (n - 1) / n, bandwidth, stall


def python_loop(execution: Execution, bandwidths: int) -> list[tuple[float, ...]]:
    """A Python loop over the points of the first few link bandwidths and every hundredth message size."""
    axes = {name: axis.members[name] for name, axis in execution.plan.axes.items()}
    results = []
    for b in axes["link_bandwidth"][:bandwidths].tolist():
        for overhead in FORMATS.values():
            for credit in axes["credit_size"].tolist():
                for hops in axes["switch_hops"].tolist():
                    for n in axes["chip_count"].tolist():
                        for size in axes["message_size"][::100].tolist():
                            results.append(one_point(b, overhead, credit, hops, n, size))
    return results


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> tuple[list[float], list[float]]:
    """Seconds of two works done in turn, after each was done once."""
    seconds(first), seconds(second)
    pairs = [(seconds(first), seconds(second)) for _ in range(rounds)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def measure(size: Size = FULL, rounds: int = 15) -> list[str]:
    """Lines of ratios. What is compared runs in turn; the median over the rounds counts."""
    execution = executions(size)
    arrays = result_arrays(execution)
    made, source, module = execution.plan, execution.source, execution.module
    kernel, filling = alternate(lambda: execution.run(THREADS), lambda: fill(arrays), rounds)
    kernel_new, filling_new = alternate(
        lambda: Execution(made, source, module).run(THREADS), lambda: fill(new_arrays(execution)), rounds
    )
    broadcast = [seconds(lambda: numpy_broadcast(execution)) for _ in range(min(rounds, 3))]
    loops: list[tuple[float, ...]] = []
    loop_time = seconds(lambda: loops.extend(python_loop(execution, 2)))
    per_point = statistics.median(kernel_new) / size.points
    ratio = statistics.median(f / k for f, k in zip(filling, kernel, strict=True))
    fresh = statistics.median(f / k for f, k in zip(filling_new, kernel_new, strict=True))
    numpy_ratio = min(broadcast) / statistics.median(kernel_new)
    rate = size.points / statistics.median(kernel)
    return [
        f"kernel: {size.points} points x {len(OUTPUTS)} outputs on {THREADS} threads, "
        f"{rate / 1e6:.0f} M points/s, {33 * rate / 1e9:.1f} GB/s",
        row("speed of a parallel fill reached, arrays used again", ratio, "0.6"),
        row("speed of a parallel fill reached, new arrays", fresh, "0.6"),
        row("times faster than NumPy broadcasting, new arrays", numpy_ratio, "4"),
        row("times faster than a Python loop over points", loop_time / len(loops) / per_point, "300"),
    ]
