"""Messages over a network of wires, frame by frame: the loop behind `network`, where everything is described."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.eventlist import Times, new_times, new_winners, set_time
from sweep.events.lists import Places, append, give_back, new_lists, new_store, pop, take
from sweep.events.simulation import DEADLOCKED, DONE, GIVEN_UP, LATEST, MOST_KEPT, NEVER, femtoseconds, forwarding
from sweep.models.packet import last_frame_size

Numbers = NDArray[np.int64]

ENDLESS = 1 << 40
"""More credits than can be used up."""


def follow_messages(
    messages: Numbers,
    sizes: NDArray[np.float64],
    edges: Numbers,
    pair_of: Numbers,
    ways: Numbers,
    wires: Numbers,
    kinds: Numbers,
    rates: NDArray[np.float64],
    max_payload: float,
    overhead: float,
    minimum: float,
    gap: float,
    awaited: float,
    fixed: int,
    flight: int,
    base: int,
    drain: int,
    back: int,
    channels: int,
    credit_limit: int,
    credit_size: float,
    by_hop: bool,
    budget: int,
    done: Numbers,
    busy: Numbers,
    figures: Numbers,
    trace: Numbers,
) -> int:
    """The simulation, times in femtoseconds, sizes in bytes; see `programs` for messages, and `fabrics` for ways.

    `rates` are those of wires of kind 0 and 1, in B/ns. `done` becomes when each message has arrived, -1 if it has not;
    `busy` for how long frames pass each wire. `figures` become events, frames of all messages, a message that waits
    for credits for ever, and how many it lacks. Each row of `trace`, as far as it reaches, becomes a frame's start on a
    wire: its time, the wire, the message, which of its frames, and since when it could have started. Returns how it
    ended.
    """
    count = sizes.size
    many = kinds.size
    pools = (many if by_hop else ways.size - 1) * channels
    times = new_times(3 * many)  # frames at the end of a wire, messages that arrive there, wires
    winners = new_winners(times)
    limited = credit_limit < ENDLESS
    full = max(max_payload + overhead, minimum)
    full_needed = int(np.ceil(full / credit_size))
    durations = np.zeros(2, np.int64)  # of a full frame, by the kind of wire
    delays = np.zeros((2, 2), np.int64)  # of a full frame until it may be sent on, by this and the next kind of wire
    for kind in range(2):
        durations[kind] = femtoseconds((full + gap) / rates[kind])
        for following in range(2):
            delays[kind, following] = forwarding(full, rates[kind], rates[following], awaited) + fixed
    waits = np.zeros(count, np.int64)
    first_after = np.zeros(count + 1, np.int64)
    following_of = np.zeros(edges.shape[0], np.int64)
    put_together(edges, waits, first_after, following_of)
    frames = np.zeros(count, np.int64)
    last = np.zeros(count)
    for message in range(count):
        done[message] = -1
        frames[message] = int(frames_of(sizes[message], max_payload))
        last[message] = last_frame(sizes[message], max_payload, overhead, minimum)
        if messages[message, 0] != messages[message, 1]:
            figures[1] += frames[message]
    left = count
    longest = 1
    for pair in range(ways.size - 1):
        longest = max(longest, ways[pair + 1] - ways[pair])
    of_frame = 1 + (longest if by_hop else 1)  # the frame, and notes of its credits
    if float(figures[1]) * of_frame > MOST_KEPT:
        return GIVEN_UP
    places = figures[1] * of_frame + 8
    # Lists: own messages of a chip by the wire that they take first, frames that wait for a wire, frames on the way,
    # messages that will have arrived, and credits on their way back.
    own = new_lists(many)
    after_own = np.zeros(count, np.int64)
    since = np.zeros(count, np.int64)
    arriving = new_lists(many)
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
    credits = np.full(pools, credit_limit, np.int64)
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
    now = 0
    rows = 0
    events = 0
    ending = DONE
    while True:
        # Messages that may start do; those between a chip and itself have arrived.
        while started < readied:
            message = ready[started]
            started += 1
            if messages[message, 0] == messages[message, 1]:
                done[message] = now
                left -= 1
                readied = let_follow(message, waits, first_after, following_of, ready, readied)
                continue
            wire = wires[ways[pair_of[message]]]
            since[message] = now
            put_in_order(own, after_own, sent, wire, message)
            due = max(now, free_at[wire])
            if due < times[2 * many + wire]:
                set_time(times, winners, 2 * many + wire, due)
        if left == 0:
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
        if resource < many:  # a frame can be sent on
            item = pop(flying, after, resource)
            following = flying[resource, 0]
            set_time(times, winners, resource, when[following] if following >= 0 else NEVER)
            wire = wires[place_of[item]]
            append(waiting, after, wire, item)
            due = max(now, free_at[wire])
            if due < times[2 * many + wire]:
                set_time(times, winners, 2 * many + wire, due)
            continue
        if resource < 2 * many:  # a message has arrived
            wire = resource - many
            message = pop(arriving, after_arriving, wire)
            following = arriving[wire, 0]
            set_time(times, winners, resource, arrival[following] if following >= 0 else NEVER)
            done[message] = now
            left -= 1
            readied = let_follow(message, waits, first_after, following_of, ready, readied)
            continue
        # A wire is free: frames that pass a chip and those of the chip take turns.
        wire = resource - 2 * many
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
            if limited and (by_hop or not passing):
                needed = full_needed if size == full else int(np.ceil(size / credit_size))
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
        kind = kinds[wire]
        duration = durations[kind]
        if size != full:
            duration = femtoseconds((size + gap) / rates[kind]) if size > 0.0 else 0
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
            if by_hop and limited:  # it leaves the buffer of the wire before
                owner = wires[place - 1]
                note = take(store, after)
                when[note] = now + duration + back
                number_of[note] = needed
                put_in_time(notes, after, when, owner * channels + channel, note)
                if stuck[owner]:
                    set_time(times, winners, 2 * many + owner, max(now, free_at[owner]))
        else:
            sent[message] += 1
            since[message] = now + duration
            if is_last:
                pop(own, after_own, wire)
        if place + 1 < ways[pair_of[message] + 1]:
            following = kinds[wires[place + 1]]
            delay = delays[kind, following]
            if size != full:
                delay = forwarding(size, rates[kind], rates[following], awaited) + fixed
            if not passing:
                item = take(store, after)
                message_of[item] = message
                number_of[item] = number
            place_of[item] = place + 1
            when[item] = now + flight + delay
            append(flying, after, wire, item)
            set_time(times, winners, wire, when[flying[wire, 0]])
        else:
            if passing:
                give_back(store, after, item)
            there = now + duration + flight + base
            if limited:
                pool = wire if by_hop else pair_of[message]
                drained[pool] = min(max(drained[pool], there) + drain, LATEST + 1)  # later nothing is followed
                note = take(store, after)
                when[note] = drained[pool] + back
                number_of[note] = full_needed if size == full else int(np.ceil(size / credit_size))
                put_in_time(notes, after, when, pool * channels + channel, note)
                owner = wire if by_hop else wires[ways[pair_of[message]]]
                if stuck[owner]:
                    set_time(times, winners, 2 * many + owner, max(now, free_at[owner]))
            if is_last:
                arrival[message] = there
                append(arriving, after_arriving, wire, message)
                set_time(times, winners, many + wire, arrival[arriving[wire, 0]])
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
            size = last[message] if number == frames[message] - 1 else full
            pool = (wire if by_hop else pair_of[message]) * channels + number % channels
            figures[2] = message
            figures[3] = int(np.ceil(size / credit_size)) - credits[pool]
            note = notes[pool, 0]
            while note >= 0:  # on their way back
                figures[3] -= number_of[note]
                note = after[note]
            break
    return ending


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


def let_follow(
    message: int, waits: Numbers, first_after: Numbers, following_of: Numbers, ready: Numbers, readied: int
) -> int:
    """Say that a message has arrived, add to `ready` those that waited for it alone, and return how many are there."""
    for place in range(first_after[message], first_after[message + 1]):
        waits[following_of[place]] -= 1
        if waits[following_of[place]] == 0:
            ready[readied] = following_of[place]
            readied += 1
    return readied


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


def put_in_time(notes: Places, after: Places, when: Times, pool: int, note: int) -> None:
    """Put a note among those of a pool by its time, behind those of the same time."""
    time = when[note]
    before = notes[pool, 1] if notes[pool, 0] >= 0 else -1
    following = -1
    if before >= 0 and when[before] > time:
        before = -1
        following = notes[pool, 0]
    while following >= 0 and when[following] <= time:
        before = following
        following = after[following]
    put_between(notes, after, pool, before, note, following)


def put_between(lists: Places, after: Places, line: int, before: int, place: int, following: int) -> None:
    """Put a place into a list between two others; -1: it becomes the first, or the last."""
    after[place] = following
    after[before if before >= 0 else place] = place if before >= 0 else following
    first = lists[line, 0]
    last = lists[line, 1]
    lists[line, 0] = first if before >= 0 else place
    lists[line, 1] = last if following >= 0 else place
