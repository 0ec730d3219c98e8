"""Results as NetCDF files: written whole or not at all, read back with labels.

Numbers stand contiguous and uncompressed: measured on results of 8 to 280 MB, zlib halves the file and takes 15 to 24
times as long to write and 5 to 15 times as long to read; chunks cost room and time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import xarray as xr
from xarray.conventions import encode_dataset_coordinates

from sweep.engine.news import ignore
from sweep.errors import Fault, InputError
from sweep.store.atomic import replacing
from sweep.store.target import IN_THE_WAY

TEXT = h5py.string_dtype()
PIECE = 1 << 26
"""Bytes written at once, so that an interruption is answered soon and progress can be shown."""


def write(dataset: xr.Dataset, path: Path, progress: Callable[[int], object] = ignore, overwrite: bool = True) -> None:
    """Write a file that is put in its place once it is whole and on disk.

    `progress` is told the bytes that each piece adds. Raises FileExistsError if there is a file by then and `overwrite`
    is not wanted, InputError where the file cannot be written.
    """
    try:
        with replacing(path, overwrite) as file:
            disk = _Disk(file, progress)
            try:
                with h5netcdf.File(disk, "w") as netcdf:
                    _fill(netcdf, dataset)
            finally:
                if disk.error is not None:  # whatever HDF5 then says comes of it
                    raise disk.error
    except FileExistsError:
        raise
    except OSError as error:
        raise InputError([Fault(str(path), f"cannot be written: {error.strerror or error}")]) from None


def write_new(dataset: xr.Dataset, path: Path, overwrite: bool) -> None:
    """Write a file in whose place there is none, or any with `overwrite`. Raises InputError."""
    try:
        write(dataset, path, overwrite=overwrite)
    except FileExistsError:
        raise InputError([Fault(str(path), IN_THE_WAY)]) from None


def _fill(file: Any, dataset: xr.Dataset) -> None:
    variables, attributes = encode_dataset_coordinates(dataset)
    file.attrs.update(attributes)
    file.dimensions.update(dataset.sizes)
    for name in sorted(variables, key=lambda name: name not in dataset.coords):
        values = variables[name].values
        kind = values.dtype if values.dtype.kind in "iufb" else TEXT
        data = values if kind is not TEXT else values.astype(object)
        file.create_variable(name, variables[name].dims, kind, data=data).attrs.update(variables[name].attrs)


class _Disk(io.RawIOBase):
    """A file for HDF5 to write to, which tells of no error: HDF5 cannot close a file that fails, and crashes Python.

    After the first error, an interruption included, it takes everything and keeps nothing; see `error`. What is read
    back is then zeros: a buffer that stays as it was would be taken for addresses.
    """

    def __init__(self, file: io.FileIO, progress: Callable[[int], object]) -> None:
        self.file = file
        self.progress = progress
        self.error: BaseException | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data)
        size = view.nbytes
        try:
            while self.error is None and view:
                written = self.file.write(view[:PIECE])
                self.progress(written)
                view = view[written:]
        except BaseException as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            if self.error is None:
                self.file.truncate(size)
        except BaseException as error:
            self.error = error
        return size or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        got = 0
        try:
            got = self.file.readinto(buffer) or 0
        except BaseException as error:
            self.error = self.error or error
        view[got:] = bytes(len(view) - got)
        return len(view)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def read(path: Path, labels: bool = True) -> xr.Dataset:
    """Open a result; variables with flags come as labels, or without `labels` as the codes that the file has.

    Raises InputError for what is not a result.
    """
    if not os.path.exists(path):
        raise InputError([Fault(str(path), "there is no such file")])
    if os.path.isdir(path):
        raise InputError([Fault(str(path), "is a folder")])
    try:
        dataset = xr.open_dataset(path, engine="h5netcdf")
    except Exception as error:  # a damaged file makes h5netcdf raise anything
        raise InputError([Fault(str(path), f"is not a NetCDF file: {str(error).partition(chr(10))[0]}")]) from None
    if "sweep" not in dataset.attrs:
        dataset.close()
        raise InputError([Fault(str(path), "is a NetCDF file, but not a result of sweep")])
    if "status" not in dataset:
        dataset.close()
        raise InputError([Fault(str(path), "is damaged: it has no status")])
    if labels:
        try:
            result = dataset.map(with_labels, keep_attrs=True)
        except IndexError:
            raise InputError([Fault(str(path), "is damaged: it has codes without labels")]) from None
        result.set_close(dataset.close)
        dataset = result
    return dataset.drop_encoding()  # kept, it would cut longer labels when they are written


def with_labels(variable: xr.DataArray) -> xr.DataArray:
    """A variable with flags as labels; any other as it is."""
    meanings = variable.attrs.get("flag_meanings")
    if meanings is None or variable.dtype.kind not in "iu":
        return variable
    labels = np.array(meanings.split(), dtype=object)  # all cells share a few texts
    return variable.copy(data=labels[variable.values])
