"""What is promised of every cell of every grid, tried on grids that are drawn at random.

Compiled: some structures, each with many drawn numbers (heavy). Without JIT: structures that are drawn themselves.
Bounds are worked out by hand from what a collective must send, not from the models.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume

import sweep
from sweep.engine.execute import execute
from sweep.registry import STATUSES
from tests.cases import Case
from tests.models import point
from tests.oracle import assert_equal_to_points
from tests.structures import PARTS, STRUCTURES, TRACED, Source, case_of, sources

ROUNDING = 1e-12
"""What the rounding of a sum may amount to, in proportion."""

# Hand formulas.


def line_rate(given: dict[str, Any]) -> float:
    """Bytes per ns that a chip can send over the path."""
    coded = 16 / 17 if given["bandwidth_reference"] == "line" else 1
    link = given["link_bandwidth"] * (1 - given["fec_overhead"]) * coded
    through_ports = given["switch_hops"] > 0 and given["hop_delay"] == "full"
    port = given.get("port_bandwidth", math.inf) * (1 - given["fec_overhead"]) * coded
    return min(link, port) if through_ports else link


def idle_path(given: dict[str, Any]) -> float:
    """Pipelines, cables and the fixed latencies of switches, which every message pays at least."""
    hops = given["switch_hops"]
    cables = {"none": 0, "hops": hops, "segments": hops + 1}[given["propagation_count"]]
    flight = given.get("propagation", 5 if hops else 0)
    return given["base_latency"] + cables * flight + hops * given["switch_fixed"]


def messages_and_shares(given: dict[str, Any]) -> tuple[float, float] | None:
    """How many messages follow each other, and how often all bytes pass a link; None: no such collective."""
    chips = int(given["chip_count"])
    levels, depth = (chips - 1).bit_length(), chips.bit_length() - 1
    streaming = given["cdma_issue"] == "streaming"
    times = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1, "broadcast": 1}
    collective, schedule = given["collective"], given["tree_schedule"]
    match collective, given["algorithm"]:
        case ("all_to_all", "ring") if given["ring_exchange"] == "forwarded":
            return chips - 1, (chips - 1) / 2
        case ("all_to_all", "ring"):
            return chips - 1, (chips - 1) / chips
        case ("all_to_all", "pairwise"):
            return 1 if streaming else chips - 1, (chips - 1) / chips
        case ("all_to_all", "direct"):
            return 1, (chips - 1) / chips
        case ("all_reduce", "halving_doubling"):
            beyond = 2 if chips & (chips - 1) else 0
            return 2 * depth + beyond, 2 * (1 - 0.5**depth) + beyond
        case ("all_reduce" | "broadcast", "tree") if schedule in ("binomial", "binomial_own_links"):
            steps = times[collective] * (levels if schedule == "binomial" else depth)
            return steps, steps
        case ("all_reduce" | "broadcast", "tree") if schedule == "pipelined":
            steps = times[collective] * depth
            pieces = max(min(given["tree_pieces"], given["message_size"]), 1)
            return steps, (steps + pieces - 1) / pieces
        case ("all_reduce", "tree"):
            busiest = 3 if chips >= 4 else 2
            return {"note": (2 * levels, 2), "single_binary": (2 * depth, busiest), "double_binary": (2 * depth, 2)}[
                schedule
            ]
        case ("broadcast", "tree") if schedule != "note":
            return depth, 2 if schedule == "single_binary" and chips >= 3 else 1
        case ("all_reduce" | "reduce_scatter" | "all_gather", "ring"):
            return times[collective] * (chips - 1), times[collective] * (chips - 1) / chips
        case ("all_reduce" | "reduce_scatter" | "all_gather", "direct"):
            return times[collective], times[collective] * (chips - 1) / chips
    return None


def has_even_messages(given: dict[str, Any]) -> bool:
    """Whether all messages that follow each other have the same size."""
    forwarded = given["collective"] == "all_to_all" and given["algorithm"] == "ring"
    forwarded &= given["ring_exchange"] == "forwarded"
    return not forwarded and (given["collective"], given["algorithm"]) != ("all_reduce", "halving_doubling")


def has_credit_formula(given: dict[str, Any]) -> bool:
    """Whether the waiting for credits has a formula with these choices."""
    pair = given["collective"], given["algorithm"]
    even = has_even_messages(given)
    match given["credit_scope"], given["credit_model"]:
        case ("step", _):
            return True
        case ("total", "rounds"):
            return True
        case ("total" | "carried", "window") if given["flow_control"] == "pfc":
            return True
        case ("carried", "window"):
            return even and given["algorithm"] != "tree" and pair != ("all_reduce", "direct")
    return False


def status_of_empty_collective(given: dict[str, Any]) -> str:
    """The status of a collective of 0 bytes among several chips, the worse of two."""
    above = given["priority_utilization"] if given["queueing_model"] == "priority" else 0
    overloaded = given["egress_utilization"] + above >= 1 and given["queueing_model"] != "md1_note"
    tag = given["packet_formats"][given["packet_format"]]["vlan_tag"]
    if tag is None and given["vlan"] == "on":
        return "infeasible"
    if given["chip_count"] > 1_000_001 and given["algorithm"] == "ring" and not has_even_messages(given):
        return "budget"
    if overloaded and given["switch_hops"] > 0 and given["hop_delay"] == "full":
        return "unstable"
    return "ok" if has_credit_formula(given) and messages_and_shares(given) is not None else "infeasible"


# No NaN, inf or overflow goes unexplained.


def is_explained(value: Any, status: str) -> bool:
    """A value is there where the status is ok, and what stands for a missing one elsewhere."""
    if isinstance(value, str):
        return (value == "no_value") == (status != "ok") and status != "error"
    if status == "ok":
        return bool(np.isfinite(value).all())
    if status == "unstable":
        return bool(np.isin(value, (math.inf, 0)).all())
    return status in ("undefined", "infeasible", "budget") and bool(np.isnan(value).all())


@sources(compiled=10, drawn=50)
def test_a_value_that_is_not_finite_has_a_reason_and_it_is_no_fault_of_the_model(source):
    def promise(case):
        for row in case.rows():
            for name, status in row.statuses.items():
                assert is_explained(row.values[name], status), (name, row)

    source.all_keep(promise)


def test_a_choice_axis_whose_only_value_has_no_formula_is_infeasible():
    grid = {"outputs": ["steps"], "axes": {"collective": ["all_gather"]}, "fixed": {"algorithm": "pairwise"}}
    assert [STATUSES[code] for code in sweep.run(grid).status.values] == ["infeasible"]


def test_a_coordinate_has_the_values_that_were_computed_with():
    result = sweep.run({"outputs": ["frame_gap"], "axes": {"line_gap": [0, 10**19]}})
    assert result.line_gap.values.tolist() == result.frame_gap.values.tolist()


@sources(compiled=8, drawn=30)
def test_the_status_of_a_point_is_the_worst_of_its_outputs(source):
    def promise(case):
        for row in case.rows():
            assert row.status == max(row.statuses.values(), key=STATUSES.index)

    source.all_keep(promise)


# One chip, and 0 bytes.


@sources("collective_latency", drawn=30)
def test_one_chip_takes_exactly_no_time(source):
    def promise(case):
        for row in case.only("chip_count", 1).rows():
            assert (row.values["collective_latency"], row.statuses["collective_latency"]) == (0, "ok"), row

    source.all_keep(promise)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("credit_model", ["rounds", "window"])
@pytest.mark.parametrize("credit_scope", ["step", "total", "carried"])
@pytest.mark.parametrize("algorithm", ["ring", "pairwise", "tree", "halving_doubling", "direct"])
def test_the_parts_of_one_chip_are_nothing_whatever_else_is_wrong(part, credit_model, credit_scope, algorithm):
    wrong = {"packet_format": "afh_lite", "vlan": "on", "credit_limit": 1, "switch_hops": 1, "egress_utilization": 2}
    for collective in ("all_reduce", "all_to_all", "broadcast"):
        choices = {"credit_scope": credit_scope, "credit_model": credit_model, "algorithm": algorithm}
        found = point(part, chip_count=1, collective=collective, **choices, **wrong)
        assert (found.value, found.status) == (0, "ok")


@sources(compiled=0, drawn=40)
def test_0_bytes_are_legal_everywhere(source):
    def promise(case):
        for row in case.only("message_size", 0).rows():
            for name, status in row.statuses.items():
                assert is_explained(row.values[name], status), (name, row)

    source.all_keep(promise)


@sources("collective_latency", drawn=30)
def test_a_collective_of_0_bytes_is_its_messages_with_nothing_on_the_wire(source):
    def promise(case):
        for row in case.only("message_size", 0).rows():
            given, time, status = row.given, row.values["collective_latency"], row.statuses["collective_latency"]
            if given["chip_count"] == 1:
                continue
            assert status == status_of_empty_collective(given), row
            idle = given["egress_utilization"] == 0 or given["switch_hops"] == 0 or given["hop_delay"] != "full"
            idle &= given["queueing_model"] != "priority" or given["switch_hops"] == 0 or given["hop_delay"] != "full"
            if status == "ok" and idle:
                messages, _ = messages_and_shares(given)
                assert time == pytest.approx(messages * idle_path(given), rel=ROUNDING, abs=0), row

    source.all_keep(promise)


@sources("link_latency")
def test_0_bytes_pass_a_link_in_its_base_latency(source):
    def promise(case):
        for row in case.only("message_size", 0).rows_with("link_latency"):
            assert row.values["link_latency"] == row.given["base_latency"], row

    source.all_keep(promise)


# Physics.


@sources("collective_latency", drawn=50)
def test_no_collective_is_faster_than_its_messages_and_its_bytes_allow(source):
    def promise(case):
        for row in case.rows_with("collective_latency"):
            if row.given["chip_count"] > 1:
                messages, shares = messages_and_shares(row.given)
                least = messages * idle_path(row.given) + shares * row.given["message_size"] / line_rate(row.given)
                assert row.values["collective_latency"] >= least * (1 - ROUNDING), (least, row)

    source.all_keep(promise)


@sources("link_latency")
def test_no_message_crosses_a_link_faster_than_its_bytes_at_the_rate_of_the_link(source):
    def promise(case):
        for row in case.rows_with("link_latency"):
            least = row.given["base_latency"] + row.given["message_size"] / line_rate(row.given)
            assert row.values["link_latency"] >= least * (1 - ROUNDING), (least, row)

    source.all_keep(promise)


@sources("transfer_latency")
def test_no_message_arrives_before_its_bytes_and_the_path_allow(source):
    def promise(case):
        for row in case.rows_with("transfer_latency"):
            least = idle_path(row.given) + row.given["message_size"] / line_rate(row.given)
            assert row.values["transfer_latency"] >= least * (1 - ROUNDING), (least, row)

    source.all_keep(promise)


@sources(*TRACED, drawn=20)
def test_traced_frames_arrive_in_order_and_the_last_not_before_its_bytes_allow(source):
    def promise(case):
        for row in case.rows_with(*TRACED):
            arrivals, last = row.values["frame_delivery"], row.values["traced_link_latency"]
            least = row.given["base_latency"] + row.given["message_size"] / line_rate(row.given)
            assert (np.diff(arrivals) >= 0).all()
            assert arrivals[-1] == last >= least * (1 - ROUNDING), (least, row)

    source.all_keep(promise)


@sources("bus_bandwidth")
def test_no_collective_moves_bytes_faster_than_the_wire(source):
    def promise(case):
        for row in case.rows_with("bus_bandwidth"):
            links = 2 if row.given["algorithm"] == "tree" and row.given["tree_schedule"] == "pipelined" else 1
            assert 0 <= row.values["bus_bandwidth"] <= links * line_rate(row.given) * (1 + ROUNDING), row

    source.all_keep(promise)


@sources("algorithm_bandwidth")
def test_a_collective_needs_its_share_of_the_wire_for_every_byte(source):
    def promise(case):
        for row in case.rows_with("algorithm_bandwidth"):
            _, shares = messages_and_shares(row.given)
            assert row.values["algorithm_bandwidth"] * shares <= line_rate(row.given) * (1 + ROUNDING), row

    source.all_keep(promise)


@sources("payload_efficiency")
def test_payload_is_never_more_than_what_is_on_the_wire(source):
    def promise(case):
        for row in case.rows_with("payload_efficiency"):
            assert 0 <= row.values["payload_efficiency"] <= 1, row

    source.all_keep(promise)


@sources("collective_latency", *PARTS, drawn=50)
def test_the_six_parts_sum_to_the_collective_latency(source):
    def promise(case):
        for row in case.rows_with("collective_latency", *PARTS):
            parts = [row.values[name] for name in PARTS]
            assert min(parts) >= 0, row
            assert math.fsum(parts) == pytest.approx(row.values["collective_latency"], rel=ROUNDING, abs=0), row

    source.all_keep(promise)


# Time does not fall.


TIMES = {"collective_latency", "link_latency", "transfer_latency", "traced_link_latency"}


def assert_not_falling_along_message_size(case: Case) -> None:
    """Times, where there are any, do not fall, and once a message is too large, larger ones are too."""
    drawn = {case.value("message_size") for _ in range(4)}
    sizes = sorted(drawn | {min(size + 1, 2**50) for size in drawn})
    result = case.along("message_size", sizes).without_idle_axes().run()
    for name in TIMES & set(result):
        time = np.moveaxis(result[name].values, result[name].dims.index("message_size"), 0)
        is_missing = np.isnan(time)
        assert (is_missing[1:] >= is_missing[:-1]).all(), name
        assert not (time[1:] < time[:-1]).any(), name


@sources("collective_latency", drawn=25)
def test_the_time_of_a_collective_does_not_fall_as_the_message_grows(source):
    source.all_keep(assert_not_falling_along_message_size)


@sources("link_latency", drawn=30)
def test_the_time_on_a_link_does_not_fall_as_the_message_grows(source):
    source.all_keep(assert_not_falling_along_message_size)


@sources("transfer_latency")
def test_the_time_of_a_transfer_does_not_fall_as_the_message_grows(source):
    source.all_keep(assert_not_falling_along_message_size)


@sources("traced_link_latency", drawn=20)
def test_the_trace_of_a_longer_message_does_not_end_earlier(source):
    source.all_keep(assert_not_falling_along_message_size)


# The same for any way of computing.


@sources(compiled=3, drawn=20)
def test_results_are_bit_identical_for_any_number_of_threads_and_blocks(source):
    def promise(case):
        block_points = case.chance.choice((1, 2, 7, 100, 10**9))
        grid = case.load()
        made = sweep.plan(grid)
        reference = execute(made, 1, grid.statuses)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sweep.engine.execute.SERIAL_BELOW", 1)
            for threads in (1, 2, 3):
                split = execute(made, threads, grid.statuses, block_points=block_points)
                assert split.status.tobytes() == reference.status.tobytes()
                for name in grid.outputs:
                    assert split.outputs[name].tobytes() == reference.outputs[name].tobytes(), name
                    assert split.statuses[name].tobytes() == reference.statuses[name].tobytes(), name

    source.all_keep(promise)


@sources(compiled=3, drawn=70, most=2)
def test_every_point_is_the_one_that_plain_python_gives(source):
    def promise(case):
        grid = case.load()
        assert_equal_to_points(grid.registry, grid.outputs, grid.axes, grid.fixed)

    source.all_keep(promise)


# A point does not depend on its neighbours.


def assert_same_bits(one: xr.Dataset, other: xr.Dataset) -> None:
    assert set(one) == set(other)
    for name in one:
        assert one[name].dims == other[name].dims, name
        assert one[name].values.tobytes() == other[name].values.tobytes(), name


@sources(compiled=4, drawn=20)
def test_an_axis_in_another_order_gives_the_same_values_in_that_order(source):
    def promise(case):
        axes = case.numeric_axes() if source.structure else list(case.grid["axes"])
        assume(axes)
        axis = case.chance.choice(axes)
        values = case.grid["axes"][axis]
        order = case.chance.sample(range(len(values)), len(values))
        moved = case.along(axis, [values[index] for index in order]).run()
        assert_same_bits(moved, case.run().isel({axis: list(order)}))

    source.all_keep(promise)


@sources(compiled=4, drawn=20)
def test_a_grid_cut_in_two_gives_the_same_values(source):
    def promise(case):
        axes = [name for name in case.numeric_axes() if len(case.grid["axes"][name]) > 1]
        assume(axes)
        axis = case.chance.choice(axes)
        values = case.grid["axes"][axis]
        cut = case.chance.randint(1, len(values) - 1)
        whole = case.run()
        assert_same_bits(case.along(axis, values[:cut]).run(), whole.isel({axis: slice(cut)}))
        assert_same_bits(case.along(axis, values[cut:]).run(), whole.isel({axis: slice(cut, None)}))

    source.all_keep(promise)


@sources(compiled=0, drawn=40)
def test_a_slice_of_a_grid_is_the_grid_with_that_value_fixed(source):
    def promise(case):
        assume(case.grid["axes"])
        axis, values = case.chance.choice(list(case.grid["axes"].items()))
        index = case.chance.randrange(len(values))
        whole = case.run()
        fixed = case.at(axis, values[index]).without_idle_axes().run()
        for name in fixed:
            found = whole[name].isel({axis: index}) if axis in whole[name].dims else whole[name]
            expected = fixed[name].broadcast_like(found)
            assert np.array_equal(found.values, expected.transpose(*found.dims).values, equal_nan=True), name

    source.all_keep(promise)


# Dimensions.


@sources(compiled=4, drawn=30)
def test_an_output_does_not_change_with_an_axis_that_it_has_not(source):
    def promise(case):
        assume(case.numeric_axes())
        axis = case.chance.choice(case.numeric_axes())
        others = {case.value(axis) for _ in range(3)}
        one, other = case.run(), case.along(axis, others).run()
        for name in one:
            assert (axis in one[name].dims) == (axis in other[name].dims), name
            if axis not in one[name].dims:
                assert one[name].values.tobytes() == other[name].values.tobytes(), name

    source.all_keep(promise)


EQUAL_ALL_ALONG = {
    ("design_note", "queueing_time", "chip_count"),  # the note counts no queue in collectives
    ("design_note", "switch_time", "link_bandwidth"),  # the ports are as fast as the link
    ("design_note", "switch_time", "message_size"),
    ("pause_frames", "link_latency", "switch_hops"),
    ("gather_and_scatter", "bus_bandwidth", "collective"),  # what bus bandwidth is made for
}


@pytest.mark.heavy
@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda structure: structure.name)
def test_an_output_changes_with_every_axis_that_it_has(structure):
    named: set[tuple[str, str, str]] = set()
    changing: set[tuple[str, str, str]] = set()

    def explore(case):
        result = case.run()
        for name in structure.outputs:
            for position, axis in enumerate(result[name].dims):
                values = np.moveaxis(result[name].values, position, 0)
                differs = any(x.tobytes() != values[0].tobytes() for x in values)
                (changing if differs else named).add((structure.name, name, axis))

    Source(partial(case_of, structure, most=4), 10, structure).all_keep(explore)
    assert named - changing <= EQUAL_ALL_ALONG, named - changing - EQUAL_ALL_ALONG
