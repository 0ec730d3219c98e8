from __future__ import annotations

import json
import re
import subprocess
import sys

import netCDF4
import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.errors import InputError
from tests.conftest import ROOT

GRID = """\
title: A small grid
outputs: [collective_latency, bus_bandwidth, limiter, payload_efficiency, frame_delivery]
axes:
  packet_format: [standard, afh_lite]
  chip_count: [1, 2, 8]
  message_size: [0, 1 B, 1 MiB]
fixed: {credit_size: 2048, credit_limit: 4, cdma_issue: streaming}
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(GRID)
    return tmp_path / "small.yaml"


@pytest.fixture
def result(grid, cli):
    code, _, messages = cli("run", "small.yaml")
    assert code == 0, messages
    return grid.parent / "results" / "small.nc"


def test_run_writes_a_labelled_result_and_names_what_is_not_used(grid, cli):
    code, output, messages = cli("run", "small.yaml")
    assert code == 0
    assert re.search(r"^18 points x 5 outputs in .* s, written in .* s to results/small.nc$", output, re.M)
    assert "not used by these outputs: cdma_issue" in messages
    with xr.open_dataset("results/small.nc", engine="h5netcdf") as dataset:
        assert dataset.collective_latency.dims == ("packet_format", "chip_count", "message_size")
        assert dataset.payload_efficiency.dims == ("packet_format", "message_size")
        assert dataset.frame_delivery.dims == ("packet_format", "message_size", "quantile")
        assert dataset.packet_format.values.tolist() == ["standard", "afh_lite"]
        assert dataset.chip_count.dtype.kind == "i"
        assert dataset.collective_latency.attrs["units"] == "ns"
        assert dataset.collective_latency.attrs["comment"].startswith("Time of the collective")
        assert dataset.limiter.attrs["flag_meanings"].split()[:2] == ["none", "wire"]
        record = json.loads(dataset.attrs["sweep"])
        assert record["grid"]["fixed"]["credit_size"] == 2048
        assert set(record) == {"grid", "presets", "files", "model_digest"}


def test_a_result_opens_in_netcdf4_with_the_same_numbers(result):
    with netCDF4.Dataset(result) as file, xr.open_dataset(result, engine="h5netcdf") as dataset:
        assert np.array_equal(file["collective_latency"][:].filled(np.nan), dataset.collective_latency, equal_nan=True)
        assert file["packet_format"][:].tolist() == ["standard", "afh_lite"]


def test_open_result_reads_flags_as_labels(result):
    with sweep.open_result(result) as dataset:
        assert dataset.limiter.sel(chip_count=1, message_size=0, packet_format="standard").item() == "none"
        assert dataset.status.sel(chip_count=8, message_size=0, packet_format="standard").item() == "undefined"
        assert dataset.status.sel(chip_count=8, message_size=2**20, packet_format="standard").item() == "ok"


def test_the_status_of_one_output_is_there_for_who_asks(grid, cli):
    grid.write_text(GRID.replace("limiter,", "limiter, bus_bandwidth_status,"))
    assert cli("run", "small.yaml")[0] == 0
    with sweep.open_result("results/small.nc") as dataset:
        assert dataset.bus_bandwidth_status.dims == dataset.bus_bandwidth.dims
        point = dataset.sel(packet_format="afh_lite", chip_count=8, message_size=0)
        assert (point.bus_bandwidth_status.item(), point.status.item()) == ("ok", "undefined")


def test_the_same_grid_gives_the_same_bytes(grid, cli):
    assert cli("run", "small.yaml", "-o", "a.nc")[0] == 0
    assert cli("run", "small.yaml", "-o", "b.nc", "--threads", "1")[0] == 0
    assert (grid.parent / "a.nc").read_bytes() == (grid.parent / "b.nc").read_bytes()


def test_wrong_input_exits_with_2_and_leaves_nothing(grid, cli):
    grid.write_text(GRID.replace("chip_count", "chip_cuont"))
    code, output, messages = cli("run", "small.yaml")
    assert (code, output) == (2, "")
    assert "small.yaml:5:3: there is no parameter 'chip_cuont'; did you mean 'chip_count'?" in messages
    assert [path.name for path in grid.parent.iterdir()] == ["small.yaml"]


def test_points_over_budget_are_counted_and_exit_with_1(grid, cli):
    grid.write_text("outputs: [traced_link_latency]\naxes: {message_size: [1 KiB, 1 TiB]}\n")
    code, output, _ = cli("run", "small.yaml")
    assert code == 1
    assert "1 point has status budget" in output
    with sweep.open_result("results/small.nc") as dataset:
        assert dataset.status.values.tolist() == ["ok", "budget"]


def test_explain_shows_graph_and_kernel(grid, cli):
    code, output, _ = cli("explain", "small.yaml")
    assert code == 0
    assert "collective_latency [ns] <- latency_of_even_steps(chip_count, alpha_count" in output
    assert "for i_message_size in range(start_message_size, stop_message_size):" in output
    assert "cdma_issue" not in output


def test_show_summarises_a_result(result, cli):
    code, output, _ = cli("show", result)
    assert code == 0
    assert output.startswith("A small grid\n")
    assert re.search(r"status +undefined 55.6 %, ok 44.4 %", output)


def test_a_summary_is_wrapped_to_a_hundred_columns_whatever_its_title_and_labels(grid, cli):
    columns = "header: 6, vlan_tag: 4, icrc: 0, fcs: 4, ecn: never, pfc_class: never, qos: never, retry: never"
    formats = "{" + ", ".join(f"a_rather_long_name_of_a_format_{i}: {{{columns}}}" for i in "1234") + "}"
    labels = ", ".join(f"a_rather_long_name_of_a_format_{i}" for i in "1234")
    grid.write_text(
        f"title: {'A title of many words ' * 20}\noutputs: [frame_overhead]\n"
        f"axes: {{packet_format: [{labels}]}}\nfixed: {{packet_formats: {formats}}}\n"
    )
    assert cli("run", "small.yaml")[0] == 0
    _, shown, _ = cli("show", "results/small.nc")
    assert max(map(len, shown.splitlines())) <= 100
    assert all(f"a_rather_long_name_of_a_format_{i}" in shown for i in "1234")


def test_a_quantity_without_a_formula_for_the_choices_is_explained(grid, cli):
    grid.write_text("outputs: [collective_latency]\nfixed: {collective: all_to_all, algorithm: tree}\n")
    assert "steps: no formula for these choices" in cli("explain", "small.yaml", "--graph")[1]


@pytest.mark.parametrize("threads", [0, -1, "two", 1.5])
def test_a_wrong_number_of_threads_is_refused(threads, cli):
    with pytest.raises(InputError, match="threads: a whole number from 1"):
        sweep.run({"outputs": ["steps"]}, threads=threads)


@pytest.mark.parametrize("command", ["show", "plot"])
def test_a_file_that_is_no_result_is_one_message(grid, cli, command):
    for name, what in (("none.nc", "no such file"), ("small.yaml", "not a NetCDF file"), ("x" * 300, "no such file")):
        code, _, messages = cli(command, name)
        assert code == 2
        assert what in messages


def test_a_users_formula_is_an_output_with_units_and_its_own_axes(cli, tmp_path):
    model = ROOT / "grids" / "energy.py"
    _, listing, _ = cli("outputs", "energy", "--with", model)
    assert listing == "collective_energy  uJ\n    Energy that all chips spend on the wire in one collective.\n"
    code, _, _ = cli("run", ROOT / "grids" / "energy.yaml", "--with", model, "-o", tmp_path / "energy.nc")
    assert code == 0
    with sweep.open_result(tmp_path / "energy.nc") as dataset:
        energy = dataset.collective_energy
        assert energy.dims == ("packet_format", "wire_energy", "message_size")
        assert energy.attrs["units"] == "uJ"
        assert dataset.collective_latency.dims == ("packet_format", "message_size")
        small = energy.sel(packet_format="afh_lite", wire_energy=5, message_size=1024).item()
        assert small == pytest.approx(8 * 14 * (128 + 16 + 20) * 8 * 5e-6, rel=1e-12)


def test_an_unknown_command_names_the_nearest(cli):
    code, _, messages = cli("rnu")
    assert code == 2
    assert "did you mean 'run'" in messages


@pytest.mark.heavy
def test_help_imports_nothing_heavy():
    code = "import sys; from sweep.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'numba', 'xarray', 'matplotlib', 'yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
