"""Messages over a network of wires, frame by frame: the loop behind `network` and `chips`, which describe it.

A message from a chip to itself is a task: nothing is sent, and it is done once it may start and its time has passed.
Wires are of kinds; each kind is a row of a table with the columns below, rates in B/ns, times in ns, sizes in bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.eventlist import Times, new_times, new_winners, set_time
from sweep.events.lists import Places, append, give_back, new_lists, new_store, pop, take
from sweep.events.simulation import DEADLOCKED, DONE, GIVEN_UP, LATEST, MOST_KEPT, NEVER, femtoseconds, forwarding
from sweep.models.packet import last_frame_size

Numbers = NDArray[np.int64]

RATE = 0
OVERHEAD = 1
AWAITED = 2
FIXED = 3
FLIGHT = 4
BASE = 5
DRAIN = 6
BACK = 7
CREDITS = 8
CREDIT_SIZE = 9
"""Columns of a table of kinds of wires: what it carries, how many bytes each frame has besides its payload, how many of
them the switch before it must have, and that switch's fixed latency; what a frame needs to its end, and there to be
taken in; until a receiver has drained it, and its credits are back (NaN: as long as the way out); how many credits
there are (inf: they do not count), and the bytes of one."""
COLUMNS = 10

LINE = 0
TIME = 1
LEAVING = 2
"""Columns of a table of tasks, a row for each message or none at all: the line on which a task runs; how long it takes,
or how long after its arrival a message is there, in femtoseconds; the task that is done when a message's last frame has
left the chip, -1 if there is none."""


def follow_messages(
    messages: Numbers,
    sizes: NDArray[np.float64],
    edges: Numbers,
    pair_of: Numbers,
    ways: Numbers,
    wires: Numbers,
    kinds: Numbers,
    table: NDArray[np.float64],
    tasks: Numbers,
    lines: int,
    max_payload: float,
    minimum: float,
    gap: float,
    channels: int,
    by_hop: bool,
    budget: int,
    began: Numbers,
    done: Numbers,
    busy: Numbers,
    figures: Numbers,
    trace: Numbers,
) -> int:
    """The simulation, times in femtoseconds, sizes in bytes; see `programs` for messages, and `fabrics` for ways.

    `kinds` are those of wires, rows of `table`; `tasks` has no rows if no task takes a time. `began` becomes when each
    message may start, `done` when it has arrived, -1 if that does not happen; `busy` for how long frames pass each
    wire. `figures` become events, frames of all messages, a message that waits for credits for ever, and how many it
    lacks. Each row of `trace`, as far as it reaches, becomes a frame's start on a wire: its time, the wire, the
    message, which of its frames, and since when it could have started. Returns how it ended.
    """
    count = sizes.size
    many = kinds.size
    pools = (many if by_hop else ways.size - 1) * channels
    longest = 1
    for pair in range(ways.size - 1):
        longest = max(longest, ways[pair + 1] - ways[pair])
    # Frames that a switch at the end of a wire sends on, if there are any; messages that arrive at the end of a wire;
    # tasks on a line; wires.
    first_arrival = many if longest > 1 else 0
    first_wire = first_arrival + many + lines
    times = new_times(first_wire + many)
    winners = new_winners(times)
    with_tasks = tasks.shape[0] > 0
    of_kinds = table.shape[0]
    fulls = np.zeros(of_kinds)  # size of a full frame, by the kind of wire
    fulls_needed = np.zeros(of_kinds, np.int64)  # credits that it needs
    durations = np.zeros(of_kinds, np.int64)  # its time
    delays = np.zeros((of_kinds, of_kinds), np.int64)  # until it may be sent on, by this and the next kind of wire
    latencies = np.zeros((of_kinds, COLUMNS), np.int64)
    limited = np.zeros(of_kinds, np.bool_)
    for kind in range(of_kinds):
        fulls[kind] = max(max_payload + table[kind, OVERHEAD], minimum)
        durations[kind] = femtoseconds((fulls[kind] + gap) / table[kind, RATE])
        limited[kind] = table[kind, CREDITS] < np.inf
        if limited[kind]:
            fulls_needed[kind] = int(np.ceil(fulls[kind] / table[kind, CREDIT_SIZE]))
        for column in range(FIXED, CREDITS):
            if not np.isnan(table[kind, column]):
                latencies[kind, column] = femtoseconds(table[kind, column])
        for following in range(of_kinds):
            delays[kind, following] = latency_between(fulls[kind], table, kind, following)
    waits = np.zeros(count, np.int64)
    first_after = np.zeros(count + 1, np.int64)
    following_of = np.zeros(edges.shape[0], np.int64)
    put_together(edges, waits, first_after, following_of)
    frames = np.zeros(count, np.int64)
    last = np.zeros(count)
    for message in range(count):
        began[message] = -1
        done[message] = -1
        if messages[message, 0] == messages[message, 1]:
            continue
        overhead = table[kinds[wires[ways[pair_of[message]]]], OVERHEAD]
        frames[message] = int(frames_of(sizes[message], max_payload))
        last[message] = last_frame(sizes[message], max_payload, overhead, minimum)
        figures[1] += frames[message]
        if with_tasks and tasks[message, LEAVING] >= 0:
            waits[tasks[message, LEAVING]] += 1
    of_frame = 1 + (longest if by_hop else 1)  # the frame, and notes of its credits
    if float(figures[1]) * of_frame > MOST_KEPT:
        return GIVEN_UP
    places = figures[1] * of_frame + 8
    # Lists: own messages of a chip by the wire that they take first, frames that wait for a wire, frames on the way,
    # messages that will have arrived and tasks that will be done, and credits on their way back.
    own = new_lists(many)
    after_own = np.zeros(count, np.int64)
    since = np.zeros(count, np.int64)
    arriving = new_lists(many + lines)
    after_arriving = np.zeros(count, np.int64)
    arrival = np.zeros(count, np.int64)
    sent = np.zeros(count, np.int64)
    store = new_store()
    # Memory is touched only as far as it is used.
    after = np.empty(places, np.int64)
    when = np.empty(places, np.int64)
    message_of = np.empty(places, np.int64)
    number_of = np.empty(places, np.int64)  # which of the message's frames it is; of a note how many credits
    place_of = np.empty(places, np.int64)  # where on its way it is
    waiting = new_lists(many)
    flying = new_lists(many)
    notes = new_lists(pools)
    credits = np.zeros(pools, np.int64)
    for pool in range(pools):
        wire = pool // channels if by_hop else wires[ways[pool // channels]]
        if limited[kinds[wire]]:
            credits[pool] = int(table[kinds[wire], CREDITS])
    backs = np.zeros(ways.size - 1, np.int64)  # of credits that a pair of chips has from end to end
    for pair in range(ways.size - 1):
        kind = kinds[wires[ways[pair]]]
        backs[pair] = latencies[kind, BACK]
        if np.isnan(table[kind, BACK]):
            backs[pair] = span_of(fulls[kind], table, kinds, wires, ways[pair], ways[pair + 1])
    drained = np.zeros(many if by_hop else ways.size - 1, np.int64)
    free_at = np.zeros(many, np.int64)
    stuck = np.zeros(many, np.bool_)
    turn = np.zeros(many, np.int64)
    ready = np.zeros(count, np.int64)  # messages that may start
    readied = 0
    for message in range(count):
        if waits[message] == 0:
            ready[readied] = message
            readied += 1
    started = 0
    endings = np.zeros(count, np.int64)  # messages that have arrived
    ended = 0
    followed = 0
    now = 0
    rows = 0
    events = 0
    ending = DONE
    while True:
        # What waited for a message alone may start, and what may start does.
        while followed < ended or started < readied:
            if followed < ended:
                message = endings[followed]
                followed += 1
                for place in range(first_after[message], first_after[message + 1]):
                    waits[following_of[place]] -= 1
                    if waits[following_of[place]] == 0:
                        ready[readied] = following_of[place]
                        readied += 1
                continue
            message = ready[started]
            started += 1
            began[message] = now
            if messages[message, 0] == messages[message, 1]:
                time = tasks[message, TIME] if with_tasks else 0
                if time > 0:
                    line = many + tasks[message, LINE]
                    arrival[message] = now + time
                    put_in_time(arriving, after_arriving, arrival, line, message)
                    set_time(times, winners, first_arrival + line, arrival[arriving[line, 0]])
                    continue
                done[message] = now
                endings[ended] = message
                ended += 1
                continue
            wire = wires[ways[pair_of[message]]]
            since[message] = now
            put_in_order(own, after_own, sent, wire, message)
            due = max(now, free_at[wire])
            if due < times[first_wire + wire]:
                set_time(times, winners, first_wire + wire, due)
        if ended == count:
            break
        resource = winners[1]
        now = times[resource]
        if now == NEVER:
            ending = DEADLOCKED
            break
        if events >= budget or now > LATEST:
            ending = GIVEN_UP
            break
        events += 1
        if resource < first_arrival:  # a frame can be sent on
            item = pop(flying, after, resource)
            following = flying[resource, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            wire = wires[place_of[item]]
            append(waiting, after, wire, item)
            due = max(now, free_at[wire])
            if due < times[first_wire + wire]:
                set_time(times, winners, first_wire + wire, due)
            continue
        if resource < first_wire:  # a message has arrived, or a task is done
            wire = resource - first_arrival
            message = pop(arriving, after_arriving, wire)
            following = arriving[wire, 0]
            set_time(times, winners, resource, arrival[following] if following >= 0 else NEVER)
            done[message] = now
            endings[ended] = message
            ended += 1
            continue
        # A wire is free: frames that pass a chip and those of the chip take turns.
        wire = resource - first_wire
        kind = kinds[wire]
        full = fulls[kind]
        chosen = -1
        wake = NEVER
        for k in range(2):
            passing = (turn[wire] + k) % 2 == 0
            if passing:
                item = waiting[wire, 0]
                if item < 0:
                    continue
                message = message_of[item]
                number = number_of[item]
                place = place_of[item]
            else:
                message = own[wire, 0]
                if message < 0:
                    continue
                number = sent[message]
                place = ways[pair_of[message]]
            size = last[message] if number == frames[message] - 1 else full
            channel = number % channels if channels > 1 else 0
            needed = 0
            if limited[kind] and (by_hop or not passing):
                needed = fulls_needed[kind] if size == full else credits_of(size, table, kind)
            pool = (wire if by_hop else pair_of[message]) * channels + channel
            due = due_with_credits(needed, pool, now, credits, notes, after, when, number_of, store)
            if due <= now:
                chosen = 0 if passing else 1
                break
            wake = min(wake, due)
        if chosen < 0:
            stuck[wire] = waiting[wire, 0] >= 0 or own[wire, 0] >= 0
            set_time(times, winners, resource, wake)
            continue
        stuck[wire] = False
        turn[wire] = 1 - chosen
        credits[pool] -= needed
        duration = durations[kind]
        if size != full:
            duration = femtoseconds((size + gap) / table[kind, RATE]) if size > 0.0 else 0
        if rows < trace.shape[0]:
            trace[rows, 0] = now
            trace[rows, 1] = wire
            trace[rows, 2] = message
            trace[rows, 3] = number
            trace[rows, 4] = when[item] if passing else since[message]
            rows += 1
        busy[wire] += duration
        free_at[wire] = now + duration
        is_last = number == frames[message] - 1
        if passing:
            pop(waiting, after, wire)
            owner = wires[place - 1]
            before = kinds[owner]
            if by_hop and limited[before]:  # it leaves the buffer of the wire before
                note = take(store, after)
                when[note] = now + duration + latencies[before, BACK]
                number_of[note] = fulls_needed[before] if size == full else credits_of(size, table, before)
                put_in_time(notes, after, when, owner * channels + channel, note)
                if stuck[owner]:
                    set_time(times, winners, first_wire + owner, max(now, free_at[owner]))
        else:
            sent[message] += 1
            since[message] = now + duration
            if is_last:
                pop(own, after_own, wire)
                if with_tasks and tasks[message, LEAVING] >= 0:
                    leaving = tasks[message, LEAVING]
                    line = many + tasks[leaving, LINE]
                    began[leaving] = now
                    arrival[leaving] = now + duration
                    put_in_time(arriving, after_arriving, arrival, line, leaving)
                    set_time(times, winners, first_arrival + line, arrival[arriving[line, 0]])
        if place + 1 < ways[pair_of[message] + 1]:
            following = kinds[wires[place + 1]]
            delay = delays[kind, following]
            if size != full:
                delay = latency_between(size, table, kind, following)
            if not passing:
                item = take(store, after)
                message_of[item] = message
                number_of[item] = number
            place_of[item] = place + 1
            when[item] = now + latencies[kind, FLIGHT] + delay
            append(flying, after, wire, item)
            set_time(times, winners, wire, when[flying[wire, 0]])
        else:
            if passing:
                give_back(store, after, item)
            there = now + duration + latencies[kind, FLIGHT] + latencies[kind, BASE]
            if limited[kind]:
                pool = wire if by_hop else pair_of[message]
                # Later than LATEST nothing is followed.
                drained[pool] = min(max(drained[pool], there) + latencies[kind, DRAIN], LATEST + 1)
                note = take(store, after)
                when[note] = drained[pool] + (latencies[kind, BACK] if by_hop else backs[pool])
                number_of[note] = fulls_needed[kind] if size == full else credits_of(size, table, kind)
                put_in_time(notes, after, when, pool * channels + channel, note)
                owner = wire if by_hop else wires[ways[pair_of[message]]]
                if stuck[owner]:
                    set_time(times, winners, first_wire + owner, max(now, free_at[owner]))
            if is_last:
                arrival[message] = there
                if with_tasks:
                    arrival[message] += tasks[message, TIME]
                put_in_time(arriving, after_arriving, arrival, wire, message)
                set_time(times, winners, first_arrival + wire, arrival[arriving[wire, 0]])
        if waiting[wire, 0] >= 0 or own[wire, 0] >= 0:
            set_time(times, winners, resource, free_at[wire])
        else:
            set_time(times, winners, resource, NEVER)
    figures[0] = events
    figures[2] = -1
    for wire in range(many):
        if ending == DEADLOCKED and stuck[wire]:
            item = waiting[wire, 0]
            message = own[wire, 0] if item < 0 else message_of[item]
            number = sent[message] if item < 0 else number_of[item]
            kind = kinds[wire]
            size = last[message] if number == frames[message] - 1 else fulls[kind]
            pool = (wire if by_hop else pair_of[message]) * channels + number % channels
            figures[2] = message
            figures[3] = credits_of(size, table, kind) - credits[pool]
            note = notes[pool, 0]
            while note >= 0:  # on their way back
                figures[3] -= number_of[note]
                note = after[note]
            break
    return ending


def put_kind(
    table: NDArray[np.float64],
    kind: int,
    rate: float,
    overhead: float,
    awaited: float,
    fixed: float,
    flight: float,
    base: float,
    drain: float,
    back: float,
    credits: float,
    credit_size: float,
) -> None:
    """Fill the row of a kind of wires."""
    table[kind, RATE] = rate
    table[kind, OVERHEAD] = overhead
    table[kind, AWAITED] = awaited
    table[kind, FIXED] = fixed
    table[kind, FLIGHT] = flight
    table[kind, BASE] = base
    table[kind, DRAIN] = drain
    table[kind, BACK] = back
    table[kind, CREDITS] = credits
    table[kind, CREDIT_SIZE] = credit_size


def latency_between(size: float, table: NDArray[np.float64], kind: int, following: int) -> int:
    """Time from a frame's start on a wire until it may be sent on by a switch, without flight; in femtoseconds."""
    awaited = table[following, AWAITED]
    delay = forwarding(size, table[kind, RATE], table[following, RATE], awaited)
    return delay + femtoseconds(table[following, FIXED])


def span_of(size: float, table: NDArray[np.float64], kinds: Numbers, wires: Numbers, begin: int, end: int) -> int:
    """Latency of a way for a frame, were it alone, without its time at the slowest rate; in femtoseconds."""
    slowest = table[kinds[wires[begin]], RATE]
    total = femtoseconds(table[kinds[wires[begin]], BASE])
    for place in range(begin, end):
        kind = kinds[wires[place]]
        slowest = min(slowest, table[kind, RATE])
        total += femtoseconds(table[kind, FLIGHT])
        if place + 1 < end:
            total += latency_between(size, table, kind, kinds[wires[place + 1]])
        else:
            total += femtoseconds(size / table[kind, RATE])
    return total - femtoseconds(size / slowest)


def credits_of(size: float, table: NDArray[np.float64], kind: int) -> int:
    """Credits that a frame of some size needs."""
    return int(np.ceil(size / table[kind, CREDIT_SIZE]))


def put_together(edges: Numbers, waits: Numbers, first_after: Numbers, following_of: Numbers) -> None:
    """For each message how many it waits for, and those that wait for it: `following_of` from one `first_after` to the
    next."""
    for edge in range(edges.shape[0]):
        waits[edges[edge, 1]] += 1
        first_after[edges[edge, 0] + 1] += 1
    for message in range(waits.size):
        first_after[message + 1] += first_after[message]
    free = first_after.copy()
    for edge in range(edges.shape[0]):
        following_of[free[edges[edge, 0]]] = edges[edge, 1]
        free[edges[edge, 0]] += 1


def due_with_credits(
    needed: int,
    pool: int,
    now: int,
    credits: Numbers,
    notes: Places,
    after: Places,
    when: Times,
    number_of: Numbers,
    store: Places,
) -> int:
    """When a pool has so many credits, which now become its own if they are back; NEVER if nobody owes them."""
    while notes[pool, 0] >= 0 and when[notes[pool, 0]] <= now:
        note = pop(notes, after, pool)
        credits[pool] += number_of[note]
        give_back(store, after, note)
    missing = needed - credits[pool]
    due = now
    note = notes[pool, 0]
    while missing > 0:
        if note < 0:
            return NEVER
        missing -= number_of[note]
        due = when[note]
        note = after[note]
    return due


def frames_of(size: float, max_payload: float) -> float:
    """Frames of a message; one without bytes is news, a frame that takes no time on the wire."""
    return float(max(np.ceil(size / max_payload), 1.0))


def last_frame(size: float, max_payload: float, overhead: float, minimum: float) -> float:
    """Size of a message's last frame with its padding; 0 for news."""
    frames = frames_of(size, max_payload)
    has_bytes = size - (frames - 1.0) * max_payload > 0.0
    return last_frame_size(size, frames, max_payload, overhead, minimum) if has_bytes else 0.0


def put_in_order(own: Places, after: Places, sent: Numbers, wire: int, message: int) -> None:
    """Put a message among those of a wire by its number, but not before one of which frames are sent."""
    before = own[wire, 1] if own[wire, 0] >= 0 else -1
    following = -1
    if before > message:
        before = -1
        following = own[wire, 0]
    while following >= 0 and (following < message or sent[following] > 0):
        before = following
        following = after[following]
    put_between(own, after, wire, before, message, following)


def put_in_time(lists: Places, after: Places, when: Times, line: int, place: int) -> None:
    """Put a place into a list by its time, behind those of the same time; nearly always that is its end."""
    time = when[place]
    before = lists[line, 1] if lists[line, 0] >= 0 else -1
    following = -1
    if before >= 0 and when[before] > time:
        before = -1
        following = lists[line, 0]
    while following >= 0 and when[following] <= time:
        before = following
        following = after[following]
    put_between(lists, after, line, before, place, following)


def put_between(lists: Places, after: Places, line: int, before: int, place: int, following: int) -> None:
    """Put a place into a list between two others; -1: it becomes the first, or the last."""
    after[place] = following
    after[before if before >= 0 else place] = place if before >= 0 else following
    first = lists[line, 0]
    last = lists[line, 1]
    lists[line, 0] = first if before >= 0 else place
    lists[line, 1] = last if following >= 0 else place
