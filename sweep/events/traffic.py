"""A switch with a shared buffer under traffic that goes on, frame by frame.

Each of `port_count` hosts has a link to the switch and one back, and sends messages of one full frame, or of
`burst_frames`. `switch_traffic` says when and to whom:

| switch_traffic | when | to whom |
|---|---|---|
| poisson | a Poisson process | any other host, by chance |
| bursts | Poisson, `burst_frames` frames at once | any other host, by chance |
| permutation | Poisson | the next host |
| all_to_all | always after the same time | each other host in turn, no two the same at a time |
| incast | Poisson | host 0, which sends none |
| trace | as `traffic_trace` says, a file | as it says, messages of any size |

Each port gets data of `egress_utilization` times its rate; with incast, that of host 0. A share `response_share` of the
messages are responses, the others requests. A receiver answers each data frame with an acknowledgement (a frame without
payload), if `acknowledgements` is on.

There are four classes: congestion notices, acknowledgements, requests and responses. Hosts and ports send them in this
order, requests and responses in turn, `request_weight` requests for each response. What a switch can tell apart has a
queue of its own: all four, where the packet format can tell classes apart and `num_priorities` is at least 4; with 2 or
3 data and the rest; else all share one.

The shared buffer, its thresholds, pauses, headroom, drops and credits are those of `incast`. Formats that can carry
marks (`ecn`) have them set: on a data frame that finds `ecn_minimum` bytes or more in its queue by chance, on one that
finds `ecn_maximum` always. The receiver of a marked frame sends its source a notice, at most one each `cnp_interval`.
With `congestion_control` dcqcn the source then slows down: its rate falls by half of a share, which is 1 at first,
afterwards moves towards 1 by `rate_gain` with each notice, and fades by as much each `rate_recovery_time`. At those
times the rate also comes half of the way back, and after five of them goes on by `rate_increase`; bytes are not
counted, and there is no faster increase.

Latencies of classes count from when a message is made until its frame has arrived, waiting at the host included;
`simulated_switch_latency` from when the first bit of a data frame comes to the switch until it leaves (compare with
`switch_latency`). They count once a sixteenth of `sample_frames` data frames have arrived. Hosts may be given more than
they can send: then their own queues grow, and latencies of classes are unstable, but what the switch does settles.
A trace is followed once, until all is done, and all counts.

Times in ns outside, in whole femtoseconds inside. Of events at the same time notes to hosts come first, then frames at
the switch, messages, frames at hosts, sources that come back, wires, ports, each by number. Cost: about ten events a
data frame. Sources: design note, section "L2 Switch", Tier 2; Zhu et al., Congestion Control for Large-Scale RDMA
Deployments, SIGCOMM 2015; IEEE 802.1Qbb, 802.1Qau.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.histogram import BINS, quantile_of
from sweep.events.sample import PARTS, interval
from sweep.events.shared_switch import ALL_TO_ALL, BURSTS, INCAST, PERMUTATION, POISSON, TRACE, follow_traffic
from sweep.events.simulation import DEADLOCKED, FEMTOSECONDS, GIVEN_UP, LONGEST, SHORTEST, femtoseconds
from sweep.events.switches import CREDITS, control_of
from sweep.file import rows_of
from sweep.registry import Output, Predicate, kernel, parameter, quantity

switch_traffic = parameter(
    choices=("poisson", "bursts", "permutation", "all_to_all", "incast", "trace"),
    default="poisson",
    doc="What the hosts of a simulated switch send, and when",
    source="",
)
response_share = parameter(
    default=0.5,
    minimum=0.0,
    maximum=1.0,
    doc="Share of the messages of a simulated switch that are responses",
    source="",
)
acknowledgements = parameter(
    choices=("on", "off"),
    default="on",
    doc="Whether each data frame through a simulated switch is answered by an acknowledgement",
    source="",
)
request_weight = parameter(
    default=1,
    integer=True,
    minimum=1,
    maximum=1000,
    doc="Requests that are sent in a row before it is the turn of a response",
    source="IEEE 802.1Q, transmission selection",
)
CLASSES = ("notice", "acknowledgement", "request", "response")
"""Classes of frames, the first served first."""
QUANTILES = (0.5, 0.9, 0.99, 1.0)

MOST_WAITING = 1 << 22
"""Frames that may be waiting or under way at once."""


def has_no_host(port_count: float, switch_traffic: str, trace_hosts: float) -> bool:
    """The switch has nobody to send to, or the trace names hosts that it does not have."""
    return port_count < 2 or (switch_traffic == "trace" and trace_hosts > port_count)


def cannot_be(port_count: float, switch_traffic: str, trace_hosts: float, pause_margin: float) -> bool:
    """A host is not there, or has nobody to send to, or a frame takes longer to the switch than pause_delay."""
    return has_no_host(port_count, switch_traffic, trace_hosts) or pause_margin < 0


def is_overloaded(
    egress_utilization: float,
    switch_traffic: str,
    acknowledgements: str,
    frame_pitch: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_gap: float,
    wire_rate: float,
    port_rate: float,
) -> bool:
    """A port, or a host's link, gets at least as much as it can send; its queue has no mean."""
    if switch_traffic == "trace":
        return False
    answers = 0.0
    if acknowledgements == "on" and switch_traffic != "incast":
        answers = (max(frame_overhead, frame_minimum) + frame_gap) / frame_pitch
    carried = port_rate if switch_traffic == "incast" else min(port_rate, wire_rate)
    return egress_utilization * (1 + answers) * port_rate >= carried


def is_idle(switch_traffic: str, egress_utilization: float, trace_frames: float) -> bool:
    """No data come whose latencies could be counted."""
    return trace_frames <= 0 if switch_traffic == "trace" else egress_utilization <= 0


def steps_of_traffic(switch_traffic: str, sample_frames: float, trace_frames: float) -> float:
    """Ten events a data frame, each of which takes as long as ten steps."""
    return (trace_frames if switch_traffic == "trace" else sample_frames) * 100


@kernel(
    outputs={
        "traffic_stay": Output("ns"),
        "traffic_stay_interval": Output("ns"),
        "traffic_frames": Output("1", dims=("traffic_class",)),
        "traffic_mean": Output("ns", dims=("traffic_class",), gaps=True),
        "traffic_quantile": Output("ns", dims=("traffic_class", "quantile"), gaps=True),
        "traffic_throughput": Output("GB/s"),
        "traffic_load": Output("1"),
        "traffic_depth": Output("B"),
        "traffic_deepest": Output("B"),
        "traffic_stops": Output("1"),
        "traffic_paused": Output("ns"),
        "traffic_marks": Output("1"),
        "traffic_notices": Output("1"),
        "traffic_finish": Output("ns"),
        "traffic_dropped": Output("1"),
        "traffic_events": Output("1"),
        "traffic_settled": Output("1"),
        "traffic_ending": Output("1"),
    },
    dims={"traffic_class": CLASSES, "quantile": QUANTILES},
    fails={"infeasible": cannot_be, "undefined": is_idle},
    steps=steps_of_traffic,
    internal=True,
)
def traffic_simulation(
    port_count: float,
    switch_traffic: str,
    egress_utilization: float,
    burst_frames: float,
    trace_messages: NDArray[np.float64],
    trace_hosts: float,
    trace_frames: float,
    trace_end: float,
    response_share: float,
    acknowledgements: str,
    max_payload: float,
    frame_size: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_gap: float,
    frame_pitch: float,
    num_priorities: float,
    has_classes: float,
    pauses_classes: float,
    marks_congestion: float,
    flow_control: str,
    pfc_enabled: str,
    credit_limit: float,
    credit_size: float,
    wire_rate: float,
    port_rate: float,
    awaited_bytes: float,
    switch_fixed: float,
    propagation: float,
    base_latency: float,
    pause_delay: float,
    pfc_headroom: float,
    headroom_share: float,
    pfc_threshold_ratio: float,
    buffer_size: float,
    buffer_alpha: float,
    buffer_management: str,
    ecn_minimum: float,
    ecn_maximum: float,
    congestion_control: str,
    cnp_interval: float,
    rate_recovery_time: float,
    rate_increase: float,
    rate_gain: float,
    request_weight: float,
    sample_frames: float,
    seed: float,
    event_budget: float,
    traffic_class: NDArray[np.float64],
    quantile: NDArray[np.float64],
) -> tuple[
    float,
    float,
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
]:
    """A switch followed frame by frame: how long data frames stay, latencies of classes, what its ports carry, its
    buffer, pauses, marks and drops, events, whether the sample is long enough, and its ending."""
    ports = int(port_count)
    pattern = POISSON
    if switch_traffic == "bursts":
        pattern = BURSTS
    elif switch_traffic == "permutation":
        pattern = PERMUTATION
    elif switch_traffic == "all_to_all":
        pattern = ALL_TO_ALL
    elif switch_traffic == "incast":
        pattern = INCAST
    elif switch_traffic == "trace":
        pattern = TRACE
    burst = int(burst_frames) if pattern == BURSTS else 1
    sources = ports - 1.0 if pattern == INCAST else 1.0
    queue_of = np.zeros(4, np.int64)
    sizes = np.zeros(4, np.int64)
    for kind in range(4):
        sizes[kind] = int(frame_size) if kind >= 2 else int(max(frame_overhead, frame_minimum))
        if has_classes > 0.0 and num_priorities >= 4.0:
            queue_of[kind] = kind
        elif has_classes > 0.0 and num_priorities >= 2.0:
            queue_of[kind] = kind // 2
    rates = np.zeros(2)
    rates[0] = wire_rate
    rates[1] = port_rate
    marks = np.full(2, np.inf)
    if marks_congestion > 0.0:
        marks[0] = ecn_minimum
        marks[1] = max(ecn_maximum, ecn_minimum)
    stays = np.zeros(PARTS)
    counts = np.zeros((4, BINS), np.int64)
    totals = np.zeros(4)
    figures = np.zeros(18)
    between = 0.0
    if pattern != TRACE:
        between = burst * sources * frame_pitch / port_rate / egress_utilization
    longest = max(max(switch_fixed, max(propagation, base_latency)), max(pause_delay, max(cnp_interval, between)))
    longest = max(longest, max(rate_recovery_time, frame_pitch / min(wire_rate, port_rate)))
    if pattern == TRACE:
        longest = max(longest, trace_end)
    shortest = min(sizes[0], sizes[2]) / max(wire_rate, port_rate)
    share = buffer_alpha if buffer_management == "dynamic" else np.inf
    ending = GIVEN_UP
    needed = max(sizes[0], 0 if pattern == TRACE else sizes[2])
    if control_of(flow_control, pfc_enabled) == CREDITS and needed > credit_limit * credit_size:
        ending = DEADLOCKED  # no frame of its kind ever goes
    elif longest <= LONGEST and shortest >= SHORTEST:
        ending = follow_traffic(
            ports,
            pattern,
            between * FEMTOSECONDS,
            burst,
            trace_messages[: rows_of(trace_messages)],
            int(max_payload),
            int(frame_overhead),
            int(frame_minimum),
            response_share,
            acknowledgements == "on",
            queue_of,
            sizes,
            int(frame_gap),
            rates,
            awaited_bytes,
            femtoseconds(switch_fixed),
            femtoseconds(propagation),
            femtoseconds(base_latency),
            control_of(flow_control, pfc_enabled),
            pauses_classes > 0.0,
            int(credit_limit),
            int(credit_size),
            femtoseconds(propagation + base_latency),
            femtoseconds(pause_delay),
            headroom_share * pfc_headroom,
            pfc_threshold_ratio,
            buffer_size,
            share,
            marks,
            congestion_control == "dcqcn",
            femtoseconds(cnp_interval),
            femtoseconds(rate_recovery_time),
            rate_increase,
            rate_gain,
            int(request_weight),
            int(seed),
            max(int(sample_frames) // PARTS, 1),
            int(event_budget),
            MOST_WAITING,
            stays,
            counts,
            totals,
            figures,
            np.zeros((0, 6), np.int64),
        )
    frames = np.zeros(traffic_class.size)
    means = np.full(traffic_class.size, np.nan)
    quantiles = np.full((traffic_class.size, quantile.size), np.nan)
    for kind in range(traffic_class.size):
        for place in range(BINS):
            frames[kind] += counts[kind, place]
        if frames[kind] > 0:
            means[kind] = totals[kind] / frames[kind] / FEMTOSECONDS
            for k in range(quantile.size):
                within = min(quantile_of(counts[kind], quantile[k]), figures[10 + kind])
                quantiles[kind, k] = within / FEMTOSECONDS
    width, settled = interval(stays)
    if pattern == TRACE:
        width, settled = 0.0, True
    span = max(figures[9], 1.0)
    counted = 1.0 if pattern == INCAST else port_count
    long_enough = 1.0 if settled else 0.0
    return (
        figures[15] / max(figures[1], 1.0) / FEMTOSECONDS,
        width / FEMTOSECONDS,
        frames,
        means,
        quantiles,
        figures[16] / span * FEMTOSECONDS,
        figures[2] / span / counted,
        figures[3] / span,
        figures[4],
        figures[5],
        figures[6] / FEMTOSECONDS,
        figures[7],
        figures[14],
        figures[17] / FEMTOSECONDS,
        figures[8],
        figures[0],
        long_enough,
        float(ending),
    )


# What a grid may ask for.


def given_up(traffic_ending: float) -> bool:
    """The simulation takes more than event_budget events, too many frames wait, or its times are beyond the clock."""
    return traffic_ending == GIVEN_UP


def stops_for_good(traffic_ending: float) -> bool:
    """The simulation comes to where frames wait for credits that nobody owes."""
    return traffic_ending == DEADLOCKED


def lacks_sample(traffic_ending: float, traffic_settled: float) -> bool:
    """The simulation is given up, or its sample is too short to tell how sure its mean is."""
    return traffic_ending == GIVEN_UP or traffic_settled <= 0


def nothing_arrives(traffic_finish: float) -> bool:
    """All data frames are dropped."""
    return traffic_finish <= 0


def is_no_sample(switch_traffic: str, traffic_finish: float) -> bool:
    """A trace is no sample of anything, so that nothing is unsure about its mean; or all data frames are dropped."""
    return switch_traffic == "trace" or traffic_finish <= 0


def never_completes(switch_traffic: str, traffic_dropped: float) -> bool:
    """There is no trace that could end, or frames of it are dropped."""
    return switch_traffic != "trace" or traffic_dropped > 0


ENDINGS: dict[str, Predicate] = {"deadlock": stops_for_good, "budget": given_up}
SAMPLED: dict[str, Predicate] = {"deadlock": stops_for_good, "budget": lacks_sample}
IN_SWITCH: dict[str, Predicate] = {**SAMPLED, "undefined": nothing_arrives}
FROM_HOST: dict[str, Predicate] = {"unstable": is_overloaded, **SAMPLED}


@quantity(unit="ns", fails={**ENDINGS, "undefined": never_completes})
def trace_completion_time(traffic_finish: float) -> float:
    """Time until the last data frame of a trace through a simulated switch has arrived."""
    return traffic_finish


@quantity(unit="ns", fails=IN_SWITCH)
def simulated_switch_latency(traffic_stay: float) -> float:
    """Mean time that a data frame stays in a simulated switch; compare with switch_latency."""
    return traffic_stay


@quantity(unit="ns", fails={**SAMPLED, "undefined": is_no_sample})
def simulated_switch_latency_interval(traffic_stay_interval: float) -> float:
    """Half of the width of the 99.9 % confidence interval of simulated_switch_latency."""
    return traffic_stay_interval


@kernel(outputs={"class_frames": Output("1", dims=("traffic_class",))}, dims={"traffic_class": CLASSES}, fails=ENDINGS)
def frames_of_classes(traffic_frames: NDArray[np.float64], traffic_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frames of a class that arrive through a simulated switch."""
    return traffic_frames


@kernel(
    outputs={"class_latency": Output("ns", dims=("traffic_class",), gaps=True)},
    dims={"traffic_class": CLASSES},
    fails=FROM_HOST,
)
def mean_of_classes(traffic_mean: NDArray[np.float64], traffic_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean latency of the frames of a class through a simulated switch, from host to host; NaN where none came."""
    return traffic_mean


@kernel(
    outputs={"class_latency_quantile": Output("ns", dims=("traffic_class", "quantile"), gaps=True)},
    dims={"traffic_class": CLASSES, "quantile": QUANTILES},
    fails=FROM_HOST,
)
def quantiles_of_classes(
    traffic_quantile: NDArray[np.float64], traffic_class: NDArray[np.float64], quantile: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Latency that a share of the frames of a class through a simulated switch stays within; NaN where none came."""
    return traffic_quantile


@quantity(unit="GB/s", fails=ENDINGS)
def switch_throughput(traffic_throughput: float) -> float:
    """Payload of data that arrives through a simulated switch, over all ports."""
    return traffic_throughput


@quantity(unit="1", fails=ENDINGS)
def switch_utilization(traffic_load: float) -> float:
    """Share of time for which the ports of a simulated switch send, gaps included; with incast, that of host 0."""
    return traffic_load


@quantity(unit="B", fails=ENDINGS)
def switch_depth(traffic_depth: float) -> float:
    """Bytes in the shared buffer of a simulated switch, on average over time."""
    return traffic_depth


@quantity(unit="B", fails=ENDINGS)
def switch_depth_peak(traffic_deepest: float) -> float:
    """Bytes in the shared buffer of a simulated switch, at the most."""
    return traffic_deepest


@quantity(unit="1", fails=ENDINGS)
def switch_pauses(traffic_stops: float) -> float:
    """How often a simulated switch tells a host to pause."""
    return traffic_stops


@quantity(unit="ns", fails=ENDINGS)
def switch_pause_time(traffic_paused: float) -> float:
    """Time of all pauses that a simulated switch calls for, together."""
    return traffic_paused


@quantity(unit="1", fails=ENDINGS)
def switch_marks(traffic_marks: float) -> float:
    """Data frames that a simulated switch marks."""
    return traffic_marks


@quantity(unit="1", fails=ENDINGS)
def congestion_notices(traffic_notices: float) -> float:
    """Congestion notices that arrive at hosts of a simulated switch."""
    return traffic_notices


@quantity(unit="1", fails=ENDINGS)
def switch_drops(traffic_dropped: float) -> float:
    """Frames that a simulated switch drops."""
    return traffic_dropped


@quantity(unit="1", fails={"budget": given_up})
def simulated_switch_events(traffic_events: float) -> float:
    """Events of a simulated switch."""
    return traffic_events
