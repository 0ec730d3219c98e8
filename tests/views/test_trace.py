"""`sweep trace`: a file that trace viewers open, a picture, and the names of commands that wait for each other."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
import yaml

from sweep.api import load_grid
from sweep.errors import InputError
from sweep.views.gantt import draw_gantt
from sweep.views.trace import lanes, trace, trace_events, trace_lines
from tests.multichip import after, receive, send

pytestmark = pytest.mark.plain  # would compile for long, and is as right in plain Python

EXCHANGE = {
    "title": "exchange",
    "commands": [
        {
            "chip": 0,
            "TIU": [{"time": 1000, "source_op_id": "product"}],
            "CDMA": [receive(1, 4096), send(1, 8192, **after("TIU", 1))],
        },
        {"chip": 1, "CDMA": [receive(0, 8192), send(0, 4096)], "HAU": [{"cycles": 50, **after("CDMA", 1)}]},
    ],
}


def grid_of(folder, program, **fixed):
    (folder / "program.yaml").write_text(yaml.safe_dump(program))
    path = folder / "grid.yaml"
    path.write_text(yaml.safe_dump({"outputs": ["makespan"], "fixed": {"program": "program.yaml", **fixed}}))
    return load_grid(path)


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    return trace(grid_of(tmp_path_factory.mktemp("traced"), EXCHANGE, noc="none", min_frame=0, line_gap=0))


def test_records_say_when_each_command_begins_and_ends(traced):
    first, second = (8192 + 7 * 58) / 50 + 150, (4096 + 4 * 58) / 50 + 150
    found = [(r.chip, r.engine, r.name, r.begin, r.end) for r in traced.records]
    expected = [
        (0, "TIU", "product", 0, 1000),
        (0, "CDMA", "recv", 0, second),
        (0, "CDMA", "send", 1000, 1000 + first),
        (1, "HAU", "HAU", 1000 + first, 1000 + first + 50),
        (1, "CDMA", "recv", 0, 1000 + first),
        (1, "CDMA", "send", 0, second),
    ]
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3:] for row in found] == [pytest.approx(row[3:], abs=2e-6) for row in expected]
    assert traced.makespan == pytest.approx(1050 + first)
    assert trace_lines(traced) == [f"6 commands of 2 chips in {1050 + first:g} ns"]


def test_the_file_has_every_command_on_a_thread_of_its_own_where_commands_overlap(traced):
    events = json.loads(trace_events(traced))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == len(traced.records)
    for event in slices:
        assert math.isfinite(event["ts"])
        assert event["dur"] >= 0
    for place in {(event["pid"], event["tid"]) for event in slices}:
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if (e["pid"], e["tid"]) == place)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    names = {(e["pid"], e["args"]["name"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert names == {(0, "TIU"), (0, "CDMA"), (1, "CDMA"), (1, "CDMA (2)"), (1, "HAU")}
    arrows = [event for event in events if event["ph"] in "sf"]
    assert len(arrows) == 4
    for begin, end in zip(arrows[::2], arrows[1::2], strict=True):
        assert (begin["ph"], end["ph"], begin["id"]) == ("s", "f", end["id"])
        assert begin["ts"] <= end["ts"]
        assert begin["pid"] != end["pid"]
    product = next(event for event in slices if event["name"] == "product")
    assert product["ts"] == 0
    assert product["dur"] == 1.0  # us
    sent = next(event for event in slices if event["name"] == "send" and event["pid"] == 0)
    assert sent["args"] == {
        "cmd_id": 2,
        "op_type": "send",
        "data_bytes": 8192.0,
        "dep_engine": "TIU",
        "cmd_id_dep": 1,
    }


def test_a_picture_has_bars_for_each_engine(traced, tmp_path):
    (path,) = draw_gantt(traced, tmp_path / "gantt.png")
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_lanes_overlap_with_none_before_them(traced):
    assert lanes(traced.records[4:]) == [0, 1]
    assert lanes(traced.records[:1] * 3) == [0, 1, 2]
    assert lanes([]) == []


def test_commands_that_wait_for_each_other_are_named(tmp_path):
    both = {"chip": 0, "CDMA": [receive(1, 8), send(1, 8)]}, {"chip": 1, "CDMA": [receive(0, 8), send(0, 8)]}
    stuck = trace(grid_of(tmp_path, {"commands": list(both)}, recv_issue="blocking"))
    assert math.isnan(stuck.makespan)
    lines = trace_lines(stuck)
    assert lines[0] == "deadlock: 4 commands of 2 chips, of which 0 are done"
    waits = dict(line.strip().split(" waits for ") for line in lines[1:])
    assert waits == {
        "chip 0 core 0 CDMA RECV 1": "chip 1 core 0 CDMA SEND 2",
        "chip 1 core 0 CDMA SEND 2": "chip 1 core 0 CDMA RECV 1",
        "chip 1 core 0 CDMA RECV 1": "chip 0 core 0 CDMA SEND 2",
        "chip 0 core 0 CDMA SEND 2": "chip 0 core 0 CDMA RECV 1",
    }
    assert json.loads(trace_events(stuck))["traceEvents"]


def test_a_message_that_lacks_credits_is_named(tmp_path):
    stuck = trace(grid_of(tmp_path, EXCHANGE, credit_limit=3))
    assert trace_lines(stuck)[1:] == ["  chip 0 core 0 CDMA SEND 2 waits for 3 credits that nobody owes"]


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        ({"chip_count": 1}, "infeasible. There is no program, one for more chips"),
        (
            {"network_shape": "switched"},
            "infeasible. Chips have no route to each other in the topology, or",
        ),
        ({"event_budget": 3}, "takes more than event_budget events"),
    ],
)
def test_a_point_without_a_program_to_follow_is_refused(tmp_path, fixed, said):
    with pytest.raises(InputError, match=said):
        trace(grid_of(tmp_path, EXCHANGE, **fixed))


def test_a_grid_without_a_program_is_refused(tmp_path):
    path = tmp_path / "grid.yaml"
    path.write_text("outputs: [makespan]")
    with pytest.raises(InputError, match="sets no program"):
        trace(load_grid(path))
