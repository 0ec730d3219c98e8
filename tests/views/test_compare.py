"""Two results side by side, matched by labels and values."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.errors import InputError
from sweep.registry import STATUSES
from sweep.store.dataset import flags
from sweep.views.compare import compare, comparison_table
from tests.conftest import ROOT

pytestmark = pytest.mark.heavy

GRID = {
    "outputs": ["collective_latency", "bus_bandwidth", "limiter"],
    "axes": {
        "packet_format": ["standard", "afh_gen1", "afh_lite"],
        "chip_count": [1, 2, 8],
        "message_size": [1024, 65536, 2**20],
    },
}


def moved(**changes):
    """The grid with other axes."""
    return sweep.run({**GRID, "axes": {**GRID["axes"], **changes}})


@pytest.fixture(scope="module")
def base():
    return sweep.run(GRID)


def test_a_result_does_not_differ_from_itself(base):
    found = compare(base, base)
    for name in ("collective_latency", "bus_bandwidth"):
        values = found[f"{name}_difference"].values
        assert (values[np.isfinite(values)] == 0).all()
    assert not found.limiter_changed.any()
    assert not found.status_changed.any()
    assert "none in" in "\n".join(comparison_table(found))


def test_differences_are_percent_of_the_first(base):
    other = sweep.run({**GRID, "fixed": {"base_latency": 300}})
    found = compare(base, other)
    expected = (other.collective_latency / base.collective_latency - 1) * 100
    there = base.collective_latency.values > 0
    assert np.allclose(found.collective_latency_difference.values[there], expected.values[there], rtol=1e-12)
    assert (found.collective_latency_difference.values[~there] == 0).all()  # one chip: 0 ns in both
    assert np.isnan(found.bus_bandwidth_difference.sel(chip_count=1)).all()  # undefined in both
    assert np.array_equal(found.limiter_changed.values == 1, base.limiter.values != other.limiter.values)


def test_points_are_matched_by_label_and_value_whatever_their_order(base):
    other = moved(packet_format=["afh_lite", "afh_gen2_16b", "standard"], message_size=[2**20, 4096, 1024])
    found = compare(base, other)
    assert set(found.packet_format.values) == {"standard", "afh_lite"}
    assert set(found.message_size.values) == {1024, 2**20}
    assert (found.collective_latency_difference == 0).all()


def made(values, **members):
    values = np.asarray(values, float)
    coordinates = {name: ("gen", np.asarray(each)) for name, each in members.items()}
    variables = {"time": (("gen",), values, {"units": "ns"}), "status": ((), 0, flags(STATUSES))}
    return xr.Dataset(variables, {"gen": np.arange(values.size), **coordinates}, {"title": "t", "sweep": "{}"})


def test_what_grows_from_nothing_or_without_end_is_the_worst():
    found = compare(made([0, 10, 10, 0]), made([5, 11, np.inf, 0]))
    assert found.time_difference.values.tolist() == [np.inf, pytest.approx(10), np.inf, 0]
    lines = "\n".join(comparison_table(found))
    assert "3 of 4 cells" in lines
    assert "2 from 0 or to inf" in lines
    assert lines.index("+inf %  (gen 0)") < lines.index("+inf %  (gen 2)") < lines.index("+10 %  (gen 1)")


def test_zipped_dimensions_are_matched_by_the_values_along_them():
    one = made([1, 2], link_bandwidth=[25, 50], switch_fixed=[0, 300])
    found = compare(one, made([2, 1], link_bandwidth=[50, 25], switch_fixed=[300, 0]))
    assert (found.time_difference == 0).all()
    assert sorted(found.gen.values) == ["25, 0", "50, 300"]
    found = compare(one, made([3, 9, 1], link_bandwidth=[50, 75, 25], switch_fixed=[300, 0, 0]))
    assert found.time_difference.sel(gen="50, 300") == pytest.approx(50)
    assert found.sizes["gen"] == 2
    assert compare(one, one).gen.values.tolist() == [0, 1]
    with pytest.raises(InputError, match="gen has link_bandwidth in one result and hops in the other"):
        compare(made([1], link_bandwidth=[25]), made([1], hops=[25]))


def test_the_worst_cells_come_first(base):
    lines = comparison_table(compare(base, sweep.run({**GRID, "fixed": {"credit_limit": 12}})))
    start = next(i for i, line in enumerate(lines) if "collective_latency_difference" in line)
    sizes = [abs(float(line.split("%")[0])) for line in lines[start + 1 : start + 6] if line.startswith("    ")]
    assert len(sizes) > 1
    assert sizes == sorted(sizes, reverse=True)


def test_a_cell_with_a_value_in_one_of_them_only_is_named(base):
    found = compare(base, sweep.run({**GRID, "fixed": {"vlan": "on"}}))
    changed = found.status_changed.sel(packet_format="afh_lite")
    assert changed.sel(chip_count=[2, 8]).all()
    assert not found.status_changed.sel(packet_format="standard").any()
    assert np.isnan(found.collective_latency_difference.sel(packet_format="afh_lite", chip_count=8)).all()


def test_a_dimension_of_one_value_that_only_one_has_does_not_matter(base):
    other = moved(switch_hops=[0])
    assert (compare(base, other).collective_latency_difference == 0).all()
    assert (compare(other, base).collective_latency_difference == 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"switch_hops": [0, 1]}, "only one of the results has the dimension switch_hops"),
        ({"message_size": [5]}, "have no point of collective_latency in common"),
    ],
)
def test_what_cannot_be_compared_is_refused(base, changes, message):
    with pytest.raises(InputError, match=message):
        compare(base, moved(**changes))


def test_results_without_a_common_output_are_refused(base):
    other = sweep.run({"outputs": ["frame_overhead"], "axes": {"packet_format": ["standard", "afh_lite"]}})
    with pytest.raises(InputError, match="no output in common"):
        compare(base[["collective_latency", "status"]].isel(chip_count=0, message_size=0), other)


def test_the_command_compares_two_files(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = ROOT / "grids" / "first.yaml"
    assert cli("run", grid, "-o", "a.nc")[0] == 0
    assert cli("run", grid, "-o", "b.nc", "--set", "credit_limit=64")[0] == 0
    code, said, messages = cli("compare", "a.nc", "b.nc", "-o", "c.nc", "--picture", "c.png", "--of", "bus_bandwidth")
    assert code == 0, messages
    assert "bus_bandwidth_difference: " in said
    assert (tmp_path / "c.png").stat().st_size > 5000
    assert "bus_bandwidth_difference" in cli("show", "c.nc")[1]
    code, _, messages = cli("compare", "a.nc", "missing.nc")
    assert (code, "there is no such file" in messages) == (2, True)
