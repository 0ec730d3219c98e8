"""One message from chip to chip, over a link and h = `switch_hops` switches.

    T = L + flight + switching + h queueing + wire/b + stall

`flight` is the cable, counted per segment (h + 1) or per hop (h). `switching` is what the message's first frame takes
through the switches; later frames follow it back to back, paced by the slowest link b = `path_rate`. Into a port
faster than the link a real switch waits a little longer and sends a little faster; T then errs high, by less than
the time of one frame.

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


@quantity("path_rate", unit="GB/s", when={"hop_delay": "full"})
def slowest_rate(wire_rate: float, port_bandwidth: float, switch_hops: float) -> float:
    """Rate at which the path takes bytes: the slower of link and switch ports."""
    return min(wire_rate, port_bandwidth) if switch_hops > 0 else wire_rate


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


@quantity("awaited_bytes", unit="B", when={"forwarding": "cut_through"})
def awaited_cut_through(message_size: float, max_payload: float, frame_overhead: float, frame_minimum: float) -> float:
    """Bytes of the message's first frame that a switch waits for before it sends the frame on."""
    return min(CUT_THROUGH_BYTES, first_frame_size(message_size, max_payload, frame_overhead, frame_minimum))


@quantity("awaited_bytes", when={"forwarding": "store_and_forward"})
def awaited_store_and_forward(
    message_size: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Bytes of the message's first frame that a switch waits for before it sends the frame on."""
    return first_frame_size(message_size, max_payload, frame_overhead, frame_minimum)


@quantity(unit="ns")
def first_hop_wait(awaited_bytes: float, wire_rate: float) -> float:
    """Wait of the first switch, which receives at the rate of the link."""
    return awaited_bytes / wire_rate


@quantity(unit="ns")
def later_hop_wait(awaited_bytes: float, port_bandwidth: float) -> float:
    """Wait of each further switch, which receives at the rate of a port."""
    return awaited_bytes / port_bandwidth


def switching_of_path(switch_hops: float, switch_fixed: float, first_wait: float, later_wait: float) -> float:
    """Time in `switch_hops` idle switches (ns)."""
    return switch_hops * switch_fixed + first_wait + (switch_hops - 1) * later_wait if switch_hops > 0 else 0.0


@quantity("path_switching", unit="ns", when={"hop_delay": "full"})
def path_switching_full(switch_hops: float, switch_fixed: float, first_hop_wait: float, later_hop_wait: float) -> float:
    """Time of the message's first frame in the idle switches of the path."""
    return switching_of_path(switch_hops, switch_fixed, first_hop_wait, later_hop_wait)


@quantity("path_switching", when={"hop_delay": "note"})
def path_switching_as_noted(switch_hops: float, switch_fixed: float, forwarding_delay: float) -> float:
    """Time of a full frame in the idle switches of the path, whatever the message."""
    return switch_hops * (switch_fixed + forwarding_delay)


@quantity("path_switching", when={"hop_delay": "fixed"})
def path_switching_fixed(switch_hops: float, switch_fixed: float) -> float:
    """Fixed latencies of the switches of the path."""
    return switch_hops * switch_fixed


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
