"""Thresholds and crossovers against hand arithmetic and dense brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sweep
from sweep.errors import InputError
from sweep.views.crossover import crossovers
from sweep.views.select import select
from sweep.views.threshold import threshold
from tests.conftest import ROOT
from tests.models import point

pytestmark = pytest.mark.heavy

FORMATS = ["standard", "afh_gen1", "afh_gen2_16b", "afh_lite"]
PADDED = {"standard": 6, "afh_gen1": 34, "afh_lite": 48}
"""Bytes of payload up to which a frame is padded to 64 bytes."""


@pytest.fixture(scope="module")
def rings():
    """All-reduces over several axes, one of choices beside the packet format and one zipped."""
    return sweep.run(
        {
            "outputs": ["collective_latency", "bus_bandwidth"],
            "axes": {
                "forwarding": ["store_and_forward", "cut_through"],
                "link_bandwidth": [10, 25, 50, 100, 400],
                "packet_format": FORMATS,
                "chip_count": [2, 8, 32],
                "message_size": {"geomspace": ["64 B", "64 MiB", 25]},
            },
            "zip": {"switching": {"switch_hops": [0, 1, 2], "switch_fixed": [0, 300, 500]}},
            "fixed": {"credit_limit": 64},
        }
    )


def one(cell, **moved):
    """The time of one cell in plain Python, with some parameters moved."""
    names = (
        "forwarding",
        "link_bandwidth",
        "packet_format",
        "chip_count",
        "message_size",
        "switch_hops",
        "switch_fixed",
    )
    given = {name: cell[name].item() for name in names if name in cell.coords} | moved
    return point("collective_latency", credit_limit=64, **given).value


# Thresholds.


def test_read_off_the_grid_a_threshold_is_the_first_value_that_meets_the_bound(rings):
    found = threshold(rings, "collective_latency <= 20 us", "link_bandwidth")
    times = rings.collective_latency.transpose(*found.threshold.dims, "link_bandwidth").values
    for index in np.ndindex(found.threshold.shape):
        meeting = [rate for rate, time in zip((10, 25, 50, 100, 400), times[index], strict=True) if time <= 20_000]
        value, status = found.threshold.values[index], found.status.values[index]
        assert (value, status) == (meeting[0], 0) if meeting else (math.isnan(value) and status == 2)
        assert found["first"].values[index] == (bool(meeting) and meeting[0] == 10)


def test_solved_a_threshold_meets_the_bound_and_hardly_less_does_not(rings):
    read = threshold(rings, "collective_latency <= 20 us", "link_bandwidth")
    found = threshold(rings, "collective_latency <= 20 us", "link_bandwidth", solve=True)
    assert np.array_equal(np.isnan(found.threshold), np.isnan(read.threshold))
    assert (found.threshold <= read.threshold).where(read.threshold.notnull(), True).all()
    inside = np.argwhere((found.threshold.notnull() & (found["first"] == 0)).values)
    assert len(inside) > 100
    for index in inside[:: len(inside) // 40]:
        cell = found.threshold[tuple(index)]
        assert one(cell, link_bandwidth=cell.item()) <= 20_000 * (1 + 1e-12)
        assert one(cell, link_bandwidth=cell.item() * (1 - 1e-9)) > 20_000


def test_a_threshold_of_a_bandwidth_by_hand():
    """Ring of 2, 1344 B each way, standard frames without credits: T = 2 (150 + 1422/b) <= 400 ns from b = 28.44."""
    grid = {
        "outputs": ["collective_latency"],
        "axes": {"link_bandwidth": [10, 100]},
        "fixed": {"chip_count": 2, "message_size": 2688, "flow_control": "pfc"},
    }
    found = threshold(sweep.run(grid), "collective_latency <= 400", "link_bandwidth", solve=True)
    assert found.threshold.item() == pytest.approx(28.44, rel=1e-12)
    assert found.threshold.attrs["units"] == "GB/s"


def test_of_whole_numbers_a_threshold_is_the_exact_one():
    """Credits that cover the loop of 28.44 + 300 ns: 12 frames of 6 credits."""
    grid = {
        "outputs": ["credit_stall"],
        "axes": {"credit_limit": [10, 500]},
        "fixed": {"message_size": 1344 * 1000},
    }
    found = threshold(sweep.run(grid), "credit_stall <= 0", "credit_limit", solve=True)
    assert found.threshold.item() == 72
    at_least = {"outputs": ["link_rate"], "axes": {"credit_limit": [10, 500]}}
    assert threshold(sweep.run(at_least), "link_rate >= 50 GB/s", "credit_limit", solve=True).threshold.item() == 72


def test_an_axis_in_any_order_has_the_same_thresholds(rings):
    turned = rings.isel(link_bandwidth=[3, 0, 4, 2, 1])
    for solve in (False, True):
        one_way = threshold(rings, "collective_latency <= 20 us", "link_bandwidth", solve)
        other = threshold(turned, "collective_latency <= 20 us", "link_bandwidth", solve)
        assert np.array_equal(one_way.threshold, other.threshold, equal_nan=True)


def test_what_is_unstable_or_missing_meets_no_bound():
    grid = {
        "outputs": ["queueing"],
        "axes": {"port_bandwidth": [25, 50], "egress_utilization": [0.5, 1]},
    }
    found = threshold(sweep.run(grid), "queueing <= 1 s", "port_bandwidth")
    assert found.threshold.values[0] == 25
    assert np.isnan(found.threshold.values[1])
    assert threshold(sweep.run(grid), "queueing >= 1 ns", "port_bandwidth").threshold.values[0] == 25


# Crossovers.


def test_formats_stop_to_tie_where_the_shorter_header_fills_the_smallest_frame(rings):
    """Padded to 64 bytes, formats tie; the first leaves when its payload is larger: by hand."""
    found = crossovers(rings.sel(link_bandwidth=[50]), "message_size")
    assert found.sizes["crossing"] > 0
    names = np.array(found.below.attrs["flag_meanings"].split())
    for row in range(found.sizes["crossing"]):
        chips = found.chip_count.values[row]
        assert found.value.values[row] == chips * PADDED[names[found.below.values[row]]] + 1


@pytest.mark.parametrize("along", ["message_size", "link_bandwidth"])
def test_between_all_neighbours_with_other_winners_there_is_a_crossing_and_it_is_one(rings, along):
    """Credit sizes cross often: larger credits waste bytes, smaller ones run out."""
    grid = {
        "outputs": ["collective_latency"],
        "axes": {
            "link_bandwidth": [25, 50, 100, 200, 400],
            "credit_limit": [8, 64, 512],
            "switch_hops": [0, 1],
            "credit_model": ["rounds", "window"],
            "message_size": {"geomspace": ["1 KiB", "64 MiB", 15]},
        },
        "fixed": {"chip_count": 8, "credit_size": 2048, "credit_scope": "step"},
    }
    result = sweep.run(grid)
    chosen = select(result, "credit_model")
    codes = chosen.winner.transpose(..., along).values
    both = (codes[..., 1:] < 2) & (codes[..., :-1] < 2)
    changes = int((both & (codes[..., 1:] != codes[..., :-1])).sum())
    found = crossovers(result, along, over="credit_model")
    assert found.sizes["crossing"] == changes > 5

    def winner(row, value):
        cell = found.isel(crossing=row)
        given = {
            name: cell[name].item()
            for name in ("link_bandwidth", "credit_limit", "switch_hops", "message_size")
            if name in cell.coords
        }
        given |= {along: value, "chip_count": 8, "credit_size": 2048}
        times = [point("collective_latency", credit_model=x, **given).value for x in ("rounds", "window")]
        least = np.nanmin(times)
        return next(i for i, time in enumerate(times) if time <= least * (1 + 1e-12))

    for row in range(changes):
        value, below = found.value.values[row], found.below.values[row]
        smaller = value - 1 if along == "message_size" else value * (1 - 1e-9)
        assert winner(row, smaller) == below
        assert winner(row, value) == found.above.values[row] != below


def test_requirements_hold_between_points_of_the_grid_too(rings):
    found = crossovers(rings, "message_size", require=["retry"])
    names = np.array(found.below.attrs["flag_meanings"].split())
    assert "afh_lite" not in {*names[found.below.values], *names[found.above.values]}


def test_where_nothing_changes_there_is_no_crossing(rings):
    found = crossovers(rings, "message_size", require=["ecn"])
    assert found.sizes["crossing"] == 0


# Parts of results, and what cannot be solved.


def test_a_part_of_a_result_in_another_order_is_solved_as_the_whole(rings):
    """Labels are matched by name, not by where they stand in the grid."""
    meet, along = "collective_latency <= 20 us", "link_bandwidth"
    whole = threshold(rings, meet, along, solve=True).threshold
    turned = rings.isel(forwarding=[1, 0], packet_format=[3, 1, 0], switching=[2, 0])
    part = threshold(turned, meet, along, solve=True).threshold
    same = whole.isel(forwarding=[1, 0], packet_format=[3, 1, 0], switching=[2, 0])
    assert np.array_equal(part.values, same.values, equal_nan=True)
    for chosen in ({"forwarding": 0}, {"switching": 1}, {"chip_count": 1, "packet_format": 0}):
        one = threshold(rings.isel(chosen), meet, along, solve=True).threshold
        assert np.array_equal(one.values, whole.isel(chosen).values, equal_nan=True)


def test_crossings_of_a_part_are_those_of_the_whole(rings):
    keys = ["forwarding", "link_bandwidth", "chip_count", "switch_hops", "value"]
    whole = crossovers(rings.isel(packet_format=[0, 3]), "message_size").to_dataframe()[keys]
    part = crossovers(rings.isel(forwarding=[1], packet_format=[0, 3], chip_count=[2, 1]), "message_size")
    cells = np.stack([part[key].values for key in keys[1:]], axis=1).tolist()
    wanted = whole[(whole.forwarding == "cut_through") & whole.chip_count.isin([8, 32])][keys[1:]].values.tolist()
    assert len(wanted) > 3
    assert sorted(cells) == sorted(wanted)


def test_a_change_is_one_that_a_grid_of_every_byte_shows(rings):
    """Brute force: all messages around a change, on a grid of their own."""
    found = crossovers(rings.isel(forwarding=[1], packet_format=[0, 3], switching=[1]), "message_size")
    assert found.sizes["crossing"] > 1
    for spot in range(found.sizes["crossing"]):
        cell = found.isel(crossing=spot)
        near = int(cell.value.item())
        dense = sweep.run(
            {
                "outputs": ["collective_latency"],
                "axes": {"packet_format": [FORMATS[0], FORMATS[3]], "message_size": list(range(near - 40, near + 41))},
                "fixed": {
                    "credit_limit": 64, "forwarding": "cut_through", "switch_hops": 1, "switch_fixed": 300,
                    "link_bandwidth": float(cell.link_bandwidth), "chip_count": int(cell.chip_count),
                },
            }
        )  # fmt: skip
        times = dense.collective_latency.transpose("packet_format", "message_size").values
        first_wins = times[0] <= times[1] * (1 + 1e-12)
        changes = dense.message_size.values[1:][first_wins[1:] != first_wins[:-1]]
        assert near in changes


def test_numbers_and_zipped_dimensions_can_be_chosen_from():
    grid = {
        "outputs": ["collective_latency"],
        "axes": {"credit_size": [64, 256, 2048], "message_size": {"geomspace": ["1 KiB", "64 MiB", 9]}},
        "zip": {"kind": {"link_bandwidth": [25, 100], "base_latency": [100, 2000]}},
        "fixed": {"chip_count": 4, "credit_limit": 64},
    }
    result = sweep.run(grid)
    found = crossovers(result, "message_size", over="kind")  # fast pipelines first, then the fast wire
    assert found.sizes["crossing"] > 0
    for row in range(found.sizes["crossing"]):
        at = {"credit_size": found.credit_size.values[row], "chip_count": 4, "credit_limit": 64}
        size = found.value.values[row]
        for moved, kind in ((size - 1, found.below), (size, found.above)):
            times = [
                point("collective_latency", link_bandwidth=rate, base_latency=base, message_size=moved, **at).value
                for rate, base in ((25, 100), (100, 2000))
            ]
            assert int(np.argmin(times)) == int(kind.values[row])
    over_numbers = crossovers(result, "message_size", over="credit_size")
    assert set(over_numbers.below.values) <= {64.0, 256.0, 2048.0}


def test_axes_of_other_outputs_do_not_matter():
    grid = {
        "outputs": ["queueing", "collective_latency"],
        "axes": {
            "egress_utilization": [0.1, 0.5, 0.9],
            "chip_count": [2, 4],
            "forwarding": ["cut_through", "store_and_forward"],
        },
        "fixed": {"switch_hops": 1},
    }
    found = threshold(sweep.run(grid), "queueing >= 8 ns", "egress_utilization", solve=True)
    assert found.threshold.item() == pytest.approx(16 / (16 + 28.04), rel=1e-12)


@pytest.mark.parametrize(
    ("grid", "meet", "along", "message"),
    [
        (
            {
                "outputs": ["frame_delivery"],
                "axes": {"message_size": [5000, 50000], "link_bandwidth": [1, 50]},
            },
            "frame_delivery <= 20 us",
            "link_bandwidth",
            "has a dimension of its own",
        ),
        (
            {"outputs": ["link_latency"], "zip": {"kind": {"link_bandwidth": [1, 50], "base_latency": [9, 8]}}},
            "link_latency <= 200 ns",
            "kind",
            "only an axis of its own",
        ),
    ],
)
def test_what_cannot_be_solved_is_refused(grid, meet, along, message):
    with pytest.raises(InputError, match=message):
        threshold(sweep.run(grid), meet, along, solve=True)


def test_a_requirement_that_changes_along_the_axis_is_refused(rings):
    with pytest.raises(InputError, match="itself changes along message_size"):
        crossovers(
            rings.assign(limiter=rings.bus_bandwidth.astype(int).assign_attrs(flag_meanings="no yes")),
            "message_size",
            require=["limiter=yes"],
        )
    with pytest.raises(InputError, match="choosing among values of message_size"):
        crossovers(rings, "message_size", over="message_size")


def test_a_result_of_other_formulas_is_solved_with_a_word():
    import json

    result = sweep.run({"outputs": ["link_latency"], "axes": {"link_bandwidth": [1, 50]}})
    record = json.loads(result.attrs["sweep"]) | {"model_digest": "0"}
    said = []
    threshold(
        result.assign_attrs(sweep=json.dumps(record)),
        "link_latency <= 30 us",
        "link_bandwidth",
        solve=True,
        announce=said.append,
    )
    assert "the formulas have changed" in said[0]


# Commands.


@pytest.fixture
def at_result(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("run", ROOT / "grids" / "first.yaml", "-o", "first.nc")[0] == 0
    return tmp_path


def test_the_commands_write_results_that_can_be_shown_and_drawn(cli, at_result):
    options = ["--meet", "collective_latency <= 20 us", "--along", "message_size", "--solve"]
    code, said, messages = cli("threshold", "first.nc", *options, "-o", "t.nc", "--picture", "t.png")
    assert code == 0, messages
    assert "Smallest message size with collective_latency <= 20 us" in said
    assert (at_result / "t.png").stat().st_size > 3000
    assert "threshold" in cli("show", "t.nc")[1]
    code, said, messages = cli("crossover", "first.nc", "--along", "message_size", "-o", "c.nc")
    assert code == 0, messages
    assert "where it changes along message size" in said
    with sweep.open_result("c.nc") as found:
        assert set(found.coords) == {"switch_hops"}
    assert "crossing" in cli("show", "c.nc")[1]
    assert cli("crossover", "first.nc", "--along", "message_size", "--require", "ecn", "-o", "none.nc")[0] == 0
    code, _, messages = cli("plot", "none.nc")
    assert (code, "there is nothing to draw" in messages) == (2, True)
    code, _, messages = cli("threshold", "t.nc", "--meet", "threshold <= 5", "--along", "switch_hops", "--solve")
    assert (code, "is no result of a grid" in messages) == (2, True)
    for command in (["threshold", *options, "-o", "t.nc"], ["crossover", "--along", "message_size", "-o", "c.nc"]):
        code, _, messages = cli(command[0], "first.nc", *command[1:])
        assert (code, "--overwrite replaces it" in messages) == (2, True)


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        (
            "threshold",
            ["--meet", "collective_latency < 5", "--along", "message_size"],
            "is not of the form OUTPUT <= VALUE",
        ),
        ("threshold", ["--meet", "latency <= 5", "--along", "message_size"], "'latency' is not one of"),
        ("threshold", ["--meet", "collective_latency <= 5 GB", "--along", "message_size"], "GB"),
        (
            "threshold",
            ["--meet", "collective_latency <= 5 us", "--along", "mesage_size"],
            "did you mean 'message_size'",
        ),
        ("threshold", ["--meet", "collective_latency <= 5 us", "--along", "packet_format"], "not a numeric axis"),
        ("crossover", ["--along", "packet_format"], "not a numeric axis"),
        ("crossover", ["--along", "message_size", "--over", "vlan"], "'vlan' is not one of"),
        ("crossover", ["--along", "message_size", "--require", "ecm"], "did you mean 'ecn'"),
    ],
)
def test_a_wrong_option_is_one_message(cli, at_result, command, options, message):
    code, _, messages = cli(command, "first.nc", *options)
    assert code == 2
    assert message in messages
    assert messages.count("error:") == 1
