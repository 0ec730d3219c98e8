"""Results as NetCDF files: written whole or not at all, read back with labels."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sweep.errors import Fault, InputError

_unfinished: list[OSError] = []
"""Errors of failed writes. Their tracebacks hold the HDF5 file: it cannot be closed, and trying to crashes Python."""


def reason(error: OSError) -> str:
    """What the system says of a failed write; HDF5 wraps it into a page of its own."""
    quoted = re.search(r"error message = '([^']*)'", str(error))
    return quoted[1] if quoted else error.strerror or str(error).partition("\n")[0]


def write(dataset: xr.Dataset, path: Path) -> None:
    """Write a file under a temporary name, flush it to disk, then put it in its place. Raises InputError."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        os.close(handle)
        temporary = Path(name)
        floats = [name for name, x in dataset.variables.items() if x.dtype.kind == "f"]
        encoding: dict[Any, dict[str, Any]] = {name: {"_FillValue": None} for name in floats}
        dataset.drop_encoding().to_netcdf(temporary, engine="h5netcdf", format="NETCDF4", encoding=encoding)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        _unfinished.append(error)
        raise InputError([Fault(str(path), f"cannot be written: {reason(error)}")]) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def read(path: Path) -> xr.Dataset:
    """Open a result; variables with flags come as labels. Raises InputError for what is not a result."""
    if not path.exists():
        raise InputError([Fault(str(path), "there is no such file")])
    try:
        dataset = xr.open_dataset(path, engine="h5netcdf")
    except Exception as error:  # a damaged file makes h5netcdf raise anything
        raise InputError([Fault(str(path), f"is not a NetCDF file: {str(error).partition(chr(10))[0]}")]) from None
    if "sweep" not in dataset.attrs:
        dataset.close()
        raise InputError([Fault(str(path), "is a NetCDF file, but not a result of sweep")])
    return dataset.map(with_labels, keep_attrs=True)


def with_labels(variable: xr.DataArray) -> xr.DataArray:
    """A variable with flags as labels; any other as it is."""
    meanings = variable.attrs.get("flag_meanings")
    if meanings is None or variable.dtype.kind not in "iu":
        return variable
    labels = np.array(meanings.split())
    return variable.copy(data=labels[variable.values])
