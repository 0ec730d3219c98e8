"""Collectives as message graphs: which chip sends how much to which, and which messages it must have first.

A graph is four arrays. `messages` has a row for each message: who sends it, and who receives it; where both are the
same, nothing is sent, and what waits for the message goes on at once. `sizes` has its bytes, `edges` has a row for each
pair of a message and one that may start when it has arrived. `made` counts messages and edges so far. Of several
messages that may start, a chip sends the one of the lowest number first.

| collective, algorithm | a chip sends | after it has |
|---|---|---|
| ring | a chunk to the next chip, in each step | the chunk of the step before |
| all_to_all ring, forwarded | all that goes farther to the next chip, as one message | that of the step before |
| pairwise, blocking | a chunk to the chip at distance k, in step k | sent and received that of step k - 1 |
| pairwise, streaming; direct | a chunk to each other chip, the next one first | nothing to wait for |
| direct all_reduce | that, and then its own chunk, added up, to each other chip | all shares of it |
| halving_doubling | half, a quarter, ... to partners at distance 1, 2, ..., and back | as its partner, that before |
| tree, binomial | all bytes to its parent | those of its children, with `blocking` one after the other |
| tree, binary | pieces to its parent, and on to its children | this piece of its children, of its parent |

With `chips` 1 there is one chip that stands for n that all do the same at the same time: what it sends to a chip at
some distance counts as what it receives from that distance.

The trees of double_binary are trees in order, of which each has as leaves what is inside the other. Sources: as in
`collective`, `uneven` and `tree`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sweep.models.tree import ceil_log2, floor_log2

Numbers = NDArray[np.int64]
Sizes = NDArray[np.float64]


def add_message(messages: Numbers, sizes: Sizes, made: Numbers, sender: int, receiver: int, size: float) -> int:
    """Add a message, and return its number."""
    number = made[0]
    messages[number, 0] = sender
    messages[number, 1] = receiver
    sizes[number] = size
    made[0] += 1
    return int(number)


def add_edge(edges: Numbers, made: Numbers, earlier: int, later: int) -> None:
    """Say that a message may start only when an earlier one has arrived."""
    edges[made[1], 0] = earlier
    edges[made[1], 1] = later
    made[1] += 1


def around_the_ring(
    messages: Numbers,
    sizes: Sizes,
    edges: Numbers,
    made: Numbers,
    chips: int,
    n: int,
    steps: int,
    size: float,
    passed_on: bool,
) -> None:
    """In each step a message of `size` bytes to the next chip; `passed_on`: of as many times that as steps are left."""
    for step in range(steps):
        for chip in range(chips):
            number = add_message(
                messages, sizes, made, chip, (chip + 1) % n, (steps - step) * size if passed_on else size
            )
            if step > 0:
                add_edge(edges, made, (step - 1) * chips + (chip - 1) % chips, number)


def to_all_others(
    messages: Numbers, sizes: Sizes, edges: Numbers, made: Numbers, chips: int, n: int, size: float, blocking: bool
) -> None:
    """In step k a message to the chip at distance k; blocking: when those of the step before have gone and come."""
    first = int(made[0])
    for step in range(n - 1):
        for chip in range(chips):
            number = add_message(messages, sizes, made, chip, (chip + step + 1) % n, size)
            if blocking and step > 0:
                add_edge(edges, made, first + (step - 1) * chips + chip, number)
                add_edge(edges, made, first + (step - 1) * chips + (chip - step) % chips, number)


def shares_and_sums(
    messages: Numbers, sizes: Sizes, edges: Numbers, made: Numbers, chips: int, n: int, size: float
) -> None:
    """All shares of a chunk go to the chip that adds them up, which then sends the sum to all others."""
    to_all_others(messages, sizes, edges, made, chips, n, size, False)
    sums = int(made[0])
    for chip in range(chips):
        add_message(messages, sizes, made, chip, chip, 0.0)
        for step in range(n - 1):
            add_edge(edges, made, step * chips + (chip - step - 1) % chips, sums + chip)
    second = int(made[0])
    to_all_others(messages, sizes, edges, made, chips, n, size, False)
    for step in range(n - 1):
        for chip in range(chips):
            add_edge(edges, made, sums + chip, second + step * chips + chip)


def halves_and_doubles(
    messages: Numbers, sizes: Sizes, edges: Numbers, made: Numbers, chips: int, n: int, size: float, whole: bool
) -> None:
    """Halves of what is left to partners at twice the distance each time, and the same back; whole bytes or not.

    Two partners exchange when both are ready. Chips beyond the largest power of two hand all bytes to a partner first,
    and get them back at the end.
    """
    rounds = int(floor_log2(float(n)))
    power = 1 << rounds
    partners = min(chips, power)
    has = np.full(partners, -1)  # the last message that a chip has to have
    for chip in range(n - power):
        has[chip] = add_message(messages, sizes, made, power + chip, chip, size)
    for step in range(2 * rounds):
        halving = step if step < rounds else 2 * rounds - 1 - step
        part = size / (2 << halving)
        first = int(made[0])
        for chip in range(partners):
            partner = chip ^ (1 << halving)
            number = add_message(messages, sizes, made, chip, partner, np.ceil(part) if whole else part)
            if has[chip] >= 0:
                add_edge(edges, made, has[chip], number)
            if partners > 1 and has[partner] >= 0:
                add_edge(edges, made, has[partner], number)
        for chip in range(partners):
            has[chip] = first + (chip if partners == 1 else chip ^ (1 << halving))
    for chip in range(n - power):
        number = add_message(messages, sizes, made, chip, power + chip, size)
        add_edge(edges, made, has[chip], number)


def binomial_tree(
    messages: Numbers,
    sizes: Sizes,
    edges: Numbers,
    made: Numbers,
    n: int,
    size: float,
    reduces: bool,
    blocking: bool,
) -> None:
    """All bytes up to chip 0, if it `reduces`, and from there down; children of c are c + 1, c + 2, c + 4, ....

    Blocking: a chip receives from one child after the other, and sends to one after the other.
    """
    levels = int(ceil_log2(float(n)))
    sent = np.full(n, -1)
    has = np.full(n, -1)  # the message after which a chip may go on
    if reduces:
        for level in range(levels):
            for child in range(1 << level, n, 2 << level):
                parent = child - (1 << level)
                sent[child] = add_message(messages, sizes, made, child, parent, size)
                for below in range(level):
                    if child + (1 << below) < n:
                        add_edge(edges, made, sent[child + (1 << below)], sent[child])
                if blocking and has[parent] >= 0:
                    add_edge(edges, made, has[parent], sent[child])
                has[parent] = sent[child]
        for chip in range(n):
            has[chip] = -1
        has[0] = add_message(messages, sizes, made, 0, 0, 0.0)
        for level in range(levels):
            add_edge(edges, made, sent[1 << level], has[0])
    for level in range(levels - 1, -1, -1):
        for child in range(1 << level, n, 2 << level):
            parent = child - (1 << level)
            has[child] = add_message(messages, sizes, made, parent, child, size)
            if has[parent] >= 0:
                add_edge(edges, made, has[parent], has[child])
            if blocking:
                has[parent] = has[child]


def binary_parents(nodes: int) -> Numbers:
    """Parents in a complete binary tree, the root its own: children of c are 2c + 1 and 2c + 2."""
    parents = np.zeros((1, nodes), np.int64)
    for node in range(1, nodes):
        parents[0, node] = (node - 1) // 2
    return parents


def twin_parents(nodes: int) -> Numbers:
    """Parents in two trees, each in order, of which the second is the mirror of the first, or moved on by one.

    In the first a node is as high as it can be halved; nodes on which nothing hangs there have children in the second.
    """
    parents = np.zeros((2, nodes), np.int64)
    for node in range(1, nodes):
        lowest = node & -node
        parent = (node ^ lowest) | (lowest << 1)
        parents[0, node] = parent if parent < nodes else node ^ lowest
    for node in range(nodes):
        if nodes % 2 == 0:
            parents[1, nodes - 1 - node] = nodes - 1 - parents[0, node]
        else:
            parents[1, (node + 1) % nodes] = (parents[0, node] + 1) % nodes
    return parents


def pieces_through_trees(
    messages: Numbers,
    sizes: Sizes,
    edges: Numbers,
    made: Numbers,
    parents: Numbers,
    pieces: int,
    size: float,
    reduces: bool,
    skipped: int,
) -> None:
    """Pieces up to the roots of trees, if it `reduces`, and down from there, each as soon as it can.

    With `skipped` 1 chip 0 is not in the trees, but sends to their roots what goes down.
    """
    trees, nodes = parents.shape
    ways = 2 if reduces else 1
    first = int(made[0])
    for piece in range(pieces):
        for way in range(ways):
            for tree in range(trees):
                for node in range(nodes):
                    chip = skipped + node
                    parent = skipped + parents[tree, node]
                    if way == ways - 1:
                        add_message(messages, sizes, made, 0 if skipped == 1 and parent == chip else parent, chip, size)
                    else:
                        add_message(messages, sizes, made, chip, parent, size)
        for tree in range(trees):
            up = first + (piece * ways * trees + tree) * nodes
            down = up + (ways - 1) * trees * nodes
            for node in range(nodes):
                parent = parents[tree, node]
                if parent != node:
                    if reduces:
                        add_edge(edges, made, up + node, up + parent)
                    add_edge(edges, made, down + parent, down + node)
                elif reduces:
                    add_edge(edges, made, up + node, down + node)


def most_messages(
    algorithm: str,
    tree_schedule: str,
    tree_pieces: float,
    steps: float,
    chip_count: float,
    message_size: float,
    chips: int,
) -> float:
    """How many messages a collective has, or a few more; `chips` are 1 or all."""
    if algorithm == "ring":
        return steps * chips
    if algorithm == "halving_doubling":
        return (steps + 2) * chips
    if algorithm != "tree":
        return (2 * chip_count + 1) * chips
    if tree_schedule in ("binomial", "binomial_own_links"):
        return 2 * chip_count
    if tree_schedule in ("pipelined", "single_binary"):
        return 2 * chip_count * pieces_of(message_size, tree_pieces)
    return 4 * chip_count * pieces_of(message_size / 2, tree_pieces)


def pieces_of(size: float, tree_pieces: float) -> float:
    """Pieces in which so many bytes move through a tree: none is empty."""
    return max(min(tree_pieces, math.ceil(size)), 1.0)


def write_program(
    messages: Numbers,
    sizes: Sizes,
    edges: Numbers,
    made: Numbers,
    collective: str,
    algorithm: str,
    ring_exchange: str,
    cdma_issue: str,
    tree_schedule: str,
    tree_pieces: float,
    steps: float,
    chunking: str,
    chip_count: float,
    message_size: float,
    chips: int,
) -> None:
    """The messages of a collective; `chips` are 1 or all. Arguments as in `collective` and `tree`."""
    n = int(chip_count)
    whole = chunking == "whole_bytes"
    reduces = collective == "all_reduce"
    chunk = message_size / chip_count
    chunk = np.ceil(chunk) if whole else chunk
    if algorithm == "ring" and collective != "all_to_all":
        around_the_ring(messages, sizes, edges, made, chips, n, int(steps), chunk, False)
    elif algorithm == "ring" and ring_exchange == "forwarded":
        around_the_ring(messages, sizes, edges, made, chips, n, int(steps), chunk, True)
    elif algorithm == "ring":
        to_all_others(messages, sizes, edges, made, chips, n, chunk, True)
    elif algorithm == "pairwise":
        to_all_others(messages, sizes, edges, made, chips, n, chunk, cdma_issue == "blocking")
    elif algorithm == "direct" and reduces:
        shares_and_sums(messages, sizes, edges, made, chips, n, chunk)
    elif algorithm == "direct":
        to_all_others(messages, sizes, edges, made, chips, n, chunk, False)
    elif algorithm == "halving_doubling":
        halves_and_doubles(messages, sizes, edges, made, chips, n, message_size, whole)
    elif tree_schedule in ("binomial", "binomial_own_links"):
        binomial_tree(messages, sizes, edges, made, n, message_size, reduces, tree_schedule == "binomial")
    else:
        trees = 1 if tree_schedule in ("pipelined", "single_binary") else 2
        share = message_size / trees
        share = np.ceil(share) if whole else share
        pieces = pieces_of(share, tree_pieces)
        piece = share / pieces
        piece = np.ceil(piece) if whole else piece
        skipped = 1 if trees == 2 and not reduces else 0
        parents = twin_parents(n - skipped) if trees == 2 else binary_parents(n)
        pieces_through_trees(messages, sizes, edges, made, parents, int(pieces), piece, reduces, skipped)
