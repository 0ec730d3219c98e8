"""The models that come with the package, and those of the user, collected into one registry."""

from __future__ import annotations

import importlib
import linecache
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from sweep.errors import Fault, InputError
from sweep.registry import Registry

MODULES = {
    "sweep.models": (
        *("packet", "capability", "link", "reliability"),
        *("switch", "queueing", "crossbar", "buffer", "transfer", "incast"),
        *("collective", "step_credits", "carried", "tree", "breakdown", "uneven"),
        *("frame_trace", "path", "route", "hierarchy", "cdma"),
    ),
    "sweep.events": (
        "simulation",
        "link",
        "port",
        "crossbar",
        "incast",
        "fabrics",
        "network",
        "congestion",
        "recording",
        "traffic",
    ),
    "sweep.multichip": ("engines", "workload", "prepare", "ways", "hardware", "chips", "records"),
}
"""Files with parameters and quantities, by package."""


@cache
def default_registry() -> Registry:
    """All shipped parameters and quantities."""
    return _collected(())


def extended_registry(files: Sequence[str | Path]) -> Registry:
    """The shipped models and those of some Python files, which are executed. Raises InputError for a bad file."""
    return _collected(files) if files else default_registry()


def _collected(files: Sequence[str | Path]) -> Registry:
    registry = Registry()
    for package, names in MODULES.items():
        for name in names:
            registry.add_module(importlib.import_module(f"{package}.{name}"))
    for file in files:
        registry.add_module(_load(Path(file)))
    registry.check()
    return registry


def _load(path: Path) -> ModuleType:
    """Execute a file as it is now: neither bytecode nor source kept from an earlier version counts."""
    if path.suffix != ".py":
        raise InputError([Fault(str(path), "is not a Python file")])
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError([Fault(str(path), f"cannot be read: {getattr(error, 'strerror', error)}")]) from None
    module = ModuleType(f"sweep_user_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = getattr(error, "lineno", None) or (frames[-1].lineno if frames else 1)
        raise InputError([Fault(f"{path}:{line}", f"{type(error).__name__}: {error}")]) from None
    return module
