"""Waiting at an egress port: means against exact rationals, the 99th percentile against exact distributions."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

import sweep
from tests.models import close, point

SEED = 20_261_204
LOADS = (0, 0.01, 0.0101, 0.05, 0.13, 0.3, 0.5, 0.8, 0.9, 0.99)
MAXIMUM = {"packet_format": "standard", "vlan": "on", "port_bandwidth": 25}  # 1406 bytes in 56.24 ns


# Means.


def pollaczek(load, sizes, rate=25):
    """Mean wait of an M/G/1 queue: `sizes` maps bytes to their share of arrivals."""
    mean = sum(share * Fraction(size, rate) for size, share in sizes.items())
    square = sum(share * Fraction(size, rate) ** 2 for size, share in sizes.items())
    return Fraction(load) / mean * square / (2 * (1 - Fraction(load)))


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("share", [0, 0.2, 0.5, 0.75, 1])
def test_the_mean_wait_of_two_sizes_is_that_of_pollaczek_and_khinchine(load, share):
    given = {"queueing_model": "mg1", "small_frame_share": share, "small_frame_size": 64, "egress_utilization": load}
    sizes = {64: Fraction(share), 1406: 1 - Fraction(share)}
    assert sweep.quantities.queueing(**given, **MAXIMUM) == close(pollaczek(load, sizes))


@pytest.mark.parametrize(("share", "percent"), [(0.2, "18"), (0.95, "83")])
def test_a_queue_of_mean_frames_is_up_to_83_percent_too_short(share, percent):
    """PHYSICS: 18 to 84 % low, by the frame; here 1406 B and 64 B."""
    given = {"egress_utilization": 0.7, "port_bandwidth": 25}
    mean = round(share * 64 + (1 - share) * 1406, 3)
    of_mean = Fraction(mean) / 25 * Fraction(0.7) / (2 * (1 - Fraction(0.7)))
    mixed = sweep.quantities.queueing(queueing_model="mg1", small_frame_share=share, vlan="on", **given)
    assert f"{100 * (1 - float(of_mean) / mixed):.0f}" == percent


@pytest.mark.parametrize(("above", "load"), [(0, 0.5), (0.05, 0.6), (0.3, 0.3), (0.6, 0.39), (0.9, 0), (0.05, 0.9)])
def test_two_classes_conserve_the_work_that_waits(above, load):
    """Kleinrock's conservation law: the order of service moves waits between classes, their sum by load stays."""
    given = {"priority_utilization": above, "egress_utilization": load, **MAXIMUM}
    data = sweep.quantities.queueing(queueing_model="priority", **given)
    small = sweep.quantities.priority_queueing(**given)
    total = Fraction(above) + Fraction(load)
    residual = (Fraction(above) * Fraction(64, 25) + Fraction(load) * Fraction(1406, 25)) / 2
    assert above * small + load * data == close(total * residual / (1 - total))
    assert small == close(residual / (1 - Fraction(above)))  # as if the class below came only to be in the way


def test_without_a_class_above_it_data_waits_as_in_md1():
    for load in LOADS:
        given = {"egress_utilization": load, **MAXIMUM}
        assert sweep.quantities.queueing(queueing_model="priority", priority_utilization=0, **given) == close(
            sweep.quantities.queueing(**given)
        )


@pytest.mark.parametrize("load", LOADS)
def test_messages_of_25_frames_wait_25_times_as_long_which_the_note_is_96_percent_below(load):
    given = {"egress_utilization": load, **MAXIMUM}
    burst = sweep.quantities.queueing(queueing_model="burst", burst_frames=25, **given)
    assert burst == close(pollaczek(load, {25 * 1406: 1}))
    if load > 0.01:
        note = sweep.quantities.queueing(queueing_model="md1_note", **given)
        assert f"{100 * (1 - note / burst):.0f}" == "96"


@pytest.mark.parametrize("model", ["mg1", "burst", "md1"])
@pytest.mark.parametrize("output", ["queueing", "queueing_p99", "switch_latency"])
def test_a_full_port_is_unstable(model, output):
    for load, status in ((0.99, "ok"), (1, "unstable"), (1.2, "unstable")):
        got = point(output, queueing_model=model, egress_utilization=load, **MAXIMUM)
        assert got.status == status
        assert math.isinf(got.value) == (status == "unstable")


def test_a_port_that_both_classes_fill_is_unstable():
    for above, load, status in ((0.05, 0.94, "ok"), (0.05, 0.95, "unstable"), (1, 0, "unstable"), (0, 1, "unstable")):
        given = {"queueing_model": "priority", "priority_utilization": above, "egress_utilization": load}
        assert point("queueing", **given).status == point("queueing_p99", **given).status == status


@pytest.mark.parametrize("load", [0.95, 1, 1.5])
def test_the_upper_class_does_not_see_that_data_overloads_the_port(load):
    """A data frame is always in service when no small one is: W0 of both filled up to 1."""
    residual = (Fraction(0.05) * Fraction(64, 25) + (1 - Fraction(0.05)) * Fraction(1406, 25)) / 2
    got = point("priority_queueing", egress_utilization=load, **MAXIMUM)
    assert (got.value, got.status) == (close(residual / (1 - Fraction(0.05))), "ok")
    assert point("priority_queueing", priority_utilization=1, **MAXIMUM).status == "unstable"


def test_cells_are_served_whole():
    given = {"switch_cell": 256, "queueing_model": "mg1", "egress_utilization": 0.5, **MAXIMUM}
    assert sweep.quantities.queueing(**given) == close(pollaczek(0.5, {256: Fraction(1, 2), 1536: Fraction(1, 2)}))


# The 99th percentile.


def share_within(wait, rates, digits=120):
    """P(wait <= x) by Crommelin's expansion, in so many digits that its terms may cancel; services in whole ns.

    `rates` maps service times to rates of arrival. Sums over all numbers of arrivals of each size.
    """
    with localcontext() as context:
        context.prec = digits
        wait = Decimal(wait)
        total_rate = sum(rates.values())
        load = sum(rate * service for service, rate in rates.items())
        terms = [(Decimal(1), wait, 0)]
        for service, rate in rates.items():
            terms = [
                (factor * (-rate) ** count / math.factorial(count), left - count * service, order + count)
                for factor, left, order in terms
                for count in range(int(left / service) + 1)
            ]
        total = sum(
            factor * left**order * (total_rate * left).exp() for factor, left, order in terms if left or not order
        )
        return (1 - load) * total


def exact_percentile(rates, share=Decimal("0.99")):
    """The wait within which a share of arrivals stays, by bisection."""
    if 1 - sum(rate * service for service, rate in rates.items()) >= share:
        return 0.0
    low, high = Decimal(0), Decimal(max(rates))
    while share_within(high, rates) < share:
        high *= 2
    for _ in range(45):
        middle = (low + high) / 2
        if share_within(middle, rates) < share:
            low = middle
        else:
            high = middle
    return float(high)


@pytest.mark.parametrize(
    "load", ["0", "0.01", "0.0101", "0.02", "0.05", "0.13", "0.15", "0.3", "0.5", "0.7", "0.8", "0.9"]
)
@pytest.mark.parametrize("burst", [1, 16])
def test_the_99th_percentile_of_md1_is_that_of_crommelins_law(load, burst):
    """One frame of 1024 bytes takes 64 ns; the published bar is 0.02 %, this is 1e-8."""
    service = 64 * burst
    expected = exact_percentile({Decimal(service): Decimal(load) / service})
    got = sweep.quantities.queueing_p99(
        queueing_model="burst" if burst > 1 else "md1",
        burst_frames=burst,
        egress_utilization=float(load),
        packet_format="afh_lite",
        max_payload=1008,
        port_bandwidth=16,
    )
    assert got == pytest.approx(expected, rel=1e-8, abs=0)


@pytest.mark.parametrize("load", ["0.0101", "0.02", "0.1", "0.3", "0.5", "0.7", "0.85"])
@pytest.mark.parametrize(
    ("share", "small", "within"), [("0.5", 64, 1e-5), ("0.9", 64, 5e-4), ("0.1", 512, 1e-5), ("0.99", 64, 0.07)]
)
def test_the_99th_percentile_of_two_sizes_is_that_of_the_exact_law(load, share, small, within):
    """Frames of 64 ns and small ones of 4 to 32 ns; rough only where nearly all are small."""
    services = {Decimal(small) / 16: Decimal(share), Decimal(64): 1 - Decimal(share)}
    mean = sum(service * weight for service, weight in services.items())
    rates = {service: Decimal(load) / mean * weight for service, weight in services.items()}
    got = sweep.quantities.queueing_p99(
        queueing_model="mg1",
        small_frame_share=float(share),
        small_frame_size=small,
        egress_utilization=float(load),
        packet_format="afh_lite",
        max_payload=1008,
        port_bandwidth=16,
    )
    assert got == pytest.approx(exact_percentile(rates), rel=within, abs=0)


def waits_below_a_class(above, load, small, large, arrivals, draw):
    """Waits of data frames served one at a time, small frames first."""
    times = {"small": 0.0, "large": 0.0}
    rates = {"small": above / small, "large": load / large}
    for name in times:
        times[name] = draw.expovariate(rates[name])
    queues = {"small": [], "large": []}
    now, waits = 0.0, []
    while len(waits) < arrivals:
        for name, queue in queues.items():
            while times[name] <= now:
                queue.append(times[name])
                times[name] += draw.expovariate(rates[name])
        if queues["small"]:
            queues["small"].pop(0)
            now += small
        elif queues["large"]:
            waits.append(now - queues["large"].pop(0))
            now += large
        else:
            now = min(times.values())
    return waits


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("above", "load", "arrivals", "within"),
    [
        (0.05, 0.6, 200_000, 0.03),
        (0.3, 0.3, 200_000, 0.03),
        (0.2, 0.5, 200_000, 0.03),
        (0.05, 0.05, 100_000, 0.03),
        (0.2, 0.05, 50_000, 0.04),
        (0.05, 0.2, 200_000, 0.05),
    ],
)
def test_data_below_a_class_of_small_frames_waits_as_in_a_simulation(above, load, arrivals, within):
    waits = sorted(waits_below_a_class(above, load, 2.56, 56.24, arrivals, random.Random(SEED)))
    given = {"queueing_model": "priority", "priority_utilization": above, "egress_utilization": load, **MAXIMUM}
    assert sweep.quantities.queueing(**given) == pytest.approx(math.fsum(waits) / len(waits), rel=within)
    assert sweep.quantities.queueing_p99(**given) == pytest.approx(waits[int(0.99 * len(waits))], rel=within)


def test_without_a_class_above_it_the_tail_of_data_is_that_of_md1():
    for load in (0.5, 0.7, 0.9, 0.99):
        given = {"egress_utilization": load, **MAXIMUM}
        below = sweep.quantities.queueing_p99(queueing_model="priority", priority_utilization=0, **given)
        assert below == pytest.approx(sweep.quantities.queueing_p99(**given), rel=2e-4)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("md1", {}),
        ("burst", {}),
        ("mg1", {"small_frame_share": 0}),
        ("mg1", {"small_frame_share": 1}),
        ("priority", {"priority_utilization": 0.0}),
    ],
)
def test_nobody_waits_where_99_of_100_find_the_port_idle(model, given):
    for load in (0, 0.005, 0.01):
        got = point("queueing_p99", queueing_model=model, egress_utilization=load, **given, **MAXIMUM)
        assert (got.value, got.status) == (0, "ok")
    just_above = point("queueing_p99", queueing_model=model, egress_utilization=0.0102, **given, **MAXIMUM)
    assert just_above.status == "ok"
    assert just_above.value > 0


def test_the_percentile_grows_without_end_towards_a_full_port():
    for model in ("md1", "mg1", "burst", "priority"):
        given = {"queueing_model": model, "priority_utilization": 0, **MAXIMUM}
        loads = [1 - 10.0**-digits for digits in range(1, 12)]
        waits = [sweep.quantities.queueing_p99(egress_utilization=load, **given) for load in loads]
        means = [sweep.quantities.queueing(egress_utilization=load, **given) for load in loads]
        assert waits == sorted(waits)
        assert waits[-1] / means[-1] == pytest.approx(math.log(100), rel=1e-9)  # heavy traffic: exponential


def test_a_data_frame_that_is_alone_waits_for_small_frames_only():
    """Behind small frames at rho: their own queue, stretched by those that overtake."""
    given = {"queueing_model": "priority", "priority_utilization": 0.5, "egress_utilization": 0, **MAXIMUM}
    alone = {"egress_utilization": 0.5, "packet_format": "afh_lite", "max_payload": 48, "port_bandwidth": 25}
    assert point("queueing_p99", **given).value == close(2 * point("queueing_p99", **alone).value)


def test_the_note_has_no_percentile():
    assert point("queueing_p99", queueing_model="md1_note").status == "infeasible"
