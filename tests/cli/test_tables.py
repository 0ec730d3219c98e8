"""The commands that list what can be set and asked for, and the plan."""

from __future__ import annotations

import re

import pytest

import sweep
from sweep.views.plan import seconds
from tests.conftest import ROOT

NAMES = """frames frame_overhead frame_efficiency wire_size payload_efficiency serialization credit_stall link_latency
    switch_latency queueing transfer_latency alpha beta steps collective_latency algorithm_bandwidth bus_bandwidth
    limiter"""


def test_outputs_and_params_list_every_name_within_a_hundred_columns(cli):
    _, outputs, _ = cli("outputs")
    _, params, _ = cli("params")
    for name in NAMES.split():
        assert re.search(rf"^{name} ", outputs, re.M), name
    for name in sweep.load_grid({"outputs": ["steps"]}).registry.parameters:
        assert re.search(rf"^{name} ", params, re.M), name
    assert max(map(len, (outputs + params).splitlines())) <= 100


def test_a_name_or_a_part_of_one_picks_entries_with_unit_bounds_default_and_source(cli):
    _, shown, _ = cli("params", "credit_limit", "fec_")
    assert shown == (
        "fec_overhead  1; >= 0 and < 1; default 0\n"
        "    Share of link_bandwidth lost to FEC, on links and ports of a path (not in switch_latency and\n"
        "    queueing); a MAC rate already excludes it. Source: design note, fec_overhead_ratio 0.03.\n"
        "credit_limit  1; >= 1 and <= 32767; default 512\n"
        "    Credits of one virtual channel. Source: design note, credit_limit_per_vc.\n"
    )
    assert cli("outputs", "bus_fac")[1].startswith("bus_factor  1\n")


@pytest.mark.parametrize("command", ["params", "outputs"])
def test_a_name_that_is_in_none_is_one_message_with_the_nearest(cli, command):
    name = {"params": "chip_cuont", "outputs": "collective_latencyy"}[command]
    code, output, messages = cli(command, name)
    assert (code, output) == (2, "")
    assert f"has {name!r} in its name; did you mean" in messages


PLAN = """\
title: A plan
outputs: [collective_latency, frame_overhead, limiter, limiter_status, traced_link_latency, frame_delivery]
axes:
  packet_format: [standard, afh_lite]
  vlan: [off, on]
  egress_utilization: [0.5, 1.0]
  message_size: [1 KiB, 1 MiB, 1 TiB]
zip: {generation: {link_bandwidth: [25, 50], base_latency: [200, 150]}}
fixed: {switch_hops: 1}
"""


def test_a_plan_states_points_dims_bytes_and_how_many_points_fail_and_why(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN)
    code, output, _ = cli("plan", "plan.yaml")
    assert code == 0
    for line in (
        r"^A plan$",
        r"^48 points, [0-9.]+ kB$",
        r"^  axis    generation +2  \(link_bandwidth, base_latency\)$",
        r"^  output  collective_latency +384 B  \(all axes\)$",
        r"^  output  frame_overhead +32 B  \(packet_format, vlan\)$",
        r"^  output  limiter +48 B  \(all axes\)$",
        r"^  output  limiter_status +48 B  \(all axes\)$",
        r"^  output  frame_delivery +1.54 kB  \(packet_format, .*, generation, quantile\)$",
        r"^  output  status +48 B  \(all axes\)$",
        r"^unstable: 18 points \(37.5 %\): The port gets at least as much as it can send; .* \(queueing\)$",
        r"^infeasible: 12 points \(25 %\): The format has no room for the VLAN tag .* \(frame_overhead\)$",
        r"^budget: 6 points \(12.5 %\): The trace would take minutes \(frame_trace\)$",
        r"^about (\d+ m?s to compile, once; )?\d+ m?s to compute \(\d+ loop nests? in \d+ blocks? on \d+ threads?\), ",
    ):
        assert re.search(line, output, re.M), (line, output)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


def test_a_plan_counts_as_many_points_as_then_fail(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN)
    _, planned, _ = cli("plan", "plan.yaml", "--outputs", "collective_latency,limiter")
    assert cli("run", "plan.yaml", "--outputs", "collective_latency,limiter")[0] == 0
    with sweep.open_result("results/plan.nc") as dataset:
        for label in ("unstable", "infeasible"):
            count = int((dataset.status == label).sum())
            assert re.search(rf"^{label}: {count} points", planned, re.M), planned


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-6, "1 ms"), (0.0123, "10 ms"), (0.4, "0.4 s"), (7.4, "7 s"), (61, "60 s"), (3000, "50 min"), (50000, "10 h"),
     (1e6, "12 days")],
)  # fmt: skip
def test_an_estimate_has_the_digits_that_it_deserves(value, text):
    assert seconds(value) == text


def test_the_tables_of_the_readme_are_those_of_the_registry():
    from tests.readme_tables import with_tables

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == with_tables(readme), "`make readme` writes them anew"


def test_the_tables_of_the_readme_have_every_parameter_and_output():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    registry = sweep.load_grid({"outputs": ["steps"]}).registry
    for name in (*registry.parameters, *registry.outputs):
        assert readme.count(f"\n| {name} | ") == 1, name
