"""The models that come with the package, and those of the user, collected into one registry."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from sweep.errors import Fault, InputError
from sweep.registry import Registry

MODULES = ("packet", "link", "switch", "transfer", "collective", "tree", "breakdown", "frame_trace")


@cache
def default_registry() -> Registry:
    """All shipped parameters and quantities."""
    return extended_registry(())


def extended_registry(files: Sequence[str | Path]) -> Registry:
    """The shipped models and those of some Python files, which are executed. Raises InputError for a bad file."""
    registry = Registry()
    for name in MODULES:
        registry.add_module(importlib.import_module(f"sweep.models.{name}"))
    for file in files:
        registry.add_module(_load(Path(file)))
    registry.check()
    return registry


def _load(path: Path) -> ModuleType:
    name = f"sweep_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path) if path.suffix == ".py" else None
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError([Fault(str(path), "is not a Python file")])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except InputError:
        raise
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = getattr(error, "lineno", None) or (frames[-1].lineno if frames else 1)
        raise InputError([Fault(f"{path}:{line}", f"{type(error).__name__}: {error}")]) from None
    return module
