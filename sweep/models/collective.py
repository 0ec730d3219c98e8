"""Collectives of n = `chip_count` chips as steps of messages, all chips in step.

    T = alpha_count alpha + wire_steps tm(chunk) + credit_time - gaps_saved

- alpha, everything per message: link pipelines, flight, switches;
- tm, the time of a chunk and its frames on the wire;
- credit_time, the wait for credits (`step_credits`, `carried`);
- gaps_saved, see `transfer`; 0 but for ports faster than the link.

| algorithm | collective | alpha_count | wire_steps | chunk | port model |
|---|---|---|---|---|---|
| ring | all_reduce | 2(n-1) | 2(n-1) | D/n | a link to the next chip, and one from the last |
| ring | reduce_scatter, all_gather | n-1 | n-1 | D/n | the same |
| ring | all_to_all | n-1 | n-1 | D/n | every pair has a link, or `uneven` on a physical ring |
| pairwise | all_to_all | n-1 blocking, 1 streaming | n-1 | D/n | one port per chip, through switches |
| direct | all_reduce | 2 | 2(n-1) | D/n | one port per chip, which sends to all peers back to back |
| direct | reduce_scatter, all_gather, all_to_all | 1 | n-1 | D/n | the same |
| tree | all_reduce, broadcast | see `tree` | | | |
| halving_doubling | all_reduce | see `uneven` | | | |

A pair that is not here has no formula and is infeasible. n = 1 takes exactly 0 ns: nothing is sent, so nothing can
fail. D is the total for all_reduce, all_gather, reduce_scatter and broadcast, one chip's send buffer for all_to_all.

Times in ns, sizes in bytes. Source: design note, section "CDMA"; Thakur, Rabenseifner and Gropp, Optimization of
Collective Communication Operations in MPICH, 2005; bandwidths as in the public collective benchmarks (nccl-tests).
"""

from __future__ import annotations

import math

from sweep.models.packet import (
    counted_wire_size,
    first_frame_size,
    frame_count,
    last_frame_size,
    proportional_frame_size,
)
from sweep.models.transfer import no_switches, switching_of_message
from sweep.registry import Choices, parameter, quantity

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
    choices=("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"),
    default="all_reduce",
    doc="Collective operation",
    source="design note, CDMAOpType",
)
algorithm = parameter(
    choices=("ring", "pairwise", "tree", "halving_doubling", "direct"),
    default="ring",
    doc="Algorithm of the collective; a pair that does not exist is infeasible",
    source="design note, calc_cdma_collective_latency; Thakur, Rabenseifner and Gropp 2005",
)
ring_exchange = parameter(
    choices=("pairwise", "forwarded"),
    default="forwarded",
    doc="all_to_all by algorithm ring: as if every pair had a link of its own, or passed on along a physical ring",
    source="pairwise: design note, calc_cdma_collective_latency",
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

ONCE = ("reduce_scatter", "all_gather")
ROUND: Choices = {"collective": ("all_reduce", *ONCE), "algorithm": "ring"}
AS_PAIRS: Choices = {"collective": "all_to_all", "algorithm": "ring", "ring_exchange": "pairwise"}
FORWARDED: Choices = {"collective": "all_to_all", "algorithm": "ring", "ring_exchange": "forwarded"}
PAIRWISE: Choices = {"collective": "all_to_all", "algorithm": "pairwise"}
STREAMING: Choices = PAIRWISE | {"cdma_issue": "streaming"}
DIRECT_ALL_REDUCE: Choices = {"collective": "all_reduce", "algorithm": "direct"}
DIRECT_ONCE: Choices = {"collective": (*ONCE, "all_to_all"), "algorithm": "direct"}


def alone(chip_count: float) -> bool:
    """A group of one chip sends nothing."""
    return chip_count <= 1


# Steps and chunks.


@quantity("steps", unit="1", when={"collective": "all_reduce", "algorithm": "ring"})
def steps_all_reduce(chip_count: float) -> float:
    """Messages that a chip sends one after the other: a reduce-scatter, then an all-gather."""
    return 2 * (chip_count - 1)


@quantity("steps", when={"collective": ONCE, "algorithm": "ring"})
def steps_ring(chip_count: float) -> float:
    """Messages that a chip sends one after the other: once around the ring."""
    return chip_count - 1


@quantity("steps", when=({"collective": "all_to_all", "algorithm": ("pairwise", "ring")}, DIRECT_ONCE))
def steps_to_all(chip_count: float) -> float:
    """Messages that a chip sends one after the other: one to each peer, or one each time that others are passed on."""
    return chip_count - 1


@quantity("steps", when=DIRECT_ALL_REDUCE)
def steps_direct_all_reduce(chip_count: float) -> float:
    """Messages that a chip sends one after the other: its share of each chunk to the peer that adds it up, then the
    chunk that it has added up to each peer."""
    return 2 * (chip_count - 1)


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


@quantity("wire_steps", unit="1", when=(ROUND, AS_PAIRS, PAIRWISE, DIRECT_ALL_REDUCE, DIRECT_ONCE))
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


COUNTED: Choices = {"framing": "exact"}
IN_PROPORTION: Choices = {"framing": ("none", "full_frames", "note")}


@quantity("chunk_first_frame", unit="B", when=COUNTED)
def chunk_first_frame_counted(
    chunk_size: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Size of a chunk's first frame with padding; 0 without a chunk."""
    return first_frame_size(chunk_size, max_payload, frame_overhead, frame_minimum)


@quantity("chunk_first_frame", when=IN_PROPORTION)
def chunk_first_frame_in_proportion(chunk_size: float, max_payload: float, frame_size: float) -> float:
    """Size of a chunk's first frame, in proportion to what it carries."""
    return proportional_frame_size(min(chunk_size, max_payload), max_payload, frame_size)


@quantity("chunk_last_frame", unit="B", when=COUNTED)
def chunk_last_frame_counted(
    chunk_size: float, chunk_frames: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Size of a chunk's last frame with padding; 0 without a chunk."""
    last = last_frame_size(chunk_size, chunk_frames, max_payload, frame_overhead, frame_minimum)
    return last if chunk_frames > 0 else 0.0


@quantity("chunk_last_frame", when=IN_PROPORTION)
def chunk_last_frame_in_proportion(
    chunk_size: float, chunk_frames: float, max_payload: float, frame_size: float
) -> float:
    """Size of a chunk's last frame, in proportion to what it carries."""
    carried = chunk_size - max(chunk_frames - 1, 0.0) * max_payload
    return proportional_frame_size(carried, max_payload, frame_size)


@quantity("chunk_gap", unit="B", when=COUNTED)
def gap_of_chunk_frames(frame_gap: float) -> float:
    """Gap after each frame of a chunk."""
    return frame_gap


@quantity("chunk_gap", when=IN_PROPORTION)
def chunk_gap_in_proportion() -> float:
    """Gap after each frame of a chunk: counted in proportion to its bytes instead."""
    return 0.0


@quantity("step_awaited_bytes", unit="B", when={"hop_delay": "full"}, internal=True)
def step_awaited_full(awaited_bytes: float) -> float:
    """Bytes of a frame that a switch waits for in a step before it sends the frame on."""
    return awaited_bytes


@quantity("step_awaited_bytes", when={"hop_delay": ("fixed", "note")})
def step_awaited_ignored() -> float:
    """Bytes of a frame that a switch waits for in a step before it sends the frame on: not counted."""
    return 0.0


@quantity("step_switching", unit="ns", when={"hop_delay": "full"})
def step_switching_full(
    chunk_first_frame: float,
    chunk_last_frame: float,
    chunk_gap: float,
    chunk_last_slack: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    port_lead: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that the idle switches of the path add to a chunk."""
    return switching_of_message(
        chunk_first_frame,
        chunk_last_frame,
        chunk_gap,
        chunk_last_slack,
        awaited_bytes,
        wire_rate,
        port_rate,
        port_lead,
        switch_hops,
        switch_fixed,
    )


@quantity("step_switching", when={"hop_delay": ("fixed", "note")})
def step_switching_of_any_chunk(step_frame_switching: float) -> float:
    """Fixed latencies of the switches of the path."""
    return step_frame_switching


@quantity("step_frame_switching", unit="ns", when={"hop_delay": "full"})
def step_frame_switching_full(frame_switching: float) -> float:
    """Time that the idle switches of the path add to a full frame of a chunk, were it alone."""
    return frame_switching


@quantity("step_frame_switching", when={"hop_delay": ("fixed", "note")})
def step_frame_switching_fixed(switch_hops: float, switch_fixed: float) -> float:
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


@quantity("alpha_count", when=(STREAMING, DIRECT_ONCE))
def alpha_once(steps: float) -> float:
    """How often alpha is paid: once, the chunks follow each other without waiting."""
    return min(steps, 1.0)


@quantity("alpha_count", when=DIRECT_ALL_REDUCE)
def alpha_twice(steps: float) -> float:
    """How often alpha is paid: twice, chunks that are added up are sent on when all shares of them have come."""
    return min(steps, 2.0)


@quantity(unit="ns")
def gaps_saved(alpha_count: float, chunk_frames: float, chunk_gap: float, port_lead: float) -> float:
    """Time by which the gaps after the last frames pass ports that are faster than the link sooner."""
    return alpha_count * chunk_gap * port_lead if chunk_frames > 0 else 0.0


# Time and bandwidth.


@quantity("collective_latency", unit="ns", moot=alone)
def latency_of_even_steps(
    chip_count: float,
    alpha_count: float,
    alpha: float,
    wire_steps: float,
    chunk_time: float,
    credit_time: float,
    gaps_saved: float,
) -> float:
    """Time of the collective, from its start on all chips to the end on all."""
    return 0.0 if chip_count <= 1 else alpha_count * alpha + wire_steps * chunk_time + credit_time - gaps_saved


def no_time(collective_latency: float) -> bool:
    """The collective takes no time, so it has no bandwidth."""
    return collective_latency == 0


@quantity(unit="GB/s", fails={"undefined": no_time}, unstable=0.0)
def algorithm_bandwidth(message_size: float, collective_latency: float) -> float:
    """Bytes of the collective over its time; see message_size for which bytes these are."""
    return message_size / collective_latency


@quantity("bus_factor", unit="1", when={"collective": "all_reduce"})
def bus_factor_all_reduce(chip_count: float) -> float:
    """Bytes that a chip must send, and get, over the bytes of the collective, if it has one port."""
    return 2 * (chip_count - 1) / chip_count


@quantity("bus_factor", when={"collective": (*ONCE, "all_to_all")})
def bus_factor_others(chip_count: float) -> float:
    """Bytes that a chip must send, and get, over the bytes of the collective, if it has one port."""
    return (chip_count - 1) / chip_count


@quantity("bus_factor", when={"collective": "broadcast"})
def bus_factor_broadcast() -> float:
    """Bytes that a chip must get, over the bytes of the collective: all of them."""
    return 1.0


@quantity(unit="GB/s", unstable=0.0)
def bus_bandwidth(algorithm_bandwidth: float, bus_factor: float) -> float:
    """Bandwidth of each chip's port that the collective's time amounts to, by the convention of the public benchmarks.

    Comparable with link_bandwidth, and not above it but for pipelined trees, where chips have several links.
    """
    return algorithm_bandwidth * bus_factor
