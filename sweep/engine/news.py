"""Who wants to hear how work goes: functions that are told a line, or how many points of a nest were finished."""

from __future__ import annotations

from collections.abc import Callable

Announce = Callable[[str], None]
Progress = Callable[[str, int], None]


def ignore(*news: object) -> None:
    """Listen and do nothing."""
