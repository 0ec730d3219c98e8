"""By how much the design note is off, as the README says, worked out again."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.conftest import ROOT
from tests.models import point, preset
from tests.models.test_collective import SCENARIO_A, SCENARIO_B, SCENARIO_C

README = (ROOT / "README.md").read_text()
ROWS = {
    row.split(" (`")[0]: row for row in re.search(r"## The formulas\n(.*?)\n## ", README, re.S)[1].split("\n| ")[2:]
}
NOTE = preset("design_note")


def percent(value, exact):
    """How far a value is from the exact one."""
    return 100 * (value / exact - 1)


def both(output, **given):
    """A number by the design note and in the exact profile."""
    return point(output, **{**NOTE, **given}).value, point(output, **given).value


def test_a_byte_on_the_wire():
    note, exact = both("serialization", message_size=1)
    assert f"a 1 B message takes {-percent(note, exact):.0f} % less" in ROWS["wire bytes"]


def test_credits_of_a_long_message_over_the_grid_that_sizes_them():
    axes = yaml.safe_load((ROOT / "grids" / "credit_sizing.yaml").read_text())["axes"]
    errors = []
    for rate in (25, 50, 100, 200, 400):
        for credit_size in axes["credit_size"]:
            for credit_limit in axes["credit_limit"]:
                given = {"link_bandwidth": rate, "credit_size": credit_size, "credit_limit": credit_limit}
                rates = {x: point("link_rate", credit_model=x, switch_hops=1, **given) for x in ("rounds", "window")}
                if rates["window"].status == "ok":
                    errors.append(percent(rates["window"].value, rates["rounds"].value))
    assert f"{max(errors):.0f} % too slow to {-min(errors):.0f} % too fast" in ROWS["credits of a message"]


def test_credits_of_scenario_b():
    step, _ = both("collective_latency", **SCENARIO_B)
    total, _ = both("collective_latency", credit_scope="total", **SCENARIO_B)
    carried = point("collective_latency", credit_scope="carried", **SCENARIO_B).value
    expected = f"{-percent(step, carried):.1f} % too fast, or {percent(total, carried):.1f} % too slow"
    assert expected in ROWS["credits of a collective"]


def test_a_small_message_through_switches():
    given = {"message_size": 64, "switch_hops": 3, "forwarding": "store_and_forward"}
    assert f"{percent(*both('transfer_latency', **given)):.1f} % too slow" in ROWS["switch"]


def test_queues():
    note, exact = both("queueing", egress_utilization=0.995)
    burst = point("queueing", queueing_model="burst", burst_frames=25, egress_utilization=0.5).value
    of_frames = point("queueing", queueing_model="md1_note", egress_utilization=0.5).value
    assert f"{-percent(note, exact):.1f} % low at rho 0.995" in ROWS["queueing"]
    assert f"25 frames {-percent(of_frames, burst):.0f} % low" in ROWS["queueing"]


def test_collectives():
    note, exact = both("collective_latency", **SCENARIO_A)
    assert f"scenario A: {percent(note, exact):.1f} % too slow" in ROWS["ring, pairwise, direct"]
    note, _ = both("collective_latency", **SCENARIO_C)
    streaming = point("collective_latency", cdma_issue="streaming", **SCENARIO_C).value
    assert f"if chunks stream, {note / streaming:.1f} times" in ROWS["ring, pairwise, direct"]
    given = {"collective": "all_to_all", "chip_count": 64}
    pairs, ring = (point("collective_latency", ring_exchange=x, **given).value for x in ("pairwise", "forwarded"))
    assert f"64 chips, 1 MiB: {ring / pairs:.1f} times too fast" in ROWS["all-to-all on a ring"]
    note = point("collective_latency", **{**NOTE, "algorithm": "tree"}).value
    binomial = point("collective_latency", algorithm="tree", tree_schedule="binomial").value
    assert f"{-percent(note, binomial):.1f} % too fast for a binomial tree of 8 chips" in ROWS["trees"]


@pytest.mark.parametrize("file", sorted((ROOT / "sweep" / "models").glob("*.py")), ids=lambda path: path.stem)
def test_every_model_of_the_note_is_in_the_table(file):
    if file.stem not in ("__init__", "breakdown", "frame_trace"):
        assert f"`{file.stem}`" in "".join(ROWS.values())
