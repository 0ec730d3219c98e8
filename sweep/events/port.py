"""One egress port of a switch, frame by frame: the queueing systems of which `queueing` has the means.

Frames come as a Poisson process and wait, first come first served, for a port that takes a fixed time for each:

- md1, md1_note: full frames;
- mg1: full frames, and small ones by the share `small_frame_share`;
- priority: full frames, and a Poisson process of small ones that are served first; what is being served is finished;
- burst: messages of `burst_frames` full frames, all there at once. Waits are those of the first frames.

Waits count from a frame's arrival to the start of its service, once `sample_frames` / 16 frames have gone by. Of
events at the same time the end of a service comes first, then small frames, then others. The mean's 99.9 % confidence
interval is the widest of those of 128, 64 and 32 parts of the sample one after the other, a quantile's that of 16.
A sample whose parts are not independent is too short: status budget.

Compare with `queueing`, `queueing_p99` and `priority_queueing`. Times in ns outside, in whole femtoseconds inside.
Cost: two events a frame.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweep.events.chance import WORDS, unit, words
from sweep.events.histogram import BINS, bin_of, quantile_of
from sweep.events.sample import GROUPS, PARTS, half_width, interval, mean
from sweep.events.simulation import (
    DATA_ARRIVALS,
    DONE,
    FEMTOSECONDS,
    GIVEN_UP,
    LATEST,
    NEVER,
    SHORTEST,
    SMALL_ARRIVALS,
    femtoseconds,
)
from sweep.registry import Output, Predicate, kernel, parameter, quantity

sample_frames = parameter(
    default=1_000_000,
    integer=True,
    minimum=1000,
    maximum=1e12,
    doc="Frames that a simulated port or switch counts (a port with bursts: messages), down to a multiple of 128",
)


# The arrivals of each queueing model.


@quantity("port_mean_service", unit="ns", internal=True)
def service_of_full_frames(frame_service: float) -> float:
    """Mean time in which a simulated port serves a frame that is not of the upper class."""
    return frame_service


@quantity("port_mean_service", when={"queueing_model": "mg1"})
def service_of_both(frame_service: float, small_frame_service: float, small_frame_share: float) -> float:
    """Mean time in which a simulated port serves a frame that is not of the upper class."""
    return small_frame_share * small_frame_service + (1 - small_frame_share) * frame_service


@quantity("port_small_share", unit="1", internal=True)
def no_small_frames() -> float:
    """Share of small frames among those that are not of the upper class."""
    return 0.0


@quantity("port_small_share", when={"queueing_model": "mg1"})
def small_frames_among_others(small_frame_share: float) -> float:
    """Share of small frames among those that are not of the upper class."""
    return small_frame_share


@quantity("port_small_service", unit="ns", internal=True)
def no_small_service() -> float:
    """Time in which a simulated port serves a small frame, where there are some."""
    return 0.0


@quantity("port_small_service", when={"queueing_model": ("mg1", "priority")})
def service_of_small_frames(small_frame_service: float) -> float:
    """Time in which a simulated port serves a small frame, where there are some."""
    return small_frame_service


@quantity("port_upper_class", unit="1", internal=True)
def no_upper_class() -> float:
    """Utilization by a class of small frames above all others."""
    return 0.0


@quantity("port_upper_class", when={"queueing_model": "priority"})
def upper_class_of_small_frames(priority_utilization: float) -> float:
    """Utilization by a class of small frames above all others."""
    return priority_utilization


@quantity("port_burst", unit="1", internal=True)
def single_frames() -> float:
    """Frames that come at once."""
    return 1.0


@quantity("port_burst", when={"queueing_model": "burst"})
def frames_of_a_message(burst_frames: float) -> float:
    """Frames that come at once."""
    return burst_frames


# The simulation.


def steps_of_sample(
    egress_utilization: float,
    port_mean_service: float,
    port_small_service: float,
    port_upper_class: float,
    port_burst: float,
    sample_frames: float,
) -> float:
    """Drawing when a message comes takes as long as seven steps, for small frames of the upper class too."""
    messages = 17 / 16 * sample_frames
    if port_upper_class <= 0 or egress_utilization <= 0:
        return messages * (7 + port_burst)
    time = messages * port_burst * port_mean_service / egress_utilization
    return messages * 8 + time * port_upper_class / port_small_service * 8


def overloaded_port(egress_utilization: float, port_upper_class: float) -> bool:
    """The port gets at least as much as it can send; its queue has no mean."""
    return egress_utilization + port_upper_class >= 1


def idle_port(egress_utilization: float) -> bool:
    """No data come whose waits could be counted."""
    return egress_utilization <= 0


@kernel(
    outputs={
        "port_wait": Output("ns"),
        "port_wait_interval": Output("ns"),
        "port_wait_quantile": Output("ns", dims=("quantile",)),
        "port_p99": Output("ns"),
        "port_p99_interval": Output("ns"),
        "port_upper_wait": Output("ns"),
        "port_upper_interval": Output("ns"),
        "port_busy": Output("1"),
        "port_depth": Output("1"),
        "port_deepest": Output("1"),
        "port_events": Output("1"),
        "port_settled": Output("1"),
        "port_ending": Output("1"),
    },
    dims={"quantile": (0.5, 0.9, 0.99, 1.0)},
    fails={"unstable": overloaded_port, "undefined": idle_port},
    steps=steps_of_sample,
    internal=True,
)
def port_simulation(
    egress_utilization: float,
    frame_service: float,
    port_mean_service: float,
    port_small_share: float,
    port_small_service: float,
    port_upper_class: float,
    port_burst: float,
    sample_frames: float,
    seed: float,
    event_budget: float,
    quantile: NDArray[np.float64],
) -> tuple[float, float, NDArray[np.float64], float, float, float, float, float, float, float, float, float, float]:
    """An egress port followed frame by frame: waits and their intervals, use, depth in frames, events, whether the
    sample is long enough, and its ending."""
    waits = np.zeros(PARTS)
    upper_waits = np.zeros(PARTS)
    counts = np.zeros((GROUPS, BINS), np.int64)
    events, ending, longest, span, busy, held, deepest = follow_port(
        port_burst * port_mean_service / egress_utilization * FEMTOSECONDS,
        port_small_service / port_upper_class * FEMTOSECONDS if port_upper_class > 0 else np.inf,
        femtoseconds(frame_service),
        femtoseconds(port_small_service),
        port_small_share,
        int(port_burst),
        int(sample_frames) // PARTS,
        int(seed),
        int(event_budget) if min(frame_service, port_mean_service) >= SHORTEST else 0,
        waits,
        upper_waits,
        counts,
    )
    whole = np.zeros(BINS, np.int64)
    p99 = np.zeros(GROUPS)
    for group in range(GROUPS):
        for place in range(BINS):
            whole[place] += counts[group, place]
        p99[group] = quantile_of(counts[group], 0.99)
    width, settled = interval(waits)
    upper_width, _ = interval(upper_waits)
    quantiles = np.zeros(quantile.size)
    for k in range(quantile.size):
        quantiles[k] = min(quantile_of(whole, quantile[k]), longest) / FEMTOSECONDS
    return (
        mean(waits) / FEMTOSECONDS,
        width / FEMTOSECONDS,
        quantiles,
        min(quantile_of(whole, 0.99), longest) / FEMTOSECONDS,
        half_width(p99) / FEMTOSECONDS,
        mean(upper_waits) / FEMTOSECONDS,
        upper_width / FEMTOSECONDS,
        busy / max(span, 1),
        held / max(span, 1),
        float(deepest),
        float(events),
        1.0 if settled else 0.0,
        float(ending),
    )


def follow_port(
    gap: float,
    small_gap: float,
    service: int,
    small_service: int,
    small_share: float,
    burst: int,
    part: int,
    seed: int,
    budget: int,
    waits: NDArray[np.float64],
    upper_waits: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> tuple[int, int, int, int, int, float, int]:
    """The simulation, times in femtoseconds; `gap` and `small_gap` are mean times between arrivals (inf: none come).

    Counts the waits of `part` messages for each entry of `waits`, their mean, and of small frames of the upper class
    meanwhile, those of `upper_waits` (NaN where none came). `counts` are histograms of waits, of as many parts each.
    Returns events, how it ended, the longest wait, and since the first message that counts the time, the time in which
    the port was busy, frame-times spent waiting, and the most frames that waited at once.
    """
    parts = waits.size
    groups = counts.shape[0]
    skipped = part * parts // 16
    here = np.zeros(1024, np.int64)  # rings: when messages came that have not begun
    small = np.zeros(1024, np.bool_)  # whether they are small
    came = 0
    begun = 0
    left = 0  # frames of the message in service that are still to be served
    above = np.zeros(1024, np.int64)  # when small frames of the upper class came that have not begun
    above_came = 0
    above_begun = 0
    a, b, kind, _ = words(seed, DATA_ARRIVALS, 0)
    arrival = later(0, gap, unit(a, b))
    a, b, _, _ = words(seed, SMALL_ARRIVALS, 0)
    above_arrival = later(0, small_gap, unit(a, b))
    finish = NEVER
    last = 0
    waiting = 0
    since = 0
    busy = 0
    held = 0.0
    deepest = 0
    longest = 0
    number = 0  # the part that is being counted
    group = 0
    in_part = 0
    total = 0
    above_total = 0
    above_number = 0
    events = 0
    ending = DONE
    while number < parts:
        now = min(finish, min(above_arrival, arrival))
        if events >= budget or now > LATEST:
            ending = GIVEN_UP
            break
        events += 1
        counting = begun >= skipped
        if counting:
            held += float(waiting) * (now - last)
            busy += now - last if finish != NEVER else 0
            deepest = max(deepest, waiting)
        else:
            since = now
        last = now
        if finish == now:
            finish = NEVER
        elif above_arrival == now:
            if above_came - above_begun == above.size:
                above = doubled(above, above_begun)
            above[above_came & (above.size - 1)] = now
            above_came += 1
            waiting += 1
            a, b, _, _ = words(seed, SMALL_ARRIVALS, above_came)
            above_arrival = later(now, small_gap, unit(a, b))
        else:
            if came - begun == here.size:
                here = doubled(here, begun)
                small = doubled(small, begun)
            here[came & (here.size - 1)] = now
            small[came & (here.size - 1)] = kind < small_share * WORDS
            came += 1
            waiting += burst
            a, b, kind, _ = words(seed, DATA_ARRIVALS, came)
            arrival = later(now, gap, unit(a, b))
        if finish != NEVER or waiting == 0:
            continue
        waiting -= 1
        if above_begun < above_came:
            if counting:
                above_total += now - above[above_begun & (above.size - 1)]
                above_number += 1
            above_begun += 1
            finish = now + small_service
        elif left > 0:
            left -= 1
            finish = now + service
        else:
            wait = now - here[begun & (here.size - 1)]
            finish = now + (small_service if small[begun & (here.size - 1)] else service)
            begun += 1
            left = burst - 1
            if counting:
                longest = max(longest, wait)
                counts[group, bin_of(wait)] += 1
                total += wait
                in_part += 1
                if in_part == part:
                    waits[number] = total / part
                    upper_waits[number] = above_total / above_number if above_number > 0 else np.nan
                    number += 1
                    group = number * groups // parts
                    in_part = 0
                    total = 0
                    above_total = 0
                    above_number = 0
    return events, ending, longest, last - since, busy, held, deepest


def later(now: int, gap: float, random: float) -> int:
    """The next time of a Poisson process of some mean gap; NEVER if it has none, or is beyond the clock."""
    step = -gap * math.log1p(-random) if gap < np.inf else np.inf
    return now + int(np.rint(step)) if step < LATEST else NEVER


def doubled(ring: NDArray[Any], first: int) -> NDArray[Any]:
    """A full ring as one of twice the size, where the numbers from `first` on stand at their new places."""
    larger = np.zeros(2 * ring.size, ring.dtype)
    for number in range(first, first + ring.size):
        larger[number & (larger.size - 1)] = ring[number & (ring.size - 1)]
    return larger


# What a grid may ask for.


def given_up(port_ending: float, port_settled: float) -> bool:
    """The simulation takes more than event_budget events or 38 minutes of its own time, or its sample is too short."""
    return port_ending == GIVEN_UP or port_settled <= 0


ENDINGS: dict[str, Predicate] = {"budget": given_up}


def no_upper_frames(port_upper_wait: float) -> bool:
    """In some part of the sample there is no small frame of a class above the data."""
    return not port_upper_wait >= 0


@quantity(unit="ns", fails=ENDINGS)
def simulated_queueing(port_wait: float) -> float:
    """Mean wait of a data frame (of a message's first) at a simulated port; compare with queueing."""
    return port_wait


@quantity(unit="ns", fails=ENDINGS)
def simulated_queueing_interval(port_wait_interval: float) -> float:
    """Half of the width of the 99.9 % confidence interval of simulated_queueing."""
    return port_wait_interval


@quantity(unit="ns", fails=ENDINGS)
def simulated_queueing_p99(port_p99: float) -> float:
    """Wait at a simulated port that 99 of 100 data frames stay within; compare with queueing_p99."""
    return port_p99


@quantity(unit="ns", fails=ENDINGS)
def simulated_queueing_p99_interval(port_p99_interval: float) -> float:
    """Half of the width of the 99.9 % confidence interval of simulated_queueing_p99."""
    return port_p99_interval


@kernel(
    outputs={"simulated_queueing_quantile": Output("ns", dims=("quantile",))},
    dims={"quantile": (0.5, 0.9, 0.99, 1.0)},
    fails=ENDINGS,
)
def quantiles_of_port(port_wait_quantile: NDArray[np.float64], quantile: NDArray[np.float64]) -> NDArray[np.float64]:
    """Waits at a simulated port that shares of the data frames stay within; the last is the longest."""
    return port_wait_quantile


@quantity(unit="ns", fails={**ENDINGS, "undefined": no_upper_frames})
def simulated_priority_queueing(port_upper_wait: float) -> float:
    """Mean wait of a small frame of the class above the data; compare with priority_queueing."""
    return port_upper_wait


@quantity(unit="ns", fails={**ENDINGS, "undefined": no_upper_frames})
def simulated_priority_queueing_interval(port_upper_interval: float) -> float:
    """Half of the width of the 99.9 % confidence interval of simulated_priority_queueing."""
    return port_upper_interval


@quantity(unit="1", fails=ENDINGS)
def simulated_utilization(port_busy: float) -> float:
    """Share of the time that a simulated port is busy."""
    return port_busy


@quantity(unit="1", fails=ENDINGS)
def simulated_queue_depth(port_depth: float) -> float:
    """Frames that wait at a simulated port, on the mean over time."""
    return port_depth


@quantity(unit="1", fails=ENDINGS)
def simulated_queue_peak(port_deepest: float) -> float:
    """Frames that wait at a simulated port, at the most."""
    return port_deepest


@quantity(unit="1", fails=ENDINGS)
def simulated_port_events(port_events: float) -> float:
    """Events of a simulated port."""
    return port_events
