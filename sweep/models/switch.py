"""One hop through an L2 switch: fixed pipeline, forwarding, queueing at the egress port.

Cut-through sends a frame on once its first 64 bytes are in; store-and-forward once all of it is. What waits at the
egress port, and how long: see `queueing`. A switch that moves frames in cells of `switch_cell` bytes pads the last
one; its ports then carry frames at that much less than their rate.

Times in ns, rates in B/ns. Source: design note, section "L2 Switch".
"""

from __future__ import annotations

import math

from sweep.models.link import CODED_SHARE
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
    doc="Rate of a switch port, one way; see bandwidth_reference",
    source="design note, port_bandwidth_gbps",
)
forwarding = parameter(
    choices=("cut_through", "store_and_forward"),
    default="cut_through",
    doc="When a switch sends a frame on",
    source="design note, forwarding_mode",
)
switch_cell = parameter(
    unit="B",
    integer=True,
    minimum=1,
    doc="Cells in which a switch moves frames, the last one padded, at the rate that a full frame leaves; unset: it "
    "moves frames as they are",
    source="shared-memory switches, often 256 B",
)


@quantity("port_mac_rate", unit="GB/s")
def port_rate_as_given(port_bandwidth: float) -> float:
    """Rate at which bytes of frames pass a port."""
    return port_bandwidth


@quantity("port_mac_rate", when={"bandwidth_reference": "line"})
def port_rate_of_line(port_bandwidth: float) -> float:
    """Rate at which bytes of frames pass a port, from the coded line rate."""
    return port_bandwidth * CODED_SHARE


@quantity(unit="1")
def cell_factor(frame_size: float, switch_cell: float) -> float:
    """Bytes of the cells that a full frame takes, over its size."""
    return math.ceil(frame_size / switch_cell) * switch_cell / frame_size


@quantity("cell_factor", when={"switch_cell": None})
def cell_factor_without_cells() -> float:
    """Bytes of the cells that a full frame takes, over its size: 1, there are no cells."""
    return 1.0


@quantity("forwarding_delay", unit="ns")
def cut_through_delay(frame_size: float, port_mac_rate: float, cell_factor: float) -> float:
    """Time to receive as much of a full frame as forwarding needs: its first 64 bytes."""
    return min(CUT_THROUGH_BYTES, frame_size) * cell_factor / port_mac_rate


@quantity("forwarding_delay", when={"forwarding": "store_and_forward"})
def store_and_forward_delay(frame_size: float, port_mac_rate: float, cell_factor: float) -> float:
    """Time to receive as much of a full frame as forwarding needs: all of it."""
    return frame_size * cell_factor / port_mac_rate


@quantity(unit="ns")
def switch_latency(switch_fixed: float, forwarding_delay: float, queueing: float) -> float:
    """Time that a full frame spends in one switch."""
    return switch_fixed + forwarding_delay + queueing
