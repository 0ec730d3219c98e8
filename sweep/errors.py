"""What goes wrong, said once and in one form: where, what, what is allowed, and the nearest right name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: `where` is file:line:column or the name of an option; `what` is a sentence."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class SweepError(Exception):
    """Base of everything that this package raises on purpose."""


class InputError(SweepError):
    """What the user gave cannot be used; holds every fault that was found. Exit code 2."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: '; did you mean X?', or nothing where nothing is near."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""
