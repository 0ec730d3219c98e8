"""Simulated incasts against the formulas, against a model written with SimPy, and against what must always hold."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import sweep
from sweep.events.simulation import DEADLOCKED, DONE, GIVEN_UP
from sweep.events.switches import CREDITS, NO_PAUSES, PAUSES, follow_incast
from tests.events.simpy_incast import Incast, run
from tests.models import point, points

SEED = 20_261_203


def random_incast(draw: random.Random) -> dict[str, Any]:
    """A small incast with scarce buffers, reserves and credits; rates and times that hardly ever meet."""
    full = draw.randint(200, 1500)
    rates = [draw.uniform(10, 100) for _ in range(3)]
    rates[1] *= draw.choice((1, 10))
    pause_delay = draw.choice((0, draw.randrange(2_000_000)))
    share = draw.choice((0.0, 0.5, 1.0))
    return {
        "hops": draw.randint(1, 3),
        "senders": draw.randint(1, 6),
        "counts": np.array([draw.randint(0, 12), draw.choice((0, draw.randint(1, 9)))]),
        "full": full,
        "last": np.array([draw.randint(64, full) for _ in range(2)]),
        "gap": draw.choice((0, 20)),
        "classes": draw.randint(1, 2),
        "pauses_classes": draw.random() < 0.5,
        "control": draw.choice((NO_PAUSES, PAUSES, PAUSES, CREDITS)),
        "credit_limit": draw.randint(1, 40),
        "credit_size": draw.choice((64, 256)),
        "rates": np.array(rates),
        "awaited": draw.choice((64.0, math.inf)),
        "fixed": draw.randrange(600_000_000),
        "flight": draw.randrange(20_000_000),
        "back": draw.randrange(200_000_000),
        "pause_delay": pause_delay * 1000,
        "reserves": np.array([share * (rate * pause_delay / 1000 + full) for rate in rates[:2]]),
        "ratio": draw.choice((0.3, 0.85, 1.0)),
        "buffer": float(draw.choice((3, 8, 20, 1000)) * full),
        "alpha": draw.choice((0.5, 1.0, 8.0, math.inf)),
    }


def follow(given: dict[str, Any], budget: int = 10**6, rows: int = 0) -> tuple[int, list[int], list[int], np.ndarray]:
    """How a simulation ends, when messages are there, its figures, and its events, at most `rows`."""
    finish = np.zeros(given["senders"] + 1, np.int64)
    figures = np.zeros(7, np.int64)
    trace = np.zeros((rows, 2 + given["hops"]), np.int64)
    ending = follow_incast(*given.values(), budget, finish, figures, trace)
    return ending, finish.tolist(), figures.tolist(), trace[: figures[5]]


# Against the formulas


@pytest.mark.heavy
def test_an_incast_through_one_switch_takes_the_time_of_the_formula_but_for_rounding():
    grid = {
        "outputs": ["simulated_incast_latency", "incast_latency", "frames", "simulated_buffer_peak"],
        "axes": {
            "incast_senders": [1, 2, 3, 8, 13],
            "message_size": [1, 1343, 1344, 1345, 4000, 100_000],
            "link_bandwidth": [25.0, 47.3, 100.0],
            "port_bandwidth": [25.0, 47.3, 200.0],
            "forwarding": ["cut_through", "store_and_forward"],
        },
        "fixed": {"flow_control": "pfc", "switch_hops": 1, "switch_fixed": 312.7},
    }
    found = sweep.run(grid)
    assert bool((found["status"] == 0).all())
    rounded = found["frames"] * (found["incast_senders"] + 1) + 8
    assert bool((abs(found["simulated_incast_latency"] - found["incast_latency"]) <= 0.5e-6 * rounded).all())


def test_one_sender_through_switches_in_a_row_takes_the_time_of_a_transfer():
    for hops in (1, 2, 5):
        for size in (1, 1000, 1344, 5000):
            given = {"switch_hops": hops, "message_size": size, "incast_senders": 1, "trunk_bandwidth": 50.0}
            found = points(("simulated_incast_latency", "transfer_latency"), flow_control="pfc", **given)
            assert found["simulated_incast_latency"].value == pytest.approx(found["transfer_latency"].value, abs=1e-4)


def test_congested_queues_without_pauses_take_what_the_dynamic_threshold_leaves_them():
    for alpha in (0.25, 1.0, 4.0):
        given = {"buffer_size": 300_000, "buffer_alpha": alpha, "flow_control": "pfc", "pfc_enabled": "off"}
        found = points(("simulated_buffer_peak", "buffer_peak"), switch_hops=1, message_size=300_000, **given)
        peak = found["buffer_peak"].value
        assert abs(found["simulated_buffer_peak"].value - peak) < 1402  # a frame fits or not


def test_the_headroom_of_the_formula_is_enough_and_half_of_it_is_not():
    given = {"switch_hops": 1, "message_size": 300_000, "buffer_size": 100_000, "flow_control": "pfc"}
    outputs = ("dropped_frames", "headroom_peak", "pfc_headroom", "pause_count", "simulated_incast_latency")
    enough = points(outputs, **given)
    assert enough["dropped_frames"].value == 0
    assert enough["pause_count"].value > 0
    assert 0.75 * enough["pfc_headroom"].value < enough["headroom_peak"].value <= enough["pfc_headroom"].value
    half = points(outputs, headroom_share=0.5, **given)
    assert half["dropped_frames"].value > 0
    assert half["simulated_incast_latency"].status == "undefined"


def test_links_from_switch_to_switch_have_a_headroom_of_their_own():
    given = {"switch_hops": 3, "message_size": 100_000, "buffer_size": 100_000, "flow_control": "pfc"}
    assert point("dropped_frames", **given).value == 0
    assert point("dropped_frames", headroom_share=0.5, **given).value > 0


# A victim beside it


def victim(**given: Any) -> float:
    """Latency of a victim's message beside an incast through two switches with small buffers."""
    fixed = {"switch_hops": 2, "message_size": 1_000_000, "victim_size": 100_000, "buffer_size": 1_000_000}
    found = points(("simulated_victim_latency", "dropped_frames"), **{**fixed, "flow_control": "pfc", **given})
    assert found["dropped_frames"].value == 0
    return found["simulated_victim_latency"].value


def test_a_victim_in_a_class_of_its_own_is_hardly_held_up_and_one_in_the_same_class_is():
    alone = victim(message_size=1344, vlan="on")
    own_class = victim(vlan="on")
    same_class = victim(packet_format="afh_lite")
    one_class = victim(vlan="on", num_priorities=1)
    assert own_class < 1.1 * alone
    assert same_class > 2 * alone
    assert one_class > 2 * alone


def test_pauses_of_whole_ports_hold_up_every_class():
    # Without a VLAN tag a format can tell classes apart, but not pause them one by one.
    assert victim(vlan="off") > 2 * victim(vlan="on")


def test_a_victim_alone_takes_the_time_of_a_transfer():
    given = {"switch_hops": 2, "trunk_bandwidth": 50.0, "flow_control": "pfc"}
    alone = point("simulated_victim_latency", message_size=0, victim_size=30_000, **given)
    assert alone.value == pytest.approx(point("transfer_latency", message_size=30_000, **given).value, abs=1e-4)


# Endings


def test_hosts_that_need_more_ports_than_there_are_are_infeasible():
    given = {"switch_hops": 1, "flow_control": "pfc", "message_size": 1000}
    assert point("simulated_incast_latency", incast_senders=15, **given).status == "ok"
    assert point("simulated_incast_latency", incast_senders=16, **given).status == "infeasible"
    assert point("simulated_incast_latency", incast_senders=14, victim_size=1, **given).status == "infeasible"
    two = {**given, "switch_hops": 2}
    assert point("simulated_incast_latency", incast_senders=14, victim_size=1, **two).status == "ok"
    assert point("simulated_incast_latency", incast_senders=15, victim_size=1, **two).status == "infeasible"
    assert point("simulated_incast_latency", **{**given, "switch_hops": 0}).status == "infeasible"


def test_nothing_that_is_sent_has_no_latency():
    given = {"switch_hops": 1, "message_size": 0}
    found = points(("simulated_incast_latency", "simulated_victim_latency", "simulated_incast_events"), **given)
    assert found["simulated_incast_latency"].status == "undefined"
    assert found["simulated_victim_latency"].status == "undefined"
    assert found["simulated_incast_events"].value == 0


def test_too_few_credits_for_a_frame_are_a_deadlock():
    given = {"switch_hops": 1, "message_size": 5000, "credit_limit": 5}
    assert point("simulated_incast_latency", **given).status == "deadlock"
    assert point("simulated_incast_latency", **{**given, "credit_limit": 6}).status == "ok"


def test_an_incast_past_its_budget_is_given_up():
    given = {"switch_hops": 1, "message_size": 5000, "flow_control": "pfc"}
    events = point("simulated_incast_events", **given).value
    assert point("simulated_incast_latency", event_budget=events, **given).status == "ok"
    assert point("simulated_incast_latency", event_budget=events - 1, **given).status == "budget"
    assert point("simulated_incast_latency", **{**given, "link_bandwidth": 1e9}).status == "budget"
    huge = {**given, "message_size": 10**15, "event_budget": 10**13}
    assert point("simulated_incast_latency", **huge).status == "budget"


def test_a_link_between_switches_does_not_count_where_there_is_none():
    given = {"switch_hops": 1, "message_size": 100, "incast_senders": 2, "flow_control": "pfc"}
    expected = point("simulated_incast_latency", **given)
    assert point("simulated_incast_latency", trunk_bandwidth=1e-9, **given) == expected
    assert point("simulated_incast_latency", trunk_bandwidth=1e9, **given) == expected


def test_credits_of_all_switches_of_a_row_may_be_on_their_way_at_once():
    given = random_incast(random.Random(5)) | {"hops": 6, "senders": 2, "counts": np.array([900, 0])}
    given |= {"control": CREDITS, "credit_limit": 32767, "back": 10**12}
    assert follow(given)[0] == DONE


# Against SimPy


def test_messages_drops_pauses_and_peaks_are_those_of_a_model_written_with_simpy():
    draw = random.Random(f"{SEED} simpy")
    seen = {"drops": 0, "pauses": 0, "paused": 0, "deadlocks": 0, "all": 0}
    for _ in range(700):
        given = random_incast(draw)
        given["pause_delay"] += given["flight"] + 160_000_000  # no note acts at the time at which it is sent
        ending, finish, figures, _ = follow(given)
        control = given["control"]
        names = [name for name in Incast.__dataclass_fields__ if name not in ("pause", "credits")]
        credits = given["credit_limit"] if control == CREDITS else None
        model = Incast(pause=control == PAUSES, credits=credits, **{name: given[name] for name in names})
        expected, own = run(model)
        assert finish == expected, given
        assert figures[:2] + figures[3:5] == own[:2] + own[3:], given
        assert figures[2] <= own[2], given  # the other model goes on until all pauses are over
        seen["paused"] += 0 < figures[2] == own[2]
        seen["drops"] += figures[0] > 0
        seen["pauses"] += figures[1] > 0
        seen["deadlocks"] += ending == DEADLOCKED
        seen["all"] += ending == DONE and figures[0] == 0
    assert min(seen.values()) > 20, seen


# What must always hold


@pytest.mark.plain
def test_three_thousand_small_incasts_end_and_keep_their_invariants():
    draw = random.Random(SEED)
    for _ in range(3000):
        given = random_incast(draw)
        ending, finish, figures, trace = follow(given, budget=4000, rows=4000)
        assert ending in (DONE, DEADLOCKED), given
        assert ending == DONE or given["control"] == CREDITS, given
        assert len(trace) == figures[5]
        assert (np.diff(trace[:, 0]) >= 0).all(), given
        assert (trace[:, 2:] >= 0).all(), given
        if given["control"] != CREDITS:
            assert trace[:, 2:].max(initial=0) <= given["buffer"], given
        assert figures[4] <= given["reserves"].max(), given
        frames = given["counts"][0] * given["senders"] + given["counts"][1]
        if figures[0] == 0 and ending == DONE:
            assert min(finish) >= 0
            # The receiver's port carries all frames of the incast, the last one until it is there.
            least = (given["full"] + given["gap"]) * max(given["counts"][0] - 1, 0) * given["senders"]
            assert max(finish[:-1]) >= least / given["rates"][2] * 1e6 - frames, given
        else:
            assert min(finish) == -1, given


@pytest.mark.parametrize("seed", range(3))
def test_a_budget_ends_a_simulation_anywhere(seed):
    given = random_incast(random.Random(f"{SEED} budget {seed}"))
    given["counts"] = np.array([9, 9])
    ending, _, figures, _ = follow(given, budget=100)
    assert (ending, figures[5]) == (GIVEN_UP, 100)
