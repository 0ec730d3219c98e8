"""One hop through an L2 switch: fixed pipeline, forwarding, queueing at the egress port.

Cut-through sends a frame on once its first 64 bytes are in; store-and-forward once all of it is. The egress port is
an M/D/1 queue: Poisson arrivals of full frames at utilization rho, one frame f served in f/b.

Times in ns, rates in B/ns. Source: design note, section "L2 Switch"; M/D/1: Kleinrock, Queueing Systems I, 5.7.
"""

from __future__ import annotations

from sweep.registry import parameter, quantity

CUT_THROUGH_BYTES = 64.0
"""Bytes of a frame that a cut-through switch must have before it sends the frame on."""

switch_fixed = parameter(
    unit="ns",
    default=500.0,
    minimum=0.0,
    doc="Fixed latency of one switch: parsing, lookup, crossbar",
    source="design note, fixed_latency_ns 300 to 800",
)


def _port_as_fast_as_link(link_bandwidth: float) -> float:
    """The rate of the link."""
    return link_bandwidth


port_bandwidth = parameter(
    unit="GB/s",
    default=_port_as_fast_as_link,
    above=0.0,
    doc="Rate of a switch port, one way",
    source="design note, port_bandwidth_gbps",
)
forwarding = parameter(
    choices=("cut_through", "store_and_forward"),
    default="cut_through",
    doc="When a switch sends a frame on",
    source="design note, forwarding_mode",
)
egress_utilization = parameter(
    unit="1",
    default=0.0,
    minimum=0.0,
    doc="Utilization rho of the egress port by other traffic; at 1 and above its queue grows without end",
    source="design note, egress_utilization",
)
queueing_model = parameter(
    choices=("md1_note", "md1"),
    default="md1",
    doc="Mean wait at the egress port: M/D/1, or the design note's cut of it (0 up to 0.01, rho held at 0.99)",
    source="design note, calc_switch_latency",
)


@quantity("forwarding_delay", unit="ns")
def cut_through_delay(frame_size: float, port_bandwidth: float) -> float:
    """Time to receive as much of a full frame as forwarding needs: its first 64 bytes."""
    return min(CUT_THROUGH_BYTES, frame_size) / port_bandwidth


@quantity("forwarding_delay", when={"forwarding": "store_and_forward"})
def store_and_forward_delay(frame_size: float, port_bandwidth: float) -> float:
    """Time to receive as much of a full frame as forwarding needs: all of it."""
    return frame_size / port_bandwidth


def overloaded(egress_utilization: float) -> bool:
    """The port gets at least as much as it can send; its queue has no mean."""
    return egress_utilization >= 1


@quantity("queueing", unit="ns", when={"queueing_model": "md1"}, fails={"unstable": overloaded})
def queueing_md1(frame_size: float, port_bandwidth: float, egress_utilization: float) -> float:
    """Mean wait of a frame at one egress port."""
    service = frame_size / port_bandwidth
    return service * egress_utilization / (2 * (1 - egress_utilization))


@quantity("queueing", when={"queueing_model": "md1_note"})
def queueing_md1_note(frame_size: float, port_bandwidth: float, egress_utilization: float) -> float:
    """Mean wait of a frame at one egress port, none at rho <= 0.01 and as at 0.99 above that."""
    service = frame_size / port_bandwidth
    rho = min(egress_utilization, 0.99)
    return service * rho / (2 * (1 - rho)) if rho > 0.01 else 0.0


@quantity(unit="ns")
def switch_latency(switch_fixed: float, forwarding_delay: float, queueing: float) -> float:
    """Time that a full frame spends in one switch."""
    return switch_fixed + forwarding_delay + queueing


def first_frame_size(size: float, max_payload: float, frame_overhead: float, min_frame: float) -> float:
    """Size of a message's first frame with padding, 0 without a message (B)."""
    return max(min(size, max_payload) + frame_overhead, min_frame) if size > 0 else 0.0
