"""A SEND of one chip's CDMA engine and the RECV of another's: the networks of both chips, and the way between them.

    send = noc(sender) + transfer + noc(receiver)
    noc(core) = hops noc_hop_latency + bytes / noc_bandwidth

Each chip has a mesh, `mesh_width` cores in a row, numbered row by row; hops are the Manhattan distance from the core to
the CDMA engine, which sits at core `cdma_core`. The engine reads all data before it sends them, and writes them once
they are there. A RECV ends with the SEND that it pairs with: it adds no transfer of its own. With `recv_credit` on it
first tells the sender that it is ready, a message of `recv_credit_size` over the way back, for which the SEND waits;
both are issued at the same time here. Times in ns, rates in B/ns. Source: design note, section "CDMA".
"""

from __future__ import annotations

import math

from sweep.registry import parameter, quantity, scope

noc_bandwidth = parameter(
    unit="GB/s",
    default=1024.0,
    above=0.0,
    doc="Rate at which the network of a chip moves data between a core and the CDMA engine, one way",
    source="",
)
noc_hop_latency = parameter(
    unit="ns", default=2.0, minimum=0.0, doc="Latency of one hop of a chip's network", source=""
)
mesh_width = parameter(
    default=8, integer=True, minimum=1, maximum=1024, doc="Cores in a row of a chip's mesh", source=""
)
cdma_core = parameter(
    default=0, integer=True, minimum=0, maximum=2**20, doc="Core at which a chip's CDMA engine sits", source=""
)
src_core = parameter(default=0, integer=True, minimum=0, maximum=2**20, doc="Core whose data a chip sends", source="")
dst_core = parameter(
    default=0, integer=True, minimum=0, maximum=2**20, doc="Core for which a chip gets data", source=""
)
recv_credit = parameter(
    choices=("on", "off"),
    default="off",
    doc="Whether a SEND waits until the receiver has said that it is ready",
    source="design note, SEND and RECV",
)
recv_credit_size = parameter(
    unit="B",
    default=1,
    integer=True,
    minimum=0,
    doc="Bytes of the message by which a receiver says that it is ready",
    source="",
)

returned = scope(message_size="recv_credit_size", src_chip="dst_chip", dst_chip="src_chip")
"""The way back, for the message by which a receiver says that it is ready."""


def mesh_hops(one: float, other: float, width: float) -> float:
    """Hops between two cores of a mesh."""
    rows = abs(math.floor(one / width) - math.floor(other / width))
    return rows + abs((one - width * math.floor(one / width)) - (other - width * math.floor(other / width)))


@quantity(unit="ns")
def noc_send_latency(
    message_size: float,
    src_core: float,
    cdma_core: float,
    mesh_width: float,
    noc_hop_latency: float,
    noc_bandwidth: float,
) -> float:
    """Time in which a message comes from its core to the CDMA engine that sends it."""
    return mesh_hops(src_core, cdma_core, mesh_width) * noc_hop_latency + message_size / noc_bandwidth


@quantity(unit="ns")
def noc_receive_latency(
    message_size: float,
    dst_core: float,
    cdma_core: float,
    mesh_width: float,
    noc_hop_latency: float,
    noc_bandwidth: float,
) -> float:
    """Time in which a message comes from the CDMA engine that has got it to its core."""
    return mesh_hops(dst_core, cdma_core, mesh_width) * noc_hop_latency + message_size / noc_bandwidth


@quantity("recv_credit_latency", unit="ns", when={"recv_credit": "off"})
def no_credit_latency() -> float:
    """Time until a sender knows that its receiver is ready: it need not know."""
    return 0.0


@quantity("recv_credit_latency", when={"recv_credit": "on"})
def credit_latency(returned__transfer_latency: float) -> float:
    """Time until a sender knows that its receiver is ready."""
    return returned__transfer_latency


@quantity(unit="ns")
def send_latency(
    recv_credit_latency: float, noc_send_latency: float, transfer_latency: float, noc_receive_latency: float
) -> float:
    """Time from when a SEND and its RECV are issued until the data are at the receiving core."""
    return recv_credit_latency + noc_send_latency + transfer_latency + noc_receive_latency
