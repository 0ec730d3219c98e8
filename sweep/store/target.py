"""Where a result goes: what is there already, whether there is room, and a new file that takes its place when whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from sweep.engine.machine import readable
from sweep.errors import Fault, InputError
from sweep.store.record import differences

ROOM = 1_000_000
"""Bytes of a file beside its arrays, generously."""
SUFFIX = ".partial"


def is_up_to_date(path: Path, attributes: Mapping[str, str], overwrite: bool) -> bool:
    """Whether a file has the result that these attributes describe.

    Raises InputError for anything else that is there, unless it is a file and may be overwritten.
    """
    if not os.path.lexists(path):
        return False
    if not path.is_file():
        raise InputError([Fault(str(path), "is there and not a file")])
    if overwrite:
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
    """Attributes of a result file; None if it is no whole HDF5 file with a record of sweep."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return dict(file.attrs) if "sweep" in file.attrs else None
    except (OSError, RuntimeError, ValueError):
        return None


def check_folder(path: Path, size: int) -> None:
    """Raise InputError if a file of some bytes cannot be made at a path: no folder, no right, no room."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=prefix(path), suffix=SUFFIX):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise InputError([Fault(str(path), f"cannot be written: {folder}: {error.strerror}")]) from None
    if size + ROOM > free:
        room = f"{readable(size)} are needed and {readable(free)} are free on that disk"
        raise InputError([Fault(str(path), f"{room}; use fewer points or outputs")])


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file, empty, that takes the place of `path` at the end, when it is on disk.

    After an error or an interruption nothing is left of it, and what was there is as it was. What a killed process
    left of an earlier attempt is removed.
    """
    path = path.resolve()
    new_folders = [folder for folder in path.parents if not folder.exists()]
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix(path), suffix=SUFFIX)
        with open(handle, "wb+", buffering=0) as file:
            with contextlib.suppress(OSError):  # some file systems know no locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~umask())
            os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        for folder in new_folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def prefix(path: Path) -> str:
    """How the names of unfinished files of a result begin."""
    return f".{path.name}."


def remove_abandoned(path: Path) -> None:
    """Remove unfinished files of a result that no process is writing."""
    for file in path.parent.iterdir():
        if file.name.startswith(prefix(path)) and file.name.endswith(SUFFIX):
            with contextlib.suppress(OSError), file.open("rb+") as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink()


def umask() -> int:
    """The permissions that new files do not get."""
    current = os.umask(0)
    os.umask(current)
    return current
