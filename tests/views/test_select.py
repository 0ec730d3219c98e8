"""Choosing along a dimension: winner, runner-up, margins, ties and empty cells against a loop over cells."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.errors import InputError
from sweep.views.select import CANDIDATES, select, selection_table
from tests.conftest import ROOT

SEED = 20_261_207
FORMATS = ["standard", "afh_gen1", "afh_gen2_16b", "afh_lite"]


def labels(chosen, name):
    """A variable of labels as texts."""
    return np.array(chosen[name].attrs["flag_meanings"].split(), object)[chosen[name].values]


def made_up(values, dims, over):
    """A result with one objective."""
    coordinates = {dim: (dim, np.arange(size, dtype=float)) for dim, size in zip(dims, values.shape, strict=True)}
    coordinates[over] = (over, np.array([f"c{i}" for i in range(values.shape[dims.index(over)])], object))
    grid = {"grid": {"fixed": {}, "axes": {}}}
    return xr.Dataset(
        {"cost": (dims, values, {"units": "ns"}), "status": ((), 0)}, coordinates, {"sweep": json.dumps(grid)}
    )


def by_hand(costs, largest):
    """Winner, runner-up, tied, margin and margin in percent of one cell; positions, None for none."""
    usable = {i: (-x if largest else x) for i, x in enumerate(costs) if math.isfinite(x)}
    if not usable:
        return None, None, 0, None, None
    least = min(usable.values())
    ties = [i for i, x in usable.items() if x <= least + 1e-12 * abs(least)]
    rest = {i: x for i, x in usable.items() if i not in ties}
    if not rest:
        return ties[0], None, len(ties), None, None
    second = min(rest, key=lambda i: (rest[i], i))
    difference = rest[second] - least
    return ties[0], second, len(ties), difference, 100 * difference / abs(least) if least else None


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 4, 5), 1), ((4, 30), 0), ((30, 4), 1), ((7, 40), 1), ((40, 7), 0), ((4,), 0)]
)
def test_every_cell_has_the_winner_that_a_loop_finds(shape, axis, largest):
    draw = random.Random(SEED)
    values = np.array(
        [draw.choice((1.0, 2.0, 2.0 * (1 + 1e-15), 5.0, math.nan, math.inf, 0.0)) for _ in range(math.prod(shape))]
    )
    values = values.reshape(shape)
    dims = tuple(f"d{i}" if i != axis else "choice" for i in range(len(shape)))
    objective = {"maximise": "cost"} if largest else {"minimise": "cost"}
    chosen = select(made_up(values, dims, "choice"), over="choice", **objective)
    columns = np.moveaxis(values, axis, -1).reshape(-1, shape[axis])
    found = zip(
        chosen.winner.values.ravel(), chosen.runner_up.values.ravel(), chosen.tied.values.ravel(),
        chosen.margin_absolute.values.ravel(), chosen.margin.values.ravel(), chosen.status.values.ravel(), strict=True,
    )  # fmt: skip
    for costs, (winner, runner_up, tied, difference, percent, status) in zip(columns, found, strict=True):
        expected = by_hand(costs.tolist(), largest)
        count = shape[axis]
        assert (winner, runner_up) == tuple(count if x is None else x for x in expected[:2])
        assert tied == expected[2]
        assert difference == pytest.approx(math.nan if expected[3] is None else expected[3], nan_ok=True)
        assert percent == pytest.approx(math.nan if expected[4] is None else expected[4], nan_ok=True)
        assert status == (2 if expected[0] is None else 0)


def test_blocks_of_a_large_result_do_not_change_what_is_chosen():
    draw = np.random.default_rng(SEED)
    values = draw.integers(0, 9, (5, 3, CANDIDATES // 3 + 7)).astype(float)
    chosen = select(made_up(values, ("a", "choice", "b"), "choice"), over="choice")
    assert np.array_equal(chosen.winner.values, values.argmin(axis=1))
    assert np.array_equal(chosen.best.values, values.min(axis=1))


def test_without_a_time_or_a_bandwidth_it_must_be_said_what_is_best():
    dataset = made_up(np.ones((2, 3)), ("a", "choice"), "choice")
    dataset["cost"].attrs["units"] = "1"
    with pytest.raises(InputError, match="say what is best: minimise or maximise one of cost"):
        select(dataset, over="choice")
    with pytest.raises(InputError, match="has no points"):
        select(dataset.isel(choice=[]), over="choice", minimise="cost")


def test_labels_that_are_no_single_words_stay_apart():
    dataset = made_up(np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 3.0]]), ("a", "choice"), "choice")
    named = dataset.assign_coords(choice=np.array(["a b", "a_b", "no_value"], object))
    chosen = select(named, over="choice")
    assert chosen.winner.attrs["flag_meanings"] == "a_b a_b_2 no_value_2 no_value"
    assert chosen.winner.values.tolist() == [1, 0]
    assert sum("50.0 %" in line for line in selection_table(chosen)) == 2


def test_more_labels_than_a_byte_has():
    values = np.arange(200.0)[::-1].copy()
    chosen = select(made_up(values, ("choice",), "choice"), over="choice")
    assert chosen.winner.item() == 199
    assert chosen.winner.attrs["flag_values"][-1] == 200


def test_what_was_made_from_a_result_has_no_capabilities_to_work_out():
    chosen = select(made_up(np.ones((2, 3)), ("a", "choice"), "choice"), over="choice")
    with pytest.raises(InputError, match="is no result of a grid"):
        select(chosen, over="a", minimise="best", require=["ecn"])


def test_along_numbers_the_winner_is_a_number_with_a_unit():
    values = np.array([[3.0, 1.0, 2.0], [math.nan] * 3])
    dataset = made_up(values, ("a", "b"), "a").assign_coords(b=("b", [10.0, 20.0, 30.0], {"units": "GB/s"}))
    chosen = select(dataset, over="b")
    assert chosen.winner.values[0] == 20
    assert chosen.runner_up.values[0] == 30
    assert np.isnan(chosen.winner.values[1])
    assert chosen.winner.attrs["units"] == "GB/s"
    assert "20 GB/s" in "\n".join(selection_table(chosen))


def test_a_bandwidth_is_the_better_the_larger_it_is():
    values = np.array([[3.0, 1.0, 2.0]])
    dataset = made_up(values, ("a", "choice"), "choice")
    dataset["cost"].attrs["units"] = "GB/s"
    assert select(dataset, over="choice").winner.values.tolist() == [0]
    assert select(dataset, over="choice", minimise="cost").winner.values.tolist() == [1]


@pytest.fixture(scope="module")
def guide():
    """The cases of the design note's guide to packet formats: directly wired, and switched, with and without a tag."""
    return sweep.run(
        {
            "outputs": ["collective_latency", "bus_bandwidth"],
            "axes": {
                "switch_hops": [0, 1],
                "vlan": ["off", "on"],
                "packet_format": FORMATS,
                "chip_count": [8, 64, 128],
                "message_size": ["1 MiB", "64 MiB"],
            },
            "fixed": {"credit_limit": 2048},
        }
    )


@pytest.mark.heavy
class TestSelectionGuideOfTheDesignNote:
    def test_wired_directly_lite_wins(self, guide):
        assert set(labels(select(guide.sel(switch_hops=[0], vlan=["off"])), "winner").ravel()) == {"afh_lite"}

    def test_switched_with_ecn_standard_wins(self, guide):
        chosen = select(guide.sel(switch_hops=[1]), require=["ecn"])
        assert set(labels(chosen, "winner").ravel()) == {"standard"}
        assert json.loads(chosen.attrs["sweep"])["selection"]["lacking"] == {
            "afh_gen1": ["ecn"],
            "afh_gen2_16b": ["ecn"],
            "afh_lite": ["ecn"],
        }

    def test_switched_with_pause_per_class_both_compressed_formats_win_with_a_tag_and_none_without(self, guide):
        chosen = select(guide.sel(switch_hops=[1]), require=["pfc_class"])
        tagged, untagged = chosen.sel(vlan="on"), chosen.sel(vlan="off")
        assert set(labels(tagged, "winner").ravel()) == {"afh_gen1"}
        assert set(labels(tagged, "tied_with").ravel()) == {"afh_gen2_16b"}
        assert set(labels(tagged, "runner_up").ravel()) == {"standard"}
        assert set(labels(untagged, "winner").ravel()) == {"no_value"}
        assert (untagged.status.values == 2).all()

    def test_64_chips_with_everything_standard_with_a_tag_wins(self, guide):
        chosen = select(guide.sel(switch_hops=[1], chip_count=[64, 128]), require=["qos", "ecn", "pfc_class"])
        assert set(labels(chosen.sel(vlan="on"), "winner").ravel()) == {"standard"}
        assert set(labels(chosen.sel(vlan="off"), "winner").ravel()) == {"no_value"}

    def test_the_order_of_the_axis_breaks_ties(self, guide):
        turned = guide.isel(packet_format=[3, 2, 1, 0], switch_hops=[1], vlan=[1])
        chosen = select(turned, require=["pfc_class"])
        assert set(labels(chosen, "winner").ravel()) == {"afh_gen2_16b"}

    def test_a_capability_is_read_from_the_result_where_it_has_it(self, guide):
        grid = {"outputs": ["collective_latency", "ecn"], "axes": {"packet_format": FORMATS, "vlan": ["off", "on"]}}
        chosen = select(sweep.run(grid), require=["ecn", "retry=yes"])
        assert labels(chosen, "winner").tolist() == ["standard", "standard"]

    def test_a_requirement_of_what_must_not_be(self, guide):
        chosen = select(guide, require=["retry=no"])
        assert set(labels(chosen.sel(vlan="off"), "winner").ravel()) == {"afh_lite"}

    def test_a_format_of_the_user_is_chosen_with_the_capabilities_of_its_row(self):
        row = {"header": 6, "vlan_tag": 4, "icrc": 0, "fcs": 4}
        row |= {"ecn": "with_vlan", "pfc_class": "never", "qos": "never", "retry": "never"}
        result = sweep.run(
            {
                "outputs": ["collective_latency"],
                "axes": {"packet_format": ["standard", "tiny"], "vlan": ["off", "on"]},
                "fixed": {"packet_formats": {"tiny": row}},
            }
        )
        assert labels(select(result, require=["ecn"]), "winner").tolist() == ["standard", "tiny"]


@pytest.mark.heavy
def test_the_command_writes_a_result_and_a_picture_and_says_what_it_chose(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("run", ROOT / "grids" / "first.yaml", "-o", "first.nc")[0] == 0
    code, said, _ = cli("select", "first.nc", "--require", "retry", "-o", "best.nc", "--picture", "best.png")
    assert code == 0
    assert "Best packet format: smallest collective latency, with retry" in said
    assert "afh_lite lacks retry" in said
    assert (tmp_path / "best.png").stat().st_size > 5000
    with sweep.open_result("best.nc") as chosen:
        assert chosen.winner.dims == ("switch_hops", "message_size")
        assert set(chosen.winner.values.ravel()) == {"afh_gen1"}
        assert chosen.margin.attrs["units"] == "%"
    assert "winner" in cli("show", "best.nc")[1]
    assert cli("plot", "best.nc", "-o", "again.png")[0] == 0
    code, _, messages = cli("select", "first.nc", "-o", "best.nc")
    assert (code, "--overwrite replaces it" in messages) == (2, True)
    assert cli("select", "first.nc", "-o", "best.nc", "--overwrite")[0] == 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--over", "packet_fromat"], "did you mean 'packet_format'"),
        (["--minimise", "latency"], "'latency' is not one of collective_latency, bus_bandwidth"),
        (["--minimise", "limiter"], "'limiter' is not one of"),
        (["--minimise", "bus_bandwidth", "--maximise", "bus_bandwidth"], "minimise one output or maximise one"),
        (["--require", "ecm"], "did you mean 'ecn'"),
        (["--require", "ecn=maybe"], "ecn is one of no, yes, not 'maybe'"),
        (["--picture", "x.gif"], "a picture is a .png, .svg or .pdf file"),
        (["-o", "."], "is there"),
        (["-o", "w.nc", "--picture", "w.gif"], "a picture is a .png, .svg or .pdf file"),
        (["-o", "w.nc", "--picture", "w.png", "--x", "nope"], "'nope' is not one of"),
        (["-o", "w.nc", "--picture", "w.png", "--at", "nope"], "is not of the form DIM=VALUE"),
        (["-o", "/proc/x/w.nc"], "cannot be written"),
    ],
)
def test_a_wrong_option_is_one_message(cli, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert cli("run", ROOT / "grids" / "first.yaml", "-o", "first.nc")[0] == 0
    code, _, messages = cli("select", "first.nc", *options)
    assert code == 2
    assert message in messages
    assert messages.count("error:") == 1
    assert not (tmp_path / "w.nc").exists()
