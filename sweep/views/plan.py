"""A plan in words: what a grid would compute, how long that takes, which points will have no value and why."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sweep.engine.estimate import estimate
from sweep.engine.forecast import Forecast, forecast
from sweep.engine.kernelcache import is_compiled
from sweep.engine.loopnest import write_kernel
from sweep.engine.machine import available_memory, readable
from sweep.engine.plan import Plan
from sweep.grid.reader import Grid


def plan_text(grid: Grid, plan: Plan) -> str:
    """All that is known before computing."""
    return "\n".join(_lines(grid, plan))


def _lines(grid: Grid, plan: Plan) -> Iterator[str]:
    points = plan.points(plan.status_dims)
    yield grid.title
    yield ""
    yield f"{number(points, 'point')}, {readable(plan.result_bytes(grid.statuses))}"
    yield ""
    yield from _table(grid, plan)
    yield ""
    known = forecast(plan)
    yield from _failures(known, points)
    yield from _effort(grid, plan, known)


def _table(grid: Grid, plan: Plan) -> Iterator[str]:
    for axis in grid.axes:
        members = "" if axis.name in axis.members else f"  ({', '.join(axis.members)})"
        yield f"  axis    {axis.name:<24} {axis.size:>8}{members}"
    rows = [(name, plan.output_bytes(name), (*plan.dims[name], *plan.extra_dims(name))) for name in grid.outputs]
    rows += [(f"{name}_status", plan.points(plan.dims[name]), plan.dims[name]) for name in grid.statuses]
    rows.append(("status", plan.points(plan.status_dims), plan.status_dims))
    for name, size, dims in rows:
        shown = "all axes" if dims == tuple(plan.axes) and len(dims) > 1 else ", ".join(dims) or "no axis"
        yield f"  output  {name:<24} {readable(size):>8}  ({shown})"


def _failures(known: Forecast, points: int) -> Iterator[str]:
    for failure in known.failures:
        share = f"{100 * failure.points / points:.3g} %"
        count = str(failure.points) if known.exact else f"about {failure.points:.2g}"
        yield f"{failure.status}: {count} {'points' if failure.points != 1 else 'point'} ({share}): {failure.reason}"
    for reason in known.unknown:
        yield f"not known before the run: {reason}"
    if not known.failures:
        looked_at = "no point" if known.exact else "as far as is known, no point"
        yield f"{looked_at} is infeasible, unstable or over budget"


def _effort(grid: Grid, plan: Plan, known: Forecast) -> Iterator[str]:
    threads = os.cpu_count() or 1
    source = write_kernel(plan, grid.statuses)
    effort = estimate(plan, source, known, plan.result_bytes(grid.statuses), threads)
    compiling = "" if is_compiled(source.text) else f"{seconds(effort.compile)} to compile, once; "
    work = f"{number(len(plan.nests), 'loop nest')} in {number(effort.blocks, 'block')} on {number(threads, 'thread')}"
    yield f"about {compiling}{seconds(effort.compute)} to compute ({work}), {seconds(effort.write)} to write"
    if effort.uncounted:
        yield f"not counted: the loops of {', '.join(effort.uncounted)}, which do not declare their steps"
    needed, available = plan.needed_bytes(grid.statuses), available_memory()
    if needed > available:
        yield f"memory: {readable(needed)} are needed and {readable(available)} available; sweep run will refuse"


def number(count: int, what: str) -> str:
    """How many there are of something."""
    return f"{count} {what}{'s' * (count != 1)}"


def seconds(value: float) -> str:
    """A duration, rounded to what an estimate can say."""
    for limit, unit, factor in ((1e-1, "ms", 1e3), (100, "s", 1), (6000, "min", 1 / 60), (360000, "h", 1 / 3600)):
        if value < limit:
            return f"{max(float(f'{value * factor:.1g}'), 1 if unit == 'ms' else 0):g} {unit}"
    return f"{float(f'{value / 86400:.2g}'):.0f} days"
