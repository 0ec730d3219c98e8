"""Incast through shared-buffer switches in a row, frame by frame, and a victim beside it.

Hosts 1 to n = `incast_senders` send one message each to host 0, all at time 0; one more host sends a victim message to
a host of its own. All messages enter by ports of the first of h = `switch_hops` switches, cross the links between the
switches (`trunk_bandwidth`), and leave by ports of the last.

A switch sends a frame on once it has the bytes that forwarding needs, and so many that it does not run out of them, and
after `switch_fixed`. An output takes classes in turn, and the frames of a class in the order in which they came. Where
the packet format can tell classes apart, and `num_priorities` is at least 2, the victim has a class of its own.

A frame is in a switch's buffer from when forwarding has what it needs until its last byte and gap have left. Limits:

- `flow_control` pfc, `pfc_enabled` on: what came by one link (and class, if the format can pause classes) is counted.
  Once that is more than `pfc_threshold_ratio` of what a queue may take, or there is no longer room for a frame of each
  link, the sender is told to pause; two frames below, and once there is room again, it is told to go on. What comes
  meanwhile goes into a reserve of `headroom_share` of `pfc_headroom` for each link (and class). What finds no room is
  dropped, as it must be where the buffer does not hold a frame of each link.
- pfc_enabled off: what finds its queue full is dropped.
- flow_control cbfc: each link and class has `credit_limit` credits, which return when a frame leaves the switch. The
  buffer is taken to hold what they promise, whatever `buffer_size`; `simulated_buffer_peak` is what they took of it.

A queue may take `buffer_alpha` times what is left of `buffer_size`, or with buffer_management static all of it. What is
dropped is lost: the message then never ends. A pause acts at the sender `pause_delay` less one flight after it was
called for, so that within `pause_delay` all is there that still comes.

Compare with `incast_latency`, `pfc_headroom` and `buffer_peak`. Times in ns outside, in whole femtoseconds inside. Of
events at the same time credits and pauses come first, then arrivals, then wires, each by the number of the port. Cost:
two to three events a frame and hop. Source: design note, section "L2 Switch", Tier 2; IEEE 802.1Qbb.
"""

from __future__ import annotations

import numpy as np

from sweep.events.simulation import DEADLOCKED, FEMTOSECONDS, GIVEN_UP, LONGEST, MOST_KEPT, SHORTEST, femtoseconds
from sweep.events.switches import control_of, follow_incast
from sweep.models.path import entry
from sweep.registry import Output, Predicate, kernel, parameter, quantity


def _as_wide_as_all_ports(link_bandwidth: float, port_count: float) -> float:
    """The rate of all ports together: links between switches are no bottleneck."""
    return link_bandwidth * port_count


trunk_bandwidth = parameter(
    unit="GB/s",
    default=_as_wide_as_all_ports,
    above=0.0,
    doc="Rate of the link between two simulated switches, one way",
    source="",
)
victim_size = parameter(
    unit="B",
    default=0,
    integer=True,
    minimum=0,
    doc="Message of the victim beside a simulated incast; 0: there is no victim",
    source="",
)
num_priorities = parameter(
    default=4,
    integer=True,
    minimum=1,
    maximum=8,
    doc="Traffic classes of a simulated switch; with 1 all share one",
    source="design note, num_priorities 4 or 8",
)
pfc_enabled = parameter(
    choices=("on", "off"),
    default="on",
    doc="Whether a simulated switch pauses its senders, with flow_control pfc, before it drops frames",
    source="design note, pfc_enabled",
)
pfc_threshold_ratio = parameter(
    default=0.85,
    minimum=0.0,
    maximum=1.0,
    doc="Share of what a queue may take at which a simulated switch pauses a sender",
    source="design note, pfc_threshold_ratio",
)
headroom_share = parameter(
    default=1.0,
    minimum=0.0,
    doc="Reserve of a simulated switch for what comes after a pause, in shares of pfc_headroom",
    source="IEEE 802.1Qbb",
)
buffer_management = parameter(
    choices=("dynamic", "static"),
    default="dynamic",
    doc="What a queue of a simulated switch may take: buffer_alpha times what is left of the buffer, or all of it",
    source="design note: DT buffer, pfc_threshold_ratio",
)


@quantity(unit="GB/s", internal=True)
def trunk_rate(trunk_bandwidth: float, fec_overhead: float) -> float:
    """Rate at which bytes of frames and gaps pass a link between switches."""
    return trunk_bandwidth * (1 - fec_overhead)


@quantity(unit="B", internal=True)
def trunk_headroom(trunk_rate: float, pause_delay: float, frame_size: float) -> float:
    """Bytes that a switch must keep free above its pause threshold for the link from another switch."""
    return trunk_rate * pause_delay + frame_size


@quantity("pause_margin", unit="ns", when={"flow_control": "pfc", "pfc_enabled": "on"}, internal=True)
def margin_of_pauses(
    pause_delay: float,
    propagation: float,
    awaited_bytes: float,
    frame_size: float,
    wire_rate: float,
    port_rate: float,
) -> float:
    """By how much a pause acts later than a full frame comes to a switch, which then sends it on; it cannot be less."""
    return pause_delay - propagation - entry(wire_rate, port_rate, awaited_bytes, frame_size)


@quantity("pause_margin")
def no_pauses() -> float:
    """By how much a pause acts later than a full frame comes to a switch: there are no pauses."""
    return 0.0


def has_no_place(switch_hops: float, port_count: float, incast_senders: float, victim_size: float) -> bool:
    """The chips are wired directly, or a switch has too few ports for the hosts."""
    victims = 1 if victim_size > 0 else 0
    hosts = incast_senders + 1 + 2 * victims if switch_hops == 1 else incast_senders + victims + 1
    return switch_hops == 0 or port_count < hosts


def cannot_be(
    switch_hops: float, port_count: float, incast_senders: float, victim_size: float, pause_margin: float
) -> bool:
    """There is no switch, or one with too few ports, or a frame takes longer to the switch than pause_delay."""
    return has_no_place(switch_hops, port_count, incast_senders, victim_size) or pause_margin < 0


def steps_of_incast(
    message_size: float, victim_size: float, max_payload: float, incast_senders: float, switch_hops: float
) -> float:
    """Each frame starts and arrives on each link; an event takes as long as five steps."""
    return (message_size * incast_senders + victim_size) / max_payload * (switch_hops + 1) * 10


@kernel(
    outputs={
        "incast_finish": Output("ns"),
        "incast_victim_finish": Output("ns"),
        "incast_dropped": Output("1"),
        "incast_stops": Output("1"),
        "incast_paused": Output("ns"),
        "incast_peak": Output("B"),
        "incast_reserve_peak": Output("B"),
        "incast_events": Output("1"),
        "incast_ending": Output("1"),
    },
    dims={},
    fails={"infeasible": cannot_be},
    steps=steps_of_incast,
    internal=True,
)
def incast_simulation(
    switch_hops: float,
    incast_senders: float,
    message_size: float,
    victim_size: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_gap: float,
    num_priorities: float,
    has_classes: float,
    pauses_classes: float,
    flow_control: str,
    pfc_enabled: str,
    credit_limit: float,
    credit_size: float,
    wire_rate: float,
    trunk_rate: float,
    port_rate: float,
    awaited_bytes: float,
    switch_fixed: float,
    propagation: float,
    base_latency: float,
    pause_delay: float,
    pfc_headroom: float,
    trunk_headroom: float,
    headroom_share: float,
    pfc_threshold_ratio: float,
    buffer_size: float,
    buffer_alpha: float,
    buffer_management: str,
    event_budget: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """An incast followed frame by frame: when it and the victim are there, frames dropped, pauses, their time, bytes in
    a switch and in a reserve at the most, events, and its ending."""
    senders = int(incast_senders)
    full = max(max_payload + frame_overhead, frame_minimum)
    count = np.ceil(message_size / max_payload)
    victim_count = np.ceil(victim_size / max_payload)
    last = max(message_size - (count - 1.0) * max_payload + frame_overhead, frame_minimum)
    victim_last = max(victim_size - (victim_count - 1.0) * max_payload + frame_overhead, frame_minimum)
    between = trunk_rate if switch_hops > 1 else wire_rate
    slowest = (full + frame_gap) / min(min(wire_rate, between), port_rate)
    longest = max(max(slowest, switch_fixed), max(propagation, max(pause_delay, base_latency)))
    shortest = min(full, min(last, victim_last)) / max(max(wire_rate, between), port_rate)
    frames = count * senders + victim_count
    too_many = 2 * frames > event_budget or (2 + switch_hops) * frames > MOST_KEPT
    if longest > LONGEST or shortest < SHORTEST or too_many:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(GIVEN_UP)
    counts = np.zeros(2, np.int64)
    lasts = np.zeros(2, np.int64)
    rates = np.zeros(3)
    reserves = np.zeros(2)
    counts[0] = int(count)
    counts[1] = int(victim_count)
    lasts[0] = int(last)
    lasts[1] = int(victim_last)
    rates[0] = wire_rate
    rates[1] = between
    rates[2] = port_rate
    reserves[0] = headroom_share * pfc_headroom
    reserves[1] = headroom_share * trunk_headroom
    finish = np.zeros(senders + 1, np.int64)
    figures = np.zeros(7, np.int64)
    ending = follow_incast(
        int(switch_hops),
        senders,
        counts,
        int(full),
        lasts,
        int(frame_gap),
        2 if has_classes > 0.0 and num_priorities >= 2.0 else 1,
        pauses_classes > 0.0,
        control_of(flow_control, pfc_enabled),
        int(credit_limit),
        int(credit_size),
        rates,
        awaited_bytes,
        femtoseconds(switch_fixed),
        femtoseconds(propagation),
        femtoseconds(propagation + base_latency),
        femtoseconds(pause_delay),
        reserves,
        pfc_threshold_ratio,
        buffer_size,
        buffer_alpha if buffer_management == "dynamic" else np.inf,
        int(event_budget),
        finish,
        figures,
        np.zeros((0, 2 + int(switch_hops)), np.int64),
    )
    latest = 0
    for host in range(senders):
        latest = max(latest, finish[host]) if finish[host] >= 0 and latest >= 0 else -1
    base = femtoseconds(base_latency)
    return (
        (latest + base) / FEMTOSECONDS if latest >= 0 else -1.0,
        (finish[senders] + base) / FEMTOSECONDS if finish[senders] >= 0 else -1.0,
        float(figures[0]),
        float(figures[1]),
        figures[2] / FEMTOSECONDS,
        float(figures[3]),
        float(figures[4]),
        float(figures[5]),
        float(ending),
    )


# What a grid may ask for.


def stops_for_good(incast_ending: float) -> bool:
    """The simulation comes to where frames wait for credits that nobody owes."""
    return incast_ending == DEADLOCKED


def given_up(incast_ending: float) -> bool:
    """The simulation takes more than event_budget events, or its times or frames are beyond what the clock can tell."""
    return incast_ending == GIVEN_UP


def never_ends(incast_finish: float, message_size: float) -> bool:
    """Frames of the incast were dropped, so that it never ends, or it has none."""
    return incast_finish < 0 or message_size <= 0


def victim_never_ends(incast_victim_finish: float, victim_size: float) -> bool:
    """Frames of the victim were dropped, so that it never ends, or it has none."""
    return incast_victim_finish < 0 or victim_size <= 0


ENDINGS: dict[str, Predicate] = {"deadlock": stops_for_good, "budget": given_up}


@quantity(unit="ns", fails={**ENDINGS, "undefined": never_ends})
def simulated_incast_latency(incast_finish: float) -> float:
    """Time until the last message of a simulated incast has arrived; compare with incast_latency."""
    return incast_finish


@quantity(unit="ns", fails={**ENDINGS, "undefined": victim_never_ends})
def simulated_victim_latency(incast_victim_finish: float) -> float:
    """Time until the victim's message has arrived, beside a simulated incast."""
    return incast_victim_finish


@quantity(unit="1", fails=ENDINGS)
def dropped_frames(incast_dropped: float) -> float:
    """Frames that simulated switches drop."""
    return incast_dropped


@quantity(unit="1", fails=ENDINGS)
def pause_count(incast_stops: float) -> float:
    """How often simulated switches tell a sender to pause."""
    return incast_stops


@quantity(unit="ns", fails=ENDINGS)
def pause_time(incast_paused: float) -> float:
    """Time of all pauses that simulated switches call for, together."""
    return incast_paused


@quantity(unit="B", fails=ENDINGS)
def simulated_buffer_peak(incast_peak: float) -> float:
    """Bytes in the shared buffer of a simulated switch, at the most; compare with buffer_peak."""
    return incast_peak


@quantity(unit="B", fails=ENDINGS)
def headroom_peak(incast_reserve_peak: float) -> float:
    """Bytes in the reserve for one link of a simulated switch, at the most; from a host at most pfc_headroom."""
    return incast_reserve_peak


@quantity(unit="1", fails={"budget": given_up})
def simulated_incast_events(incast_events: float) -> float:
    """Events of a simulated incast."""
    return incast_events
