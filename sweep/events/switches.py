"""Switches with shared buffers, frame by frame: the loop behind `incast`, where everything is described."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.eventlist import Times, new_times, new_winners, set_time
from sweep.events.lists import Places, append, give_back, new_lists, new_store, pop, take
from sweep.events.simulation import DEADLOCKED, DONE, GIVEN_UP, LATEST, NEVER, femtoseconds, forwarding

NO_PAUSES = 0
PAUSES = 1
CREDITS = 2
"""How a switch keeps its senders from sending too much."""

SHARED = 1
RESERVED = 2
"""Where in the buffer a frame is counted."""

STOP = -1
GO = -2
"""What a switch tells a sender; numbers above 0 are credits."""


def follow_incast(
    hops: int,
    senders: int,
    counts: NDArray[np.int64],
    full: int,
    last: NDArray[np.int64],
    gap: int,
    classes: int,
    pauses_classes: bool,
    control: int,
    credit_limit: int,
    credit_size: int,
    rates: NDArray[np.float64],
    awaited: float,
    fixed: int,
    flight: int,
    back: int,
    pause_delay: int,
    reserves: NDArray[np.float64],
    ratio: float,
    buffer: float,
    alpha: float,
    budget: int,
    finish: NDArray[np.int64],
    figures: NDArray[np.int64],
    trace: NDArray[np.int64],
) -> int:
    """The simulation, times in femtoseconds, sizes in bytes, `rates` of hosts, between switches, and of ports in B/ns.

    `counts` and `last` are the frames of a message, and the bytes of its last one, for the incast and for the victim.
    `finish` becomes when each message is there, that of the victim last. `figures` become frames dropped, pauses, the
    time of all pauses together, the most bytes in the buffer of a switch, the most in a reserve, and events. Each row
    of `trace`, as far as it reaches, becomes one event: its time, its resource, and the bytes in each switch after it.
    Returns how it ended.
    """
    hosts = senders + 1  # that send: one message each, the victim last
    wires = hosts + hops - 1 + 2  # of hosts, between switches, to the receiver of the incast, to that of the victim
    to_hosts = hosts + hops - 1  # wires from here on lead to hosts
    lines = wires * classes
    apart = pauses_classes or control == CREDITS  # whether a line has what is counted of each class, or of all
    times = new_times(3 * wires)  # notes that come back, frames that arrive, wires
    winners = new_winners(times)
    role = np.zeros(hosts, np.int64)  # 0 for those of the incast, 1 for the victim
    role[senders] = 1
    frames = counts[0] * senders + counts[1]
    # Frames in switches and on the way, and notes to senders, are places in lists.
    store = new_store()
    places = (2 + hops) * frames + 64 * lines  # for every frame, a note of each switch, and some that follow fast
    after = np.zeros(places, np.int64)
    when = np.zeros(places, np.int64)  # when it is there; in a switch, from when it can be sent on
    host_of = np.zeros(places, np.int64)
    size = np.zeros(places, np.int64)
    line_of = np.zeros(places, np.int64)  # the wire by which it came, with its class
    part_of = np.zeros(places, np.int64)  # where in the buffer it counts; what a note says
    waiting = new_lists(lines)
    flying = new_lists(wires)
    notes = new_lists(wires)
    durations = np.zeros(wires, np.int64)  # of a full frame on each wire
    delays = np.zeros(wires, np.int64)  # of a full frame until the switch at its end may send it on
    reactions = np.zeros(wires, np.int64)  # from a call for a pause until the sender heeds it
    for wire in range(wires):
        durations[wire] = femtoseconds((full + gap) / rate_of(wire, hosts, hops, rates))
        delays[wire] = forwarding_on(wire, hosts, hops, full, rates, awaited)
        reactions[wire] = max(pause_delay - flight - delays[wire], 0)
    busy = np.zeros(wires, np.bool_)
    leaves = np.zeros((wires, 4), np.int64)  # of the frame on the wire: its bytes, queue, line by which it came, part
    turn = np.zeros(wires, np.int64)
    sent = np.zeros(hosts, np.int64)
    there = np.zeros(hosts, np.int64)
    credits = np.full(lines, credit_limit, np.int64)
    paused = np.zeros(lines, np.bool_)
    stopped = np.full(lines, NEVER, np.int64)  # since when the sender of a line is to pause
    held = np.zeros(lines, np.int64)  # bytes in the shared buffer, by the line by which they came
    reserved = np.zeros(lines, np.int64)
    queued = np.zeros(lines, np.int64)  # bytes that wait for a wire or are on it
    used = np.zeros(hops, np.int64)
    spare = np.zeros(hops)  # what may be used while there is still room for a frame of each line
    for switch in range(hops):
        spare[switch] = max(buffer - full * lines_into(switch, hosts, classes if apart else 1), 0.0)
    halted = np.zeros(hops, np.int64)  # lines that are to pause
    events = 0
    ending = DONE
    left = 0
    for host in range(hosts):
        count = counts[role[host]]
        left += count
        finish[host] = -1 if count > 0 else 0
        if count > 0:
            set_time(times, winners, 2 * wires + host, 0)
    while left > 0:
        resource = winners[1]
        now = times[resource]
        if now == NEVER:
            ending = DEADLOCKED
            break
        if events >= budget or now > LATEST or store[2] + lines + 1 > places:
            ending = GIVEN_UP
            break
        if resource < wires:  # a note is back at its sender
            wire = resource
            item = pop(notes, after, wire)
            following = notes[wire, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            if part_of[item] == STOP:
                paused[line_of[item]] = True
            elif part_of[item] == GO:
                paused[line_of[item]] = False
            else:
                credits[line_of[item]] += part_of[item]
            give_back(store, after, item)
            if not busy[wire]:
                set_time(times, winners, 2 * wires + wire, now)
        elif resource < 2 * wires:  # a frame arrives, at its goal or in a switch
            wire = resource - wires
            item = pop(flying, after, wire)
            following = flying[wire, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            host = host_of[item]
            if wire >= to_hosts:
                there[host] += 1
                left -= 1
                if there[host] == counts[role[host]]:
                    finish[host] = now
                give_back(store, after, item)
            else:
                switch = max(wire - hosts + 1, 0)
                kind = role[host] * (classes - 1)
                line = wire * classes + (kind if apart else 0)
                out = hosts + switch + (role[host] if switch == hops - 1 else 0)
                queue = out * classes + kind
                may_take = room(buffer, alpha, used[switch])
                part = SHARED
                fits = True
                if control == PAUSES and stopped[line] != NEVER:
                    part = RESERVED
                    fits = reserved[line] + size[item] <= reserves[0 if wire < hosts else 1]
                elif control == PAUSES:
                    fits = used[switch] + size[item] <= buffer
                elif control == NO_PAUSES:
                    fits = used[switch] + size[item] <= buffer and queued[queue] + size[item] <= may_take
                if fits:
                    if part == SHARED:
                        used[switch] += size[item]
                        held[line] += size[item]
                    else:
                        reserved[line] += size[item]
                        figures[4] = max(figures[4], reserved[line])
                    figures[3] = max(figures[3], used[switch])
                    queued[queue] += size[item]
                    line_of[item] = line
                    part_of[item] = part
                    when[item] = now + fixed
                    append(waiting, after, queue, item)
                    if not busy[out]:
                        set_time(times, winners, 2 * wires + out, min(times[2 * wires + out], now + fixed))
                    may_take = room(buffer, alpha, used[switch])
                    if (
                        control == PAUSES
                        and stopped[line] == NEVER
                        and (held[line] > ratio * may_take or used[switch] > spare[switch])
                    ):
                        stopped[line] = now
                        halted[switch] += 1
                        figures[1] += 1
                        note = take(store, after)
                        line_of[note] = line
                        part_of[note] = STOP
                        when[note] = now + reactions[wire]
                        send(notes, after, when, times, winners, wire, note)
                else:
                    figures[0] += 1
                    left -= 1
                    give_back(store, after, item)
        else:  # a wire is free, or what waits for it can be sent on
            wire = resource - 2 * wires
            if busy[wire]:
                busy[wire] = False
                if wire >= hosts:
                    bytes_left = leaves[wire, 0]
                    line = leaves[wire, 2]
                    switch = min(wire - hosts, hops - 1)
                    queued[leaves[wire, 1]] -= bytes_left
                    if leaves[wire, 3] == SHARED:
                        used[switch] -= bytes_left
                        held[line] -= bytes_left
                    else:
                        reserved[line] -= bytes_left
                    came_by = line // classes
                    if control == CREDITS:
                        note = take(store, after)
                        line_of[note] = line
                        part_of[note] = -(-bytes_left // credit_size)
                        when[note] = now + back
                        send(notes, after, when, times, winners, came_by, note)
                    elif halted[switch] > 0:
                        go_on = max(ratio * room(buffer, alpha, used[switch]) - 2 * (full + gap), 0.0)
                        first = 0 if switch == 0 else (hosts + switch - 1) * classes
                        for line in range(first, first + lines_into(switch, hosts, classes)):
                            if (
                                stopped[line] != NEVER
                                and reserved[line] == 0
                                and held[line] <= go_on
                                and used[switch] <= spare[switch]
                            ):
                                figures[2] += now - stopped[line]
                                stopped[line] = NEVER
                                halted[switch] -= 1
                                note = take(store, after)
                                came_by = line // classes
                                line_of[note] = line
                                part_of[note] = GO
                                when[note] = now + reactions[came_by]
                                send(notes, after, when, times, winners, came_by, note)
            # What the wire sends next, if it can send anything.
            chosen = -1
            wake = NEVER
            for k in range(classes):
                kind = (turn[wire] + k) % classes
                queue = wire * classes + kind
                if control == PAUSES and paused[wire * classes + (kind if apart else 0)]:
                    continue
                if wire < hosts:
                    own = role[wire]
                    if kind != own * (classes - 1) or sent[wire] == counts[own]:
                        continue
                    bytes_sent = last[own] if sent[wire] == counts[own] - 1 else full
                else:
                    if waiting[queue, 0] < 0:
                        continue
                    if when[waiting[queue, 0]] > now:
                        wake = min(wake, when[waiting[queue, 0]])
                        continue
                    bytes_sent = size[waiting[queue, 0]]
                needed = -(-bytes_sent // credit_size) if control == CREDITS and wire < to_hosts else 0
                if credits[queue] >= needed:
                    chosen = kind
                    break
            if chosen < 0:
                set_time(times, winners, resource, wake)
            else:
                queue = wire * classes + chosen
                credits[queue] -= needed
                turn[wire] = (chosen + 1) % classes
                if wire < hosts:
                    item = take(store, after)
                    host_of[item] = wire
                    size[item] = bytes_sent
                    sent[wire] += 1
                else:
                    item = pop(waiting, after, queue)
                    leaves[wire, 0] = bytes_sent
                    leaves[wire, 1] = queue
                    leaves[wire, 2] = line_of[item]
                    leaves[wire, 3] = part_of[item]
                busy[wire] = True
                duration = durations[wire]
                delay = delays[wire]
                if bytes_sent != full:
                    duration = femtoseconds((bytes_sent + gap) / rate_of(wire, hosts, hops, rates))
                    delay = forwarding_on(wire, hosts, hops, bytes_sent, rates, awaited)
                set_time(times, winners, resource, now + duration)
                when[item] = now + flight + (delay if wire < to_hosts else duration)
                append(flying, after, wire, item)
                set_time(times, winners, wires + wire, when[flying[wire, 0]])
        if events < trace.shape[0]:
            trace[events, 0] = now
            trace[events, 1] = resource
            for switch in range(hops):
                trace[events, 2 + switch] = used[switch]
        events += 1
    figures[5] = events
    return ending


def rate_of(wire: int, hosts: int, hops: int, rates: NDArray[np.float64]) -> float:
    """The rate of a wire: of a host, between switches, or of a port."""
    return float(rates[0] if wire < hosts else rates[1] if wire < hosts + hops - 1 else rates[2])


def forwarding_on(wire: int, hosts: int, hops: int, size: int, rates: NDArray[np.float64], awaited: float) -> int:
    """`forwarding` of a frame on a wire to a switch."""
    following = rates[2] if max(wire - hosts + 1, 0) == hops - 1 else rates[1]
    return forwarding(float(size), rate_of(wire, hosts, hops, rates), following, awaited)


def send(notes: Places, after: Places, when: Places, times: Times, winners: Times, wire: int, note: int) -> None:
    """Put a note on its way to the sender at the other end of a wire; notes do not overtake each other."""
    append(notes, after, wire, note)
    set_time(times, winners, wire, when[notes[wire, 0]])


def control_of(flow_control: str, pfc_enabled: str) -> int:
    """How a switch keeps its senders from sending too much, by the choices of a grid."""
    if flow_control == "cbfc":
        return CREDITS
    return PAUSES if pfc_enabled == "on" else NO_PAUSES


def lines_into(switch: int, hosts: int, classes: int) -> int:
    """Links into a switch, times classes."""
    return (hosts if switch == 0 else 1) * classes


def room(buffer: float, alpha: float, used: int) -> float:
    """Bytes that a queue may take; `alpha` inf: all of the buffer."""
    return buffer if alpha == np.inf else min(alpha * (buffer - used), buffer)
