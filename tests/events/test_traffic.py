"""Simulated switches under traffic that goes on: against a model written with SimPy, and against the formulas."""

from __future__ import annotations

import math
import random
from dataclasses import asdict, replace

import numpy as np
import pytest

import sweep
from sweep.events.histogram import BINS
from sweep.events.shared_switch import ACK, BURSTS, INCAST, PERMUTATION, POISSON, REQUEST, TRACE, follow_traffic
from sweep.events.simulation import DEADLOCKED, DONE, GIVEN_UP
from sweep.events.switches import CREDITS, NO_PAUSES, PAUSES
from tests.events import simpy_switch
from tests.events.simpy_switch import Given
from tests.models import points

SEED = 20_261_205


def random_switch(draw: random.Random) -> Given:
    """A small switch with scarce buffers and credits; times that hardly ever meet."""
    ports = draw.randint(2, 5)
    full = draw.randint(300, 1500)
    rates = (draw.uniform(20, 60), draw.uniform(20, 60))
    control = draw.choice(("none", "pause", "pause", "credits"))
    pattern = draw.choice((POISSON, BURSTS, PERMUTATION, INCAST))
    burst = draw.randint(1, 6) if pattern == BURSTS else 1
    load = draw.uniform(0.2, 1.3)
    sources = ports - 1 if pattern == INCAST else 1
    low = draw.choice((math.inf, draw.uniform(0, 8) * full))
    pause_delay = draw.randrange(600_000)
    return Given(
        ports=ports,
        pattern=pattern,
        gap_between=burst * sources * (full + 20) / rates[1] / load * 1e6,
        burst=burst,
        messages=(),
        payload=full - 40,
        overhead=40,
        minimum=64,
        response_share=draw.choice((0.0, 0.3, 0.5)),
        acknowledged=draw.random() < 0.6,
        queue_of=draw.choice(((0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 2, 3))),
        sizes=(64, 64, full, full),
        gap=20,
        rates=rates,
        awaited=draw.choice((64.0, math.inf)),
        fixed=draw.randrange(500_000_000),
        flight=draw.randrange(20_000_000),
        base=draw.randrange(200_000_000),
        pause=control == "pause",
        pauses_classes=draw.random() < 0.5,
        credits=draw.randint(math.ceil(full / 256), 60) if control == "credits" else None,
        credit_size=256,
        back=draw.randrange(200_000_000),
        pause_delay=pause_delay * 1000,
        reserve=draw.choice((0.0, 0.5, 1.0)) * (rates[0] * pause_delay / 1000 + full),
        ratio=draw.choice((0.3, 0.85)),
        buffer=float(draw.choice((10, 40, 1000)) * full),
        alpha=draw.choice((0.5, 1.0, 8.0, math.inf)),
        marks=(low, low + draw.uniform(1, 5) * full),
        slows=draw.random() < 0.7,
        notice_gap=draw.randrange(3_000_000_000),
        recovery=1 + draw.randrange(3_000_000_000),
        increase=draw.uniform(0, 3),
        gain=draw.choice((1 / 256, 1 / 4)),
        request_weight=draw.randint(1, 3),
        seed=draw.randint(0, 10**6),
    )


def random_trace(draw: random.Random) -> Given:
    """A small switch to which hosts send some messages of any size, also of none."""
    given = random_switch(draw)
    messages = []
    for _ in range(draw.randint(1, 60)):
        source, goal = draw.sample(range(given.ports), 2)
        size = draw.choice((0, 1, given.payload, draw.randint(1, 5 * given.payload)))
        messages.append((source, draw.uniform(0, 20_000), goal, size, draw.randint(0, 1)))
    return replace(given, pattern=TRACE, messages=tuple(sorted(messages)))


def follow(given: Given, part: int, parts: int, budget: int = 10**6, rows: int = 0):
    """How a simulation ends, stays of data frames, histograms, totals, figures, and frames that arrive."""
    stays, counts, totals, figures = np.zeros(parts), np.zeros((4, BINS), np.int64), np.zeros(4), np.zeros(18)
    arguments = asdict(given)
    control = PAUSES if given.pause else NO_PAUSES if given.credits is None else CREDITS
    arguments |= {"pause": control, "credits": given.credits or 0}
    arguments["messages"] = np.array(given.messages, float).reshape(-1, 5)
    for name, kind in (("queue_of", np.int64), ("sizes", np.int64), ("rates", float), ("marks", float)):
        arguments[name] = np.array(arguments[name], kind)
    trace = np.full((rows, 6), -1)
    ending = follow_traffic(*arguments.values(), part, budget, 1 << 16, stays, counts, totals, figures, trace)
    return ending, stays, counts, totals, figures, trace[trace[:, 0] >= 0]


def meet(frames: np.ndarray, given: Given) -> bool:
    """Whether frames for the same port come to the switch at the same time: after pauses hosts go on together."""
    durations = [simpy_switch.fs((size + given.gap) / given.rates[1]) for size in given.sizes]
    came = [(when - durations[kind] - stay, goal) for when, kind, _, goal, _, stay in frames.tolist()]
    return len(set(came)) < len(came)


@pytest.mark.plain
def test_a_model_written_with_simpy_finds_the_same_frames_drops_marks_and_pauses():
    draw = random.Random(SEED)
    seen = {"drops": 0, "marks": 0, "pauses": 0, "notices": 0, "compared": 0}
    for _ in range(120):
        given = random_switch(draw)
        ending, _, _, _, figures, frames = follow(given, 1, 160, rows=10_000)
        if ending == GIVEN_UP or meet(frames, given):  # nothing comes through, or who is first is left open
            continue
        found = simpy_switch.run(given, 10, 160)
        last = frames[-1, 0]
        # Of frames that arrive at the same time either may come first: with the last, the count may end.
        earlier = frames[frames[:, 0] < last].tolist()
        assert sorted(frame for frame in found.frames if frame[0] < last) == sorted(map(tuple, earlier))
        for name, place in (("pauses", 5), ("marks", 7), ("drops", 8), ("notices", 14)):
            assert figures[place] == getattr(found, name), name
            seen[name] += getattr(found, name)
        seen["compared"] += 1
    assert min(seen.values()) > 80


@pytest.mark.plain
def test_a_model_written_with_simpy_replays_a_trace_in_the_same_way():
    draw = random.Random(SEED + 3)
    seen = {"drops": 0, "marks": 0, "pauses": 0, "compared": 0, "deadlocks": 0}
    for _ in range(150):
        given = random_trace(draw)
        ending, _, counts, _, figures, frames = follow(given, 1, 128, rows=10_000)
        found = simpy_switch.run(given, 0, 10**9)
        if meet(frames, given):
            continue
        assert sorted(found.frames) == sorted(map(tuple, frames.tolist()))
        assert counts.sum() == len(frames)
        data = frames[frames[:, 1] >= REQUEST]
        assert figures[1] == len(data)
        assert figures[15] == data[:, 5].sum()
        assert figures[17] == max(data[:, 0], default=0)
        sent = sum(max(math.ceil(size / given.payload), 1) for *_, size, _ in given.messages)
        if ending == DONE and figures[8] == 0:
            assert len(data) == sent
            assert figures[16] == sum(size for *_, size, _ in given.messages)
        assert ending == DONE or (ending == DEADLOCKED and given.credits is not None and len(data) < sent)
        for name, place in (("pauses", 5), ("marks", 7), ("drops", 8)):
            assert figures[place] == getattr(found, name), name
            seen[name] += getattr(found, name)
        seen["compared"] += 1
        seen["deadlocks"] += ending == DEADLOCKED
    assert min(seen[name] for name in ("drops", "marks", "pauses", "compared")) > 40


@pytest.mark.heavy
def test_five_hundred_small_switches_lose_no_frame_and_count_none_twice():
    draw = random.Random(SEED + 1)
    endings = {DONE: 0, GIVEN_UP: 0}
    for _ in range(500):
        given = random_switch(draw)
        ending, stays, counts, totals, figures, frames = follow(given, 1, 60, budget=20_000, rows=5_000)
        endings[ending] += 1
        if ending == GIVEN_UP:
            continue
        durations = [simpy_switch.fs((size + given.gap) / given.rates[1]) for size in given.sizes]
        queues = {}
        for when, kind, source, goal, born, stay in frames.tolist():
            assert stay >= given.fixed
            assert when - born >= stay + durations[kind] + 2 * given.flight + given.base
            assert source != goal
            # Frames of a host, a queue and a goal arrive in the order in which they were made.
            line = source, goal, given.queue_of[kind]
            assert queues.get(line, -1) <= born or given.queue_of[REQUEST] == given.queue_of[ACK]
            queues[line] = born
        counted = frames[-int(counts.sum()) :]
        assert counts.sum(axis=1).tolist() == [int((counted[:, 1] == kind).sum()) for kind in range(4)]
        assert stays.tolist() == counted[counted[:, 1] >= REQUEST][:, 5].tolist()
        assert totals.tolist() == [
            int((counted[:, 0] - counted[:, 4])[counted[:, 1] == kind].sum()) for kind in range(4)
        ]
        assert figures[4] <= (given.buffer if given.credits is None else np.inf)
        assert figures[8] == 0 or given.credits is None
        assert figures[5] == 0 or given.pause
        assert figures[6] <= figures[9] * given.ports * 4
        assert figures[14] == 0 or given.slows
    assert endings[DONE] > 425


def test_a_pause_that_comes_as_late_as_the_headroom_allows_never_drops_a_frame():
    draw = random.Random(SEED + 4)
    paused = 0
    for _ in range(60):
        given = random_switch(draw)
        lines = given.ports * (max(given.queue_of) + 1)
        delay = given.flight + simpy_switch.fs((given.sizes[2] + given.gap) / min(given.rates)) + given.pause_delay
        lossless = replace(
            given,
            pause=True,
            credits=None,
            pause_delay=delay,
            reserve=given.rates[0] * delay / 1e6 + given.sizes[2],
            buffer=float(given.sizes[2] * (lines + draw.randint(1, 20))),
        )
        ending, _, _, _, figures, _ = follow(lossless, 1, 128, budget=20_000)
        assert figures[8] == 0
        paused += figures[5] > 0 and ending == DONE
    assert paused > 20


def test_the_headroom_of_the_formula_is_enough_for_traffic_that_goes_on_and_none_is_not():
    given = {"port_count": 5, "switch_traffic": "incast", "egress_utilization": 1.5, "flow_control": "pfc"}
    given |= {"sample_frames": 2560, "buffer_size": 100_000, "packet_format": "afh_gen1"}
    outputs = ("switch_drops", "switch_pauses", "switch_pause_time", "class_latency")
    enough = points(outputs, **given)
    assert enough["switch_drops"].value == 0
    assert enough["switch_pauses"].value > 0
    assert enough["switch_pause_time"].value > 0
    assert enough["class_latency"].status == "unstable"
    assert points(outputs, headroom_share=0.0, **given)["switch_drops"].value > 0


@pytest.mark.plain
def test_formats_that_carry_marks_slow_their_sources_down_before_pauses_are_needed():
    given = {"port_count": 5, "switch_traffic": "incast", "egress_utilization": 1.5, "flow_control": "pfc"}
    given |= {"sample_frames": 5120, "buffer_size": 400_000, "ecn_minimum": 20_000, "cnp_interval": 2000}
    outputs = ("switch_marks", "congestion_notices", "switch_pauses", "switch_depth_peak", "class_frames")
    standard, compressed = (points(outputs, packet_format=name, **given) for name in ("standard", "afh_gen1"))
    assert standard["switch_marks"].value > 0
    assert standard["congestion_notices"].value > 0
    assert standard["class_frames"].value[0] == standard["congestion_notices"].value
    assert compressed["switch_marks"].value == compressed["congestion_notices"].value == 0
    assert compressed["switch_pauses"].value > 3 * standard["switch_pauses"].value


@pytest.mark.plain
def test_acknowledgements_pass_data_and_requests_and_responses_share_what_is_left_by_their_weight():
    given = {"port_count": 4, "switch_traffic": "permutation", "egress_utilization": 0.7, "sample_frames": 20480}
    weighted = points(("class_latency", "class_frames"), request_weight=3, flow_control="pfc", **given)
    _, acknowledgement, request, response = weighted["class_latency"].value
    assert acknowledgement < request < response
    one = points(("class_latency",), packet_format="afh_lite", flow_control="pfc", **given)["class_latency"].value
    idle = 150 + 500 + 64 / 50 + 84 / 50
    assert one[1] - idle > 2 * (acknowledgement - idle)  # one class for all


def test_all_to_all_in_turn_never_waits():
    given = {"port_count": 8, "switch_traffic": "all_to_all", "egress_utilization": 0.9, "acknowledgements": "off"}
    found = points(("simulated_switch_latency", "switch_latency"), sample_frames=1280, flow_control="pfc", **given)
    idle = points(("switch_latency",), egress_utilization=0)["switch_latency"].value
    assert found["simulated_switch_latency"].value == pytest.approx(idle, abs=2e-6)


def test_what_cannot_be_simulated_has_a_status():
    outputs = ("simulated_switch_latency", "switch_drops")
    few = {"sample_frames": 1280, "flow_control": "pfc"}
    assert points(outputs, port_count=1, egress_utilization=0.5, **few)["switch_drops"].status == "infeasible"
    assert points(outputs, egress_utilization=0, **few)["switch_drops"].status == "undefined"
    assert points(outputs, egress_utilization=0.5, event_budget=100, **few)["switch_drops"].status == "budget"
    soon = {"pause_delay": 1.0, "propagation": 5.0}  # a frame under way cannot be that near
    assert points(outputs, egress_utilization=0.5, **soon, **few)["switch_drops"].status == "infeasible"
    window = {"flow_control": "cbfc", "credit_limit": 5, "credit_size": 256, "sample_frames": 1280}
    assert points(outputs, egress_utilization=0.5, **window)["switch_drops"].status == "deadlock"


@pytest.mark.heavy
def test_many_ports_with_poisson_traffic_wait_as_an_output_that_each_sends_a_frame_at_a_time():
    """Frames of one host never meet: each port waits a little less than M/D/1, and more so with few ports."""
    grid = {
        "outputs": ["simulated_switch_latency", "simulated_switch_latency_interval", "switch_latency"],
        "axes": {"port_count": [2, 8, 32], "egress_utilization": [0.3, 0.6]},
        "fixed": {"sample_frames": 400_000, "flow_control": "pfc", "acknowledgements": "off"},
    }
    found = sweep.run(grid)
    assert bool((found["status"] == 0).all())
    wait = found["simulated_switch_latency"] - 500 - 1.28
    of_formula = found["switch_latency"] - 500 - 1.28
    share = (wait / of_formula).values
    assert (share[0] < 1e-3).all()  # two hosts: only one sends to each
    assert (share[1] < share[2]).all()
    assert (share[2] > 0.9).all()
    assert (share[2] < 1).all()
