"""All-reduce and broadcast over trees of n chips; an all-reduce is a reduction to a root and a broadcast from it.

| schedule | all_reduce | who sends what |
|---|---|---|
| note | 2 ceil(log2 n) alpha + 2 D beta | the design note's formula: latency of all levels, bytes of one |
| binomial | 2 ceil(log2 n) (alpha + tm(D)) | one port, one blocking send of all bytes at a time |
| binomial_own_links | 2 floor(log2 n) (alpha + tm(D)) | the same with a link to each neighbour, which send at once |
| pipelined | 2 d alpha + (2d + m - 1) tm(D/m) | m = `tree_pieces`, binary tree of depth d, a link to each neighbour |
| single_binary | 2 d alpha + 3 tm(D) | a pipelined binary tree, one port: an inner chip passes on to two |
| double_binary | 2 d alpha + 2 tm(D) | two binary trees with half of the bytes each, one port |

d = floor(log2 n), the depth of a complete binary tree. A broadcast takes half of the alphas, and for tm(D) a factor of
ceil(log2 n), floor(log2 n), (d + m - 1)/m, 2 and 1; the design note has none. With fewer than four chips no chip of a
binary tree has two children below a parent, and single_binary pays one tm(D) less (for a broadcast with fewer than
three). A message of fewer bytes than pieces has a piece per byte. Times in ns.

The last two schedules are estimates: they leave out that the pipeline fills, what its pieces cost, and that two chips
can send up and down at once. With the best pieces they are up to 29 % low while a frame is short against alpha, up to
half beyond that. Simulated with 16 pieces through one switch they are 22 % low to 17 % high for 8 and 16 chips, up to
100 % high for two, and 50 % low for three (`grids/validate_collectives.yaml`).

Source: design note, calc_cdma_collective_latency; Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth
broadcast, reduction and scan, Parallel Computing 35, 2009.
"""

from __future__ import annotations

import math

from sweep.models.transfer import switching_of_frame
from sweep.registry import Choices, parameter, quantity

tree_schedule = parameter(
    choices=(
        "note",
        "binomial",
        "binomial_own_links",
        "pipelined",
        "single_binary",
        "double_binary",
    ),
    default="double_binary",
    doc="Tree of an all_reduce or broadcast by algorithm tree",
    source="note: design note, calc_cdma_collective_latency; others: Sanders, Speck and Traeff 2009",
)
tree_pieces = parameter(
    unit="1",
    default=16,
    integer=True,
    minimum=1,
    doc="Pieces in which a message moves through a pipelined tree",
    source="",
)

REDUCE: Choices = {"collective": "all_reduce", "algorithm": "tree"}
BROADCAST: Choices = {"collective": "broadcast", "algorithm": "tree"}
TREE: Choices = {"collective": ("all_reduce", "broadcast"), "algorithm": "tree"}
BINARY = ("pipelined", "single_binary", "double_binary")
FEW_WIRES = ("note", "single_binary", "double_binary")
"""Schedules that pay the wire less often than alpha."""


def floor_log2(count: float) -> float:
    """Largest k with 2^k <= count, exact."""
    return math.frexp(count)[1] - 1.0


def ceil_log2(count: float) -> float:
    """Smallest k with 2^k >= count, exact."""
    fraction, exponent = math.frexp(count)
    return exponent - 1.0 if fraction == 0.5 else exponent * 1.0


def is_power_of_two(count: float) -> bool:
    """Whether log2 of a count is whole."""
    return math.frexp(count)[0] == 0.5


@quantity("steps", when=REDUCE | {"tree_schedule": ("note", "binomial")})
def steps_up_and_down(chip_count: float) -> float:
    """Messages one after the other: up and down the levels of a binomial tree."""
    return 2 * ceil_log2(chip_count)


@quantity("steps", when=REDUCE | {"tree_schedule": ("binomial_own_links", *BINARY)})
def steps_of_deep_tree(chip_count: float) -> float:
    """Messages one after the other: up and down the depth of the tree."""
    return 2 * floor_log2(chip_count)


@quantity("steps", when=BROADCAST | {"tree_schedule": "binomial"})
def steps_down(chip_count: float) -> float:
    """Messages one after the other: down the levels of a binomial tree."""
    return ceil_log2(chip_count)


@quantity("steps", when=BROADCAST | {"tree_schedule": ("binomial_own_links", *BINARY)})
def steps_down_deep_tree(chip_count: float) -> float:
    """Messages one after the other: down the depth of the tree."""
    return floor_log2(chip_count)


@quantity("chunk_size", when=TREE | {"chunking": ("fractional", "whole_bytes")})
def whole_message(message_size: float) -> float:
    """Bytes that a chip sends in one step: all of them."""
    return message_size


@quantity(unit="1")
def pieces(message_size: float, tree_pieces: float) -> float:
    """Pieces in which the message moves through a pipelined tree: none is empty."""
    return max(min(tree_pieces, math.ceil(message_size)), 1.0)


@quantity("chunk_size", when=TREE | {"tree_schedule": "pipelined", "chunking": "whole_bytes"})
def piece_of_whole_bytes(message_size: float, pieces: float) -> float:
    """Bytes that a chip sends in one step: a piece."""
    return math.ceil(message_size / pieces)


@quantity("chunk_size", when=TREE | {"tree_schedule": "pipelined", "chunking": "fractional"})
def piece_of_any_size(message_size: float, pieces: float) -> float:
    """Bytes that a chip sends in one step: a piece, whole or not."""
    return message_size / pieces


@quantity("step_switching", when=TREE | {"tree_schedule": FEW_WIRES, "hop_delay": "full"})
def switching_of_level(
    chunk_first_frame: float,
    awaited_bytes: float,
    wire_rate: float,
    port_rate: float,
    switch_hops: float,
    switch_fixed: float,
) -> float:
    """Time that the idle switches of the path delay a level: what faster ports catch up is counted with the wire."""
    return switching_of_frame(chunk_first_frame, awaited_bytes, wire_rate, port_rate, 0.0, switch_hops, switch_fixed)


@quantity("gaps_saved", when=TREE | {"tree_schedule": FEW_WIRES})
def no_gaps_saved() -> float:
    """Time by which the gaps after the last frames pass faster ports sooner: not looked at."""
    return 0.0


@quantity("wire_steps", when=TREE | {"tree_schedule": ("binomial", "binomial_own_links")})
def wire_in_every_step(steps: float) -> float:
    """How often the time of the message on the wire is paid: in every step."""
    return steps


@quantity("wire_steps", when=TREE | {"tree_schedule": "pipelined"})
def wire_of_pipeline(steps: float, pieces: float) -> float:
    """How often the time of a piece on the wire is paid: by the first in every step, by each of the others once."""
    return steps + pieces - 1 if steps > 0 else 0.0


@quantity("wire_steps", when=REDUCE | {"tree_schedule": ("note", "double_binary")})
def wire_up_and_down(chip_count: float) -> float:
    """How often the time of the message on the wire is paid: up and down."""
    return 0.0 if chip_count <= 1 else 2.0


@quantity("wire_steps", when=REDUCE | {"tree_schedule": "single_binary"})
def wire_of_single_tree(chip_count: float) -> float:
    """How often the time of the message on the wire is paid: up, and down to two."""
    busiest = 3.0 if chip_count >= 4 else 2.0
    return 0.0 if chip_count <= 1 else busiest


@quantity("wire_steps", when=BROADCAST | {"tree_schedule": "double_binary"})
def wire_down(chip_count: float) -> float:
    """How often the time of the message on the wire is paid: once, half of it down each tree."""
    return 0.0 if chip_count <= 1 else 1.0


@quantity("wire_steps", when=BROADCAST | {"tree_schedule": "single_binary"})
def wire_down_single_tree(chip_count: float) -> float:
    """How often the time of the message on the wire is paid: down to two."""
    busiest = 2.0 if chip_count >= 3 else 1.0
    return 0.0 if chip_count <= 1 else busiest
