"""All-reduce over trees of n chips: reduce to a root, then broadcast from it.

| schedule | time | who sends what |
|---|---|---|
| note | 2 ceil(log2 n) alpha + 2 D beta | the design note's formula: latency of all levels, bytes of one |
| binomial | 2 ceil(log2 n) (alpha + tm(D)) | one port and one blocking send of the whole message at a time |
| single_binary | 2 floor(log2 n) alpha + 3 tm(D) | a pipelined binary tree, one port: an inner chip passes on to two |
| double_binary | 2 floor(log2 n) alpha + 2 tm(D) | two binary trees with half of the bytes each |

The last two are estimates, up to 29 % low: they leave out that the pipeline fills. With fewer than four chips no chip
of a binary tree has two children below a parent, and single_binary pays 2 tm(D). Times in ns.

Source: design note, calc_cdma_collective_latency; Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth
broadcast, reduction and scan, Parallel Computing 35, 2009.
"""

from __future__ import annotations

import math

from sweep.registry import parameter, quantity

tree_schedule = parameter(
    choices=("note", "binomial", "single_binary", "double_binary"),
    default="double_binary",
    doc="Tree of an all_reduce by algorithm tree",
    source="note: design note, calc_cdma_collective_latency",
)

TREE = {"collective": "all_reduce", "algorithm": "tree"}
BINARY = ("single_binary", "double_binary")


def floor_log2(count: float) -> float:
    """Largest k with 2^k <= count, exact."""
    return math.frexp(count)[1] - 1.0


def ceil_log2(count: float) -> float:
    """Smallest k with 2^k >= count, exact."""
    fraction, exponent = math.frexp(count)
    return exponent - 1.0 if fraction == 0.5 else exponent * 1.0


@quantity("steps", when=TREE | {"tree_schedule": ("note", "binomial")})
def steps_up_and_down(chip_count: float) -> float:
    """Messages one after the other: up and down the levels of a binomial tree."""
    return 2 * ceil_log2(chip_count)


@quantity("steps", when=TREE | {"tree_schedule": BINARY})
def steps_of_binary_tree(chip_count: float) -> float:
    """Messages one after the other: up and down the levels of a binary tree."""
    return 2 * floor_log2(chip_count)


@quantity("chunk_size", when=TREE | {"chunking": ("fractional", "whole_bytes")})
def whole_message(message_size: float) -> float:
    """Bytes that a chip sends in one step: all of them."""
    return message_size


@quantity("wire_steps", when=TREE | {"tree_schedule": ("note", "double_binary")})
def wire_up_and_down(chip_count: float) -> float:
    """How often the time of the message on the wire is paid: up and down."""
    return 0.0 if chip_count <= 1 else 2.0


@quantity("wire_steps", when=TREE | {"tree_schedule": "single_binary"})
def wire_of_single_tree(chip_count: float) -> float:
    """How often the time of the message on the wire is paid: up, and down to two."""
    busiest = 3.0 if chip_count >= 4 else 2.0
    return 0.0 if chip_count <= 1 else busiest
