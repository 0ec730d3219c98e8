"""Collectives whose steps carry messages of different sizes: their parts summed up step by step.

- all_reduce by halving_doubling, with k = floor(log2 n): in step s = 1..k of the reduce-scatter a chip sends
  ceil(D/2^s) bytes to the chip at distance 2^(s-1), and in the all-gather the same the other way round. Chips beyond
  the largest power of two hand all D bytes to a partner first and get them back at the end. One port per chip.
- all_to_all along a physical ring, one link to the next chip: in step k = 1..n-1 a chip passes on what has to go
  farther, (n - k) chunks of ceil(D/n) bytes as one message.

Each step takes alpha, the time of its message on the wire and its wait for credits, for a message of its own size;
see `collective` for what these are. Steps wait for each other; credits are all back when a step begins. Times in ns,
sizes in bytes. Source: Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH,
2005, 4.4.
"""

from __future__ import annotations

import math

import numpy as np

from sweep.models.collective import FORWARDED, alone
from sweep.models.link import (
    lender_of_last,
    proportional_credits,
    stall_before_last,
    stall_in_rounds,
    stall_of_last,
    whole_windows,
)
from sweep.models.packet import (
    counted_wire_size,
    first_frame_size,
    frame_count,
    last_frame_size,
    proportional_frame_size,
)
from sweep.models.step_credits import starved_chip
from sweep.models.transfer import switching_of_message
from sweep.models.tree import floor_log2, is_power_of_two
from sweep.registry import Choices, Output, kernel, quantity

HALVING: Choices = {"collective": "all_reduce", "algorithm": "halving_doubling"}
UNEVEN = (HALVING, FORWARDED)


# Messages.


@quantity("steps", when=HALVING)
def steps_of_halving(chip_count: float) -> float:
    """Messages one after the other: halving, doubling, and there and back for chips beyond a power of two."""
    return 2 * floor_log2(chip_count) + (0.0 if is_power_of_two(chip_count) else 2.0)


@quantity("chunk_size", when=HALVING | {"chunking": "whole_bytes"})
def largest_half(message_size: float, chip_count: float) -> float:
    """Bytes of the largest message: a half, or all of them if chips are left over."""
    return math.ceil(message_size / 2) if is_power_of_two(chip_count) else message_size


@quantity("chunk_size", when=HALVING | {"chunking": "fractional"})
def largest_half_of_any_size(message_size: float, chip_count: float) -> float:
    """Bytes of the largest message: a half, whole or not, or all of them if chips are left over."""
    return message_size / 2 if is_power_of_two(chip_count) else message_size


@quantity("chunk_size", when=FORWARDED | {"chunking": "whole_bytes"})
def chunks_to_pass_on(message_size: float, chip_count: float) -> float:
    """Bytes of the largest message: the chunks of all others."""
    return (chip_count - 1) * math.ceil(message_size / chip_count)


@quantity("chunk_size", when=FORWARDED | {"chunking": "fractional"})
def chunks_of_any_size_to_pass_on(message_size: float, chip_count: float) -> float:
    """Bytes of the largest message: the chunks of all others, whole or not."""
    return (chip_count - 1) * message_size / chip_count


@quantity(unit="1", internal=True)
def uneven_count() -> float:
    """Messages to sum up: none where all are alike."""
    return 0.0


@quantity("uneven_count", when=UNEVEN)
def uneven_count_of_steps(steps: float) -> float:
    """Messages to sum up."""
    return steps


def size_of_step(step: float, algorithm: str, chunking: str, message_size: float, chip_count: float) -> float:
    """Bytes of the message in a step, from 0; halving and doubling take the same sizes, so each comes twice."""
    if algorithm == "ring":
        chunks = chip_count - 1 - step
        if chunking == "whole_bytes":
            return chunks * math.ceil(message_size / chip_count)
        return chunks * message_size / chip_count
    halvings = math.floor(step / 2) + 1
    if halvings > floor_log2(chip_count):
        return message_size
    part = message_size / math.ldexp(1.0, int(halvings))
    return math.ceil(part) if chunking == "whole_bytes" else part


# Parts of their times.


STEP_BUDGET = 1e6
"""Messages that one point may sum up."""


def too_many_messages(uneven_count: float) -> bool:
    """The sum would take long."""
    return uneven_count > STEP_BUDGET


def summed_messages(uneven_count: float) -> float:
    """Each message is a step."""
    return uneven_count


@kernel(
    outputs={
        "uneven_bytes": Output("B"),
        "uneven_wire_time": Output("ns"),
        "uneven_switching": Output("ns"),
        "uneven_stall": Output("ns"),
        "uneven_gaps": Output("ns"),
    },
    dims={},
    fails={"infeasible": starved_chip, "budget": too_many_messages},
    steps=summed_messages,
)
def uneven_steps(
    uneven_count: float,
    chip_count: float,
    message_size: float,
    algorithm: str,
    chunking: str,
    framing: str,
    chunk_frames: float,
    chunk_last_credits: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_size: float,
    frame_gap: float,
    chunk_gap: float,
    beta: float,
    path_rate: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    step_awaited_bytes: float,
    switch_hops: float,
    switch_fixed: float,
    round_bytes: float,
    window_credits: float,
    credit_size: float,
    frame_credits: float,
    window_frames: float,
    virtual_channels: float,
    frame_time: float,
    drain_time: float,
    step_span_latency: float,
    step_credit_loop: float,
) -> tuple[float, float, float, float, float]:
    """Payload, time on the wire, time in idle switches, waiting for credits, and gaps saved, over all messages."""
    payload = wire_time = switching = stalls = gaps = 0.0
    for step in range(int(uneven_count)):
        size = size_of_step(step, algorithm, chunking, message_size, chip_count)
        frames = frame_count(size, max_payload)
        carried_by_last = size - max(frames - 1, 0.0) * max_payload
        if framing == "exact":
            wire = counted_wire_size(size, frames, max_payload, frame_overhead, frame_minimum, frame_size, frame_gap)
            own_time = wire / path_rate
            first = first_frame_size(size, max_payload, frame_overhead, frame_minimum)
            last = last_frame_size(size, frames, max_payload, frame_overhead, frame_minimum) if frames > 0 else 0.0
            last_credits = float(math.ceil(last / credit_size))
        else:
            own_time = size * beta
            first = proportional_frame_size(min(size, max_payload), max_payload, frame_size)
            last = proportional_frame_size(carried_by_last, max_payload, frame_size)
            last_credits = proportional_credits(size, frames, max_payload, frame_size, credit_size)
        stall = stall_in_rounds(size, round_bytes, 2 * step_span_latency)
        slack = 0.0
        if frames > 0 and window_credits < np.inf:
            before = stall_before_last(
                frames,
                whole_windows(frames - 2, window_frames),
                window_frames,
                frame_time,
                drain_time,
                step_credit_loop,
            )
            lender = lender_of_last(frames, last_credits, window_credits, frame_credits, virtual_channels)
            stall = stall_of_last(
                before,
                frames,
                lender,
                whole_windows(lender, window_frames),
                window_frames,
                frame_time,
                drain_time,
                step_credit_loop,
            )
            slack = stall - before
        payload += size
        wire_time += own_time
        stalls += stall
        gaps += chunk_gap * port_lead if frames > 0 else 0.0
        switching += switching_of_message(
            first,
            last,
            chunk_gap,
            slack,
            step_awaited_bytes,
            wire_rate,
            port_rate,
            port_lead,
            switch_hops,
            switch_fixed,
        )
    return payload, wire_time, switching, stalls, gaps


@quantity("sent_bytes", when=UNEVEN)
def uneven_sent_bytes(uneven_bytes: float) -> float:
    """Payload of the messages that follow each other."""
    return uneven_bytes


@quantity("sent_time", when=UNEVEN)
def uneven_sent_time(uneven_wire_time: float) -> float:
    """Time of the messages that follow each other on the wire."""
    return uneven_wire_time


@quantity("steps_switching", when=UNEVEN)
def uneven_steps_switching(uneven_switching: float) -> float:
    """Time in idle switches of the messages that follow each other."""
    return uneven_switching


@quantity("gaps_saved", when=UNEVEN)
def uneven_gaps_saved(uneven_gaps: float) -> float:
    """Time by which the gaps after the last frames pass ports that are faster than the link sooner."""
    return uneven_gaps


@quantity("credit_time", when=tuple(choices | {"credit_scope": "step"} for choices in UNEVEN), moot=alone)
def uneven_credit_time(chip_count: float, uneven_stall: float) -> float:
    """Time of the collective spent waiting for credits, step by step."""
    return 0.0 if chip_count <= 1 else uneven_stall


@quantity("collective_latency", when=UNEVEN, moot=alone)
def latency_of_uneven_steps(
    chip_count: float,
    alpha_count: float,
    base_latency: float,
    flight_time: float,
    step_queueing: float,
    steps_switching: float,
    sent_time: float,
    credit_time: float,
    gaps_saved: float,
) -> float:
    """Time of the collective, from its start on all chips to the end on all."""
    latency = alpha_count * (base_latency + flight_time + step_queueing) + steps_switching
    return 0.0 if chip_count <= 1 else latency + sent_time + credit_time - gaps_saved
