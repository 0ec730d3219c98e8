"""Pareto fronts against a comparison of all pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.errors import InputError
from sweep.views.pareto import SAMPLE, draw_pareto, non_dominated, pareto, pareto_table
from tests.conftest import ROOT

SEED = 20_261_208


def by_pairs(costs):
    """Positions of points that no other is at least as good as, and better in one."""
    found, others = [], costs.T
    for i, point in enumerate(others):
        dominated = ((others <= point).all(axis=1) & (others < point).any(axis=1)).any()
        if not dominated:
            found.append(i)
    return set(found)


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize("count", [0, 1, 2, 50, 400])
def test_the_front_is_what_comparing_all_pairs_leaves(objectives, levels, count):
    draw = np.random.default_rng(SEED)
    for _ in range(30 if count < 400 else 5):
        costs = draw.integers(0, levels, (objectives, count)).astype(float)
        found = non_dominated(costs)
        assert len(found) == len(set(found.tolist()))
        assert set(found.tolist()) == by_pairs(costs)
        ordered = costs[:, found]
        assert ordered[0].tolist() == sorted(ordered[0].tolist())


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("shape", ["cloud", "front", "levels"])
def test_throwing_out_most_points_first_loses_none_of_the_front(objectives, shape):
    draw = np.random.default_rng(SEED)
    costs = draw.random((objectives, 2 * SAMPLE))
    if shape == "front":
        costs[-1] = 2 - costs[:-1].sum(axis=0)
    if shape == "levels":
        costs = np.round(costs * 20)
    assert set(non_dominated(costs).tolist()) == by_pairs(costs)


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_front_of_a_large_cloud_is_what_a_loop_over_sorted_points_leaves(objectives):
    costs = np.random.default_rng(SEED).random((objectives, 200_000))
    kept = []
    for point in costs[:, np.argsort(costs[0])].T:
        if not any((other <= point).all() for other in kept):
            kept.append(point)
    found = costs[:, non_dominated(costs)].T
    assert np.array_equal(found[np.argsort(found[:, 0])], np.array(kept))


def made_up():
    """Time and cost over two axes, one point without a value."""
    values = np.array([[5.0, 4.0, 3.0], [2.0, np.nan, 1.0]])
    grid = {"grid": {"fixed": {}, "axes": {}}}
    return xr.Dataset(
        {"time": (("kind", "rate"), values, {"units": "ns"}), "status": ((), 0)},
        {"rate": ("rate", [10.0, 20.0, 30.0], {"units": "GB/s"}), "kind": ("kind", np.array(["a", "b"], object))},
        {"sweep": json.dumps(grid), "title": "t"},
    )


def test_objectives_may_be_outputs_and_axes_and_missing_points_are_left_out():
    front = pareto(made_up(), minimise=["time", "rate"])
    assert front.time.values.tolist() == [1, 2]
    assert front.rate.values.tolist() == [30, 10]
    assert front.kind.values.tolist() == ["b", "b"]
    assert pareto(made_up(), minimise=["time"], maximise=["rate"]).time.values.tolist() == [1]
    assert "2 of 5 points are not dominated" in "\n".join(pareto_table(front))


def test_a_dimension_can_be_fixed():
    front = pareto(made_up(), minimise=["time", "rate"], at={"kind": "a"})
    assert front.time.values.tolist() == [3, 4, 5]
    assert "kind" not in front.coords


def test_without_any_value_the_front_is_empty(tmp_path):
    empty = made_up()
    empty["time"][:] = np.nan
    front = pareto(empty, minimise=["time", "rate"])
    assert front.sizes["point"] == 0
    draw_pareto(empty, front, tmp_path / "empty.png")
    assert (tmp_path / "empty.png").exists()


@pytest.mark.parametrize(
    ("minimise", "maximise", "at", "message"),
    [
        (["time"], [], {}, "two or three different objectives"),
        (["time", "time"], [], {}, "two or three different objectives"),
        (["tim", "rate"], [], {}, "did you mean 'time'"),
        (["time", "kind"], [], {}, "'kind' is not one of time"),
        (["time"], ["rate"], {"knd": "a"}, "did you mean 'kind'"),
        (["time"], ["rate"], {"kind": "c"}, "'c' is not one of a, b"),
    ],
)
def test_a_wrong_argument_is_one_message(minimise, maximise, at, message):
    with pytest.raises(InputError, match=message):
        pareto(made_up(), minimise, maximise, at)


@pytest.mark.heavy
def test_the_command_writes_a_front_and_a_picture(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("run", ROOT / "grids" / "first.yaml", "-o", "first.nc")[0] == 0
    options = [
        "--minimise",
        "collective_latency",
        "--maximise",
        "bus_bandwidth",
        "-o",
        "front.nc",
        "--picture",
        "front.png",
    ]
    code, said, messages = cli("pareto", "first.nc", *options)
    assert code == 0, messages
    assert "are not dominated" in said
    assert (tmp_path / "front.png").stat().st_size > 5000
    with sweep.open_result("front.nc") as front:
        assert front.collective_latency.dims == ("point",)
        assert set(front.packet_format.values) <= {"standard", "afh_gen1", "afh_lite"}
    assert "point" in cli("show", "front.nc")[1]
    assert cli("pareto", "first.nc", *options)[0] == 2
