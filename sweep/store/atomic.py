"""Files that are whole or absent: a new one is written beside the old one and takes its place at the end."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

SUFFIX = ".partial"


@contextlib.contextmanager
def replacing(path: Path, overwrite: bool) -> Iterator[io.FileIO]:
    """A new file, empty, that takes the place of `path` at the end, when it is on disk.

    Raises FileExistsError if there is a file by then that may not be overwritten. After an error or an interruption
    nothing is left of the new file, and what was there is as it was. What a killed process left of an earlier attempt
    is removed. A link stays a link; an old file's permissions stay.
    """
    path = path.resolve()
    new_folders = [folder for folder in path.parents if not folder.exists()]
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path)
        file, name = locked_file(path)
        with file:
            yield file
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~umask())
            put_in_place(name, path, overwrite)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        for folder in new_folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def put_in_place(name: str, path: Path, overwrite: bool) -> None:
    """Give a file its final name, in one step that no other process can come between."""
    if not overwrite:
        try:
            os.link(name, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        else:
            os.unlink(name)
            return
    os.replace(name, path)


def locked_file(path: Path) -> tuple[io.FileIO, str]:
    """A new file beside `path`, locked so that nobody takes it for abandoned, and its name."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix(path), suffix=SUFFIX)
        file = io.FileIO(handle, "wb+")
        with contextlib.suppress(OSError):  # some file systems know no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:
            return file, name
        file.close()  # another process removed it before it was locked


def remove_abandoned(path: Path) -> None:
    """Remove unfinished files of `path` that no process is writing."""
    for file in path.parent.iterdir():
        if file.name.startswith(prefix(path)) and file.name.endswith(SUFFIX):
            with contextlib.suppress(OSError), file.open("rb+") as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink()


def prefix(path: Path) -> str:
    """How the names of unfinished files of `path` begin."""
    return f".{path.name}."


def umask() -> int:
    """The permissions that new files do not get."""
    current = os.umask(0)
    os.umask(current)
    return current
