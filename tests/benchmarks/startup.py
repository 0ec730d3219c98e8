"""Whole commands against the imports that they cannot do without."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks import row

GRID = """\
outputs: [collective_latency, bus_bandwidth, payload_efficiency, limiter]
axes:
  link_bandwidth: [25, 50, 100, 200]
  packet_format: [standard, afh_gen1, afh_gen2_16b, afh_lite]
  credit_size: [64, 256, 1024]
  switch_hops: {range: [0, 3]}
  chip_count: {powers_of_two: [2, 256]}
  message_size: {geomspace: [1 KiB, 1 GiB, 61]}
"""
IMPORTS = "import numpy, numba, xarray, h5netcdf"


def wall(arguments: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(arguments, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def measure(rounds: int = 11) -> list[str]:
    """Lines of ratios of whole processes, run in turn; the median of the pairs counts."""
    sweep = str(Path(sys.executable).with_name("sweep"))
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder) / "grid.yaml"
        grid.write_text(GRID)
        run = [sweep, "run", str(grid), "-o", str(Path(folder) / "result.nc"), "--overwrite"]
        environment = {**os.environ, "SWEEP_CACHE_DIR": str(Path(folder) / "cache")}
        first = wall(run, environment)
        commands = {
            "run": run,
            "imports": [sys.executable, "-c", IMPORTS],
            "help": [sweep, "--help"],
            "python": [sys.executable, "-c", "pass"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(wall(command, environment))
    over_imports = statistics.median(a / b for a, b in zip(times["run"], times["imports"], strict=True))
    over_python = statistics.median(a - b for a, b in zip(times["help"], times["python"], strict=True))
    return [
        f"start-up: a grid of 93696 points, median of {rounds} pairs of processes",
        row("warm `sweep run` over importing numpy, numba, xarray, h5netcdf", over_imports, "1.6"),
        row("`sweep --help` over bare Python, s", over_python, "0.15"),
        row("first run ever, compiling, s", first, "15"),
    ]
