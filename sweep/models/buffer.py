"""The shared buffer of a switch: how deep a queue can grow, and what a pause needs in reserve.

With a dynamic threshold a queue may take `buffer_alpha` times what is left free. n queues that all fill up then share
a n / (1 + a n) of the buffer, whatever their order. A pause frame stops the sender only after `pause_delay`; what
arrives until then, and one more frame that had just begun, must still find room.

Sizes in bytes, times in ns. Source: Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet
switches, IEEE/ACM Trans. Networking 6, 1998; IEEE 802.1Qbb, annex on headroom.
"""

from __future__ import annotations

from sweep.registry import parameter, quantity

PAUSE_FRAME_BYTES = 64.0
"""Bytes of a pause frame, without the gap."""

buffer_size = parameter(
    unit="B",
    default=33554432,
    integer=True,
    minimum=0,
    doc="Shared buffer of a switch",
    source="design note, buffer_size_mb 16 to 64",
)
buffer_alpha = parameter(
    unit="1",
    default=1.0,
    minimum=0.0,
    doc="Dynamic threshold: a queue may take this many times what is left free",
    source="Choudhury and Hahne 1998; switches offer 1/128 to 8",
)
congested_queues = parameter(
    unit="1", default=1, integer=True, minimum=0, doc="Queues that fill the shared buffer together", source=""
)


def _pause_delay(
    base_latency: float, propagation: float, frame_pitch: float, frame_gap: float, wire_rate: float
) -> float:
    """A frame in the way of the pause frame, the pause frame, and pipelines and cable there and back."""
    return (frame_pitch + PAUSE_FRAME_BYTES + frame_gap) / wire_rate + 2 * (base_latency + propagation)


pause_delay = parameter(
    unit="ns",
    default=_pause_delay,
    minimum=0.0,
    doc="Time from the crossing of the pause threshold until what the sender still sent has arrived",
    source="IEEE 802.1Qbb",
)


@quantity(unit="B")
def buffer_peak(buffer_size: float, buffer_alpha: float, congested_queues: float) -> float:
    """Bytes that congested queues take together before the dynamic threshold stops them."""
    share = buffer_alpha * congested_queues
    return share / (1 + share) * buffer_size


@quantity(unit="B")
def pfc_headroom(wire_rate: float, pause_delay: float, frame_size: float) -> float:
    """Bytes that a port must keep free above its pause threshold, so that it drops nothing."""
    return wire_rate * pause_delay + frame_size
