"""Choosing from a result of 1e7 points against reading it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sweep
from tests.benchmarks import row

BANDWIDTHS = 50


def grid(bandwidths: int) -> dict[str, object]:
    """1e7 points, where there are 50 bandwidths."""
    return {
        "outputs": ["collective_latency"],
        "axes": {
            "packet_format": ["standard", "afh_gen1", "afh_gen2_16b", "afh_lite"],
            "link_bandwidth": {"linspace": [25, 200, bandwidths]},
            "credit_size": [64, 256, 512, 1024, 2048],
            "switch_hops": {"range": [0, 3]},
            "chip_count": {"range": [2, 51]},
            "message_size": {"geomspace": ["1 KiB", "1 GiB", 50]},
        },
    }


def seconds(work: Callable[[], object]) -> float:
    """Time that some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(bandwidths: int = BANDWIDTHS, rounds: int = 9) -> list[str]:
    """Lines of ratios; what is compared runs in turn. Choosing includes the table, not the reading."""
    from sweep.store.netcdf import read, write
    from sweep.views.select import select, selection_table
    from sweep.views.threshold import threshold, threshold_table

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.nc"
        write(sweep.run(grid(bandwidths)), path)
        dataset = read(path, labels=False).load()

        def reading() -> None:
            with read(path, labels=False) as result:
                result.load()

        works: dict[str, Callable[[], object]] = {
            "select": lambda: selection_table(select(dataset)),
            "select --require ecn": lambda: selection_table(select(dataset, require=["ecn"])),
            "threshold": lambda: threshold_table(threshold(dataset, "collective_latency <= 1 ms", "link_bandwidth")),
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for name, work in works.items():
            work()
            times[name] = [seconds(work) / seconds(reading) for _ in range(rounds)]
    points = dataset["collective_latency"].size
    lines = [row(f"{name}, over reading the file", statistics.median(times[name]), "2") for name in works]
    return [f"choosing from {points} points, median of pairs", *lines]
