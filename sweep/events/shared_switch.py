"""One switch with a shared buffer under traffic that goes on, frame by frame: the loop behind `traffic`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.chance import WORDS, unit, words
from sweep.events.eventlist import new_times, new_winners, set_time
from sweep.events.histogram import bin_of
from sweep.events.lists import append, give_back, new_lists, new_store, pop, take
from sweep.events.port import later
from sweep.events.simulation import DEADLOCKED, DONE, GIVEN_UP, LATEST, MARKS, NEVER, TRAFFIC, femtoseconds, forwarding
from sweep.events.switches import CREDITS, GO, NO_PAUSES, PAUSES, RESERVED, SHARED, STOP, room, send

Numbers = NDArray[np.int64]

CNP = 0
ACK = 1
REQUEST = 2
RESPONSE = 3
"""Kinds of frames; those of a lower number come first."""

POISSON = 0
BURSTS = 1
PERMUTATION = 2
ALL_TO_ALL = 3
INCAST = 4
TRACE = 5
"""Who sends to whom, and when."""

ROUNDS = 5
"""Steps in which a source comes half of the way back to its old rate, before it goes beyond."""

SLOWEST = 1e-3
"""A source slows down to this share of its wire's rate at the most."""


def follow_traffic(
    ports: int,
    pattern: int,
    gap_between: float,
    burst: int,
    messages: NDArray[np.float64],
    payload: int,
    overhead: int,
    minimum: int,
    response_share: float,
    acknowledged: bool,
    queue_of: Numbers,
    sizes: Numbers,
    gap: int,
    rates: NDArray[np.float64],
    awaited: float,
    fixed: int,
    flight: int,
    base: int,
    control: int,
    pauses_classes: bool,
    credit_limit: int,
    credit_size: int,
    back: int,
    pause_delay: int,
    reserve: float,
    ratio: float,
    buffer: float,
    alpha: float,
    marks: NDArray[np.float64],
    slows: bool,
    notice_gap: int,
    recovery: int,
    increase: float,
    gain: float,
    request_weight: int,
    seed: int,
    part: int,
    budget: int,
    places: int,
    stays: NDArray[np.float64],
    counts: Numbers,
    totals: NDArray[np.float64],
    figures: NDArray[np.float64],
    trace: Numbers,
) -> int:
    """The simulation, times in femtoseconds, sizes in bytes; `rates` of hosts and ports in B/ns.

    `queue_of` has the queue of each kind of frame, `sizes` their bytes if they are full. `gap_between` is the mean time
    between messages of a host. `marks` are the bytes in a queue from which frames are marked by chance, and at which
    all are. Counts after the first sixteenth of the sample; with pattern TRACE, for which `messages` are followed
    until all is done, from the beginning.

    `stays` become the mean times that `part` data frames each stay in the switch (not with TRACE); `counts` histograms
    of latencies by kind, `totals` their sums. `figures` become events, data frames that arrived, busy time of all ports
    (with incast of that of host 0), bytes times time in the buffer, most bytes in the buffer, pauses, their time,
    marks, drops, the time for which was counted, the longest latency of each kind, notices, the time that all data
    frames stayed in the switch, their payload, and when the last of them arrived. Each row of `trace`, as far as it
    reaches, becomes a frame that arrived: when, its kind, source, goal, when it was made, how long it stayed in the
    switch. Returns how it ended.
    """
    queues = 1
    for kind in range(4):
        queues = max(queues, queue_of[kind] + 1)
    lines = ports * queues
    apart = pauses_classes or control == CREDITS
    full = sizes[REQUEST]
    # Resources, one for each host or port: notes to it, frames at the switch, its messages, frames at it, its timer,
    # its wire, the port to it.
    at_switch = ports
    made = 2 * ports
    at_host = 3 * ports
    timers = 4 * ports
    from_host = 5 * ports
    from_port = 6 * ports
    times = new_times(7 * ports)
    winners = new_winners(times)
    store = new_store()
    after = np.empty(places, np.int64)
    when = np.empty(places, np.int64)  # when it is there; in the switch, from when it can be sent on
    born = np.empty(places, np.int64)
    came = np.empty(places, np.int64)  # when its first bit came to the switch; then how long it stayed
    kind_of = np.empty(places, np.int64)  # of a note what it says
    source = np.empty(places, np.int64)  # of a note its line
    goal = np.empty(places, np.int64)
    marked = np.empty(places, np.int64)
    line_of = np.empty(places, np.int64)  # the host and queue for which it is counted
    part_of = np.empty(places, np.int64)  # and where
    size_of = np.empty(places, np.int64)
    payload_of = np.empty(places, np.int64)
    own = new_lists(lines)
    flying = new_lists(ports)
    waiting = new_lists(lines)
    arriving = new_lists(ports)
    notes = new_lists(ports)
    durations = np.zeros((2, 4), np.int64)
    delays = np.zeros(4, np.int64)
    for kind in range(4):
        for side in range(2):
            durations[side, kind] = femtoseconds((sizes[kind] + gap) / rates[side])
        delays[kind] = forwarding(float(sizes[kind]), rates[0], rates[1], awaited)
    reaction = max(pause_delay - flight - delays[REQUEST], 0)
    busy = np.zeros(2 * ports, np.bool_)
    leaving = np.zeros((ports, 4), np.int64)  # of the frame on a port's wire: its bytes, queue, line, part
    turn = np.zeros(2 * ports, np.int64)  # requests in a row, less those that may be
    credits = np.full(lines, credit_limit, np.int64)
    paused = np.zeros(lines, np.bool_)
    stopped = np.full(lines, NEVER, np.int64)
    held = np.zeros(lines, np.int64)
    reserved = np.zeros(lines, np.int64)
    queued = np.zeros(lines, np.int64)
    rate = np.full(ports, rates[0])
    target = np.full(ports, rates[0])
    cut = np.ones(ports)
    step = np.zeros(ports, np.int64)
    pace = np.zeros(ports, np.int64)
    noticed = np.full((ports, ports), -NEVER, np.int64)
    number = np.zeros(ports, np.int64)
    used = 0
    halted = 0
    spare = max(buffer - full * ports * (queues if apart else 1), 0.0)
    following_message = np.zeros(ports, np.int64)
    for host in range(ports):
        if pattern == TRACE:
            following_message[host] = first_of(messages, host)
            set_time(times, winners, made + host, time_of(messages, following_message[host], host))
        elif pattern != INCAST or host > 0:
            first = 0
            if pattern != ALL_TO_ALL:
                a, b, _, _ = words(seed, TRAFFIC, host)
                first = later(0, gap_between, unit(a, b))
            set_time(times, winners, made + host, first)
    skipped = part * stays.size // 16
    delivered = 0
    counting = pattern == TRACE
    total = 0.0
    in_part = 0
    parts = 0
    events = 0
    marking = 0
    rows = 0
    since = 0
    last = 0
    ending = DONE
    while parts < stays.size:
        resource = winners[1]
        now = times[resource]
        if now == NEVER:
            ending = DONE if store[2] == 0 else DEADLOCKED
            break
        if events >= budget or now > LATEST or store[2] + 16 > places:
            ending = GIVEN_UP
            break
        events += 1
        if counting:
            figures[3] += float(used) * (now - last)
        last = now
        host = resource
        while host >= ports:  # cheaper than a remainder
            host -= ports
        wake_host = False  # whether there may be something that the host can send
        if resource < at_switch:  # a note is back at a host
            item = pop(notes, after, host)
            following = notes[host, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            line = source[item]
            if kind_of[item] == STOP:
                paused[line] = True
            elif kind_of[item] == GO:
                paused[line] = False
            else:
                credits[line] += kind_of[item]
            give_back(store, after, item)
            wake_host = True
        elif resource < made:  # a frame comes to the switch
            item = pop(flying, after, host)
            following = flying[host, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            kind = kind_of[item]
            size = size_of[item]
            line = host * queues + (queue_of[kind] if apart else 0)
            out = goal[item]
            queue = out * queues + queue_of[kind]
            may_take = room(buffer, alpha, used)
            where = SHARED
            fits = True
            if control == PAUSES and stopped[line] != NEVER:
                where = RESERVED
                fits = reserved[line] + size <= reserve
            elif control == PAUSES:
                fits = used + size <= buffer
            elif control == NO_PAUSES:
                fits = used + size <= buffer and queued[queue] + size <= may_take
            if not fits:
                figures[8] += 1.0 if counting else 0.0
                give_back(store, after, item)
                continue
            if where == SHARED:
                used += size
                held[line] += size
            else:
                reserved[line] += size
            if counting:
                figures[4] = max(figures[4], float(used))
            if kind >= REQUEST and marks[0] < np.inf and queued[queue] >= marks[0]:
                a, b, _, _ = words(seed, MARKS, marking)
                marking += 1
                if unit(a, b) * (marks[1] - marks[0]) <= queued[queue] - marks[0]:
                    marked[item] = 1
                    figures[7] += 1.0 if counting else 0.0
            queued[queue] += size
            line_of[item] = line
            part_of[item] = where
            when[item] = now + fixed
            append(waiting, after, queue, item)
            port = from_port + out
            if not busy[ports + out] and now + fixed < times[port]:
                set_time(times, winners, port, now + fixed)
            may_take = room(buffer, alpha, used)
            if control == PAUSES and stopped[line] == NEVER and (held[line] > ratio * may_take or used > spare):
                stopped[line] = now
                halted += 1
                figures[5] += 1.0 if counting else 0.0
                note = take(store, after)
                source[note] = line
                kind_of[note] = STOP
                when[note] = now + reaction
                send(notes, after, when, times, winners, host, note)
        elif resource < at_host:  # a host has a message to send
            number[host] += 1
            a, b, whom, what = words(seed, TRAFFIC, number[host] * ports + host)
            receiver = 0
            count = burst
            kind = RESPONSE if what < response_share * WORDS else REQUEST
            left = payload * burst
            if pattern == TRACE:
                place = following_message[host]
                following_message[host] += 1
                receiver = int(messages[place, 2])
                left = int(messages[place, 3])
                count = max(-(-left // payload), 1)
                kind = RESPONSE if messages[place, 4] > 0 else REQUEST
            elif pattern == PERMUTATION:
                receiver = (host + 1) % ports
            elif pattern == ALL_TO_ALL:
                receiver = (host + 1 + (number[host] - 1) % (ports - 1)) % ports
            elif pattern != INCAST:
                receiver = (host + 1 + (int(whom) * (ports - 1) >> 32)) % ports
            if store[2] + count + 16 > places:
                ending = GIVEN_UP
                break
            for _ in range(count):
                item = take(store, after)
                born[item] = now
                kind_of[item] = kind
                source[item] = host
                goal[item] = receiver
                marked[item] = 0
                payload_of[item] = min(left, payload)
                size_of[item] = max(payload_of[item] + overhead, minimum)
                left -= payload_of[item]
                append(own, after, host * queues + queue_of[kind], item)
            following_time = now + int(np.rint(gap_between))
            if pattern == TRACE:
                following_time = time_of(messages, following_message[host], host)
            elif pattern != ALL_TO_ALL:
                following_time = later(now, gap_between, unit(a, b))
            set_time(times, winners, resource, following_time)
            wake_host = True
        elif resource < timers:  # a frame is at its goal
            item = pop(arriving, after, host)
            following = arriving[host, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            kind = kind_of[item]
            sender = source[item]
            if rows < trace.shape[0]:
                trace[rows, 0] = now
                trace[rows, 1] = kind
                trace[rows, 2] = sender
                trace[rows, 3] = host
                trace[rows, 4] = born[item]
                trace[rows, 5] = came[item]
                rows += 1
            if counting:
                latency = now - born[item]
                counts[kind, bin_of(latency)] += 1
                totals[kind] += float(latency)
                figures[10 + kind] = max(figures[10 + kind], float(latency))
            answers = 0
            if kind >= REQUEST:
                delivered += 1
                if counting:
                    figures[1] += 1.0
                    figures[15] += float(came[item])
                    figures[16] += float(payload_of[item])
                    figures[17] = float(now)
                    total += came[item]
                    in_part += 1
                    if in_part == part:
                        stays[parts] = total / part
                        parts += 1
                        total = 0.0
                        in_part = 0
                elif delivered >= skipped:
                    counting = True
                    since = now
                answers = 1 if acknowledged else 0
                if slows and marked[item] == 1 and now - noticed[host, sender] >= notice_gap:
                    noticed[host, sender] = now
                    answers += 2
            elif kind == CNP:
                target[host] = rate[host]
                rate[host] = max(rate[host] * (1 - cut[host] / 2), SLOWEST * rates[0])
                cut[host] = (1 - gain) * cut[host] + gain
                step[host] = 0
                set_time(times, winners, timers + host, now + recovery)
                figures[14] += 1.0 if counting else 0.0
            give_back(store, after, item)
            for answer in range(2):
                if answers & (1 << answer):
                    item = take(store, after)
                    born[item] = now
                    kind_of[item] = ACK if answer == 0 else CNP
                    source[item] = host
                    goal[item] = sender
                    marked[item] = 0
                    payload_of[item] = 0
                    size_of[item] = sizes[kind_of[item]]
                    append(own, after, host * queues + queue_of[kind_of[item]], item)
                    wake_host = True
        elif resource < from_host:  # a source that was slowed down comes back
            step[host] += 1
            cut[host] *= 1 - gain
            if step[host] > ROUNDS:
                target[host] = min(target[host] + increase, rates[0])
            rate[host] = (rate[host] + target[host]) / 2
            whole = rate[host] > 0.999 * rates[0]
            if whole:
                rate[host] = rates[0]
            set_time(times, winners, resource, NEVER if whole else now + recovery)
            wake_host = True
        elif resource < from_port:  # the wire of a host is free, or what waits for it can be sent
            busy[host] = False
            wake = NEVER
            chosen = -1
            for place in range(queues):
                queue = in_turn(place, queues, turn[host] >= request_weight)
                item = own[host * queues + queue, 0]
                line = host * queues + (queue if apart else 0)
                if item < 0 or (control == PAUSES and paused[line]):
                    continue
                kind = kind_of[item]
                needed = -(-size_of[item] // credit_size) if control == CREDITS else 0
                if credits[line] < needed:
                    continue
                if kind >= REQUEST and pace[host] > now:
                    wake = min(wake, pace[host])
                    continue
                chosen = queue
                break
            if chosen >= 0:
                item = pop(own, after, host * queues + chosen)
                credits[line] -= needed
                turn[host] = turn[host] + 1 if chosen == queues - 2 else 0
                busy[host] = True
                size = size_of[item]
                duration = durations[0, kind]
                delay = delays[kind]
                if size != sizes[kind]:
                    duration = femtoseconds((size + gap) / rates[0])
                    delay = forwarding(float(size), rates[0], rates[1], awaited)
                if kind >= REQUEST:
                    pace[host] = now + femtoseconds((size + gap) / rate[host])
                wake = now + duration
                came[item] = now + flight
                when[item] = now + flight + delay
                append(flying, after, host, item)
                set_time(times, winners, at_switch + host, when[flying[host, 0]])
            set_time(times, winners, resource, wake)
        else:
            out = host
            if busy[ports + out]:
                busy[ports + out] = False
                size = leaving[out, 0]
                line = leaving[out, 2]
                queued[leaving[out, 1]] -= size
                if leaving[out, 3] == SHARED:
                    used -= size
                    held[line] -= size
                else:
                    reserved[line] -= size
                if control == CREDITS:
                    note = take(store, after)
                    source[note] = line
                    kind_of[note] = -(-size // credit_size)
                    when[note] = now + back
                    send(notes, after, when, times, winners, line // queues, note)
                elif halted > 0:
                    go_on = max(ratio * room(buffer, alpha, used) - 2 * (full + gap), 0.0)
                    for line in range(lines):
                        if stopped[line] != NEVER and reserved[line] == 0 and held[line] <= go_on and used <= spare:
                            if counting:
                                figures[6] += now - max(stopped[line], since)
                            stopped[line] = NEVER
                            halted -= 1
                            note = take(store, after)
                            source[note] = line
                            kind_of[note] = GO
                            when[note] = now + reaction
                            send(notes, after, when, times, winners, line // queues, note)
            wake = NEVER
            chosen = -1
            for place in range(queues):
                queue = in_turn(place, queues, turn[ports + out] >= request_weight)
                item = waiting[out * queues + queue, 0]
                if item >= 0 and when[item] <= now:
                    chosen = queue
                    break
                if item >= 0:
                    wake = min(wake, when[item])
            if chosen >= 0:
                item = pop(waiting, after, out * queues + chosen)
                kind = kind_of[item]
                turn[ports + out] = turn[ports + out] + 1 if chosen == queues - 2 else 0
                busy[ports + out] = True
                size = size_of[item]
                leaving[out, 0] = size
                leaving[out, 1] = out * queues + chosen
                leaving[out, 2] = line_of[item]
                leaving[out, 3] = part_of[item]
                came[item] = now - came[item]
                duration = durations[1, kind]
                if size != sizes[kind]:
                    duration = femtoseconds((size + gap) / rates[1])
                if counting and (pattern != INCAST or out == 0):
                    figures[2] += float(duration)
                wake = now + duration
                when[item] = now + duration + flight + base
                append(arriving, after, out, item)
                set_time(times, winners, at_host + out, when[arriving[out, 0]])
            set_time(times, winners, resource, wake)
        if wake_host and not busy[host]:
            set_time(times, winners, from_host + host, now)
    if counting:
        for line in range(lines):
            if stopped[line] != NEVER:
                figures[6] += last - max(stopped[line], since)
    figures[0] = events
    figures[9] = last - since
    return ending


def first_of(messages: NDArray[np.float64], host: int) -> int:
    """Place of the first recorded message of a host, or of a later one; behind the last if there is none."""
    low = 0
    high = messages.shape[0]
    while low < high:
        middle = (low + high) // 2
        before = messages[middle, 0] < host
        low = middle + 1 if before else low
        high = high if before else middle
    return low


def time_of(messages: NDArray[np.float64], place: int, host: int) -> int:
    """When a recorded message is made; NEVER if the host has no such message."""
    if place >= messages.shape[0] or messages[place, 0] != host:
        return NEVER
    return femtoseconds(messages[place, 1])


def in_turn(place: int, queues: int, responses_first: bool) -> int:
    """The queue that comes at a place: the first ones always, of four the last two in turn."""
    return queues + 1 - place if queues == 4 and place >= 2 and responses_first else place
