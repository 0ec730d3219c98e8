"""Recorded traffic: how its file is read, and what a switch makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sweep
from sweep.errors import InputError
from sweep.events.recording import read_recording
from tests.conftest import ROOT
from tests.models import points

HEADER = "time_ns,source,destination,size_B,kind\n"


def faults(text):
    with pytest.raises(InputError) as caught:
        read_recording(text, "trace.csv")
    return [str(fault) for fault in caught.value.faults]


def test_messages_come_by_source_and_time_whatever_the_order_of_lines_and_columns():
    text = "# two\n\nkind,size_B,destination,source,time_ns\nresponse,7,1,2,5\n request ,0,0,2,1.5\nrequest,9,2,0,8\n"
    assert read_recording(text, "trace.csv").tolist() == [[0, 8, 2, 9, 0], [2, 1.5, 0, 0, 0], [2, 5, 1, 7, 1]]
    assert read_recording("time_ns,source,destination,size_B\n1e3,1,0,64\n", "x").tolist() == [[1, 1000, 0, 64, 0]]
    assert read_recording(HEADER, "x").shape == (0, 5)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "trace.csv: has no line that names its columns, such as time_ns,source,destination,size_B,kind"),
        ("time_ns,source,destination\n", "trace.csv:1: the column size_B is missing"),
        ("time_ns,source,destination,size_B,size_B\n", "trace.csv:1: a column stands here twice"),
        (HEADER.replace("source", "sorce"), "'sorce' is not a column"),
        (HEADER + "1,2\n", "trace.csv:2: has 2 values, not 5"),
        (HEADER + "1,0,0,5,request\n", "trace.csv:2: host 0 sends to itself, which does not pass the switch"),
        (HEADER + "x,0,1,5,request\n", "trace.csv:2: time_ns is a number, not 'x'"),
        (HEADER + "-1,0,1,5,request\n", "trace.csv:2: time_ns is a time from 0 on, not -1"),
        (HEADER + "nan,0,1,5,request\n", "trace.csv:2: time_ns is a time from 0 on, not nan"),
        (HEADER + "1,0.5,1,5,request\n", "trace.csv:2: source is a host, a whole number from 0 to 4095, not 0.5"),
        (HEADER + "1,0,9999,5,request\n", "destination is a host, a whole number from 0 to 4095, not 9999"),
        (HEADER + "1,0,1,5.5,request\n", "size_B is a whole number of bytes from 0 to"),
        (HEADER + "\n1,0,1,5,reply\n", "trace.csv:3: kind is one of request, response, not 'reply'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(text, wanted):
    assert wanted in "\n".join(faults(text))


def test_every_bad_line_is_told_up_to_twenty():
    assert len(faults(HEADER + "1,2\n" * 3)) == 3
    assert len(faults(HEADER + "1,2\n" * 100)) == 20


@settings(deadline=None, database=None)
@given(st.text(max_size=80) | st.text("0123456789.,-einaf \n", max_size=80).map(HEADER.__add__))
def test_any_text_gives_messages_or_faults(text):
    try:
        messages = read_recording(text, "trace.csv")
    except InputError:
        return
    assert (messages >= 0).all()
    assert (messages[:, 0] != messages[:, 2]).all()


def test_one_message_takes_the_time_worked_out_by_hand():
    """Three frames of 1402, 1402 and 170 B at 50 B/ns, 20 B of gaps; cut-through after 64 B; 500 ns in the switch."""
    messages = read_recording("time_ns,source,destination,size_B\n100,0,1,2800\n", "x")
    given = {"switch_traffic": "trace", "traffic_trace": messages, "flow_control": "pfc"}
    outputs = ("trace_completion_time", "simulated_switch_latency", "class_frames", "switch_throughput")
    found = points(outputs, **given)
    first_at_port = 64 / 50 + 500
    on_wire = (2 * 1422 + 190) / 50
    assert found["trace_completion_time"].value == pytest.approx(100 + first_at_port + on_wire + 150, abs=1e-5)
    assert found["simulated_switch_latency"].value == pytest.approx(first_at_port, abs=1e-5)
    assert found["class_frames"].value.tolist() == [0, 3, 3, 0]
    interval = points(("simulated_switch_latency_interval",), **given)["simulated_switch_latency_interval"]
    assert interval.status == "undefined"


def test_what_a_trace_cannot_tell_has_a_status():
    messages = read_recording("time_ns,source,destination,size_B\n0,0,9,2800\n", "x")
    trace = {"switch_traffic": "trace", "flow_control": "pfc"}
    wanted = "trace_completion_time"
    assert points((wanted,), traffic_trace=messages, port_count=9, **trace)[wanted].status == "infeasible"
    assert points((wanted,), traffic_trace=messages, port_count=10, **trace)[wanted].status == "ok"
    assert points((wanted,), **trace)[wanted].status == "undefined"
    assert points((wanted,), switch_traffic="poisson", egress_utilization=0.5, sample_frames=256)[wanted].status == (
        "undefined"
    )
    drops = {"buffer_size": 100.0, "pfc_enabled": "off", "traffic_trace": messages}
    found = points((wanted, "switch_drops", "simulated_switch_latency"), **trace, **drops)
    assert found["switch_drops"].value == 3
    assert found[wanted].status == found["simulated_switch_latency"].status == "undefined"
    few = {"flow_control": "cbfc", "credit_limit": 1, "credit_size": 256, "traffic_trace": messages}
    assert points((wanted,), **{**trace, **few})[wanted].status == "deadlock"


@pytest.mark.heavy
def test_the_shipped_trace_needs_the_buffers_and_times_of_the_readme_and_no_less_than_its_busiest_port():
    grid = sweep.load_grid(
        ROOT / "grids" / "trace_replay.yaml", outputs=["trace_completion_time", "switch_pause_time", "switch_drops"]
    )
    found = sweep.run(grid)
    messages = grid.fixed["traffic_trace"].content
    bytes_to = [messages[messages[:, 2] == host, 3].sum() for host in range(16)]
    assert (found["trace_completion_time"] * found["link_bandwidth"] > max(bytes_to)).all()
    assert (found["switch_drops"] == 0).all()
    slow = found.sel(link_bandwidth=50)
    pauses = slow["switch_pause_time"] > 0
    assert pauses.sel(packet_format="standard").values.tolist() == [True, True, True, False, False]
    others = pauses.drop_sel(packet_format="standard")
    assert others.isel(buffer_size=slice(4)).all()
    assert not others.isel(buffer_size=4).any()
    times = slow["trace_completion_time"].isel(buffer_size=slice(3, None)) / 1000
    assert times.sel(packet_format="standard").values.round().tolist() == [141, 141]
    rest = times.drop_sel(packet_format="standard")
    assert (float(rest.min()), float(rest.max())) == pytest.approx((72, 79), abs=0.5)
