"""What goes wrong, said once and in one form: where, what, what is allowed, and the nearest right name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PLACE = re.compile(r"(.*):(\d+):(\d+)", re.S)
"""A place in a file."""


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


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """The first fault of each place; those of a file by line and column, files in the order in which they come up.

    A second fault at one place of a file follows from the first; options and paths into a dict may have several.
    """
    first: dict[object, Fault] = {}
    for fault in faults:
        first.setdefault(fault.where if PLACE.fullmatch(fault.where) else fault, fault)
    files = list(dict.fromkeys(_place(fault)[0] for fault in first.values()))

    def position(fault: Fault) -> tuple[int, int, int]:
        file, line, column = _place(fault)
        return files.index(file), line, column

    return sorted(first.values(), key=position)


def _place(fault: Fault) -> tuple[str, int, int]:
    """File, line and column of a fault; what else names its place stands for a file."""
    place = PLACE.fullmatch(fault.where)
    return (place[1], int(place[2]), int(place[3])) if place else (fault.where, 0, 0)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: '; did you mean X?', or nothing where nothing is near."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def not_one_of(name: str, known: Sequence[str]) -> str:
    """A message about a name that is not known, with those that are and the nearest one."""
    return f"{name!r} is not one of {', '.join(known)}{nearest(name, known)}"
