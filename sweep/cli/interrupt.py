"""Ctrl-C, and the request of a batch system to stop."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

received: list[int] = []
"""Signals that came, in order."""


def listen() -> None:
    """Let both signals stop the command where it stands; signals that the shell wants ignored stay so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    sys.unraisablehook = _without_interrupts


def check() -> None:
    """Raise KeyboardInterrupt if a signal came: callbacks of libraries swallow the exception that it raised then."""
    if received:
        raise KeyboardInterrupt


def exit_code() -> int:
    """128 and the number of the signal, as shells have it."""
    return 128 + received[0] if received else 130


def _stop(number: int, frame: FrameType | None) -> None:
    received.append(number)
    raise KeyboardInterrupt


def _without_interrupts(unraisable: Any) -> None:
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
