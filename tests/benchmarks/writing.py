"""Writing a result against xarray writing the same variables with the same encoding."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sweep
from tests.benchmarks import row

SMALL = 141
LARGE = 5000
"""Message sizes; the larger result has 15.4 M points and 276 MB."""


def grid(sizes: int) -> dict[str, object]:
    return {
        "outputs": ["collective_latency", "bus_bandwidth", "payload_efficiency", "limiter"],
        "axes": {
            "link_bandwidth": [25, 50, 100, 200],
            "packet_format": ["standard", "afh_gen1", "afh_gen2_16b", "afh_lite"],
            "credit_size": [32, 64, 128, 256, 1024, 2048],
            "switch_hops": {"range": [0, 3]},
            "chip_count": {"powers_of_two": [2, 256]},
            "message_size": {"geomspace": ["64 KiB", "1 GiB", sizes]},
        },
    }


def seconds(path: Path, write: Callable[[], object]) -> float:
    """Time until a new file is written and on disk."""
    path.unlink(missing_ok=True)
    start = time.perf_counter()
    write()
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    return time.perf_counter() - start


def ratio(sizes: int, rounds: int) -> tuple[float, float, int]:
    """Median over pairs of our time over that of xarray, the median of our times, and the bytes of the file."""
    from sweep.store.netcdf import write

    dataset = sweep.run(grid(sizes))
    plain = {name: {"_FillValue": None} for name, x in dataset.variables.items() if x.dtype.kind == "f"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.nc"

        def ours() -> float:
            return seconds(path, lambda: write(dataset, path))

        def theirs() -> float:
            return seconds(path, lambda: dataset.to_netcdf(path, engine="h5netcdf", encoding=plain))

        ours(), theirs()
        pairs = [(ours(), theirs()) for _ in range(rounds)]
        ours()
        size = path.stat().st_size
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs), size


def measure(large: int = LARGE, rounds: int = 7) -> list[str]:
    """Lines of ratios; what is compared runs in turn."""
    lines = []
    for name, sizes in (("small", SMALL), ("large", large)):
        share, ours, size = ratio(sizes, rounds)
        lines.append(row(f"{name} result, {size / 1e6:.0f} MB in {ours:.2f} s, over plain xarray", share, "1.3"))
    return ["writing: to disk, flushed, median of pairs", *lines]
