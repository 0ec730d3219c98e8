"""Benchmarks: ratios measured in one run. `make bench` prints them; the test suite runs each once, tiny, untimed."""

from __future__ import annotations


def row(what: str, value: float, bar: str) -> str:
    """One figure beside the bar that it is held to."""
    return f"  {what:<64} {value:8.2f}   (bar {bar})"
