"""One message from chip to chip, over a link and h = `switch_hops` switches.

    T = L + flight + h (switching + queueing) + wire/b + stall

`flight` is the cable, counted per segment (h + 1) or per hop (h). Per hop, `switching` is what the message's first
frame waits to be forwarded; later frames follow it back to back. Port and link run at the same rate.

Times in ns. Source: design note, section "InterconnectTopology"; serialization is paid once, the switches pipeline it.
"""

from __future__ import annotations

from sweep.models.switch import CUT_THROUGH_BYTES, first_frame_size
from sweep.registry import parameter, quantity

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


@quantity("switching_delay", unit="ns", when={"hop_delay": "full", "forwarding": "cut_through"})
def switching_cut_through(
    switch_fixed: float,
    message_size: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    port_bandwidth: float,
) -> float:
    """Time that the message's first frame takes through one idle switch."""
    frame = first_frame_size(message_size, max_payload, frame_overhead, frame_minimum)
    return switch_fixed + min(CUT_THROUGH_BYTES, frame) / port_bandwidth


@quantity("switching_delay", when={"hop_delay": "full", "forwarding": "store_and_forward"})
def switching_store_and_forward(
    switch_fixed: float,
    message_size: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    port_bandwidth: float,
) -> float:
    """Time that the message's first frame takes through one idle switch."""
    return switch_fixed + first_frame_size(message_size, max_payload, frame_overhead, frame_minimum) / port_bandwidth


@quantity("switching_delay", when={"hop_delay": "note"})
def switching_as_noted(switch_fixed: float, forwarding_delay: float) -> float:
    """Time that a full frame takes through one idle switch, whatever the message."""
    return switch_fixed + forwarding_delay


@quantity("switching_delay", when={"hop_delay": "fixed"})
def switching_fixed(switch_fixed: float) -> float:
    """Fixed latency of one switch."""
    return switch_fixed


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


@quantity(unit="ns")
def path_switching(switch_hops: float, switching_delay: float) -> float:
    """Time in the switches of the path without queueing."""
    return switch_hops * switching_delay


@quantity(unit="ns", moot=no_switches)
def path_queueing(switch_hops: float, hop_queueing: float) -> float:
    """Mean wait at the switches of the path."""
    return switch_hops * hop_queueing if switch_hops > 0 else 0.0


@quantity(unit="ns")
def path_latency(base_latency: float, flight_time: float, path_switching: float, path_queueing: float) -> float:
    """One-way latency of the path: what a message takes besides its serialization and its waiting for credits."""
    return base_latency + flight_time + path_switching + path_queueing


@quantity("span_latency", unit="ns", when={"credit_span": "path"})
def span_of_path(path_latency: float) -> float:
    """One-way latency that a message's credits span: the whole path."""
    return path_latency


@quantity("span_latency", when={"credit_span": ("link", "note")})
def span_of_link(base_latency: float) -> float:
    """One-way latency that a message's credits span: one link."""
    return base_latency


@quantity(unit="ns")
def transfer_latency(link_latency: float, flight_time: float, path_switching: float, path_queueing: float) -> float:
    """Time from the start of a message until its last byte has arrived."""
    return link_latency + flight_time + path_switching + path_queueing
