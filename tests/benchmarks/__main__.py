"""Prints all ratios: `python -m tests.benchmarks [kernel] [carried] [startup] [writing] [choosing]`."""

from __future__ import annotations

import sys

from tests.benchmarks import carried, choosing, kernel, startup, writing

PARTS = {
    "kernel": kernel.measure,
    "carried": carried.measure,
    "startup": startup.measure,
    "writing": writing.measure,
    "choosing": choosing.measure,
}

for name in sys.argv[1:] or PARTS:
    print("\n".join(PARTS[name]()), flush=True)
