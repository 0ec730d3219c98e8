"""Waiting for credits in the steps of a collective.

`credit_scope` says what credits hold back:

- step: each step on its own, as if all credits were back when it starts;
- carried: what is true of one link on which the steps follow each other: credits of one step are still out in the
  next (`carried`);
- total: all bytes of the collective as one message, in rounds, as the listing of the design note has it.

A chunk waits as a message does, see `link`. Times in ns, sizes in bytes.
"""

from __future__ import annotations

import math

from sweep.models.collective import alone
from sweep.models.link import (
    lender_of_last,
    proportional_credits,
    stall_before_last,
    stall_in_rounds,
    stall_of_last,
    too_few_credits,
    whole_windows,
)
from sweep.models.packet import last_frame_size
from sweep.registry import parameter, quantity

credit_scope = parameter(
    choices=("step", "total", "carried"),
    default="step",
    doc="What credits hold back: each step on its own; all bytes of the collective as one message, in rounds; or each "
    "step with the credits that earlier ones have not got back yet",
    source="step: design note, scenario B; total: its calc_cdma_collective_latency",
)


@quantity("step_span_latency", unit="ns", when={"credit_span": ("path", "note")})
def step_span_of_path(
    base_latency: float, flight_time: float, step_frame_switching: float, step_queueing: float
) -> float:
    """One-way latency that a chunk's credits span: the whole path."""
    return base_latency + flight_time + step_frame_switching + step_queueing


@quantity("step_span_latency", when={"credit_span": "link"})
def step_span_of_link(base_latency: float) -> float:
    """One-way latency that a chunk's credits span: one link."""
    return base_latency


@quantity(unit="ns")
def step_credit_return(credit_return_latency: float) -> float:
    """Latency of a credit on its way back to the sender of a chunk."""
    return credit_return_latency


@quantity("step_credit_return", when={"credit_return_latency": None})
def step_credit_return_as_forward(step_span_latency: float) -> float:
    """Latency of a credit on its way back to the sender of a chunk: as long as the way out."""
    return step_span_latency


@quantity("round_bytes", unit="B", when={"credit_model": "rounds"}, internal=True)
def bytes_of_round(credit_bytes: float) -> float:
    """Bytes after which a message waits for a round trip."""
    return credit_bytes


@quantity("round_bytes", when={"credit_model": "window"})
def no_rounds() -> float:
    """Bytes after which a message waits for a round trip: endless, a window has no rounds."""
    return math.inf


@quantity("window_credits", unit="1", when={"credit_model": "window"}, internal=True)
def window_credits_of_channel(usable_credits: float) -> float:
    """Credits that hold back a virtual channel as a sliding window."""
    return usable_credits


@quantity("window_credits", when={"credit_model": "rounds"})
def no_window_credits() -> float:
    """Credits that hold back a virtual channel as a sliding window: endless, rounds are not a window."""
    return math.inf


@quantity(unit="ns")
def step_credit_loop(
    frame_time: float, step_span_latency: float, drain_time: float, step_credit_return: float
) -> float:
    """Time from the start of a full frame of a chunk until its credits are back."""
    return frame_time + step_span_latency + drain_time + step_credit_return


@quantity("chunk_last_credits", unit="1", when={"framing": "exact"})
def chunk_last_credits_counted(
    chunk_size: float,
    chunk_frames: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    credit_size: float,
) -> float:
    """Credits that the last frame of a chunk takes."""
    return math.ceil(
        last_frame_size(chunk_size, chunk_frames, max_payload, frame_overhead, frame_minimum) / credit_size
    )


@quantity("chunk_last_credits", when={"framing": ("none", "full_frames", "note")})
def chunk_last_credits_in_proportion(
    chunk_size: float, chunk_frames: float, max_payload: float, frame_size: float, credit_size: float
) -> float:
    """Credits that the last frame of a chunk takes, in proportion to the bytes it carries."""
    return proportional_credits(chunk_size, chunk_frames, max_payload, frame_size, credit_size)


def starved_chip(
    chip_count: float, chunk_frames: float, chunk_last_credits: float, window_credits: float, frame_credits: float
) -> bool:
    """A frame of the largest message needs more credits than exist."""
    return chip_count > 1 and too_few_credits(chunk_frames, chunk_last_credits, window_credits, frame_credits)


def chunk_needs_too_many_credits(
    chunk_frames: float, chunk_last_credits: float, credit_limit: float, frame_credits: float
) -> bool:
    """A frame of the chunk needs more credits than exist."""
    return too_few_credits(chunk_frames, chunk_last_credits, credit_limit, frame_credits)


@quantity(unit="1")
def chunk_earlier_windows(chunk_frames: float, window_frames: float) -> float:
    """Whole windows of frames before a chunk's last frame but one."""
    return whole_windows(chunk_frames - 2, window_frames)


@quantity(unit="1", fails={"infeasible": chunk_needs_too_many_credits})
def chunk_lender(
    chunk_frames: float,
    chunk_last_credits: float,
    credit_limit: float,
    frame_credits: float,
    virtual_channels: float,
) -> float:
    """Index of the frame whose credits a chunk's last frame waits for; negative: none."""
    return lender_of_last(chunk_frames, chunk_last_credits, credit_limit, frame_credits, virtual_channels)


@quantity(unit="1")
def chunk_lender_windows(chunk_lender: float, window_frames: float) -> float:
    """Whole windows of frames before the lender of a chunk."""
    return whole_windows(chunk_lender, window_frames)


@quantity(unit="ns")
def stall_before_last_of_chunk(
    chunk_frames: float,
    chunk_earlier_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    step_credit_loop: float,
) -> float:
    """Time that a chunk's last frame but one waits for credits, as a sliding window."""
    return stall_before_last(
        chunk_frames, chunk_earlier_windows, window_frames, frame_time, drain_time, step_credit_loop
    )


@quantity("step_credit_stall", unit="ns", when={"credit_model": "window", "flow_control": "cbfc"})
def step_credit_stall_window(
    stall_before_last_of_chunk: float,
    chunk_frames: float,
    chunk_lender: float,
    chunk_lender_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    step_credit_loop: float,
) -> float:
    """Time that a chunk waits for credits, as a sliding window."""
    return stall_of_last(
        stall_before_last_of_chunk,
        chunk_frames,
        chunk_lender,
        chunk_lender_windows,
        window_frames,
        frame_time,
        drain_time,
        step_credit_loop,
    )


@quantity("step_credit_stall", when={"credit_model": "window", "flow_control": "pfc"})
def step_credit_stall_pfc() -> float:
    """Time that a chunk waits for credits: none, pause frames need no credits."""
    return 0.0


@quantity("step_credit_stall", when={"credit_model": "rounds"})
def step_credit_stall_rounds(chunk_size: float, credit_bytes: float, step_span_latency: float) -> float:
    """Time that a chunk waits for credits, in rounds."""
    return stall_in_rounds(chunk_size, credit_bytes, 2 * step_span_latency)


@quantity("chunk_last_slack", unit="ns")
def no_chunk_slack() -> float:
    """Time by which credits delay a chunk's last frame beyond the one before it: not looked at."""
    return 0.0


@quantity(
    "chunk_last_slack", when={"credit_scope": "step", "credit_model": "window", "flow_control": "cbfc"}, moot=alone
)
def chunk_slack_of_window(chip_count: float, step_credit_stall: float, stall_before_last_of_chunk: float) -> float:
    """Time by which credits delay a chunk's last frame beyond the one before it."""
    return 0.0 if chip_count <= 1 else step_credit_stall - stall_before_last_of_chunk


# Time of the collective spent waiting.


def no_formula(chip_count: float) -> bool:
    """There is no formula for credits of this scope with this algorithm and credit model."""
    return chip_count > 1


@quantity("credit_time", unit="ns", when={"credit_scope": "step"}, moot=alone)
def credit_time_of_steps(chip_count: float, wire_steps: float, step_credit_stall: float) -> float:
    """Time of the collective spent waiting for credits, step by step."""
    return 0.0 if chip_count <= 1 else wire_steps * step_credit_stall


@quantity("credit_time", when={"credit_scope": "total", "credit_model": "rounds"}, moot=alone)
def credit_time_of_total(chip_count: float, sent_bytes: float, credit_bytes: float, step_span_latency: float) -> float:
    """Time of the collective spent waiting for credits, its bytes taken as one message."""
    return 0.0 if chip_count <= 1 else stall_in_rounds(sent_bytes, credit_bytes, 2 * step_span_latency)


@quantity("credit_time", when={"credit_scope": ("total", "carried"), "credit_model": "window", "flow_control": "pfc"})
def credit_time_pfc() -> float:
    """Time of the collective spent waiting for credits: none, pause frames need none."""
    return 0.0


@quantity("credit_time", when={"credit_scope": ("total", "carried")}, fails={"infeasible": no_formula})
def no_credit_time() -> float:
    """Time of the collective spent waiting for credits: none for one chip, unknown for more."""
    return 0.0
