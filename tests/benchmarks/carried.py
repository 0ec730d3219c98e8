"""Credits carried from step to step: the extrapolation against the plain recurrence, both compiled, one thread."""

from __future__ import annotations

import statistics

import numba
import numpy as np

import sweep
from sweep.api import plan
from sweep.engine.execute import Execution
from sweep.engine.kernelcache import load_kernel
from sweep.engine.loopnest import write_kernel
from sweep.engine.news import ignore
from tests.benchmarks import row
from tests.benchmarks.kernel import alternate

CHIPS = (8, 16, 32, 64, 128, 256)
CREDITS = (32, 64, 128, 256, 512)


def grid(messages: int) -> dict:
    """Ring all-reduces through one switch, with credits that suffice and credits that do not."""
    return {
        "outputs": ["credit_time"],
        "axes": {
            "credit_limit": list(CREDITS),
            "chip_count": list(CHIPS),
            "message_size": {"geomspace": ["64 KiB", "64 MiB", messages]},
        },
        "fixed": {"credit_scope": "carried", "switch_hops": 1, "link_bandwidth": 100},
    }


@numba.njit(nogil=True, error_model="numpy")
def plain(out, credit_limits, chip_counts, message_sizes):
    """Every frame of every step of the same points."""
    alpha = 150 + 10 + 500 + 0.64
    frame_time = 14.22
    due = np.empty(32768)
    taken = np.empty(32768)
    for c in range(credit_limits.size):
        for n in range(chip_counts.size):
            for m in range(message_sizes.size):
                chunk = np.ceil(message_sizes[m] / chip_counts[n])
                frames = int(np.ceil(chunk / 1344))
                last = max(chunk - (frames - 1) * 1344 + 58, 64.0)
                first = max(min(chunk, 1344.0) + 58, 64.0)
                own_alpha = alpha - 0.64 + min(first, 64.0) / 100
                free = credit_limits[c]
                oldest = newest = 0
                clock = waited = 0.0
                for _ in range(2 * int(chip_counts[n] - 1)):
                    for i in range(frames):
                        need = np.ceil(last / 256) if i == frames - 1 else 6.0
                        idle = clock
                        while free < need:
                            clock = max(clock, due[oldest % 32768])
                            free += taken[oldest % 32768]
                            oldest += 1
                        waited += clock - idle
                        clock += (last + 20) / 100 if i == frames - 1 else frame_time
                        due[newest % 32768] = clock + 2 * own_alpha
                        taken[newest % 32768] = need
                        newest += 1
                        free -= need
                    clock += own_alpha
                out[c, n, m] = waited


def measure(messages: int = 81, rounds: int = 7) -> list[str]:
    """Lines of figures: points per second, and the ratio to the plain recurrence."""
    made = plan(sweep.load_grid(grid(messages)))
    source = write_kernel(made)
    execution = Execution(made, source, load_kernel(source.text, ignore))
    axes = {name: axis.members[name] for name, axis in made.axes.items()}
    out = np.empty(tuple(axis.size for axis in made.axes.values()))
    arguments = [np.asarray(axes[name], float) for name in ("credit_limit", "chip_count", "message_size")]
    short, long = alternate(lambda: execution.run(1), lambda: plain(out, *arguments), rounds)
    np.testing.assert_allclose(execution.arrays["out_credit_time"], out, rtol=1e-9, atol=1e-6)
    ratio = statistics.median(b / a for a, b in zip(short, long, strict=True))
    per_point = statistics.median(short) / out.size * 1e6
    return [
        f"carried credits: {out.size} points on one thread, {per_point:.2f} us per point",
        row("times faster than the plain recurrence over all frames", ratio, "1"),
    ]
