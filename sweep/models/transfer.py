"""One message from chip to chip, over a link and h = `switch_hops` switches.

    T = L + flight + switching + h queueing + wire/b + stall - saved

`flight` is the cable, counted per segment (h + 1) or per hop (h). `switching` is what the switches add to the
message's time on the slowest link b = `path_rate`, which paces it:

- ports as fast as the link or slower: each switch waits for the first frame, and later ones follow back to back;
- ports faster than the link: a switch must not start a frame so early that it runs out of its bytes, and catches up
  with the link at the end of each frame. So the last frame decides, or the full one before it where that is in its way;
  the gap after the last frame passes at the rate of the port, which is `saved`.

Exact, frame by frame, with credits too. Times in ns. Source: design note, section "InterconnectTopology";
serialization is paid once, the switches pipeline it.
"""

from __future__ import annotations

import math

from sweep.models.packet import first_frame_size, last_frame_size, proportional_frame_size
from sweep.models.switch import CUT_THROUGH_BYTES
from sweep.registry import Choices, parameter, quantity

switch_hops = parameter(
    unit="1",
    default=0,
    integer=True,
    minimum=0,
    maximum=64,
    doc="Switches between two chips",
    source="design note, scenarios A to C",
)


def _propagation_with_switches(switch_hops: float) -> float:
    """5 ns (one metre) with switches, none for chips wired directly."""
    return 5.0 if switch_hops > 0 else 0.0


propagation = parameter(
    unit="ns",
    default=_propagation_with_switches,
    minimum=0.0,
    doc="Flight time of one cable",
    source="design note, link_propagation_ns_per_hop",
)
propagation_count = parameter(
    choices=("none", "hops", "segments"),
    default="segments",
    doc="Cables of a path over h switches that count: none, h, or all h + 1",
    source="hops: design note, calc_multihop_switch_latency; segments: its get_c2c_delay",
)
hop_delay = parameter(
    choices=("fixed", "full", "note"),
    default="full",
    doc="What a hop costs: its fixed latency; that and forwarding and queueing; or as the design note does: the "
    "fixed latency in collectives, a full frame's switch_latency in transfers",
    source="design note, calc_cdma_collective_latency and get_c2c_delay",
)
credit_span = parameter(
    choices=("link", "path", "note"),
    default="path",
    doc="The round trip of credits: over one link, over the path with its switches, or as the design note does: "
    "the link in transfers, the path in collectives",
    source="design note, calc_paxi_latency and calc_cdma_collective_latency",
)


@quantity(unit="GB/s")
def port_rate(port_mac_rate: float, fec_overhead: float, cell_factor: float) -> float:
    """Rate at which a port carries a long message: whole cells, and FEC as on the link."""
    return port_mac_rate * (1 - fec_overhead) / cell_factor


@quantity("path_rate", unit="GB/s", when={"hop_delay": "full"})
def slowest_rate(wire_rate: float, port_rate: float, switch_hops: float) -> float:
    """Rate at which the path takes bytes: the slower of link and switch ports."""
    return min(wire_rate, port_rate) if switch_hops > 0 else wire_rate


@quantity("path_rate", when={"hop_delay": ("fixed", "note")})
def link_rate_alone(wire_rate: float) -> float:
    """Rate at which the path takes bytes: that of the link, switch ports are not looked at."""
    return wire_rate


@quantity("flight_time", unit="ns", when={"propagation_count": "segments"})
def flight_over_segments(propagation: float, switch_hops: float) -> float:
    """Flight time over all cables of the path."""
    return propagation * (switch_hops + 1)


@quantity("flight_time", when={"propagation_count": "hops"})
def flight_over_hops(propagation: float, switch_hops: float) -> float:
    """Flight time over one cable per switch."""
    return propagation * switch_hops


@quantity("flight_time", when={"propagation_count": "none"})
def no_flight() -> float:
    """Flight time: not counted."""
    return 0.0


# Idle switches.


@quantity("awaited_bytes", unit="B", when={"forwarding": "cut_through"}, internal=True)
def awaited_cut_through() -> float:
    """Bytes of a frame that a switch waits for before it sends the frame on."""
    return CUT_THROUGH_BYTES


@quantity("awaited_bytes", when={"forwarding": "store_and_forward"})
def awaited_store_and_forward() -> float:
    """Bytes of a frame that a switch waits for before it sends the frame on: all of them, however many."""
    return math.inf


@quantity("port_lead", unit="ns/B", when={"hop_delay": "full"})
def port_lead_of_path(wire_rate: float, port_rate: float, switch_hops: float) -> float:
    """Time per byte by which ports are faster than the link; 0 if they are not."""
    return max(1 / wire_rate - 1 / port_rate, 0.0) if switch_hops > 0 else 0.0


@quantity("port_lead", when={"hop_delay": ("fixed", "note")})
def port_lead_ignored() -> float:
    """Time per byte by which ports are faster than the link: not looked at."""
    return 0.0


def forwarding_of_frame(
    size: float, awaited_bytes: float, wire_rate: float, port_rate: float, port_lead: float, switch_hops: float
) -> float:
    """Time that forwarding in idle switches adds to a lone frame's at the slower of both rates (ns)."""
    awaited = min(size, awaited_bytes)
    first = max(awaited / wire_rate - size * port_lead, 0.0)
    return first + (switch_hops - 1) * (awaited / port_rate)


def switching_of_frame(
    size: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that idle switches add to a lone frame's at the slower of both rates (ns)."""
    added = forwarding_of_frame(size, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops)
    return switch_hops * switch_fixed + added if switch_hops > 0 else 0.0


def switching_of_message(
    first_frame: float,
    last_frame: float,
    gap: float,
    slack: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that idle switches add to what a message takes at the slower of both rates (ns).

    The last frame leaves the path as if it were alone, or right after a full frame before it, if credits do not hold
    it back for `slack` longer than that one.
    """
    alone = forwarding_of_frame(last_frame, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops)
    behind = forwarding_of_frame(first_frame, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops)
    behind -= (gap + last_frame) * port_lead + slack
    return switch_hops * switch_fixed + max(alone, behind) if switch_hops > 0 else 0.0


COUNTED: Choices = {"framing": ("exact", "note")}
IN_PROPORTION: Choices = {"framing": ("none", "full_frames")}


@quantity("first_frame", unit="B", when=COUNTED)
def first_frame_counted(message_size: float, max_payload: float, frame_overhead: float, frame_minimum: float) -> float:
    """Size of the message's first frame with padding; 0 without a message."""
    return first_frame_size(message_size, max_payload, frame_overhead, frame_minimum)


@quantity("first_frame", when=IN_PROPORTION)
def first_frame_in_proportion(message_size: float, max_payload: float, frame_size: float) -> float:
    """Size of the message's first frame, in proportion to what it carries."""
    return proportional_frame_size(min(message_size, max_payload), max_payload, frame_size)


@quantity("last_frame", unit="B", when=COUNTED)
def last_frame_counted(
    message_size: float, frames: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Size of the message's last frame with padding; 0 without a message."""
    return last_frame_size(message_size, frames, max_payload, frame_overhead, frame_minimum) if frames > 0 else 0.0


@quantity("last_frame", when=IN_PROPORTION)
def last_frame_in_proportion(message_size: float, frames: float, max_payload: float, frame_size: float) -> float:
    """Size of the message's last frame, in proportion to what it carries."""
    carried = message_size - max(frames - 1, 0.0) * max_payload
    return proportional_frame_size(carried, max_payload, frame_size)


@quantity("counted_gap", unit="B", when=COUNTED)
def gap_of_frames(frame_gap: float) -> float:
    """Gap after each frame of the message."""
    return frame_gap


@quantity("counted_gap", when=IN_PROPORTION)
def gap_in_proportion() -> float:
    """Gap after each frame of the message: counted in proportion to its bytes instead."""
    return 0.0


@quantity("path_switching", unit="ns", when={"hop_delay": "full"})
def path_switching_full(
    first_frame: float,
    last_frame: float,
    counted_gap: float,
    last_frame_slack: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that the idle switches of the path add to the message."""
    return switching_of_message(
        first_frame,
        last_frame,
        counted_gap,
        last_frame_slack,
        awaited_bytes,
        wire_rate,
        port_rate,
        port_lead,
        switch_hops,
        switch_fixed,
    )


@quantity(unit="ns")
def gap_saved(frames: float, counted_gap: float, port_lead: float) -> float:
    """Time by which the gap after the message passes a port that is faster than the link sooner."""
    return counted_gap * port_lead if frames > 0 else 0.0


@quantity("path_switching", when={"hop_delay": ("fixed", "note")})
def path_switching_of_any_message(frame_switching: float) -> float:
    """Time in the idle switches of the path: that of a full frame, whatever the message."""
    return frame_switching


@quantity("hop_queueing", unit="ns", when={"hop_delay": ("full", "note")})
def hop_queueing_full(queueing: float) -> float:
    """Mean wait per hop."""
    return queueing


@quantity("hop_queueing", when={"hop_delay": "fixed"})
def hop_queueing_ignored() -> float:
    """Mean wait per hop: not counted."""
    return 0.0


def no_switches(switch_hops: float) -> bool:
    """The chips are wired directly."""
    return switch_hops == 0


@quantity(unit="ns", moot=no_switches)
def path_queueing(switch_hops: float, hop_queueing: float) -> float:
    """Mean wait at the switches of the path."""
    return switch_hops * hop_queueing if switch_hops > 0 else 0.0


@quantity("frame_switching", unit="ns", when={"hop_delay": "full"})
def frame_switching_full(
    frame_size: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that the idle switches of the path add to a full frame, were it alone."""
    return switching_of_frame(frame_size, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops, switch_fixed)


@quantity("frame_switching", when={"hop_delay": "note"})
def frame_switching_as_noted(switch_hops: float, switch_fixed: float, forwarding_delay: float) -> float:
    """Time of a full frame in the idle switches of the path."""
    return switch_hops * (switch_fixed + forwarding_delay)


@quantity("frame_switching", when={"hop_delay": "fixed"})
def frame_switching_fixed(switch_hops: float, switch_fixed: float) -> float:
    """Fixed latencies of the switches of the path."""
    return switch_hops * switch_fixed


@quantity(unit="ns")
def path_latency(base_latency: float, flight_time: float, frame_switching: float, path_queueing: float) -> float:
    """One-way latency of the path: from a full frame's end on the first link until it has arrived."""
    return base_latency + flight_time + frame_switching + path_queueing


@quantity("span_latency", unit="ns", when={"credit_span": "path"})
def span_of_path(path_latency: float) -> float:
    """One-way latency that a message's credits span: the whole path."""
    return path_latency


@quantity("span_latency", when={"credit_span": ("link", "note")})
def span_of_link(base_latency: float) -> float:
    """One-way latency that a message's credits span: one link."""
    return base_latency


@quantity(unit="ns")
def transfer_latency(
    link_latency: float, flight_time: float, path_switching: float, path_queueing: float, gap_saved: float
) -> float:
    """Time from the start of a message until its last byte and gap have arrived."""
    return link_latency + flight_time + path_switching + path_queueing - gap_saved
