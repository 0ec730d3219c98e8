"""Elasticities against derivatives by hand."""

from __future__ import annotations

import math

import pytest

import sweep
from sweep.errors import InputError
from sweep.views.sensitivity import draw_sensitivity, sensitivity_table
from tests.conftest import ROOT

GRID = {
    "outputs": ["transfer_latency"],
    "axes": {"link_bandwidth": [50, 100], "message_size": [1000, 2000]},
    "fixed": {"switch_hops": 2, "flow_control": "pfc"},
}
"""T = 150 + 3 x 5 + 2 (500 + 64/b) + (1000 + 78)/b ns at the first point, with b = 50 B/ns."""

TIME = 1165 + (2 * 64 + 1078) / 50


def effects(found):
    return {effect.name: effect for effect in found.effects}


def test_elasticities_and_slopes_of_a_transfer_by_hand():
    found = sweep.sensitivity(GRID)
    assert (found.output, found.value, found.status) == ("transfer_latency", pytest.approx(TIME, rel=1e-14), "ok")
    by_name = effects(found)
    hand = {
        "base_latency": (150 / TIME, 1),
        "switch_fixed": (1000 / TIME, 2),
        "propagation": (15 / TIME, 3),
        "link_bandwidth": (-(2 * 64 + 1078) / 50 / TIME, -(2 * 64 + 1078) / 50**2),
        "line_gap": (20 / 50 / TIME, 1 / 50),
        "message_size": (1000 / 50 / TIME, 1 / 50),
    }
    for name, (elasticity, slope) in hand.items():
        assert by_name[name].elasticity == pytest.approx(
            elasticity, rel=1e-3 if name in ("line_gap", "message_size") else 1e-6
        )
        assert by_name[name].slope == pytest.approx(slope, rel=1e-6), name


def test_the_strongest_parameter_comes_first_and_those_that_do_nothing_are_named():
    found = sweep.sensitivity(GRID)
    sizes = [abs(effect.elasticity) for effect in found.effects if math.isfinite(effect.elasticity)]
    assert found.effects[0].name == "switch_fixed"
    assert sizes == sorted(sizes, reverse=True)
    assert "min_frame" in found.idle  # frames are longer than that
    assert "base_latency" not in found.idle
    lines = "\n".join(sensitivity_table(found))
    assert "no effect here: " in lines
    assert "switch_fixed" in lines.split("no effect here")[0]


def test_at_0_there_is_a_slope_but_no_elasticity():
    """Half of the wait of a full frame per utilization, at each of two ports."""
    effect = effects(sweep.sensitivity(GRID))["egress_utilization"]
    assert math.isnan(effect.elasticity)
    assert effect.slope == pytest.approx(2 * 1402 / 50 / 2, rel=1e-3)


def test_whole_numbers_move_by_one_and_hops_by_hand():
    found = effects(sweep.sensitivity(GRID))["switch_hops"]
    assert found.slope == pytest.approx(500 + 5 + 64 / 50, rel=1e-12)


def test_a_port_follows_the_link_unless_it_is_given():
    """Given, the port stays as it is when the link gets faster."""
    follows = effects(sweep.sensitivity(GRID))
    alone = effects(sweep.sensitivity({**GRID, "fixed": {**GRID["fixed"], "port_bandwidth": 10}}))
    assert follows["link_bandwidth"].slope < 0
    assert alone["link_bandwidth"].slope == pytest.approx(-64 / 50**2, rel=1e-6)
    assert alone["port_bandwidth"].slope == pytest.approx(-(64 + 1078) / 10**2, rel=1e-6)


def test_at_moves_the_point_and_takes_units_and_labels():
    found = sweep.sensitivity(
        GRID, at={"link_bandwidth": "800 Gb/s", "forwarding": "store_and_forward", "message_size": 2000}
    )
    assert found.value == pytest.approx(1165 + (2 * 1402 + 2 * 78 + 2000) / 100, rel=1e-14)
    assert "link bandwidth 100 GB/s" in found.where


def test_beside_a_point_without_a_value_the_difference_is_one_sided():
    """At utilization 0.9999 the next step is beyond 1; a little less load shortens the wait."""
    found = sweep.sensitivity({"outputs": ["queueing"], "fixed": {"egress_utilization": 0.9999}}, step=1e-3)
    effect = effects(found)["egress_utilization"]
    assert effect.elasticity > 0
    assert found.status == "ok"


def test_at_a_point_without_a_value_nothing_is_said_of_effects():
    found = sweep.sensitivity({"outputs": ["queueing"], "fixed": {"egress_utilization": 1.2}})
    assert found.status == "unstable"
    assert sensitivity_table(found)[0].startswith("queueing is unstable")
    assert found.effects == ()


def test_where_one_less_is_0_the_slope_gives_the_elasticity():
    """One switch: a direct link has no switching at all, but a logarithm of 0 hops there is not."""
    found = sweep.sensitivity({**GRID, "fixed": {"switch_hops": 1, "flow_control": "pfc"}})
    effect = effects(found)["switch_hops"]
    assert effect.elasticity == pytest.approx(effect.slope / found.value, rel=1e-12)


@pytest.mark.parametrize("step", [0, -1, 1, math.nan])
def test_a_step_is_a_share(step):
    with pytest.raises(InputError, match="a share between 0 and 1"):
        sweep.sensitivity(GRID, step=step)


def test_an_endless_default_has_no_effect_to_speak_of():
    grid = {"outputs": ["goodput"], "fixed": {"residual_ber": 1e-9, "switch_hops": 1, "egress_utilization": 1}}
    assert sweep.sensitivity(grid).effects == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "transfer_latncy"}, "did you mean 'transfer_latency'"),
        ({"output": "limiter"}, "is no output that is a number"),
        ({"at": {"link_bandwith": 5}}, "did you mean 'link_bandwidth'"),
        ({"at": {"link_bandwidth": -5}}, "link_bandwidth is a number > 0, not -5"),
        ({"at": {"chip_count": 2.5}}, "chip_count is a whole number"),
        ({"at": {"vlan": "onn"}}, "vlan is one of off, on"),
        ({"at": {"link_bandwidth": "5 GiB"}}, "GiB"),
    ],
)
def test_a_wrong_argument_is_one_message(arguments, message):
    with pytest.raises(InputError) as caught:
        sweep.sensitivity(GRID, **arguments)
    assert len(caught.value.faults) == 1
    assert message in str(caught.value)


def test_the_bar_chart_has_a_bar_for_each_elasticity(tmp_path, figures):
    found = sweep.sensitivity(GRID)
    draw_sensitivity(found, tmp_path / "bars.png")
    (axes,) = figures[0].axes
    shown = [effect for effect in found.effects if effect.elasticity and math.isfinite(effect.elasticity)]
    assert len(axes.patches) == len(shown)
    assert [tick.get_text() for tick in axes.get_yticklabels()][-1] == "switch fixed"


def test_the_command_takes_a_grid_and_a_result(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = ROOT / "grids" / "first.yaml"
    code, said, _ = cli("sensitivity", grid, "--at", "message_size=1 MiB", "--picture", "bars.svg")
    assert code == 0
    assert "collective_latency is " in said
    assert (tmp_path / "bars.svg").stat().st_size > 3000
    code, _, messages = cli("sensitivity", grid, "--at", "mesage_size=1")
    assert (code, "did you mean 'message_size'" in messages) == (2, True)


@pytest.mark.heavy
def test_a_result_is_looked_at_through_its_own_grid(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = ROOT / "grids" / "first.yaml"
    assert cli("run", grid, "-o", "first.nc")[0] == 0
    assert cli("sensitivity", "first.nc")[1] == cli("sensitivity", grid)[1]
