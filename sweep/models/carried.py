"""Credits that are carried from step to step: one link on which a collective's chunks follow each other.

All chips are in step, so one link tells all. A frame starts when the wire is free, when its step has begun, and when
its virtual channel has the credits that it needs; they are back after its time on the wire, the latency of the span,
its turn to be drained, and the return. A step begins `step_wait` after the last frame of the one before: when the
chunk from the neighbour has arrived, or at once where chunks stream. Frame i of each chunk goes on channel i mod V.

Followed frame by frame, with two short cuts that change nothing:

- Inside a step, once a whole window of frames has started and come back as the window before it, all later ones will:
  they are skipped.
- The steps are a max-plus linear system, whose state (what is out, and when it is due) repeats after some steps. From
  there on whole periods are skipped.

Times in ns. Source: flow control as in `link`; periodicity: Baccelli, Cohen, Olsder and Quadrat, Synchronization and
Linearity, 1992, theorem 3.109.
"""

from __future__ import annotations

import numpy as np

from sweep.models.collective import AS_PAIRS, DIRECT_ONCE, PAIRWISE, ROUND, STREAMING, alone
from sweep.models.step_credits import starved_chip
from sweep.models.transfer import switching_of_frame
from sweep.registry import Choices, Output, kernel, quantity

SAME = 1e-13
"""Two times are the same if they differ by no more than this share of the step's time, and rounding."""

ROUNDING = 1e-15
"""What rounding may amount to, in proportion."""


def followed_frames(steps: float, chunk_frames: float, window_frames: float) -> float:
    """Frames that are followed, roughly: a few windows in each of some steps."""
    return min(steps, 50.0) * min(chunk_frames, 3 * window_frames)


@quantity("step_wait", unit="ns")
def wait_for_chunk(alpha: float) -> float:
    """Time from the end of a chunk on the wire until the next step begins: until the neighbour's chunk is there."""
    return alpha


@quantity("step_wait", when=(STREAMING, DIRECT_ONCE))
def no_wait() -> float:
    """Time from the end of a chunk on the wire until the next step begins: none, chunks stream."""
    return 0.0


@quantity("chunk_frame_switching", unit="ns", when={"hop_delay": "full"})
def chunk_frame_switching_full(
    chunk_first_frame: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that the idle switches of the path add to a chunk's first frame, were it alone."""
    return switching_of_frame(
        chunk_first_frame, awaited_bytes, wire_rate, port_rate, port_lead, switch_hops, switch_fixed
    )


@quantity("chunk_frame_switching", when={"hop_delay": ("fixed", "note")})
def chunk_frame_switching_fixed(step_frame_switching: float) -> float:
    """Fixed latencies of the switches of the path."""
    return step_frame_switching


@quantity("carried_span_latency", unit="ns", when={"credit_span": ("path", "note")})
def carried_span_of_path(
    base_latency: float, flight_time: float, chunk_frame_switching: float, step_queueing: float
) -> float:
    """One-way latency that carried credits span: the whole path, for a chunk's first frame."""
    return base_latency + flight_time + chunk_frame_switching + step_queueing


@quantity("carried_span_latency", when={"credit_span": "link"})
def carried_span_of_link(base_latency: float) -> float:
    """One-way latency that carried credits span: one link."""
    return base_latency


@quantity(unit="ns", internal=True)
def carried_credit_return(credit_return_latency: float) -> float:
    """Latency of a carried credit on its way back to the sender."""
    return credit_return_latency


@quantity("carried_credit_return", when={"credit_return_latency": None})
def carried_credit_return_as_forward(carried_span_latency: float) -> float:
    """Latency of a carried credit on its way back to the sender: as long as the way out."""
    return carried_span_latency


@kernel(
    outputs={"carried_stall": Output("ns")},
    dims={},
    fails={"infeasible": starved_chip},
    steps=followed_frames,
)
def stall_of_carried_credits(
    chip_count: float,
    steps: float,
    chunk_frames: float,
    chunk_last_credits: float,
    chunk_time: float,
    step_wait: float,
    window_credits: float,
    frame_credits: float,
    window_frames: float,
    virtual_channels: float,
    frame_time: float,
    carried_span_latency: float,
    drain_time: float,
    carried_credit_return: float,
) -> float:
    """Time of the collective spent waiting for credits that are carried from step to step."""
    if chip_count <= 1 or chunk_frames == 0 or window_credits == np.inf:
        return 0.0
    frames = int(chunk_frames)
    channels = int(virtual_channels)
    window = int(window_frames)
    last_time = chunk_time - (chunk_frames - 1) * frame_time
    fewest = min(frame_credits, chunk_last_credits) if frames > 1 else chunk_last_credits
    slots = int(min(window_credits / max(fewest, 1.0), chunk_frames * steps)) + 1
    # What is out, oldest first: when it is back, and how many credits.
    due = np.zeros((channels, slots))
    taken = np.zeros((channels, slots))
    oldest = np.zeros(channels, np.int64)
    out = np.zeros(channels, np.int64)
    free = np.full(channels, window_credits)
    drained = 0.0
    clock = 0.0
    # The state with which later ones are compared, times since its step began; the waiting until then, and its age.
    saved_due = np.zeros((channels, slots))
    saved_taken = np.zeros((channels, slots))
    saved_out = np.full(channels, -1)
    saved_drained = 0.0
    age = 0
    patience = 1
    saved_waited = 0.0
    # The last window of frames of a step: when they started and when their credits come back.
    started = np.zeros(window)
    returned = np.zeros(window)
    waited = 0.0
    step = 0
    step_count = int(steps)
    while step < step_count:
        begun = clock
        alike = 0
        shift = 0.0
        i = 0
        while i < frames:
            channel = i % channels
            is_last = i == frames - 1
            need = chunk_last_credits if is_last else frame_credits
            duration = last_time if is_last else frame_time
            idle_since = clock
            while free[channel] < need:
                place = oldest[channel] % slots
                clock = max(clock, due[channel, place])
                free[channel] += taken[channel, place]
                oldest[channel] += 1
                out[channel] -= 1
            start = clock
            waited += start - idle_since
            clock += duration
            drained = max(drained, clock + carried_span_latency) + drain_time
            place = (oldest[channel] + out[channel]) % slots
            due[channel, place] = drained + carried_credit_return
            taken[channel, place] = need
            free[channel] -= need
            out[channel] += 1
            if frames > 4 * window:
                slot = i % window
                if i >= window:
                    moved = start - started[slot]
                    later = due[channel, place] - returned[slot]
                    tolerance = SAME * (due[channel, place] - begun) + ROUNDING * due[channel, place]
                    only_own = out[channel] <= i // channels
                    if only_own and abs(moved - shift) <= tolerance and abs(later - shift) <= tolerance:
                        alike += 1
                    else:
                        alike = 0
                        shift = moved
                started[slot] = start
                returned[slot] = due[channel, place]
                if alike >= 2 * window:  # in the first of them, frames of earlier steps may still have mattered
                    whole = (frames - 2 - i) // window
                    if whole > 0:
                        waited += whole * max(shift - window * frame_time, 0.0)
                        clock += whole * shift
                        drained += whole * shift
                        due += whole * shift
                        i += whole * window
                    alike = 0
            i += 1
        step += 1
        age += 1
        clock += step_wait
        drained = max(drained, clock)
        for channel in range(channels):
            while out[channel] > 0 and due[channel, oldest[channel] % slots] <= clock:
                free[channel] += taken[channel, oldest[channel] % slots]
                oldest[channel] += 1
                out[channel] -= 1
        tolerance = SAME * (drained - begun) + ROUNDING * drained
        same = abs(drained - clock - saved_drained) <= tolerance
        for channel in range(channels):
            same = same and out[channel] == saved_out[channel]
        if same:
            for channel in range(channels):
                for k in range(out[channel]):
                    place = (oldest[channel] + k) % slots
                    same = abs(due[channel, place] - clock - saved_due[channel, k]) <= tolerance
                    same = same and taken[channel, place] == saved_taken[channel, k]
                    if not same:
                        break
                if not same:
                    break
        if same:
            periods = (step_count - step) // age
            waited += periods * (waited - saved_waited)
            step += periods * age
            patience = step_count  # what is left is less than a period
        elif age < patience:
            continue
        else:
            patience *= 2
        # Times are measured from here on, so that small differences stay visible.
        for channel in range(channels):
            for k in range(out[channel]):
                place = (oldest[channel] + k) % slots
                due[channel, place] -= clock
                saved_due[channel, k] = due[channel, place]
                saved_taken[channel, k] = taken[channel, place]
            saved_out[channel] = out[channel]
        drained -= clock
        clock = 0.0
        saved_drained = drained
        saved_waited = waited
        age = 0
    return waited


ON_ONE_LINK = (ROUND, AS_PAIRS, PAIRWISE, DIRECT_ONCE)
"""Collectives whose steps follow each other on the same link, all chunks alike."""

CARRIED: Choices = {"credit_scope": "carried", "credit_model": "window"}


@quantity("credit_time", when=tuple(CARRIED | choices for choices in ON_ONE_LINK), moot=alone)
def credit_time_carried(chip_count: float, carried_stall: float) -> float:
    """Time of the collective spent waiting for credits that are carried from step to step."""
    return 0.0 if chip_count <= 1 else carried_stall
