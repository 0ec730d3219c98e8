"""Paths over switches that differ (`path_switches` different): the rows of `route_switches`, one after the other.

Segment i of h + 1 has the rate r_i, that of the link or of the port before it. Frame j of a message starts on it at

    S(i, j) = max(S(i, j-1) + (s_{j-1} + gap) / r_i, S(i-1, j) + w_i(s_j))
    w_i(s) = fixed_i + max(min(awaited_i, s) / r_{i-1}, s / r_{i-1} - s / r_i)

All frames but the last are of one size F, so the last of N starts at the end of the dearest way through that table:

    S = max over i of sum_{k<=i} w_k(F) + (N-2) max_{k<=i} (F + gap) / r_k + (F + gap) / r_i + sum_{k>i} w_k(l)

Exact, frame by frame, where credits do not hold frames back; where they do, their stall is added as if it all came
before the last frame. With hop_delay note or fixed the switches add up as the design note has it. Waits at the ports
are those of M/D/1 at each port's own rate and utilization; other queueing models have no formula here.

Times in ns, rates in B/ns. Source: design note, calc_multihop_switch_latency, which takes a configuration and a
utilization per hop; the table is that of a flow shop, Baccelli et al., Synchronization and Linearity, 1992, 1.2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sweep.file import rows_of
from sweep.models.queueing import queueing_md1, queueing_md1_note
from sweep.registry import Choices, Output, kernel, quantity

DIFFERENT: Choices = {"path_switches": "different"}
FULL: Choices = DIFFERENT | {"hop_delay": "full"}
NOTE: Choices = DIFFERENT | {"hop_delay": "note"}
NOTE_OR_FIXED: Choices = DIFFERENT | {"hop_delay": ("fixed", "note")}

RATE = 0
FIXED = 1
AWAITED = 2
UTILIZATION = 3
"""Columns of `route_switches`."""


def entry(from_rate: float, to_rate: float, awaited: float, size: float) -> float:
    """Time from a frame's start on a segment until a switch may start it on the next, without its fixed latency."""
    return max(min(awaited, size) / from_rate, size / from_rate - size / to_rate)


def time_over(
    switches: NDArray[np.float64],
    share: float,
    wire_rate: float,
    frames: float,
    first: float,
    last: float,
    gap: float,
) -> float:
    """Time from a message's start until its last byte and gap have left the last segment, fixed latencies included."""
    hops = rows_of(switches)
    behind = 0.0  # what the last frame still takes, from the segment that is looked at to the last one
    rate = wire_rate
    for hop in range(hops):
        following = switches[hop, RATE] * share
        behind += switches[hop, FIXED] + entry(rate, following, switches[hop, AWAITED], last)
        rate = following
    last_rate = rate
    if frames < 2:
        return behind + (last + gap) / last_rate
    start = 0.0
    before = 0.0
    slowest = 0.0
    rate = wire_rate
    for segment in range(hops + 1):
        pace = (first + gap) / rate
        slowest = max(slowest, pace)
        start = max(start, before + (frames - 2) * slowest + pace + behind)
        if segment < hops:
            following = switches[segment, RATE] * share
            fixed = switches[segment, FIXED]
            before += fixed + entry(rate, following, switches[segment, AWAITED], first)
            behind -= fixed + entry(rate, following, switches[segment, AWAITED], last)
            rate = following
    return start + (last + gap) / last_rate


def line_bytes(frames: float, first: float, last: float, gap: float) -> float:
    """Bytes of line time of some frames, all but the last of one size, and the gaps after them."""
    return max(frames - 1, 0.0) * (first + gap) + last + (gap if frames > 0 else 0.0)


def has_no_switches(path_switches: str, route_bandwidth: float) -> bool:
    """There is no topology, or no route in it, that says how switches differ."""
    return path_switches == "different" and math.isnan(route_bandwidth)


def has_no_formula(queueing_model: str, path_switches: str, route_bandwidth: float) -> bool:
    """Waits at switches that differ have a formula for M/D/1 only, and need a topology that says how they differ."""
    known = queueing_model in ("md1", "md1_note") and not math.isnan(route_bandwidth)
    return path_switches == "different" and not known


def overloaded(route_peak: float, path_switches: str, queueing_model: str) -> bool:
    """A port gets at least as much as it can send; its queue has no mean."""
    return path_switches == "different" and queueing_model != "md1_note" and route_peak >= 1


@kernel(
    outputs={"route_rate": Output("GB/s"), "route_fixed": Output("ns"), "route_peak": Output("1")},
    dims={},
    fails={"infeasible": has_no_switches},
    internal=True,
)
def rates_of_route(
    route_switches: NDArray[np.float64], wire_rate: float, port_rate: float, port_bandwidth: float
) -> tuple[float, float, float]:
    """The slowest rate of a route, the fixed latencies of all its switches, and the highest of their utilizations."""
    rate = wire_rate
    fixed = 0.0
    peak = 0.0
    for hop in range(rows_of(route_switches)):
        rate = min(rate, route_switches[hop, RATE] * port_rate / port_bandwidth)
        fixed += route_switches[hop, FIXED]
        peak = max(peak, route_switches[hop, UTILIZATION])
    return rate, fixed, peak


@kernel(
    outputs={"route_queueing": Output("ns")},
    dims={},
    fails={"infeasible": has_no_formula, "unstable": overloaded},
    internal=True,
)
def waits_of_route(
    route_switches: NDArray[np.float64], queueing_model: str, frame_service: float, port_bandwidth: float
) -> float:
    """Mean wait at all ports of a route."""
    wait = 0.0
    for hop in range(rows_of(route_switches)):
        service = frame_service * port_bandwidth / route_switches[hop, RATE]
        if queueing_model == "md1_note":
            wait += queueing_md1_note(service, route_switches[hop, UTILIZATION])
        else:
            wait += queueing_md1(service, route_switches[hop, UTILIZATION])
    return wait


@kernel(outputs={"route_forwarding": Output("ns")}, dims={}, fails={"infeasible": has_no_switches}, internal=True)
def forwarding_of_route(route_switches: NDArray[np.float64], frame_size: float, cell_factor: float) -> float:
    """Time in which all switches of a route have what they need of a full frame, each at its own rate."""
    time = 0.0
    for hop in range(rows_of(route_switches)):
        time += min(route_switches[hop, AWAITED], frame_size) * cell_factor / route_switches[hop, RATE]
    return time


@kernel(outputs={"route_frame_time": Output("ns")}, dims={}, fails={"infeasible": has_no_switches}, internal=True)
def frame_over_route(
    route_switches: NDArray[np.float64], wire_rate: float, port_rate: float, port_bandwidth: float, frame_size: float
) -> float:
    """Time of a full frame over the segments and switches of a route, were it alone."""
    return time_over(route_switches, port_rate / port_bandwidth, wire_rate, 1.0, frame_size, frame_size, 0.0)


@kernel(outputs={"route_message_time": Output("ns")}, dims={}, fails={"infeasible": has_no_switches}, internal=True)
def message_over_route(
    route_switches: NDArray[np.float64],
    wire_rate: float,
    port_rate: float,
    port_bandwidth: float,
    frames: float,
    first_frame: float,
    last_frame: float,
    counted_gap: float,
) -> float:
    """Time of a message over the segments and switches of a route."""
    gap = counted_gap if frames > 0 else 0.0
    return time_over(route_switches, port_rate / port_bandwidth, wire_rate, frames, first_frame, last_frame, gap)


@kernel(outputs={"route_chunk_time": Output("ns")}, dims={}, fails={"infeasible": has_no_switches}, internal=True)
def chunk_over_route(
    route_switches: NDArray[np.float64],
    wire_rate: float,
    port_rate: float,
    port_bandwidth: float,
    chunk_frames: float,
    chunk_first_frame: float,
    chunk_last_frame: float,
    chunk_gap: float,
) -> float:
    """Time of a chunk over the segments and switches of a route."""
    gap = chunk_gap if chunk_frames > 0 else 0.0
    return time_over(
        route_switches, port_rate / port_bandwidth, wire_rate, chunk_frames, chunk_first_frame, chunk_last_frame, gap
    )


@quantity("path_rate", when=FULL)
def slowest_rate_of_route(route_rate: float) -> float:
    """Rate at which the path takes bytes: the slowest of its links and ports."""
    return route_rate


def are_different(path_switches: str) -> bool:
    """The switches of the path differ, and this has a formula for switches that are alike only."""
    return path_switches == "different"


@quantity("port_lead", when=FULL, fails={"infeasible": are_different})
def no_lead(path_switches: str) -> float:
    """Time per byte by which ports are faster than the link: each has its own."""
    return 0.0


@quantity("gap_saved", when=DIFFERENT)
def no_gap_saved() -> float:
    """Time by which the gap after the message passes ports sooner: counted with the switches."""
    return 0.0


@quantity("gaps_saved", when=DIFFERENT)
def no_gaps_saved() -> float:
    """Time by which gaps pass ports sooner: counted with the switches."""
    return 0.0


@quantity("frame_switching", when=FULL)
def frame_switching_of_route(route_frame_time: float, frame_size: float, route_rate: float) -> float:
    """Time that the idle switches of the path add to a full frame, were it alone."""
    return route_frame_time - frame_size / route_rate


@quantity("frame_switching", when=NOTE)
def frame_switching_of_route_as_noted(route_fixed: float, route_forwarding: float) -> float:
    """Time of a full frame in the idle switches of the path."""
    return route_fixed + route_forwarding


@quantity("frame_switching", when=DIFFERENT | {"hop_delay": "fixed"})
def frame_switching_of_route_fixed(route_fixed: float) -> float:
    """Fixed latencies of the switches of the path."""
    return route_fixed


@quantity("path_switching", when=FULL)
def path_switching_of_route(
    route_message_time: float,
    frames: float,
    first_frame: float,
    last_frame: float,
    counted_gap: float,
    route_rate: float,
) -> float:
    """Time that the idle switches of the path add to the message."""
    return route_message_time - line_bytes(frames, first_frame, last_frame, counted_gap) / route_rate


@quantity("step_switching", when=FULL)
def step_switching_of_route(
    route_chunk_time: float,
    chunk_frames: float,
    chunk_first_frame: float,
    chunk_last_frame: float,
    chunk_gap: float,
    route_rate: float,
) -> float:
    """Time that the idle switches of the path add to a chunk."""
    return route_chunk_time - line_bytes(chunk_frames, chunk_first_frame, chunk_last_frame, chunk_gap) / route_rate


@quantity("step_frame_switching", when=NOTE_OR_FIXED)
def step_frame_switching_of_route(route_fixed: float) -> float:
    """Fixed latencies of the switches of the path."""
    return route_fixed


@quantity("path_queueing", when=DIFFERENT | {"hop_delay": ("full", "note")})
def path_queueing_of_route(route_queueing: float) -> float:
    """Mean wait at the switches of the path."""
    return route_queueing


@quantity("step_queueing", when=FULL)
def step_queueing_of_route(route_queueing: float) -> float:
    """Mean wait of one step at switches."""
    return route_queueing
