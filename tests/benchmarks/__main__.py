"""Prints all ratios: `python -m tests.benchmarks [kernel] [carried] [startup] [writing]`."""

from __future__ import annotations

import sys

from tests.benchmarks import carried, kernel, startup, writing

PARTS = {
    "kernel": kernel.measure,
    "carried": carried.measure,
    "startup": startup.measure,
    "writing": writing.measure,
}

for name in sys.argv[1:] or PARTS:
    print("\n".join(PARTS[name]()), flush=True)
