"""How long work goes on: a bar with rate and remaining time on a terminal, nothing in a pipe."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import click

SHOWN_AFTER = 1.0
"""Seconds; shorter work shows no bar."""
PARTS = 10_000


class Bar:
    """A bar on the terminal, if there is one: `add(share, amount)` moves it by a share of the whole, from any thread.

    The rate is that of the amounts, in words made by `rate`.
    """

    def __init__(self, label: str, rate: Callable[[float], str]) -> None:
        self.label = label
        self.rate = rate
        self.lock = threading.Lock()
        self.start: float | None = None
        self.share = self.amount = 0.0
        self.bar: Any = None

    def add(self, share: float, amount: float) -> None:
        """Take note of work that is done. The clock starts with the first note, after what comes before all work."""
        with self.lock:
            if self.start is None:
                self.start = time.time()
            self.share += share
            self.amount += amount
            start = self.start
            if time.time() - start < SHOWN_AFTER or not sys.stderr.isatty():
                return
            if self.bar is None:
                self.bar = click.progressbar(
                    length=PARTS,
                    label=self.label,
                    file=sys.stderr,
                    width=min(30, max(shutil.get_terminal_size().columns - 60, 1)),
                    item_show_func=lambda _: self.rate(self.amount / (time.time() - start)),
                )
                self.bar.start = start
            self.bar.update(min(round(self.share * PARTS), PARTS) - self.bar.pos)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.render_finish()


def rate_text(unit: str) -> Callable[[float], str]:
    """What makes words of a number of points or bytes per second."""

    def text(rate: float) -> str:
        for limit, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if rate >= limit:
                return f"{rate / limit:.3g} {prefix}{' ' * (len(unit) > 1)}{unit}/s"
        return f"{rate:.3g} {unit}/s"

    return text
