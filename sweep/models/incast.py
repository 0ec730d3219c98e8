"""Incast: n chips send one message each to the same chip, all at once.

The messages meet at the last of h = `switch_hops` switches, whose port serves their frames in turn, one of each sender
per round. A round can start once its frames are there; after that, rounds follow each other as fast as the port serves
n frames, or as slowly as the senders send one. Over one switch at one rate b this is

    T = L + 2 flight + fixed + min(64, g)/b + n wire/b

No waiting for credits, and none for other traffic but the mean of it. Times in ns. Source: design note, section
"L2 Switch"; one round after the other.
"""

from __future__ import annotations

from sweep.models.transfer import forwarding_of_frame, no_switches
from sweep.registry import parameter, quantity

incast_senders = parameter(
    unit="1", default=8, integer=True, minimum=1, doc="Chips that send to the same chip at once", source=""
)


@quantity("incast_latency", unit="ns", when={"hop_delay": "full"}, fails={"infeasible": no_switches})
def incast_latency(
    incast_senders: float,
    frames: float,
    first_frame: float,
    last_frame: float,
    frame_pitch: float,
    wire_size: float,
    frame_time: float,
    base_latency: float,
    flight_time: float,
    path_queueing: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time from the start of all senders until the last byte and gap have arrived."""
    first = forwarding_of_frame(first_frame, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops)
    first += first_frame * port_lead  # since its start
    last = forwarding_of_frame(last_frame, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops)
    last += last_frame * port_lead
    last_pitch = wire_size - max(frames - 1, 0.0) * frame_pitch
    from_first_round = first + incast_senders * wire_size / port_rate
    from_last_but_one = (
        (frames - 2) * frame_time + first + incast_senders * (frame_pitch + last_pitch) / port_rate
        if frames > 1
        else 0.0
    )
    from_last = max(frames - 1, 0.0) * frame_time + last + incast_senders * last_pitch / port_rate
    ports = max(from_first_round, from_last_but_one, from_last)
    return base_latency + flight_time + switch_hops * switch_fixed + path_queueing + ports
