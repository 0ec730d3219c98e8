from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from sweep.catalog import default_registry
from sweep.engine import forecast as module
from sweep.engine.estimate import estimate, nest_seconds
from sweep.engine.execute import blocks, execute, split_into
from sweep.engine.forecast import forecast
from sweep.engine.loopnest import write_kernel
from sweep.engine.plan import make_plan
from sweep.registry import STATUSES
from tests.engine.test_engine import TOY, TOY_AXES, axis

FORESEEN = ("infeasible", "unstable", "deadlock", "budget")

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


def counts_of_run(made):
    """Points by status when the plan is computed."""
    status = execute(made, threads=1).status
    return {name: int((status == STATUSES.index(name)).sum()) for name in FORESEEN}


@pytest.mark.parametrize("outputs", [("moot_and_failing", "way"), ("area", "patience"), ("cost_each", "steps_at")])
def test_a_forecast_counts_the_points_that_fail_when_the_toy_is_computed(outputs):
    made = make_plan(TOY, outputs, TOY_AXES, {"density": 1.5})
    used = [each for each in TOY_AXES if each.name in made.status_dims]
    made = make_plan(TOY, outputs, used, {"density": 1.5})
    known = forecast(made)
    assert known.exact
    assert counts(known) == counts_of_run(made)
    assert sum(counts(known).values()) > 0


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
    status = plain_statuses(made)
    assert counts(known) == {name: status.count(name) for name in FORESEEN}


def plain_statuses(made):
    """The status of each point of a plan, evaluated in plain Python."""
    from itertools import product

    from sweep.engine.graph import resolve
    from sweep.engine.point import evaluate

    members = [(name, values) for each in made.axes.values() for name, values in each.members.items()]
    fixed = {name: value for name, value in made.fixed.items() if value is not None}
    found = []
    for point in product(*(values if isinstance(values, tuple) else values.tolist() for _, values in members)):
        point_values = {**fixed, **dict(zip((name for name, _ in members), point, strict=True))}
        graph = resolve(default_registry(), made.graph.outputs, point_values, {})
        _, statuses = evaluate(graph, point_values)
        (output,) = made.graph.outputs
        found.append(statuses[graph.owner[output]])
    return found


def test_a_reason_is_the_first_line_of_the_predicate_and_its_quantity():
    made = make_plan(default_registry(), ["queueing"], [axis("egress_utilization", 0.5, 1.0, 2.0)], {})
    (failure,) = forecast(made).failures
    assert (failure.status, failure.points) == ("unstable", 2)
    assert failure.reason == "The port gets at least as much as it can send; its queue has no mean (queueing)"
    made = make_plan(default_registry(), ["collective_latency"], [], {"algorithm": "tree", "collective": "all_to_all"})
    assert "has no formula for this choice" in forecast(made).failures[0].reason


def test_of_a_grid_with_too_many_combinations_some_are_looked_at_and_the_counts_are_marked(monkeypatch):
    monkeypatch.setattr(module, "MAX_COMBINATIONS", 100)
    sizes = axis("message_size", *range(0, 20000, 20))
    credits = axis("credit_size", *range(1, 101))
    made = make_plan(default_registry(), ["collective_latency"], [sizes, credits], {"credit_limit": 20.0})
    known = forecast(made)
    exact = counts_of_plain(made)
    assert not known.exact
    assert sum(failure.points for failure in known.failures) == pytest.approx(exact, rel=0.3)


def counts_of_plain(made):
    """Points where a frame of the chunk needs more than the 20 credits of the test above, by hand."""
    chunk = np.ceil(np.array(made.axes["message_size"].members["message_size"]) / 8)
    frame = np.maximum(np.minimum(chunk, 1344) + 58 + 0, 64)
    credits = np.ceil(frame[:, None] / made.axes["credit_size"].members["credit_size"])
    return int(((credits > 20) & (chunk[:, None] > 0)).sum())


def test_an_empty_forecast_is_for_a_grid_without_conditions():
    known = forecast(make_plan(default_registry(), ["steps"], [axis("chip_count", 1.0, 2.0)], {}))
    assert (known.failures, known.steps, known.exact) == ((), {}, True)


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
    assert set(nest_seconds(made, forecast(made))) == {nest.name for nest in made.nests}


@pytest.mark.parametrize(("points", "costly"), [(10, False), (10, True), (10**6, False), (10**9, False)])
def test_a_split_has_as_many_blocks_as_it_needs_for_its_threads(points, costly):
    split = split_into(points, costly, threads=4)
    assert split.threads == (4 if costly or points >= 100_000 else 1)
    if points < 10**7:
        assert len(list(blocks([points], split.block_points))) >= split.threads or points < split.threads or costly
