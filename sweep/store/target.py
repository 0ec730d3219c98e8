"""Where a result goes: what is there already, and whether there is room. Asked before any work is done."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sweep.engine.machine import readable
from sweep.errors import Fault, InputError
from sweep.store.record import differences

IN_THE_WAY = "is there; --overwrite replaces it, -o writes elsewhere"

BESIDE_ARRAYS = 100_000
"""Bytes of a file beside its arrays, generously."""


def check_place(path: Path) -> None:
    """Raise InputError for a path at which there can be no file: something else is there, or the name cannot be."""
    with cannot_be_written(path), contextlib.suppress(FileNotFoundError):
        target = path.resolve()
        if not stat.S_ISREG(os.lstat(target).st_mode):
            raise InputError([Fault(str(path), "is there and not a file")])


def check_new(path: Path, overwrite: bool) -> None:
    """Raise InputError for a path at which there can be no file, or where there is one that is to stay."""
    check_place(path)
    if not overwrite and os.path.lexists(path):
        raise InputError([Fault(str(path), IN_THE_WAY)])
    check_room(path, 0)


def check_room(path: Path, size: int) -> None:
    """Raise InputError if a file of some bytes cannot be made at a path: no folder, no right, no room."""
    with cannot_be_written(path):
        target = path.resolve()
        folder = next(parent for parent in target.parents if os.path.exists(parent))
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{target.name}.", suffix=".probe"):
            pass
        free = shutil.disk_usage(folder).free
    if size + BESIDE_ARRAYS > free:
        room = f"{readable(size + BESIDE_ARRAYS)} are needed and {readable(free)} are free on that disk"
        raise InputError([Fault(str(path), f"{room}; use fewer points or outputs")])


@contextlib.contextmanager
def cannot_be_written(path: Path) -> Iterator[None]:
    """Turns what the system says against a path into an InputError."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links in a circle
        raise InputError([Fault(str(path), f"cannot be written: {getattr(error, 'strerror', error)}")]) from None


def is_up_to_date(path: Path, attributes: Mapping[str, str]) -> bool:
    """Whether a file has the result that these attributes describe; no if there is none.

    Raises InputError for a file with anything else.
    """
    if not os.path.lexists(path):
        return False
    found = attributes_of(path)
    if found is None:
        what = "is there and not a whole result of sweep"
    else:
        different = differences(found, attributes)
        if not different:
            return True
        what = f"has another result (other {', '.join(different)})"
    raise InputError([Fault(str(path), f"{what}; --overwrite replaces it, -o writes elsewhere")])


def attributes_of(path: Path) -> dict[str, Any] | None:
    """Attributes of a result file; None if it is no HDF5 file with a record of sweep in which all else can be read.

    Numbers are not: that would take as long as computing them.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            for variable in file.values():
                dict(variable.attrs)
                if variable.ndim <= 1:
                    variable[()]
            return dict(file.attrs) if "status" in file and "sweep" in file.attrs else None
    except Exception:  # a damaged file makes HDF5 raise anything
        return None
