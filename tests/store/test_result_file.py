"""A result file: what stands in it, how it reads in other libraries, and how it is put in its place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.errors import InputError
from sweep.store import netcdf
from sweep.store.atomic import remove_abandoned, replacing
from tests.conftest import ROOT

GRID = {
    "title": "Größe, 大きさ and a \\ backslash",
    "outputs": ["collective_latency", "limiter", "frame_overhead", "frame_overhead_status", "steps"],
    "axes": {
        "packet_format": ["standard", "afh_lite"],
        "vlan": ["off", "on"],
        "chip_count": [1, 3],
        "base_latency": {"linspace": [0, 1, 11]},
    },
    "zip": {
        "generation": {"label": ["old", "new"], "link_bandwidth": ["25 GB/s", "400 Gb/s"], "credit_limit": [9, 99]}
    },
    "fixed": {"message_size": "1 MiB"},
}


@pytest.fixture(scope="module")
def dataset():
    return sweep.run(GRID)


@pytest.fixture
def path(dataset, tmp_path):
    netcdf.write(dataset, tmp_path / "result.nc")
    return tmp_path / "result.nc"


def test_a_file_reads_as_what_was_written_with_any_engine(dataset, path):
    for options in ({"engine": "h5netcdf"}, {"engine": "netcdf4"}, {}):
        with xr.open_dataset(path, **options) as found:
            xr.testing.assert_identical(found.load(), dataset)


def test_a_file_has_the_same_labels_and_codes_in_netcdf4(dataset, path):
    with netCDF4.Dataset(path) as file:
        assert file["packet_format"][:].tolist() == ["standard", "afh_lite"]
        assert file["generation"][:].tolist() == ["old", "new"]
        meanings = file["limiter"].flag_meanings.split()
        codes = np.ma.filled(file["limiter"][:])
        assert file["limiter"].flag_values.tolist() == list(range(len(meanings)))
        labels = np.array(meanings)[codes]
        assert file["chip_count"].dtype.kind == "i"
        assert file["collective_latency"].units == "ns"
        assert file["limiter"].dimensions == dataset["limiter"].dims
    with sweep.open_result(path) as labelled:
        assert np.array_equal(labelled["limiter"].values, labels)


@pytest.mark.heavy
def test_a_result_is_written_and_read_where_no_other_netcdf_library_is_installed(tmp_path):
    code = (
        "import sys; sys.modules['netCDF4'] = sys.modules['scipy'] = None\n"
        "import sweep, xarray\n"
        "from sweep.cli.main import main\n"
        f"main(['run', {str(ROOT / 'grids' / 'reference' / 'md1.yaml')!r}, '-o', 'x.nc'])\n"
        "assert 'status' in xarray.open_dataset('x.nc')\n"
        "assert 'ok' in sweep.open_result('x.nc').status\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_labels_of_many_points_share_their_texts(path):
    with sweep.open_result(path) as found:
        assert found.limiter.dtype == object
        assert len({id(label) for label in found.limiter.values.ravel()}) <= 9


def test_a_code_without_a_label_is_said_to_be_damage(dataset, tmp_path):
    broken = dataset.copy(deep=True)
    broken.limiter.values[...] = 77
    netcdf.write(broken, tmp_path / "broken.nc")
    with pytest.raises(InputError, match="is damaged: it has codes without labels"):
        sweep.open_result(tmp_path / "broken.nc")


def test_whole_numbers_stay_whole_and_nothing_has_a_fill_value(path):
    with xr.open_dataset(path, engine="h5netcdf") as found:
        assert {found[name].dtype.kind for name in ("chip_count", "status", "limiter", "credit_limit")} == {"i"}
    with h5py.File(path) as file:
        assert not [name for name, variable in file.items() if "_FillValue" in variable.attrs]


def test_no_dimension_is_unlimited_and_the_file_is_hardly_longer_than_its_arrays(dataset, path):
    with h5py.File(path) as file:
        assert all(variable.maxshape == variable.shape for variable in file.values())
    assert path.stat().st_size < dataset.nbytes + 40_000


def test_attributes_are_texts_numbers_and_flags_only(path):
    with h5py.File(path) as file:
        kinds = {type(value) for each in (file, *file.values()) for key, value in each.attrs.items() if key.islower()}
    assert kinds <= {str, np.ndarray}


def test_the_record_is_a_grid_that_gives_the_same_file(dataset, path, tmp_path):
    record = json.loads(dataset.attrs["sweep"])
    assert record["grid"]["fixed"]["line_gap"] == 20
    assert "credit_return_latency" not in record["grid"]["fixed"]
    netcdf.write(sweep.run(record["grid"]), tmp_path / "again.nc")
    with h5py.File(path) as first, h5py.File(tmp_path / "again.nc") as second:
        differing = [name for name in first.attrs if first.attrs[name] != second.attrs[name]]
    assert differing == []
    assert (tmp_path / "again.nc").read_bytes() == path.read_bytes()


@pytest.mark.heavy
def test_another_process_writes_the_same_bytes(path, tmp_path):
    (tmp_path / "grid.json.yaml").write_text(json.dumps(GRID))
    code = "import sys; from sweep.cli.main import main; main(sys.argv[1:])"
    arguments = ["run", tmp_path / "grid.json.yaml", "-o", tmp_path / "other.nc", "--threads", "1"]
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, cwd=ROOT)
    assert (tmp_path / "other.nc").read_bytes() == path.read_bytes()


def test_a_spaced_axis_selects_by_the_numbers_that_people_write(dataset):
    for value in (0.1, 0.3, 0.7):
        assert dataset.sel(base_latency=value).base_latency.item() == value
    with pytest.raises(KeyError):
        dataset.sel(base_latency=0.1 + 0.2)


def test_labels_joined_with_longer_ones_after_reading_are_not_cut(path, tmp_path):
    with sweep.open_result(path) as short:
        longer = short.assign_coords(
            packet_format=["a_very_long_name_of_a_format", "another_name_even_longer_than_that"]
        )
        joined = xr.concat([short, longer], "packet_format", data_vars="all").load()
    netcdf.write(joined, tmp_path / "joined.nc")
    joined.to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    for name in ("joined.nc", "plain.nc"):
        with xr.open_dataset(tmp_path / name, engine="h5netcdf") as found:
            assert found.packet_format.values.tolist() == [*short.packet_format.values, *longer.packet_format.values]
            assert np.array_equal(found.limiter.values, joined.limiter.values)


def test_a_value_that_failed_has_no_label_of_those_that_did_not(path):
    with sweep.open_result(path) as found:
        failed = found.sel(packet_format="afh_lite", vlan="on")
        assert set(np.unique(failed.limiter.sel(chip_count=3))) == {"no_value"}
        assert set(np.unique(failed.status)) == {"infeasible"}
        assert "no_value" not in found.sel(vlan="off").limiter


def test_a_file_that_somebody_reads_keeps_its_content_for_them(dataset, path):
    before = path.read_bytes()
    with path.open("rb") as reader, xr.open_dataset(path, engine="h5netcdf") as lazy:
        netcdf.write(dataset.assign_attrs(title="another"), path)
        assert lazy.title == GRID["title"]
        xr.testing.assert_equal(lazy.load(), dataset)
        assert reader.read() == before
    with xr.open_dataset(path, engine="h5netcdf") as found:
        assert found.title == "another"


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.6, 0.9])
def test_a_disk_that_is_full_at_any_moment_leaves_the_old_file_and_nothing_else(dataset, path, monkeypatch, share):
    class FullDisk:
        def __init__(self, file):
            self.file = file
            self.room = int(share * path.stat().st_size)

        def write(self, data):
            self.room -= len(data)
            if self.room < 0:
                raise OSError(28, "No space left on device")
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    before = path.read_bytes()
    whole = netcdf._Disk
    monkeypatch.setattr(netcdf, "_Disk", lambda file, progress: whole(FullDisk(file), progress))
    with pytest.raises(InputError, match=r"result\.nc: cannot be written: No space left on device"):
        netcdf.write(dataset, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["result.nc"]


FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np, xarray as xr
from sweep.errors import InputError
from sweep.store import netcdf

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
attributes = {"comment": "c" * 200, "flag_values": np.arange(8, dtype="i1")}
variables = {name: (("x", "y"), np.ones((7, 5)), attributes) for name in "abc"}
dataset = xr.Dataset(variables, {"x": np.arange(7), "y": np.array(list("abcde"), object)}, {"sweep": "s" * 1000})
for limit in [*[0] * 20, *range(0, 40_000, 1013)]:
    netcdf.write(dataset, path)
    content = path.read_bytes()
    for engine in ("h5netcdf", "netcdf4"):
        xr.open_dataset(path, engine=engine).load().close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        netcdf.write(dataset, path)
        assert limit >= len(content)
    except InputError as error:
        assert "File too large" in str(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert path.read_bytes() == content
"""


@pytest.mark.heavy
def test_a_limit_reached_at_any_byte_crashes_no_process_that_has_written_and_read_before(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FULL, str(tmp_path / "result.nc")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == ["result.nc"]


def test_an_interruption_while_writing_leaves_the_old_file_and_nothing_else(dataset, path):
    def interrupt(written):
        raise KeyboardInterrupt

    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        netcdf.write(dataset, path, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        netcdf.write(dataset, path.parent / "new" / "folder" / "result.nc", progress=interrupt)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["result.nc"]


def test_progress_is_told_of_every_byte(dataset, tmp_path):
    told = []
    netcdf.write(dataset, tmp_path / "result.nc", progress=told.append)
    assert sum(told) >= dataset.nbytes


def test_what_a_killed_process_left_is_removed_and_what_another_is_writing_is_not(tmp_path):
    path = tmp_path / "result.nc"
    (tmp_path / ".result.nc.abandoned.partial").write_bytes(b"half")
    (tmp_path / ".other.nc.abandoned.partial").write_bytes(b"half")
    with replacing(path, overwrite=True) as file:
        assert not (tmp_path / ".result.nc.abandoned.partial").exists()
        remove_abandoned(path)
        assert len(os.listdir(tmp_path)) == 2
        file.write(b"whole")
    assert sorted(os.listdir(tmp_path)) == [".other.nc.abandoned.partial", "result.nc"]
    assert path.read_bytes() == b"whole"
    assert path.stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022))


def test_a_link_to_a_result_stays_a_link(dataset, path, tmp_path):
    (tmp_path / "link.nc").symlink_to(path)
    netcdf.write(dataset.assign_attrs(title="through the link"), tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    with xr.open_dataset(path, engine="h5netcdf") as found:
        assert found.title == "through the link"


def test_permissions_of_an_old_file_stay(dataset, path):
    path.chmod(0o600)
    netcdf.write(dataset, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_another_run_takes_for_abandoned_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    make = tempfile.mkstemp
    made = []

    def removed_once(**options):
        handle, name = make(**options)
        made.append(name)
        if len(made) == 1:
            os.unlink(name)
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", removed_once)
    with replacing(tmp_path / "result.nc", overwrite=True) as file:
        file.write(b"whole")
    assert len(made) == 2
    assert (tmp_path / "result.nc").read_bytes() == b"whole"


RUN = [sys.executable, "-c", "from sweep.cli.main import console; console()", "run"]
LARGE = """\
outputs: [serialization]
axes:
  message_size: {range: [1, 20000]}
  link_bandwidth: {linspace: [1, 100, 1500]}
"""


@pytest.fixture
def large(tmp_path):
    (tmp_path / "large.yaml").write_text(LARGE)
    (tmp_path / "large.nc").write_text("an old result")
    return tmp_path / "large.yaml"


def started(grid, *options):
    """A process that computes a large grid over an old result."""
    arguments = [*RUN, str(grid), "-o", str(grid.with_suffix(".nc")), "--overwrite", *options]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def wait_until(process, condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def unfinished(folder):
    return [path for path in folder.glob(".large.nc.*.partial") if path.stat().st_size > 0]


@pytest.mark.heavy
def test_a_process_killed_while_it_writes_leaves_the_old_file_and_the_next_one_cleans_up(large, cli):
    process = started(large)
    wait_until(process, lambda: unfinished(large.parent))
    process.kill()
    process.communicate()
    assert (large.parent / "large.nc").read_text() == "an old result"
    large.write_text(LARGE.replace("20000", "20"))
    assert cli("run", large, "-o", large.parent / "large.nc", "--overwrite")[0] == 0
    assert sorted(os.listdir(large.parent)) == ["large.nc", "large.yaml"]


@pytest.mark.heavy
@pytest.mark.parametrize("moment", ["while it compiles", "while it writes"])
def test_a_process_interrupted_says_so_in_a_line_and_leaves_the_old_file(large, tmp_path, monkeypatch, moment):
    monkeypatch.setenv("SWEEP_CACHE_DIR", str(tmp_path / "cache"))
    process = started(large)
    if moment == "while it compiles":
        wait_until(process, (tmp_path / "cache").exists)
    else:
        wait_until(process, lambda: unfinished(tmp_path))
    process.send_signal(2)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    assert messages.splitlines()[-1] == "interrupted; nothing was written"
    assert "Traceback" not in messages
    assert (tmp_path / "large.nc").read_text() == "an old result"
    assert not list(tmp_path.glob(".large*"))


@pytest.mark.heavy
def test_a_limit_on_the_size_of_files_is_one_message(large):
    large.write_text(LARGE.replace("20000", "20"))
    line = f"ulimit -f 100; exec {' '.join(map(repr, RUN))} {large} -o {large.with_suffix('.nc')} --overwrite"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2, done.stderr
    assert "large.nc: cannot be written: File too large" in done.stderr
    assert large.with_suffix(".nc").read_text() == "an old result"
