"""The models that come with the package, collected into one registry."""

from __future__ import annotations

import importlib
from functools import cache

from sweep.registry import Registry

MODULES = ("packet", "link", "switch", "transfer", "collective", "frame_trace")


@cache
def default_registry() -> Registry:
    """All shipped parameters and quantities. Treat as read-only; `with_file` makes extended copies."""
    return build()


def build() -> Registry:
    """A fresh registry of the shipped models."""
    registry = Registry()
    for name in MODULES:
        registry.add_module(importlib.import_module(f"sweep.models.{name}"))
    registry.check()
    return registry
