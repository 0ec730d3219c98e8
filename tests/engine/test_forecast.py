from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from sweep.catalog import default_registry
from sweep.engine import forecast as module
from sweep.engine.estimate import estimate, nest_seconds
from sweep.engine.execute import blocks, split_into
from sweep.engine.forecast import forecast, steps_of_points
from sweep.engine.loopnest import write_kernel
from sweep.engine.plan import make_plan
from sweep.registry import STATUSES, Registry
from tests.engine import tricky
from tests.engine.test_engine import TOY, TOY_AXES
from tests.oracle import axis, compute, evaluate_points

FORESEEN = ("infeasible", "unstable", "deadlock", "budget")

NOTHING = dict.fromkeys(FORESEEN, 0)

TRICKY = Registry()
TRICKY.add_module(tricky)
TRICKY.check()

LINK_AXES = [
    axis("packet_format", "standard", "afh_lite"),
    axis("vlan", "off", "on"),
    axis("credit_size", 32.0, 256.0, 2048.0),
    axis("egress_utilization", 0.5, 1.0),
    axis("switch_hops", 0.0, 2.0),
    axis("chip_count", 1.0, 3.0, 8.0),
    axis("message_size", 0.0, 1.0, 1e6),
    axis("algorithm", "ring", "pairwise"),
    axis("queueing_model", "md1_note", "md1"),
]


def counts(known):
    """Points by status."""
    found = dict.fromkeys(FORESEEN, 0)
    for failure in known.failures:
        found[failure.status] += failure.points
    return found


def assert_counts_of_a_run(registry, outputs, axes, fixed=None):
    """A forecast is exact, and counts as many points of each status as there are when the plan is computed."""
    used = [each for each in axes if each.name in make_plan(registry, outputs, axes, fixed or {}).status_dims]
    made, result = compute(registry, outputs, used, fixed or {}, threads=1)
    known = forecast(made)
    assert known.exact
    found = counts(known)
    assert found == {name: int((result.status == STATUSES.index(name)).sum()) for name in FORESEEN}
    return found


@pytest.mark.parametrize(
    "outputs",
    [("moot_and_failing", "way"), ("area", "patience"), ("cost_each", "steps_at"), ("wait", "total", "verdict")],
)
def test_a_forecast_counts_the_points_that_fail_when_the_toy_is_computed(outputs):
    assert sum(assert_counts_of_a_run(TOY, outputs, TOY_AXES, {"density": 1.5}).values()) > 0


def test_a_value_that_is_moot_about_failed_inputs_decides_over_later_failures():
    axes = [axis("price_limit", 0.0, 2.0), axis("load", 0.0, 0.5, 2.0), axis("count", 0.0, 3.0)]
    assert assert_counts_of_a_run(TRICKY, ("last",), axes) == {**NOTHING, "infeasible": 3, "unstable": 4}


def test_a_division_by_zero_is_infinite_as_in_compiled_code():
    axes = [axis("load", 0.0, 0.5, 2.0)]
    assert assert_counts_of_a_run(TRICKY, ("busy",), axes)["unstable"] == 2


def test_an_undefined_value_is_not_counted_and_hides_what_the_same_quantity_tests_after_it():
    axes = [axis("count", 0.0, 3.0, 300.0), axis("load", 0.0, 2.0)]
    assert assert_counts_of_a_run(TRICKY, ("both",), axes)["infeasible"] == 3


def test_what_only_a_run_can_tell_is_named():
    made = make_plan(TRICKY, ["judged"], [axis("count", 0.0, 3.0)], {})
    known = forecast(made)
    assert known.unknown == ("infeasible: The kernel went too far (judged)",)
    assert not known.exact
    assert "walked" in estimate(made, write_kernel(made), known, made.result_bytes(), threads=1).uncounted


@seed(7)
@settings(max_examples=25, deadline=None, database=None)
@given(
    st.sets(st.integers(0, len(LINK_AXES) - 1), min_size=1, max_size=5),
    st.sampled_from(("bus_bandwidth", "transfer_latency")),
)
def test_a_forecast_counts_the_points_that_fail_when_the_models_are_computed(chosen, output):
    given_axes = [each for index, each in enumerate(LINK_AXES) if index in chosen]
    fixed = {"credit_limit": 5.0, "switch_hops": 1.0, "egress_utilization": 1.0, "credit_size": 128.0}
    fixed = {name: value for name, value in fixed.items() if name not in {each.name for each in given_axes}}
    made = make_plan(default_registry(), [output], given_axes, fixed)
    used = [each for each in given_axes if each.name in made.status_dims]
    made = make_plan(default_registry(), [output], used, fixed)
    known = forecast(made)
    assert known.exact
    _, codes = evaluate_points(default_registry(), [output], used, fixed)
    assert counts(known) == {name: codes[output].count(STATUSES.index(name)) for name in FORESEEN}


def test_a_reason_is_the_first_line_of_the_predicate_and_its_quantity():
    made = make_plan(default_registry(), ["queueing"], [axis("egress_utilization", 0.5, 1.0, 2.0)], {})
    (failure,) = forecast(made).failures
    assert (failure.status, failure.points) == ("unstable", 2)
    assert failure.reason == "The port gets at least as much as it can send; its queue has no mean (queueing)"
    made = make_plan(default_registry(), ["collective_latency"], [], {"algorithm": "tree", "collective": "all_to_all"})
    assert "has no formula for this choice" in forecast(made).failures[0].reason


def test_of_a_grid_with_too_many_combinations_some_are_looked_at_and_the_counts_are_marked(monkeypatch):
    monkeypatch.setattr(module, "MAX_CALLS", 100)
    sizes = axis("message_size", *range(0, 20000, 20))
    credits = axis("credit_size", *range(1, 101))
    made = make_plan(default_registry(), ["collective_latency"], [sizes, credits], {"credit_limit": 20.0})
    known = forecast(made)
    assert not known.exact
    assert sum(failure.points for failure in known.failures) == pytest.approx(counts_of_plain(made), rel=0.3)


def test_a_condition_on_one_axis_is_counted_exactly_however_many_others_there_are():
    axes = [
        axis("egress_utilization", *np.linspace(0, 1, 29)),
        axis("message_size", *range(10_000)),
        axis("credit_size", *range(1, 1000)),
        axis("base_latency", *range(1000)),
    ]
    made = make_plan(default_registry(), ["transfer_latency"], axes, {"switch_hops": 1.0, "credit_limit": 32767.0})
    (failure,) = forecast(made).failures
    assert (failure.status, failure.points) == ("unstable", 10_000 * 999 * 1000)


def test_a_position_that_is_looked_at_stands_for_those_around_it(monkeypatch):
    monkeypatch.setattr(module, "MAX_CALLS", 10)
    made = make_plan(default_registry(), ["queueing"], [axis("egress_utilization", *np.linspace(0, 1, 1001))], {})
    assert forecast(made).failures[0].points <= 1001 / 10


def counts_of_plain(made):
    """Points where a frame of the chunk needs more than the 20 credits of the test above, by hand."""
    chunk = np.ceil(np.array(made.axes["message_size"].members["message_size"]) / 8)
    frame = np.maximum(np.minimum(chunk, 1344) + 58 + 0, 64)
    credits = np.ceil(frame[:, None] / made.axes["credit_size"].members["credit_size"])
    return int(((credits > 20) & (chunk[:, None] > 0)).sum())


def test_an_empty_forecast_is_for_a_grid_without_conditions():
    known = forecast(make_plan(default_registry(), ["steps"], [axis("chip_count", 1.0, 2.0)], {}))
    assert (known.failures, known.unknown, known.steps, known.exact) == ((), (), {}, True)


def test_steps_of_a_kernel_are_those_of_all_its_calls_that_do_not_fail():
    sizes = axis("message_size", 0.0, 1344.0, 13440.0, 1e15)
    made = make_plan(default_registry(), ["traced_link_latency"], [sizes, axis("base_latency", 1.0, 2.0)], {})
    assert forecast(made).steps == {"frame_trace": 2 * (0 + 1 + 10)}


def test_an_estimate_counts_the_blocks_that_are_run_and_grows_with_the_grid():
    def estimated(points):
        made = make_plan(default_registry(), ["transfer_latency"], [axis("message_size", *range(points))], {})
        source = write_kernel(made)
        return made, source, estimate(made, source, forecast(made), made.result_bytes(), threads=2)

    made, source, small = estimated(100)
    _, _, large = estimated(300_000)
    assert small.blocks == len(source.calls) == len(made.nests)
    assert large.blocks == 8
    assert large.compute > 100 * small.compute
    assert set(nest_seconds(made, forecast(made).steps)) == {nest.name for nest in made.nests}


@pytest.mark.parametrize(("points", "costly"), [(10, False), (10, True), (10**6, False), (10**9, False)])
def test_a_split_has_as_many_blocks_as_it_needs_for_its_threads(points, costly):
    split = split_into(points, costly, threads=4)
    assert split.threads == (4 if costly or points >= 100_000 else 1)
    if points < 10**7:
        assert len(list(blocks([points], split.block_points))) >= split.threads or points < split.threads or costly


def test_blocks_of_a_kernel_are_computed_heaviest_first_and_the_result_is_the_same(monkeypatch):
    from sweep.engine import execute

    axes = [axis("message_size", 1344.0 * 5, 1344.0 * 700, 0.0, 1344.0 * 30), axis("credit_limit", 6.0, 60.0)]
    outputs = ["traced_link_latency"]
    made, result = compute(default_registry(), outputs, axes, {}, threads=1)
    (nest,) = (nest for nest in made.nests if "frame_trace" in nest.nodes)
    dims, steps = steps_of_points(made, nest.nodes)
    assert dims == ("message_size",)
    assert steps.tolist() == [5, 700, 0, 30]
    order = []
    run_on_threads = execute.run_on_threads

    def noting(work, items, threads):
        items = list(items)
        order.append([block[0][0] for block in items if nest.dims[0] == "message_size"])
        run_on_threads(work, iter(items), threads)

    monkeypatch.setattr(execute, "run_on_threads", noting)
    _, again = compute(default_registry(), outputs, axes, {}, threads=2)
    assert [1, 1, 3, 3, 0, 0, 2, 2] in order
    np.testing.assert_array_equal(again.outputs[outputs[0]], result.outputs[outputs[0]])


def test_where_there_are_too_many_points_or_no_steps_blocks_stay_in_order(monkeypatch):
    axes = [axis("message_size", 1344.0 * 5, 1344.0 * 700)]
    made = make_plan(default_registry(), ["traced_link_latency"], axes, {})
    nodes = list(made.graph.nodes)
    assert not steps_of_points(made, [node for node in nodes if node != "frame_trace"])[1].any()
    monkeypatch.setattr(module, "MAX_WEIGHED", 1)
    assert not steps_of_points(made, nodes)[1].any()
