"""Collectives of n = `chip_count` chips as steps of messages, all chips in step.

In each of `steps` steps every chip sends one chunk of D/n bytes to one peer and waits for the one it gets:

    T = steps (alpha + tm(chunk) + stall)

Where alpha and tm(chunk) are not paid equally often, `alpha_count` and `wire_steps` count them (see also `tree`).

- alpha, everything per message: link pipelines, flight, switches;
- tm, the time of the chunk and its frames on the wire;
- stall, the wait for credits.

n = 1 takes exactly 0 ns: nothing is sent, so nothing can fail. D is the total for all_reduce, all_gather and
reduce_scatter, one chip's send buffer for all_to_all.

Times in ns, sizes in bytes. Source: design note, section "CDMA"; Thakur, Rabenseifner and Gropp, Optimization of
Collective Communication Operations in MPICH, 2005; bandwidths as in the public collective benchmarks (nccl-tests).
"""

from __future__ import annotations

import math

from sweep.models.link import (
    lender_of_last,
    proportional_credits,
    stall_in_rounds,
    stall_of_window,
    too_few_credits,
    whole_windows,
)
from sweep.models.packet import counted_wire_size, frame_count, last_frame_size
from sweep.models.switch import CUT_THROUGH_BYTES, first_frame_size
from sweep.models.transfer import no_switches, switching_of_path
from sweep.registry import parameter, quantity

chip_count = parameter(
    unit="1",
    default=8,
    integer=True,
    minimum=1,
    maximum=2**24,
    doc="Chips of the group",
    source="",
)
collective = parameter(
    choices=("all_reduce", "reduce_scatter", "all_gather", "all_to_all"),
    default="all_reduce",
    doc="Collective operation",
    source="design note, CDMAOpType",
)
algorithm = parameter(
    choices=("ring", "pairwise", "tree"),
    default="ring",
    doc="Algorithm of the collective; a pair that does not exist is infeasible",
    source="design note, calc_cdma_collective_latency",
)
cdma_issue = parameter(
    choices=("blocking", "streaming"),
    default="blocking",
    doc="all_to_all pairwise: a chip waits for each exchange, or sends to one peer after the other without waiting",
    source="",
)
chunking = parameter(
    choices=("fractional", "whole_bytes"),
    default="whole_bytes",
    doc="Size of a chunk: D/n as it comes, or rounded up to whole bytes",
    source="fractional: design note, calc_cdma_collective_latency",
)
credit_scope = parameter(
    choices=("step", "total"),
    default="step",
    doc="What credits hold back: each step on its own, or all bytes of the collective as one message",
    source="step: design note, scenario B; total: its calc_cdma_collective_latency",
)


def alone(chip_count: float) -> bool:
    """A group of one chip sends nothing."""
    return chip_count <= 1


# Steps and chunks.


@quantity("steps", unit="1", when={"collective": "all_reduce", "algorithm": "ring"})
def steps_all_reduce(chip_count: float) -> float:
    """Messages that a chip sends one after the other: a reduce-scatter, then an all-gather."""
    return 2 * (chip_count - 1)


@quantity("steps", when={"collective": ("reduce_scatter", "all_gather"), "algorithm": "ring"})
def steps_ring(chip_count: float) -> float:
    """Messages that a chip sends one after the other: once around the ring."""
    return chip_count - 1


@quantity("steps", when={"collective": "all_to_all", "algorithm": "pairwise"})
def steps_pairwise(chip_count: float) -> float:
    """Messages that a chip sends one after the other: one to each peer."""
    return chip_count - 1


@quantity("chunk_size", unit="B", when={"chunking": "whole_bytes"})
def chunk_of_whole_bytes(message_size: float, chip_count: float) -> float:
    """Bytes that a chip sends in one step."""
    return math.ceil(message_size / chip_count)


@quantity("chunk_size", when={"chunking": "fractional"})
def chunk_of_any_size(message_size: float, chip_count: float) -> float:
    """Bytes that a chip sends in one step, whole or not."""
    return message_size / chip_count


@quantity(unit="1")
def chunk_frames(chunk_size: float, max_payload: float) -> float:
    """Frames of one chunk."""
    return frame_count(chunk_size, max_payload)


@quantity("wire_steps", unit="1")
def chunk_in_every_step(steps: float) -> float:
    """How often the time of a chunk on the wire is paid: in every step."""
    return steps


# Time of a chunk on the wire.


@quantity(unit="ns/B")
def beta(frame_pitch: float, max_payload: float, path_rate: float) -> float:
    """Time per byte of payload, as if every frame were full."""
    return frame_pitch / max_payload / path_rate


@quantity(unit="B")
def chunk_wire_size(
    chunk_size: float,
    chunk_frames: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_size: float,
    frame_gap: float,
) -> float:
    """Bytes of line time that one chunk takes, counted frame by frame."""
    return counted_wire_size(
        chunk_size, chunk_frames, max_payload, frame_overhead, frame_minimum, frame_size, frame_gap
    )


@quantity("chunk_time", unit="ns", when={"framing": "exact"})
def chunk_time_counted(chunk_wire_size: float, path_rate: float) -> float:
    """Time of one chunk on the wire, counted frame by frame."""
    return chunk_wire_size / path_rate


@quantity("chunk_time", when={"framing": ("none", "full_frames", "note")})
def chunk_time_in_proportion(chunk_size: float, beta: float) -> float:
    """Time of one chunk on the wire, in proportion to its bytes."""
    return chunk_size * beta


# alpha: everything per message besides its bytes.


@quantity("chunk_awaited_bytes", unit="B", when={"forwarding": "cut_through"})
def chunk_awaited_cut_through(
    chunk_size: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Bytes of a chunk's first frame that a switch waits for before it sends the frame on."""
    return min(CUT_THROUGH_BYTES, first_frame_size(chunk_size, max_payload, frame_overhead, frame_minimum))


@quantity("chunk_awaited_bytes", when={"forwarding": "store_and_forward"})
def chunk_awaited_store_and_forward(
    chunk_size: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Bytes of a chunk's first frame that a switch waits for before it sends the frame on."""
    return first_frame_size(chunk_size, max_payload, frame_overhead, frame_minimum)


@quantity(unit="ns")
def chunk_first_hop_wait(chunk_awaited_bytes: float, wire_rate: float) -> float:
    """Wait of the first switch in a step, which receives at the rate of the link."""
    return chunk_awaited_bytes / wire_rate


@quantity(unit="ns")
def chunk_later_hop_wait(chunk_awaited_bytes: float, port_bandwidth: float) -> float:
    """Wait of each further switch in a step, which receives at the rate of a port."""
    return chunk_awaited_bytes / port_bandwidth


@quantity("step_switching", unit="ns", when={"hop_delay": "full"})
def step_switching_full(
    switch_hops: float, switch_fixed: float, chunk_first_hop_wait: float, chunk_later_hop_wait: float
) -> float:
    """Time of a chunk's first frame in the idle switches of the path."""
    return switching_of_path(switch_hops, switch_fixed, chunk_first_hop_wait, chunk_later_hop_wait)


@quantity("step_switching", when={"hop_delay": ("fixed", "note")})
def step_switching_fixed(switch_hops: float, switch_fixed: float) -> float:
    """Fixed latencies of the switches of the path."""
    return switch_hops * switch_fixed


@quantity("step_queueing_delay", unit="ns", when={"hop_delay": "full"})
def step_queueing_full(queueing: float) -> float:
    """Mean wait per hop and step."""
    return queueing


@quantity("step_queueing_delay", when={"hop_delay": ("fixed", "note")})
def step_queueing_ignored() -> float:
    """Mean wait per hop and step: not counted."""
    return 0.0


@quantity(unit="ns", moot=no_switches)
def step_queueing(switch_hops: float, step_queueing_delay: float) -> float:
    """Mean wait of one step at switches."""
    return switch_hops * step_queueing_delay if switch_hops > 0 else 0.0


@quantity(unit="ns")
def alpha(base_latency: float, flight_time: float, step_switching: float, step_queueing: float) -> float:
    """Time of one step besides its bytes and its waiting for credits."""
    return base_latency + flight_time + step_switching + step_queueing


@quantity("alpha_count", unit="1")
def alpha_in_every_step(steps: float) -> float:
    """How often alpha is paid: in every step."""
    return steps


@quantity("alpha_count", when={"collective": "all_to_all", "algorithm": "pairwise", "cdma_issue": "streaming"})
def alpha_once(steps: float) -> float:
    """How often alpha is paid: once, the chunks follow each other without waiting."""
    return min(steps, 1.0)


# Waiting for credits.


@quantity("step_span_latency", unit="ns", when={"credit_span": ("path", "note")})
def step_span_of_path(alpha: float) -> float:
    """One-way latency that a chunk's credits span: the whole path."""
    return alpha


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


@quantity("step_credit_stall", unit="ns", when={"credit_model": "window", "flow_control": "cbfc"})
def step_credit_stall_window(
    chunk_frames: float,
    chunk_earlier_windows: float,
    chunk_lender: float,
    chunk_lender_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    step_credit_loop: float,
) -> float:
    """Time that a chunk waits for credits, as a sliding window."""
    return stall_of_window(
        chunk_frames,
        chunk_earlier_windows,
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


@quantity("credit_time", unit="ns", when={"credit_scope": "step"}, moot=alone)
def credit_time_of_steps(chip_count: float, wire_steps: float, step_credit_stall: float) -> float:
    """Time of the collective spent waiting for credits, step by step."""
    return 0.0 if chip_count <= 1 else wire_steps * step_credit_stall


@quantity("credit_time", when={"credit_scope": "total", "credit_model": "rounds"}, moot=alone)
def credit_time_of_total(
    chip_count: float, wire_steps: float, chunk_size: float, credit_bytes: float, step_span_latency: float
) -> float:
    """Time of the collective spent waiting for credits, its bytes taken as one message."""
    return 0.0 if chip_count <= 1 else stall_in_rounds(wire_steps * chunk_size, credit_bytes, 2 * step_span_latency)


# Time and bandwidth.


@quantity(unit="ns", moot=alone)
def collective_latency(
    chip_count: float, alpha_count: float, alpha: float, wire_steps: float, chunk_time: float, credit_time: float
) -> float:
    """Time of the collective, from its start on all chips to the end on all."""
    return 0.0 if chip_count <= 1 else alpha_count * alpha + wire_steps * chunk_time + credit_time


def no_time(collective_latency: float) -> bool:
    """The collective takes no time, so it has no bandwidth."""
    return collective_latency == 0


@quantity(unit="GB/s", fails={"undefined": no_time}, unstable=0.0)
def algorithm_bandwidth(message_size: float, collective_latency: float) -> float:
    """Bytes of the collective over its time; see message_size for which bytes these are."""
    return message_size / collective_latency


@quantity("bus_factor", unit="1", when={"collective": "all_reduce"})
def bus_factor_all_reduce(chip_count: float) -> float:
    """Bytes that the busiest link must carry, over the bytes of the collective."""
    return 2 * (chip_count - 1) / chip_count


@quantity("bus_factor", when={"collective": ("reduce_scatter", "all_gather", "all_to_all")})
def bus_factor_others(chip_count: float) -> float:
    """Bytes that the busiest link must carry, over the bytes of the collective."""
    return (chip_count - 1) / chip_count


@quantity(unit="GB/s", unstable=0.0)
def bus_bandwidth(algorithm_bandwidth: float, bus_factor: float) -> float:
    """Bandwidth of the busiest link that the collective's time amounts to; comparable with link_bandwidth."""
    return algorithm_bandwidth * bus_factor
