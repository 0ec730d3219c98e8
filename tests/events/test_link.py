"""The simulated link against the formulas, against a model written with SimPy, and against what must always hold."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.events.chance import unit, words
from sweep.events.link import CREDITS, IN_TURN, ROUND_ROBIN, STRICT, WEIGHTED, WIRE, follow_link
from sweep.events.simulation import BROKEN_FRAMES, DEADLOCKED, DONE, GIVEN_UP, MOST_UNDER_WAY
from tests.events.simpy_link import Link, finish_time
from tests.models import BARE, point, points

SEED = 20_261_201

RESULTS = (
    *("finish", "waited", "started", "repeated", "lost", "interval", "losses"),
    *("stuck", "missing", "events", "ending"),
)

PLAIN: dict[str, Any] = {
    "frames": 10,
    "duration": 100,
    "last_duration": 100,
    "need": 1,
    "last_need": 1,
    "limit": -1,
    "channels": 1,
    "arbitration": IN_TURN,
    "weight": 1,
    "base": 0,
    "span": 0,
    "drain": 0,
    "back": 0,
    "broken_share": 0.0,
    "retry": True,
    "seed": 1,
    "budget": 10**9,
}
"""Frames of 100 fs on a link without latency and without end of credits."""


def follow(rows: int = 0, **given: Any) -> tuple[dict[str, Any], np.ndarray]:
    """What a simulation returns, by name, and the events that it went through, at most `rows`."""
    arguments = {**PLAIN, **given}
    trace = np.full((rows, 3 + arguments["channels"]), -1, np.int64)
    result = dict(zip(RESULTS, follow_link(*arguments.values(), trace), strict=True))
    return result, trace[: min(rows, result["events"])]


def started_frames(trace: np.ndarray) -> list[int]:
    """The frames in the order in which they start."""
    return [int(frame) for _, resource, frame, *_ in trace if resource == WIRE and frame >= 0]


TIMES = ("duration", "last_duration", "base", "span", "drain", "back")


def random_link(draw: random.Random) -> dict[str, Any]:
    """A small link, often with too few credits, in femtoseconds that make many events fall on the same time."""
    need = draw.randint(1, 6)
    return PLAIN | {
        "frames": draw.randint(0, 12),
        "duration": draw.randint(1, 5) * 10,
        "last_duration": draw.randint(1, 5) * 10,
        "need": need,
        "last_need": draw.randint(1, need),
        "limit": draw.choice((-1, draw.randint(0, 30), draw.randint(0, 100))),
        "channels": draw.choice((1, 1, 2, 3, 8)),
        "arbitration": draw.choice((IN_TURN, ROUND_ROBIN, STRICT, WEIGHTED)),
        "weight": draw.randint(1, 4),
        "base": draw.randint(0, 30) * 10,
        "span": draw.randint(0, 30) * 10,
        "drain": draw.choice((0, draw.randint(0, 9) * 10, draw.randint(0, 300) * 10)),
        "back": draw.randint(0, 30) * 10,
        "broken_share": draw.choice((0.0, 0.0, 0.1, 0.5)),
        "retry": draw.random() < 0.7,
        "seed": draw.randint(0, 2**52),
    }


# Against the formulas


GRID = {
    "outputs": [
        *("simulated_link_latency", "link_latency", "simulated_credit_stall", "credit_stall"),
        *("simulated_goodput", "goodput", "frames", "window_frames"),
    ],
    "axes": {
        "message_size": [0, 1, 1343, 1344, 1345, 4000, 20_000, 65_536, 3_000_001],
        "credit_limit": [6, 11, 12, 13, 30, 64, 512],
        "virtual_channels": [1, 2, 3, 8],
        "base_latency": [0.0, 7.3, 150.0, 1234.5678],
        "drain_time": [0.0, 10.0, 40.1],
        "flow_control": ["cbfc", "pfc"],
    },
    "fixed": {"link_bandwidth": 47.3, "credit_return_latency": 211.7},
}
"""6048 points: whole and broken frames, windows from one frame to more than the message has."""


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    """The result of GRID."""
    return sweep.run(GRID)


@pytest.mark.heavy
def test_latency_and_stall_are_those_of_the_formula_but_for_the_rounding_to_femtoseconds(found):
    # Half a femtosecond for each time that is rounded: the frames, and at each wait for credits four times.
    waits = np.ceil(found["frames"] / found["window_frames"])
    bound = 0.5e-6 * (found["frames"] + 5 * (1 + waits))
    for simulated, formula in (("simulated_link_latency", "link_latency"), ("simulated_credit_stall", "credit_stall")):
        error = abs(found[simulated] - found[formula])
        assert int(error.notnull().sum()) == 6048
        assert bool((found[simulated].isnull() == found[formula].isnull()).all())
        assert bool((error <= bound + 1e-12 * found[formula]).where(error.notnull(), True).all())


@pytest.mark.heavy
def test_a_long_message_reaches_the_goodput_of_the_formula(found):
    ratio = (found["simulated_goodput"] / found["goodput"]).sel(message_size=3_000_001)
    assert bool(ratio.notnull().all())
    assert float(abs(ratio - 1).max()) < 1e-7


@pytest.mark.parametrize("message_size", [0, 1, 1344, 1345, 30_000])
@pytest.mark.parametrize("credit_limit", [6, 7, 13, 512])
@pytest.mark.parametrize("virtual_channels", [1, 3])
def test_times_in_whole_femtoseconds_are_equal_to_the_last_bit(message_size, credit_limit, virtual_channels):
    given = {
        "message_size": message_size,
        "credit_limit": credit_limit,
        "virtual_channels": virtual_channels,
        "link_bandwidth": 64.0,
        "drain_time": 12.5,
    }
    found = points(("simulated_link_latency", "link_latency", "simulated_credit_stall", "credit_stall"), **given)
    assert found["simulated_link_latency"] == found["link_latency"]
    assert found["simulated_credit_stall"] == found["credit_stall"]


@pytest.mark.parametrize("loop", range(1, 14))
@pytest.mark.parametrize("buffers", range(1, 14))
def test_throughput_of_n_buffers_over_a_credit_loop_is_the_smaller_of_1_and_n_over_loop(buffers, loop):
    slot = 1000
    result, _ = follow(frames=20 * buffers, duration=slot, limit=buffers, span=(loop - 1) * slot)
    assert result["interval"] * buffers == slot * max(buffers, loop)


def test_an_empty_message_takes_the_base_latency_and_no_event():
    found = points(("simulated_link_latency", "simulated_link_events", "simulated_goodput"), message_size=0)
    assert found["simulated_link_latency"].value == 150
    assert found["simulated_link_events"].value == 0
    assert found["simulated_goodput"].status == "undefined"


def test_pause_frames_need_no_credits():
    given = {"flow_control": "pfc", "credit_limit": 1, "message_size": 5000}
    assert point("simulated_link_latency", **given).value == pytest.approx(point("link_latency", **given).value, 1e-12)
    assert point("simulated_credit_stall", **given).value == 0


# Endings


def test_a_window_smaller_than_a_frame_is_a_deadlock_that_says_what_waits_for_what():
    given = {"credit_limit": 5, "message_size": 5000, "virtual_channels": 2}
    found = points(("simulated_link_latency", "deadlocked_channel", "missing_credits"), **given)
    assert found["simulated_link_latency"].status == "deadlock"
    assert found["deadlocked_channel"].value == 0
    assert found["missing_credits"].value == 6 - 5


def test_full_frames_that_fit_before_a_deadlock_are_sent():
    result, trace = follow(rows=99, frames=5, need=1, last_need=4, limit=3, channels=2)
    assert started_frames(trace) == [0, 1, 2, 3]
    assert (result["ending"], result["stuck"], result["missing"]) == (DEADLOCKED, 0, 1)


def test_without_a_deadlock_nothing_waits_for_ever():
    found = points(("deadlocked_channel", "missing_credits"))
    assert {each.status for each in found.values()} == {"undefined"}


def test_a_simulation_past_its_budget_is_given_up():
    assert point("simulated_link_latency", event_budget=2336).status == "ok"
    assert point("simulated_link_latency", event_budget=2335).status == "budget"


def test_a_link_on_which_every_frame_breaks_runs_out_of_budget_or_loses_all():
    result, _ = follow(broken_share=1.0, budget=1000, back=50)
    assert (result["ending"], result["finish"]) == (GIVEN_UP, 0)
    result, _ = follow(broken_share=1.0, retry=False)
    assert (result["ending"], result["lost"]) == (DONE, 10)


@pytest.mark.parametrize("name", ["base_latency", "drain_time", "credit_return_latency", "message_size"])
@pytest.mark.parametrize("value", [1e12, 1e13, 1e18, 1e300])
def test_times_beyond_the_clock_are_given_up_not_wrapped(name, value):
    given = {"message_size": 20_000, "credit_limit": 6, "event_budget": 1000, name: value}
    assert point("simulated_link_latency", **given).status == "budget"


@pytest.mark.parametrize("given", [{"link_bandwidth": 1e9}, {"base_latency": 1e9, "link_bandwidth": 1e5}])
def test_frames_too_short_for_the_clock_and_too_many_at_once_are_given_up(given):
    assert point("simulated_link_latency", flow_control="pfc", message_size=10**10, **given).status == "budget"


def test_a_budget_bounds_what_is_kept_of_frames_under_way():
    result, _ = follow(frames=10**9, duration=1, span=10**9, budget=100)
    assert (result["events"], result["ending"]) == (100, GIVEN_UP)
    result, _ = follow(frames=10**9, duration=1, span=2 * MOST_UNDER_WAY)
    assert (result["events"], result["ending"]) == (0, GIVEN_UP)


def test_credits_of_frames_thrown_away_may_pile_up_behind_a_slow_drain():
    given = {"frames": 5, "duration": 10, "last_duration": 10, "need": 3, "last_need": 3, "limit": 49, "channels": 2}
    given |= {"span": 20, "drain": 2947, "back": 2, "broken_share": 0.9, "seed": 2376204167198820}
    result, trace = follow(rows=5000, **given)
    check_credits(PLAIN | given, trace)
    broken = {n for n in range(result["started"]) if unit(*words(given["seed"], BROKEN_FRAMES, n)[:2]) < 0.9}
    link = Link(credits=49, **{k: (PLAIN | given)[k] for k in Link.__dataclass_fields__ if k != "credits"})
    assert finish_time(link, broken) == (result["finish"], result["started"])


# Errors


def test_what_is_sent_again_is_go_back_n_to_the_frame():
    # Frame by frame by hand: a frame takes 100, is there 100 after that, and news of it takes another 100. Broken is
    # what the stream says; the sender goes on until it hears, then sends from the broken frame on.
    given = {"frames": 40, "broken_share": 0.2, "span": 100, "back": 100, "seed": 3}
    broken = {place for place in range(400) if unit(*words(3, BROKEN_FRAMES, place)[:2]) < 0.2}
    result, trace = follow(rows=1000, **given)
    sent, goal, expected_order = 0, 0, []
    while goal < 40:
        burst = range(goal, min(goal + 3, 40))  # 300 from start to news: the frame itself and two more
        if sent in broken:
            expected_order += burst
            sent += len(burst)
        else:
            expected_order.append(goal)
            sent += 1
            goal += 1
    assert started_frames(trace) == expected_order
    assert (result["started"], result["repeated"]) == (sent, sent - 40)


FRAMES = 200_000
BROKEN = {
    "outputs": [
        *("simulated_goodput", "goodput", "simulated_delivered_share", "delivered_share"),
        *("simulated_retransmissions", "frame_error"),
    ],
    "axes": {
        "packet_format": ["standard", "afh_lite"],
        "residual_ber": [1e-6, 1e-5],
        "credit_limit": [24, 512],
        "seed": [1, 2, 3],
    },
    "fixed": {"message_size": FRAMES * 1344, "base_latency": 127.98},  # the loop is ten full frames long
}
"""Long messages on a link that breaks frames: with retry (standard) and without (afh_lite)."""

SPREADS = 3.9
"""How many standard deviations a simulation may be off: one in 10 000 is."""


@pytest.fixture(scope="module")
def broken() -> xr.Dataset:
    """The result of BROKEN."""
    return sweep.run(BROKEN)


@pytest.mark.heavy
@pytest.mark.parametrize(("credit_limit", "window"), [(24, 4), (512, 10)])
def test_goodput_with_retry_lies_in_the_interval_around_the_formula(broken, credit_limit, window):
    found = broken.sel(packet_format="standard", credit_limit=credit_limit)
    p = found["frame_error"]
    # A broken frame costs a window of starts; how many break before 200 000 are whole is negative binomial.
    breaks = FRAMES * p / (1 - p)
    spread = np.sqrt(breaks / (1 - p))
    assert bool((abs(found["simulated_retransmissions"] / window - breaks) < SPREADS * spread).all())
    slots = FRAMES + window * breaks
    off = SPREADS * window * spread * math.sqrt(2) / slots  # the second half has half the frames
    assert bool((abs(found["simulated_goodput"] / found["goodput"] - 1) < off).all())
    assert bool((found["simulated_delivered_share"] == 1).all())


@pytest.mark.heavy
def test_without_retry_what_arrives_lies_in_the_interval_around_the_formula(broken):
    found = broken.sel(packet_format="afh_lite")
    p = found["frame_error"]
    spread = np.sqrt(p * (1 - p) / FRAMES)
    off = abs(found["simulated_delivered_share"] - found["delivered_share"])
    assert bool((off < SPREADS * spread).all())
    ratio = found["simulated_goodput"] / found["goodput"]
    assert bool((abs(ratio - 1) < SPREADS * math.sqrt(2) * spread / (1 - p)).all())
    assert bool((found["simulated_retransmissions"] == 0).all())


# Arbitration


def test_strict_sends_all_of_the_first_channel_first():
    _, trace = follow(rows=99, frames=7, channels=3, arbitration=STRICT)
    assert started_frames(trace) == [0, 3, 6, 1, 4, 2, 5]


def test_round_robin_goes_on_where_the_next_in_turn_has_no_credits():
    # Each channel has a credit left after its first frame: too few for frame 3 of channel 0, enough for the small frame
    # 4 of channel 1.
    given = {"frames": 5, "channels": 3, "need": 2, "last_need": 1, "limit": 3, "back": 900}
    _, trace = follow(rows=99, **given)
    assert started_frames(trace) == [0, 1, 2, 3, 4]
    _, trace = follow(rows=99, arbitration=ROUND_ROBIN, **given)
    assert started_frames(trace) == [0, 1, 2, 4, 3]


def test_weighted_sends_so_many_of_the_first_channel_for_one_of_each_other():
    _, trace = follow(rows=99, frames=12, channels=3, arbitration=WEIGHTED, weight=3)
    assert started_frames(trace) == [0, 3, 6, 1, 2, 9, 4, 5, 7, 8, 10, 11]


@pytest.mark.parametrize("arbitration", [ROUND_ROBIN, STRICT, WEIGHTED])
def test_without_scarce_credits_arbitration_changes_the_order_but_not_the_time(arbitration):
    in_turn, _ = follow(frames=11, channels=4, span=70)
    other, _ = follow(frames=11, channels=4, span=70, arbitration=arbitration, weight=2)
    assert other["finish"] == in_turn["finish"]


# Against SimPy


def test_finish_and_frames_are_those_of_a_model_written_with_simpy():
    draw = random.Random(f"{SEED} simpy")
    compared = 0
    for _ in range(1500):
        given = random_link(draw) | {"arbitration": IN_TURN, "retry": True}
        # Times that do not meet: what comes first of two events at once, the other model leaves open.
        given |= {name: given[name] * 10**6 + draw.randrange(1, 10**6) for name in TIMES}
        result, _ = follow(**given)
        if result["ending"] != DONE:
            continue
        broken = {
            place
            for place in range(result["started"])
            if given["broken_share"] and unit(*words(given["seed"], BROKEN_FRAMES, place)[:2]) < given["broken_share"]
        }
        link = Link(
            credits=None if given["limit"] < 0 else given["limit"],
            **{name: given[name] for name in Link.__dataclass_fields__ if name != "credits"},
        )
        assert finish_time(link, broken) == (result["finish"], result["started"]), given
        compared += 1
    assert compared > 1000


# What must always hold


def check_credits(given: dict[str, Any], trace: np.ndarray) -> None:
    """0 <= credits <= limit, and those of each channel and those out make up the limit, at every event."""
    out = [0] * given["channels"]
    for _, resource, frame, *credits in trace.tolist():
        if resource in (WIRE, CREDITS) and frame >= 0:
            need = given["last_need"] if frame == given["frames"] - 1 else given["need"]
            out[frame % given["channels"]] += need if resource == WIRE else -need
        assert all(0 <= each <= given["limit"] for each in credits)
        assert [each + owed for each, owed in zip(credits, out, strict=True)] == [given["limit"]] * given["channels"]


@pytest.mark.plain
def test_ten_thousand_small_links_end_and_keep_their_invariants():
    draw = random.Random(SEED)
    endings = dict.fromkeys((DONE, DEADLOCKED, GIVEN_UP), 0)
    for _ in range(10_000):
        given = random_link(draw) | {"budget": 400}
        result, trace = follow(rows=400, **given)
        endings[result["ending"]] += 1
        assert result["events"] == len(trace) <= 400
        times, resources = trace[:, 0], trace[:, 1]
        assert (np.diff(times) >= 0).all(), given
        starts = times[(resources == WIRE) & (trace[:, 2] >= 0)]
        assert (np.diff(starts) >= min(given["duration"], given["last_duration"])).all(), given
        if given["limit"] >= 0:
            check_credits(given, trace)
        if result["ending"] == DONE:
            assert result["started"] - result["repeated"] == given["frames"], given
            least = given["base"] + max(given["frames"] - 1, 0) * given["duration"] + given["last_duration"]
            assert result["finish"] >= (least if given["frames"] else given["base"]), given
        if result["ending"] == DEADLOCKED:
            assert max(given["need"], given["last_need"]) > given["limit"] >= 0, given
            assert result["missing"] > 0
    assert min(endings.values()) > 0


def test_equal_seeds_give_equal_results_and_others_others():
    given = {"message_size": 300_000, "residual_ber": 1e-5}
    first, again, other = (point("simulated_link_latency", seed=seed, **given).value for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.heavy
def test_results_do_not_depend_on_threads_or_blocks():
    grid = {
        "outputs": ["simulated_link_latency", "simulated_retransmissions"],
        "axes": {"seed": {"range": [1, 40]}, "credit_limit": [12, 30, 512]},
        "fixed": {"residual_ber": 1e-5, "message_size": 100_000},
    }
    one, many = sweep.run(grid, threads=1), sweep.run(grid, threads=3)
    assert one.identical(many)
    for seed, limit in itertools.product((1, 17, 40), (12, 512)):
        alone = point("simulated_link_latency", seed=seed, credit_limit=limit, **grid["fixed"])
        assert float(one["simulated_link_latency"].sel(seed=seed, credit_limit=limit)) == alone.value
    assert len(np.unique(one["simulated_link_latency"].sel(credit_limit=512))) > 20


def test_framing_without_headers_is_simulated_too():
    given = {"framing": "none", "message_size": 10_000, "credit_limit": 12, **BARE}
    found = points(("simulated_link_latency", "link_latency"), **given)
    assert found["simulated_link_latency"].value == pytest.approx(found["link_latency"].value, abs=1e-5)
