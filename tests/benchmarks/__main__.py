"""Prints all ratios: `python -m tests.benchmarks [kernel] [carried] [startup] [writing] [choosing] [events]`."""

from __future__ import annotations

import sys

from tests.benchmarks import carried, choosing, events, kernel, startup, writing

PARTS = {
    "kernel": kernel.measure,
    "carried": carried.measure,
    "startup": startup.measure,
    "writing": writing.measure,
    "choosing": choosing.measure,
    "events": events.measure,
}

for name in sys.argv[1:] or PARTS:
    print("\n".join(PARTS[name]()), flush=True)
