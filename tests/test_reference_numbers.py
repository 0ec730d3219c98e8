"""The numbers that the design note prints, and those of the exact profile, from grid files through the command line."""

from __future__ import annotations

import numpy as np
import pytest

import sweep
from tests.conftest import ROOT

pytestmark = pytest.mark.heavy


@pytest.fixture
def result(cli, tmp_path):
    def run(name):
        path = tmp_path / "result.nc"
        code, _, messages = cli("run", ROOT / "grids" / f"{name}.yaml", "-o", path)
        assert code == 0, messages
        return sweep.open_result(path)

    return run


def test_design_note_scenarios_come_out_in_both_readings_of_bandwidth(result):
    dataset = result("design_note")
    step = dataset.collective_latency.sel(credit_scope="step").round(4)
    assert step.values.tolist() == [2698.2131, 54355.3422, 87362.0412, 6885.7045, 131042.7374, 165286.3299]
    total = dataset.collective_latency.sel(credit_scope="total", scenario=["A", "B", "C"]).round(4)
    assert total.values.tolist() == [2998.2131, 96355.3422, 162382.0412]


def test_design_note_listing_of_scenario_c_leaves_out_propagation(result):
    dataset = result("reference/design_note_listing")
    assert dataset.collective_latency.sel(credit_scope="total").round(4).item() == 161132.0412


def test_design_note_switch_table_comes_out_in_both_readings_of_bandwidth(result):
    latency = result("reference/design_note_switch").switch_latency
    assert latency.sel(port="200").round(6).values.tolist() == [500.32, 503.835, 514.38]
    assert latency.sel(port="400").round(6).values[[0, 2]].tolist() == [300.16, 307.19]
    assert latency.sel(port="200 as Gb/s").round(6).values.tolist() == [502.56, 530.68, 615.04]
    assert latency.sel(port="400 as Gb/s").round(6).values[[0, 2]].tolist() == [301.28, 357.52]


def test_exact_scenarios_count_every_packet(result):
    latency = result("reference/exact_scenarios").collective_latency
    assert latency.sel(credit_scope="step").round(6).values.tolist() == [2680.72, 54058.42, 12025.81]


def test_scenario_b_waits_for_the_credits_of_the_step_before(result):
    latency = result("reference/exact_scenarios").collective_latency
    assert latency.sel(scenario="B", credit_scope="carried").round(6).item() == 66744.24


def test_wire_sizes_of_one_mebibyte(result):
    dataset = result("reference/wire_sizes")
    assert dataset.frames.item() == 781
    sizes = dataset.wire_size.sel(vlan="off").values.tolist()
    assert sizes == [1093874, 1072006, 1072006, 1061072]
    percent = (100 * dataset.frame_efficiency).round(3)
    assert percent.sel(vlan="off").values.tolist() == [95.863, 97.817, 97.817, 98.824]
    assert percent.sel(vlan="on").values[:3].tolist() == [95.590, 97.533, 97.533]
    assert dataset.status.sel(vlan="on", packet_format="afh_lite").item() == "infeasible"
    assert np.isnan(dataset.wire_size.sel(vlan="on", packet_format="afh_lite").item())


def test_a_link_held_back_by_credits_reaches_46_73_percent(result):
    dataset = result("reference/credit_limited")
    share = (dataset.serialization / dataset.link_latency).sel(message_size=2**36).item()
    assert round(100 * share, 2) == 46.73


def test_all_reduce_without_headers(result):
    latency = result("reference/alpha_beta").collective_latency.round(2)
    assert latency.sel(algorithm="ring").values.tolist() == [21971.52, 29962.03, 34457.28, 43700.16, 104287.68]
    assert latency.sel(algorithm="halving_doubling", chip_count=8).item() == 39700.16


def test_md1_waits(result):
    dataset = result("reference/md1")
    wait = dataset.queueing.sel(queueing_model="md1", egress_utilization=[0.5, 0.8, 0.9])
    assert wait.round(10).values.tolist() == [28.12, 112.48, 253.08]
    beyond = dataset.sel(queueing_model="md1", egress_utilization=[1, 1.2])
    assert beyond.status.values.tolist() == ["unstable", "unstable"]
    assert np.isinf(beyond.queueing.values).all()
