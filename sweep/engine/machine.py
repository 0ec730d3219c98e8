"""What the machine has to give."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
MEMINFO = Path("/proc/meminfo")


def available_memory() -> int:
    """Bytes that can be allocated without swapping: what the system has free, less where a container allows less."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError, IndexError):
        line = next(line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
        limits.append(int(line.split()[1]) * 1024)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        with contextlib.suppress(OSError, ValueError):
            limits.append(limit - int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE"))
    for group in control_groups():
        with contextlib.suppress(OSError, ValueError):
            limit = int((group / "memory.max").read_text())
            limits.append(limit - int((group / "memory.current").read_text()) + reclaimable(group))
    return max(min(limits), 0)


def control_groups() -> list[Path]:
    """The control groups of this process, each of which may limit its memory: its own and those above it."""
    try:
        own = next(line[3:] for line in OWN_CGROUP.read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return [CGROUPS]
    group = CGROUPS / own.strip("/")
    return [group, *(parent for parent in group.parents if parent.is_relative_to(CGROUPS))]


def reclaimable(group: Path) -> int:
    """Bytes of a control group's memory that hold files, and are given back when they are needed."""
    with contextlib.suppress(OSError, ValueError):
        fields = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(fields.get("inactive_file", 0)) + int(fields.get("active_file", 0))
    return 0


def readable(size: float) -> str:
    """Bytes, short."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
