"""The edges, each with a value worked out by hand or with a status: nothing is put in the place of anything."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import sweep
from tests.models import close, cut, point, points
from tests.models.test_uneven import forwarded_sizes, halving_sizes

SIZES = (0, 1, 3, 1343, 1344, 1345)
CHIPS = (1, 2, 3, 1000)
RHOS = (0, 0.01, 0.99, 1, 1.2)
ALL = ("ring", "pairwise", "tree", "halving_doubling", "direct")
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")


def sent(collective, algorithm, size, chips):
    """How many latencies follow each other, and the sizes of the messages that do; None if there is no such thing."""
    share = -(-size // chips)
    depth = chips.bit_length() - 1
    twice = 2 if collective == "all_reduce" else 1
    match collective, algorithm:
        case ("all_reduce" | "reduce_scatter" | "all_gather", "ring"):
            return twice * (chips - 1), [share] * twice * (chips - 1)
        case ("all_reduce" | "reduce_scatter" | "all_gather" | "all_to_all", "direct"):
            return twice, [share] * twice * (chips - 1)
        case ("all_to_all", "pairwise"):
            return chips - 1, [share] * (chips - 1)
        case ("all_to_all", "ring"):
            return chips - 1, forwarded_sizes(chips, size) if chips < 9 else [k * share for k in range(1, chips)]
        case ("all_reduce", "halving_doubling"):
            sizes = halving_sizes(chips, size)
            return len(sizes), sizes
        case ("all_reduce" | "broadcast", "tree"):
            return twice * depth, [size] * twice
    return None


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_messages_smaller_than_a_frame_or_than_the_group_among_any_number_of_chips(collective, algorithm):
    for chips in CHIPS:
        for size in (*SIZES, 3 * chips, 1344 * chips, 1344 * chips + 1):
            given = {"collective": collective, "algorithm": algorithm, "chip_count": chips, "message_size": size}
            got = points(("collective_latency", "bus_bandwidth"), **given)
            latency = got["collective_latency"]
            if chips == 1:
                assert (latency.value, latency.status) == (0, "ok")
                assert math.isnan(got["bus_bandwidth"].value)
                continue
            messages = sent(collective, algorithm, size, chips)
            if messages is None:
                assert (math.isnan(latency.value), latency.status) == (True, "infeasible")
                continue
            alphas, sizes = messages
            wire = sum(frame.pitch for each in sizes for frame in cut(each, 1344, 58, 64, 20))
            assert latency.status == "ok"
            assert latency.value == close(alphas * 150 + Fraction(wire, 50)), given
            factor = {"all_reduce": 2 * (chips - 1) / chips, "broadcast": 1}.get(collective, (chips - 1) / chips)
            assert got["bus_bandwidth"].value == close(factor * size / latency.value)


@pytest.mark.parametrize(("size", "frames"), [(0, 0), (1, 1), (3, 1), (1343, 1), (1344, 1), (1345, 2)])
def test_a_message_around_the_size_of_a_frame(size, frames):
    wire = {0: 0, 1: 84, 3: 84, 1343: 1421, 1344: 1422, 1345: 1422 + 84}[size]
    names = ("frames", "wire_size", "payload_efficiency", "link_latency", "transfer_latency")
    got = points(names, message_size=size)
    assert got["frames"].value == frames
    assert got["wire_size"].value == wire
    assert got["link_latency"].value == got["transfer_latency"].value == close(150 + Fraction(wire, 50))
    assert got["payload_efficiency"].status == ("undefined" if size == 0 else "ok")


@pytest.mark.parametrize("credit_scope", ["step", "carried"])
@pytest.mark.parametrize(
    ("credits", "status", "first_wait"),
    [(0, "infeasible", None), (1, "ok", 1), (2, "ok", 2), (10, "ok", 10), (11, "ok", math.inf)],
)
def test_credits_that_hold_no_frame_one_frame_or_just_a_chunk(credits, status, first_wait, credit_scope):
    """Frames of 6 credits, a chunk of ten; out and back 28.44 + 2 x 150 ns. `first_wait`: frames that need not wait."""
    for spare in (0, 5):
        limit = max(6 * credits + spare, 1)
        given = {"credit_limit": limit, "message_size": 80 * 1344, "chip_count": 8}
        got = point("credit_time", credit_scope="step", **given)
        assert got.status == status
        if credits == 0:
            assert math.isnan(got.value)
            assert point("link_latency", credit_limit=limit, message_size=1344).status == "infeasible"
        elif credits >= 10:
            assert got.value == 0
        else:
            windows, rest = divmod(9, credits)
            frame, loop = Fraction(1422, 50), Fraction(1422, 50) + 300
            stall = windows * max(credits * frame, loop) + rest * frame - 9 * frame
            assert got.value == close(14 * stall)
        carried = point("credit_time", credit_scope="carried", **given)
        assert carried.status == status
        assert credits == 0 or carried.value >= got.value


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("model", ["md1_note", "md1", "mg1", "priority", "burst"])
def test_utilization_up_to_and_past_1(model, rho):
    above = 0.05 if model == "priority" else 0
    full = rho + above >= 1 and model != "md1_note"
    frame, small = Fraction(1402, 50), Fraction(64, 50)
    load = min(Fraction(rho), Fraction(0.99)) if model == "md1_note" else Fraction(rho)
    left = 1 - load - Fraction(above)
    wait = {
        "md1_note": lambda: frame * load / (2 * left) if rho > 0.01 else 0,
        "md1": lambda: frame * load / (2 * left),
        "mg1": lambda: load * (frame**2 + small**2) / (frame + small) / (2 * left),
        "priority": lambda: (load * frame + Fraction(above) * small) / 2 / (1 - Fraction(above)) / left,
        "burst": lambda: 16 * frame * load / (2 * left),
    }[model]
    names = ("queueing", "switch_latency", "transfer_latency", "collective_latency", "queueing_time", "incast_latency")
    got = points(names, queueing_model=model, egress_utilization=rho, switch_hops=1, message_size=1344)
    assert {result.status for result in got.values()} == {"unstable" if full else "ok"}
    if full:
        assert all(math.isinf(result.value) for result in got.values())
        bandwidth = point("bus_bandwidth", queueing_model=model, egress_utilization=rho, switch_hops=1)
        assert (bandwidth.value, bandwidth.status) == (0, "unstable")
    else:
        assert got["queueing"].value == close(wait())
        assert got["transfer_latency"].value == close(660 + Fraction(64 + 1422, 50) + wait())
        assert got["queueing_time"].value == close(14 * wait())


@pytest.mark.heavy
def test_edges_have_the_same_values_and_statuses_in_a_grid():
    grid = {
        "outputs": ["collective_latency", "credit_time", "bus_bandwidth", "queueing_p99", "collective_latency_status"],
        "axes": {
            "algorithm": list(ALL),
            "collective": list(COLLECTIVES),
            "credit_limit": [1, 6, 512],
            "egress_utilization": list(RHOS),
            "chip_count": list(CHIPS),
            "message_size": list(SIZES),
        },
        "fixed": {"switch_hops": 1},
    }
    result = sweep.run(grid)
    for algorithm in ALL:
        for limit in (1, 6):
            for rho in RHOS:
                for chips in (1, 3):
                    choices = {"algorithm": algorithm, "credit_limit": limit, "egress_utilization": rho}
                    choices |= {"chip_count": chips, "message_size": 1345}
                    expected = point("collective_latency", switch_hops=1, **choices)
                    cell = result.sel(collective="all_reduce", **choices)
                    value = cell.collective_latency.item()
                    assert value == pytest.approx(expected.value, rel=1e-14, nan_ok=True)
                    names = cell.collective_latency_status.attrs["flag_meanings"].split()
                    assert names[cell.collective_latency_status.item()] == expected.status
