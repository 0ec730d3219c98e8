"""A message on a credit link, event by event: frames, virtual channels with credits of their own, drain, retry.

The frames of a message are dealt out to the virtual channels in turn. The sender starts a frame when the wire is free
and the frame's channel has the credits that it needs. Which channel is next, `channel_arbitration` says:

- in_turn: frames in the order of the message; one that lacks credits holds up those behind it (as `link` has it);
- round_robin: the first channel after the last one that has a frame and the credits for it;
- strict: of those the channel of the lowest number;
- weighted: as round_robin, but channel 0 may send `first_channel_weight` frames before it is another's turn.

A frame arrives after its time on the wire and the latency of the span, broken with probability p = `frame_error`.

- With retry the receiver takes frames in the order in which they were sent. It throws away a broken one and all behind
  it, and says so; the sender hears of it one credit return later, and sends them all again (go-back-N).
- Without, a broken frame is lost.

Frames that are taken are drained one after the other. Credits return in the order of arrival, also those of frames that
are thrown away. Of events at the same time credits come first, then arrivals, news of a broken frame, and the wire.

Compare with `link_latency`, `credit_stall`, `goodput`, `delivered_share`: equal to them but for the rounding of times
to femtoseconds if channels go in turn and no frame breaks. Flow control by pause frames sees an endless buffer here, as
there. Times in ns outside, in whole femtoseconds inside. Cost: three events a frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.chance import unit, words
from sweep.events.simulation import (
    BROKEN_FRAMES,
    DEADLOCKED,
    DONE,
    FEMTOSECONDS,
    GIVEN_UP,
    LATEST,
    LONGEST,
    MOST_UNDER_WAY,
    NEVER,
    SHORTEST,
    femtoseconds,
    ring_mask,
)
from sweep.registry import Output, Predicate, kernel, parameter, quantity

channel_arbitration = parameter(
    choices=("in_turn", "round_robin", "strict", "weighted"),
    default="in_turn",
    doc="Which virtual channel of a simulated link sends next",
    source="IEEE 802.1Q, transmission selection",
)
first_channel_weight = parameter(
    default=2,
    integer=True,
    minimum=1,
    maximum=1000,
    doc="Frames that virtual channel 0 may send in a row, with channel_arbitration weighted; the others send one",
)

IN_TURN = 0
ROUND_ROBIN = 1
STRICT = 2
WEIGHTED = 3

CREDITS = 0
ARRIVAL = 1
NEWS = 2
WIRE = 3
"""The resources of a link, in the order in which they are served when they are due at the same time."""


def events_of_frames(frames: float) -> float:
    """Three events for each frame: it starts, it arrives, its credits return."""
    return 3 * frames


@kernel(
    outputs={
        "link_finish": Output("ns"),
        "link_wait": Output("ns"),
        "link_frames_started": Output("1"),
        "link_frames_repeated": Output("1"),
        "link_frames_lost": Output("1"),
        "link_frame_interval": Output("ns"),
        "link_frame_losses": Output("1"),
        "link_stuck_channel": Output("1"),
        "link_missing_credits": Output("1"),
        "link_events": Output("1"),
        "link_ending": Output("1"),
    },
    dims={},
    steps=events_of_frames,
    internal=True,
)
def link_simulation(
    frames: float,
    frame_time: float,
    serialization: float,
    frame_credits: float,
    last_frame_credits: float,
    usable_credits: float,
    virtual_channels: float,
    channel_arbitration: str,
    first_channel_weight: float,
    base_latency: float,
    span_latency: float,
    drain_time: float,
    credit_return: float,
    frame_error: float,
    sends_again: float,
    seed: float,
    event_budget: float,
) -> tuple[float, float, float, float, float, float, float, float, float, float, float]:
    """A message followed event by event; see `follow_link` for what is returned, here in ns."""
    last_time = serialization - (frames - 1.0) * frame_time if frames > 0 else 0.0
    longest = max(max(max(frame_time, last_time), max(base_latency, span_latency)), max(drain_time, credit_return))
    shortest = min(frame_time, last_time) if frames > 0 else 1.0
    if longest > LONGEST or shortest < SHORTEST or frames > 1e15:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(GIVEN_UP)
    arbitration = IN_TURN
    if channel_arbitration == "round_robin":
        arbitration = ROUND_ROBIN
    elif channel_arbitration == "strict":
        arbitration = STRICT
    elif channel_arbitration == "weighted":
        arbitration = WEIGHTED
    finish, wait, started, repeated, lost, interval, losses, channel, missing, events, ending = follow_link(
        int(frames),
        femtoseconds(frame_time),
        femtoseconds(last_time),
        int(frame_credits),
        int(last_frame_credits),
        -1 if usable_credits == np.inf else int(usable_credits),
        int(virtual_channels),
        arbitration,
        int(first_channel_weight),
        femtoseconds(base_latency),
        femtoseconds(span_latency),
        femtoseconds(drain_time),
        femtoseconds(credit_return),
        frame_error,
        sends_again > 0.0,
        int(seed),
        int(event_budget),
        np.zeros((0, 3 + int(virtual_channels)), np.int64),
    )
    return (
        finish / FEMTOSECONDS,
        wait / FEMTOSECONDS,
        float(started),
        float(repeated),
        float(lost),
        interval / FEMTOSECONDS,
        losses,
        float(channel),
        float(missing),
        float(events),
        float(ending),
    )


def follow_link(
    frames: int,
    duration: int,
    last_duration: int,
    need: int,
    last_need: int,
    limit: int,
    channels: int,
    arbitration: int,
    weight: int,
    base: int,
    span: int,
    drain: int,
    back: int,
    broken_share: float,
    retry: bool,
    seed: int,
    budget: int,
    trace: NDArray[np.int64],
) -> tuple[int, int, int, int, int, float, float, int, int, int, int]:
    """The simulation, times in femtoseconds; `limit` -1 for credits without end.

    Returns when the last frame has arrived, how long the wire waited for credits; frames started, of them for a second
    time and more, and lost; the mean time from frame to frame at the receiver in the second half of the message, 0 if
    that has no whole window of frames, and the share of those frames that were lost; after a deadlock the channel that
    waits and the credits that it lacks; events; how it ended.

    Each row of `trace`, as far as it reaches, becomes one event: its time, its resource, its frame (-1: none), and the
    credits of each channel after it.
    """
    # What is on its way, first in, first out. Frames are numbered in the order in which they are sent the first time.
    under_way = min(min(2 * frames, (2 * span + back + duration) // max(duration, 1) + 4), budget) + 2
    if under_way > MOST_UNDER_WAY:
        return 0, 0, 0, 0, 0, 0.0, 0.0, 0, 0, 0, GIVEN_UP
    recent = ring_mask(under_way)
    arrival_time = np.zeros(recent + 1, np.int64)
    arrival_number = np.zeros(recent + 1, np.int64)
    arrival_broken = np.zeros(recent + 1, np.bool_)
    arrivals_in = 0
    arrivals_out = 0
    frame_of = np.zeros(recent + 1, np.int64)  # which frame of the message has a number, while it may be sent again
    owed = ring_mask(min(channels * (limit // max(min(need, last_need), 1)), budget) + 2 if limit >= 0 else 1)
    credit_time = np.zeros(owed + 1, np.int64)
    credit_frame = np.zeros(owed + 1, np.int64)
    credits_in = 0
    credits_out = 0
    credits = np.full(channels, max(limit, 0), np.int64)
    dealt = np.zeros(channels, np.int64)  # frames that each channel has sent the first time
    news_time = NEVER
    wire_time = 0 if frames > 0 else NEVER
    wire_free = 0
    blocked_since = NEVER
    following = 0  # the number to be sent next; below `numbers`: again
    numbers = 0
    expected = 0  # the number that the receiver waits for; all before it have arrived or are lost
    turn = 0
    in_a_row = 0
    drained = 0
    finish = base
    waited = 0
    started = 0
    repeated = 0
    lost = 0
    window = channels * max(limit // max(need, 1), 1) if limit >= 0 else 1
    counted_from = frames // 2
    counted_to = counted_from + max(frames - 2 - counted_from, 0) // window * window
    counted_since = 0
    counted_time = 0
    counted_lost = 0
    stuck = -1
    missing = 0
    events = 0
    ending = DONE
    while expected < frames:
        credit_due = credit_time[credits_out & owed] if credits_out < credits_in else NEVER
        arrival_due = arrival_time[arrivals_out & recent] if arrivals_out < arrivals_in else NEVER
        now = min(min(credit_due, arrival_due), min(news_time, wire_time))
        if now == NEVER:
            ending = DEADLOCKED
            frame = frame_of[following & recent] if following < numbers else frames
            for k in range(channels):
                frame = min(frame, k + dealt[k] * channels)
            stuck = frame % channels
            missing = needed(frame, frames, need, last_need) - credits[stuck]
            break
        if events >= budget or now > LATEST or drained > LATEST:
            ending = GIVEN_UP
            break
        if credit_due == now:
            resource = CREDITS
            frame = credit_frame[credits_out & owed]
            credits_out += 1
            credits[frame % channels] += needed(frame, frames, need, last_need)
            if blocked_since != NEVER:
                wire_time = now
        elif arrival_due == now:
            resource = ARRIVAL
            number = arrival_number[arrivals_out & recent]
            broken = arrival_broken[arrivals_out & recent]
            arrivals_out += 1
            frame = frame_of[number & recent]
            if number == expected and not (broken and retry):
                expected += 1
                finish = max(finish, now - span + base)
                if broken:
                    lost += 1
                    counted_lost += counted_from <= number < counted_to
                else:
                    drained = max(drained, now) + drain
                if number == counted_from:
                    counted_since = max(drained, now)
                if number == counted_to:
                    counted_time = max(drained, now) - counted_since
            elif number == expected:
                news_time = now + back
            if limit >= 0:
                credit_time[credits_in & owed] = max(drained, now) + back
                credit_frame[credits_in & owed] = frame
                credits_in += 1
        elif news_time == now:
            resource = NEWS
            frame = -1
            news_time = NEVER
            following = expected
            wire_time = max(now, wire_free)
        else:
            resource = WIRE
            frame = -1
            if following < numbers:
                frame = frame_of[following & recent]
            elif arbitration == IN_TURN:
                frame = numbers
            if frame >= 0:
                if limit >= 0 and credits[frame % channels] < needed(frame, frames, need, last_need):
                    frame = -1
            else:
                for k in range(channels):
                    channel = k if arbitration == STRICT else (turn + k) % channels
                    candidate = channel + dealt[channel] * channels
                    if candidate < frames and (
                        limit < 0 or credits[channel] >= needed(candidate, frames, need, last_need)
                    ):
                        frame = candidate
                        break
            if frame < 0:
                wire_time = NEVER
                blocked_since = min(blocked_since, now)
            else:
                channel = frame % channels
                if blocked_since != NEVER:
                    waited += now - blocked_since
                    blocked_since = NEVER
                if limit >= 0:
                    credits[channel] -= needed(frame, frames, need, last_need)
                if following < numbers:
                    repeated += 1
                else:
                    frame_of[numbers & recent] = frame
                    dealt[channel] += 1
                    in_a_row = in_a_row + 1 if channel == turn else 1
                    allowed = weight if arbitration == WEIGHTED and channel == 0 else 1
                    turn = channel if in_a_row < allowed else (channel + 1) % channels
                    in_a_row = in_a_row if in_a_row < allowed else 0
                    numbers += 1
                wire_free = now + (last_duration if frame == frames - 1 else duration)
                broken = False
                if broken_share > 0.0:
                    a, b, _, _ = words(seed, BROKEN_FRAMES, started)
                    broken = unit(a, b) < broken_share
                arrival_time[arrivals_in & recent] = wire_free + span
                arrival_number[arrivals_in & recent] = following
                arrival_broken[arrivals_in & recent] = broken
                arrivals_in += 1
                started += 1
                following += 1
                wire_time = wire_free if following < frames else NEVER
        if events < trace.shape[0]:
            trace[events, 0] = now
            trace[events, 1] = resource
            trace[events, 2] = frame
            for channel in range(channels):
                trace[events, 3 + channel] = credits[channel]
        events += 1
    counted = max(counted_to - counted_from, 1)
    interval = counted_time / counted
    losses = counted_lost / counted
    return finish, waited, started, repeated, lost, interval, losses, stuck, missing, events, ending


def needed(frame: int, frames: int, need: int, last_need: int) -> int:
    """Credits that a frame of a message needs."""
    return last_need if frame == frames - 1 else need


# What a grid may ask for.


def stops_for_good(link_ending: float) -> bool:
    """The simulation comes to where a frame waits for credits that nobody owes."""
    return link_ending == DEADLOCKED


def goes_on(link_ending: float) -> bool:
    """The simulation does not come to where a frame waits for credits that nobody owes."""
    return link_ending != DEADLOCKED


def given_up(link_ending: float) -> bool:
    """The simulation takes more than event_budget events, or more than 38 minutes of its own time."""
    return link_ending == GIVEN_UP


ENDINGS: dict[str, Predicate] = {"deadlock": stops_for_good, "budget": given_up}


def too_short_to_settle(link_frame_interval: float) -> bool:
    """The message has too few windows of frames to tell what a long one would reach."""
    return link_frame_interval <= 0


@quantity(unit="ns", fails=ENDINGS)
def simulated_link_latency(link_finish: float) -> float:
    """Time until the last frame of a message has arrived, in a simulation; compare with link_latency."""
    return link_finish


@quantity(unit="ns", fails=ENDINGS)
def simulated_credit_stall(link_wait: float) -> float:
    """Time that the wire waits for credits, in a simulation; compare with credit_stall."""
    return link_wait


@quantity(unit="GB/s", unstable=0.0, fails={**ENDINGS, "undefined": too_short_to_settle})
def simulated_goodput(max_payload: float, link_frame_interval: float, link_frame_losses: float) -> float:
    """Rate at which payload arrives, in the second half of a simulated message; compare with goodput."""
    return max_payload * (1 - link_frame_losses) / link_frame_interval


@quantity(unit="1", fails=ENDINGS)
def simulated_delivered_share(frames: float, link_frames_lost: float) -> float:
    """Share of a message's frames that arrive whole, in a simulation; compare with delivered_share."""
    return 1 - link_frames_lost / frames if frames > 0 else 1.0


@quantity(unit="1", fails=ENDINGS)
def simulated_link_frames(link_frames_started: float) -> float:
    """Frames that a simulated sender starts, those that it sends again included."""
    return link_frames_started


@quantity(unit="1", fails=ENDINGS)
def simulated_retransmissions(link_frames_repeated: float) -> float:
    """Frames that a simulated sender starts for a second time and more."""
    return link_frames_repeated


@quantity(unit="1", fails={"budget": given_up})
def simulated_link_events(link_events: float) -> float:
    """Events of a simulated link, until all frames have arrived or nothing can happen any more."""
    return link_events


@quantity(unit="1", fails={"budget": given_up, "undefined": goes_on})
def deadlocked_channel(link_stuck_channel: float) -> float:
    """Virtual channel of a simulated link whose frame waits for credits that nobody owes; undefined where none does."""
    return link_stuck_channel


@quantity(unit="1", fails={"budget": given_up, "undefined": goes_on})
def missing_credits(link_missing_credits: float) -> float:
    """Credits that the frame lacks which waits for ever; undefined where none does."""
    return link_missing_credits
