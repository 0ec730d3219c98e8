"""Simulated networks against the formulas, against a model written with SimPy, and against what must always hold."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.events.fabrics import FAT_TREE, FULL_MESH, NO_WAY, RING, SWITCHED, lay
from sweep.events.messages import RATE, follow_messages
from sweep.events.programs import (
    around_the_ring,
    binary_parents,
    binomial_tree,
    halves_and_doubles,
    pieces_through_trees,
    shares_and_sums,
    to_all_others,
    twin_parents,
)
from sweep.events.simulation import DEADLOCKED, DONE, FEMTOSECONDS, GIVEN_UP
from tests.events import simpy_network
from tests.events.simpy_network import Message, Network, ring_all_reduce
from tests.models import point, points

SEED = 20_261_204

# Programs


class Program:
    """Arrays to write messages to, and what was written."""

    def __init__(self, write: Any, *arguments: Any) -> None:
        most = 20_000
        self._messages, self._sizes = np.zeros((most, 2), np.int64), np.zeros(most)
        self._edges, self._made = np.zeros((3 * most, 2), np.int64), np.zeros(2, np.int64)
        write(self._messages, self._sizes, self._edges, self._made, *arguments)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._messages[: self._made[0]], self._sizes[: self._made[0]], self._edges[: self._made[1]]

    @property
    def messages(self) -> list[Message]:
        messages, sizes, edges = self.arrays
        after = defaultdict(list)
        for earlier, later in edges.tolist():
            after[later].append(earlier)
        return [
            Message(sender, receiver, size, tuple(after[number]))
            for number, ((sender, receiver), size) in enumerate(zip(messages.tolist(), sizes.tolist(), strict=True))
        ]


def programs(n: int, size: float = 8.0) -> dict[str, Program]:
    """Every program for n chips."""
    twins = twin_parents(n)
    return {
        "ring all_reduce": Program(around_the_ring, n, n, 2 * (n - 1), size / n, False),
        "ring forwarded": Program(around_the_ring, n, n, n - 1, size, True),
        "pairwise blocking": Program(to_all_others, n, n, size, True),
        "direct": Program(to_all_others, n, n, size, False),
        "direct all_reduce": Program(shares_and_sums, n, n, size),
        "halving_doubling": Program(halves_and_doubles, n, n, size, True),
        "binomial": Program(binomial_tree, n, size, True, True),
        "binomial own links": Program(binomial_tree, n, size, True, False),
        "pipelined": Program(pieces_through_trees, binary_parents(n), 4, size / 4, True, 0),
        "double binary": Program(pieces_through_trees, twins, 2, size / 4, True, 0),
        "binomial broadcast": Program(binomial_tree, n, size, False, True),
        "own links broadcast": Program(binomial_tree, n, size, False, False),
        "pipelined broadcast": Program(pieces_through_trees, binary_parents(n), 4, size / 4, False, 0),
        "double broadcast": Program(pieces_through_trees, twin_parents(n - 1), 2, size / 4, False, 1),
    }


def known_at_the_end(n: int, messages: list[Message], sources: range) -> list[set[int]]:
    """Of which chips each has heard at the end, if a message tells what its sender has heard before it may start."""
    heard: dict[int, set[int]] = {}

    def told(number: int) -> set[int]:
        if number not in heard:
            message = messages[number]
            own = {message.sender} & set(sources)
            heard[number] = own.union(*(told(other) for other in message.after))
        return heard[number]

    known = [{chip} & set(sources) for chip in range(n)]
    for number, message in enumerate(messages):
        known[message.receiver] |= told(number)
    return known


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 12, 13])
def test_every_chip_hears_of_every_other_before_a_collective_ends(n):
    for name, program in programs(n).items():
        sources = range(1) if "broadcast" in name else range(n)
        assert known_at_the_end(n, program.messages, sources) == [set(sources)] * n, name


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13])
def test_nobody_sends_to_itself_and_what_waits_comes_later_than_what_it_waits_for(n):
    for name, program in programs(n).items():
        done: set[int] = set()
        waiting = dict(enumerate(program.messages))
        while waiting:
            free = [number for number, message in waiting.items() if done.issuperset(message.after)]
            assert free, f"{name} waits for itself"
            done.update(free)
            for number in free:
                message = waiting.pop(number)
                assert 0 <= message.sender < n
                assert 0 <= message.receiver < n


def sent(program: Program, n: int) -> list[float]:
    """Bytes that each chip sends."""
    total = [0.0] * n
    for message in program.messages:
        if message.sender != message.receiver:
            total[message.sender] += message.size
    return total


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_algorithms_that_use_the_bandwidth_send_the_fewest_bytes_there_can_be(n):
    made = programs(n, 64.0)
    fewest = 2 * (n - 1) / n * 64
    assert sent(made["ring all_reduce"], n) == pytest.approx([fewest] * n)
    assert sent(made["halving_doubling"], n) == pytest.approx([fewest] * n)
    assert sent(Program(shares_and_sums, n, n, 64 / n), n) == pytest.approx([fewest] * n)
    # Over two trees no chip sends or receives more than twice all bytes.
    assert max(sent(made["double binary"], n)) <= 2 * 64


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 31])
def test_two_trees_reach_all_chips_and_none_has_two_children_in_both(n):
    twins = twin_parents(n)
    children = [defaultdict(list) for _ in range(2)]
    for tree in range(2):
        roots = [chip for chip in range(n) if twins[tree, chip] == chip]
        assert len(roots) == 1
        for chip in range(n):
            children[tree][int(twins[tree, chip])] += [chip] if chip not in roots else []
            path = [chip]
            while path[-1] not in roots:
                path.append(int(twins[tree, path[-1]]))
                assert len(path) <= 2 + math.log2(n)
        assert all(len(found) <= 2 for found in children[tree].values())
    assert not [chip for chip in range(n) if len(children[0][chip]) == 2 and len(children[1][chip]) == 2]


# Fabrics


def ways_of(
    fabric: int,
    n: int,
    hops: int,
    leaf: int = 4,
    spines: int = 4,
    hashed: bool = False,
    dead: bool = False,
    seed: int = 1,
) -> dict[tuple[int, int], list[int]] | None:
    """The wires from each chip to each other; None if there is a pair without any."""
    laid = laid_out(fabric, n, hops, leaf, spines, hashed, dead, seed)
    if laid is None:
        return None
    pairs, ways, wires, _ = laid
    return {(a, b): wires[ways[k] : ways[k + 1]].tolist() for k, (a, b) in enumerate(pairs.tolist())}


def laid_out(
    fabric: int, n: int, hops: int, leaf: int, spines: int, hashed: bool, dead: bool, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    pairs = np.array([(a, b) for a in range(n) for b in range(n) if a != b])
    ways, wires = np.zeros(len(pairs) + 1, np.int64), np.zeros(len(pairs) * (n + 2) * (hops + 1), np.int64)
    known, kinds = np.full(2 * n + n * n * (hops + 1) + 2 * n * spines, -1), np.zeros(len(wires), np.int64)
    many = lay(fabric, n, hops, leaf, spines, hashed, seed, dead, False, pairs, ways, wires, known, kinds)
    return None if many == NO_WAY else (pairs, ways, wires, kinds[:many])


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_ways_of_a_full_mesh_share_nothing_and_those_through_a_switch_only_ports(hops):
    mesh = ways_of(FULL_MESH, 5, hops)
    assert len({wire for way in mesh.values() for wire in way}) == 20 * (hops + 1)
    if hops == 0:
        return
    switched = ways_of(SWITCHED, 5, hops)
    for (a, b), way in switched.items():
        assert len(way) == hops + 1
        for (c, d), other in switched.items():
            shared = set(way) & set(other)
            assert shared == (set(way) if (a, b) == (c, d) else {way[0]} if a == c else {way[-1]} if b == d else set())


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_ways_on_a_ring_go_the_shorter_way_round_from_chip_to_chip(n):
    ways = ways_of(RING, n, 1)
    for (a, b), way in ways.items():
        up = (b - a) % n
        assert len(way) == 2 * min(up, n - up)
        step = 1 if 2 * up <= n else -1
        chips = [(a + step * k) % n for k in range(min(up, n - up) + 1)]
        if n > 2:
            assert way == [wire for pair in pairwise(chips) for wire in ways[pair]]


def test_ways_in_a_fat_tree_meet_where_they_must_and_d_mod_k_spreads_them_over_spines():
    ways = ways_of(FAT_TREE, 16, 3)
    for (a, b), way in ways.items():
        assert len(way) == (2 if a // 4 == b // 4 else 4)
        assert way[0] == ways[a, (a + 1) % 16][0]
        assert way[-1] == ways[(b + 1) % 16, b][-1]
    for shift in range(4, 13):  # all chips send over a spine at once, and none is in another's way
        used = [wire for a in range(16) for wire in ways[a, (a + shift) % 16] if a // 4 != (a + shift) % 16 // 4]
        assert len(used) == len(set(used))
    assert ways_of(FAT_TREE, 16, 3, hashed=True, seed=1) != ways_of(FAT_TREE, 16, 3, hashed=True, seed=2)


def test_a_dead_link_is_gone_around():
    whole, mesh = ways_of(FULL_MESH, 4, 1), ways_of(FULL_MESH, 4, 1, dead=True)
    assert mesh[0, 1] == mesh[0, 2] + mesh[2, 1]
    assert mesh[1, 0] == mesh[1, 2] + mesh[2, 0]
    assert [len(mesh[pair]) for pair in whole if pair not in ((0, 1), (1, 0))] == [2] * 10
    ring = ways_of(RING, 5, 0, dead=True)
    for (a, b), way in ring.items():  # as on a line from 1 over 2, 3, 4 to 0
        assert len(way) == abs((a - 1) % 5 - (b - 1) % 5)
    assert len(ways_of(RING, 2, 0, dead=True)[0, 1]) == 1  # two chips have two links
    tree = ways_of(FAT_TREE, 16, 3, dead=True)
    lost = {ways_of(FAT_TREE, 16, 3)[a, b][1] for a in range(4) for b in range(4, 16, 4)}
    assert len(lost) == 1
    up = {tree[a, b][1] for a in range(4) for b in range(4, 16)}
    assert len(up) == 3  # links to three of four spines
    assert ways_of(FULL_MESH, 2, 0, dead=True) is None
    assert ways_of(SWITCHED, 4, 1, dead=True) is None
    assert ways_of(FAT_TREE, 16, 3, spines=1, dead=True) is None


# Against a model written with SimPy, and what must hold at every start of a frame


def random_network(draw: random.Random) -> tuple[Network, dict[str, Any]]:
    """A small network with few credits, and messages at random; rates and times that hardly ever meet: what comes
    first then, the other model leaves open.

    A chip of its own starts the others, each at another time, and no two messages wait for the same.
    """
    fabric = draw.choice((FULL_MESH, SWITCHED, RING, FAT_TREE))
    n = draw.randint(2, 6)
    hops = {FULL_MESH: draw.randint(0, 2), SWITCHED: draw.randint(1, 3), RING: draw.randint(0, 1), FAT_TREE: 3}[fabric]
    leaf, spines, hashed, seed = draw.randint(1, 3), draw.randint(1, 3), draw.random() < 0.5, draw.randint(0, 99)
    laid = laid_out(fabric, n, hops, leaf, spines, hashed, draw.random() < 0.3, seed)
    if laid is None:
        laid = laid_out(fabric, n, hops, leaf, spines, hashed, False, seed)
    pairs, ways, wires, kinds = laid
    rates = (draw.uniform(10, 100), draw.uniform(10, 100))
    payload = draw.choice((200, 1344))
    messages = [Message(n, chip, draw.randint(1, payload)) for chip in range(n)]
    unused: list[int] = []
    for number in range(draw.randint(1, 14)):
        sender, receiver = draw.sample(range(n), 2)
        if draw.random() < 0.1:
            receiver = sender
        size = draw.choice((0, 1, draw.randint(1, 6 * payload), draw.uniform(1, 3 * payload)))
        after = draw.sample(unused, min(draw.choice((0, 1, 1, 2)), len(unused)))
        unused = [*(other for other in unused if other not in after), n + number]
        messages.append(Message(sender, receiver, size, (sender, *after)))
    end = ways[-1]
    all_pairs = [*map(tuple, pairs.tolist()), *((n, chip) for chip in range(n))]
    all_wires = [*wires[:end].tolist(), *(len(kinds) + chip for chip in range(n))]
    all_ways = [*ways.tolist(), *(end + 1 + chip for chip in range(n))]
    all_kinds = [*kinds.tolist(), *[0] * n]
    found = {
        pair: [(wire, rates[all_kinds[wire]]) for wire in all_wires[all_ways[k] : all_ways[k + 1]]]
        for k, pair in enumerate(all_pairs)
    }
    credit_size = draw.choice((64, 256))
    network = Network(
        messages=messages,
        ways=found,
        payload=payload,
        overhead=draw.randint(20, 80),
        minimum=64,
        gap=draw.choice((0, 20)),
        awaited=draw.choice((64.0, math.inf)),
        fixed=draw.randrange(600_000_000),
        flight=draw.randrange(20_000_000),
        base=draw.randrange(200_000_000),
        drain=draw.choice((0, draw.randrange(50_000_000))),
        back=draw.randrange(200_000_000),
        channels=draw.randint(1, 3),
        credits=draw.choice((None, math.ceil((payload + 90) / credit_size) + draw.randint(-1, 8))),
        credit_size=credit_size,
        by_hop=draw.random() < 0.5,
    )
    arrays = {
        "messages": np.array([(message.sender, message.receiver) for message in messages]),
        "sizes": np.array([float(message.size) for message in messages]),
        "edges": np.array([(e, k) for k, m in enumerate(messages) for e in m.after]).reshape(-1, 2),
        "pair_of": np.array(
            [all_pairs.index((m.sender, m.receiver)) if m.sender != m.receiver else 0 for m in messages]
        ),
        "ways": np.array(all_ways),
        "wires": np.array(all_wires),
        "kinds": np.array(all_kinds),
        "table": np.array([table_row(network, rate) for rate in rates]),
    }
    return network, arrays


def table_row(network: Network, rate: float) -> list[float]:
    """A kind of wires of a network: one row of the table that `follow_messages` takes."""
    times = (network.fixed, network.flight, network.base, network.drain, network.back)
    credits = math.inf if network.credits is None else network.credits
    in_ns = [time / FEMTOSECONDS for time in times]
    return [rate, network.overhead, network.awaited, *in_ns, credits, network.credit_size]


def follow(
    network: Network, arrays: dict[str, Any], budget: int = 10**6, rows: int = 0
) -> tuple[int, list[int], Any, Any]:
    """How a simulation ends, when its messages have arrived, its figures, and the starts of frames, at most `rows`."""
    done, busy = np.zeros(len(network.messages), np.int64), np.zeros(len(arrays["kinds"]), np.int64)
    figures, trace = np.zeros(4, np.int64), np.full((rows, 5), -1)
    ending = follow_messages(
        *arrays.values(),
        np.zeros((0, 3), np.int64),
        0,
        float(network.payload),
        float(network.minimum),
        float(network.gap),
        network.channels,
        network.by_hop,
        budget,
        done.copy(),
        done,
        busy,
        figures,
        trace,
    )
    return ending, done.tolist(), figures, trace[trace[:, 0] >= 0]


def test_a_model_written_with_simpy_finds_the_same_times():
    draw = random.Random(SEED)
    endings = set()
    for _ in range(400):
        network, arrays = random_network(draw)
        ending, done, _, _ = follow(network, arrays)
        assert done == simpy_network.run(network)
        endings.add(ending)
    assert endings == {DONE, DEADLOCKED}


def check(network: Network, arrays: dict[str, Any], starts: Any, done: list[int]) -> None:
    """What holds of every network: wires carry one frame at a time, frames take the ways of their messages in order,
    never sooner than they can, credits are never overdrawn, and messages wait for those that they must have first."""
    kinds, rates = arrays["kinds"], arrays["table"][:, RATE]
    free, came, on_way = defaultdict(int), {}, defaultdict(int)
    taken, drained = defaultdict(list), defaultdict(int)
    for now, wire, message, number, since in starts.tolist():
        size, way = network.frame_size(message, number), [name for name, _ in network.way(message)]
        place = on_way[message, number]
        assert wire == way[place]
        on_way[message, number] += 1
        duration = simpy_network.fs((size + network.gap) / rates[kinds[wire]]) if size else 0
        assert now >= max(free[wire], since)
        free[wire] = now + duration
        if place == 0:
            assert all(0 <= done[other] <= now for other in network.messages[message].after)
            assert number == 0 or on_way[message, number - 1] > 0
        else:
            assert now >= came[message, number] + network.fixed
        came[message, number] = now + network.flight
        needed = math.ceil(size / network.credit_size)
        pair = network.messages[message].sender, network.messages[message].receiver
        if network.credits is not None:
            if network.by_hop and place > 0:
                held = taken[way[place - 1], number % network.channels]
                held[held.index([needed, None, message, number])][1] = now + duration + network.back
            if network.by_hop or place == 0:
                pool = (wire if network.by_hop else pair, number % network.channels)
                taken[pool].append([needed, None, message, number])
                out = sum(entry[0] for entry in taken[pool] if entry[1] is None or entry[1] > now)
                assert out <= network.credits
        if place == len(way) - 1:
            there = now + duration + network.flight + network.base
            if number == network.frames(message) - 1:
                assert done[message] in (there, -1)
            if network.credits is not None:
                owner = wire if network.by_hop else pair
                drained[owner] = max(drained[owner], there) + network.drain
                held = taken[owner, number % network.channels]
                held[held.index([needed, None, message, number])][1] = drained[owner] + network.back


@pytest.mark.heavy
def test_five_thousand_random_networks_end_and_break_no_rule():
    draw = random.Random(SEED + 1)
    endings = defaultdict(int)
    for _ in range(5_000):
        network, arrays = random_network(draw)
        ending, done, figures, starts = follow(network, arrays, rows=4000)
        check(network, arrays, starts, done)
        endings[ending] += 1
        frames = sum(
            network.frames(number)
            for number, message in enumerate(network.messages)
            if message.sender != message.receiver
        )
        assert figures[1] == frames
        if ending == DONE:
            assert min(done) >= 0
            assert len({(message, number) for _, _, message, number, _ in starts.tolist()}) == frames
        else:
            stuck = network.messages[figures[2]]
            assert done[figures[2]] == -1
            assert figures[3] > 0
            assert network.credits is not None
            assert stuck.sender != stuck.receiver
    assert endings[DONE] > 4000
    assert endings[DEADLOCKED] > 50
    assert set(endings) == {DONE, DEADLOCKED}


def test_an_all_reduce_around_a_ring_takes_the_same_time_in_a_model_written_with_simpy():
    ways = {(chip, (chip + 1) % 4): [(chip, 50.0), (4 + chip, 50.0)] for chip in range(4)}
    network = Network(
        ring_all_reduce(4, 5000.0),
        ways,
        1344,
        58,
        64,
        20,
        64.0,
        500_000_000,
        5_000_000,
        150_000_000,
        0,
        700_000_000,
        1,
        9,
    )
    program = Program(around_the_ring, 4, 4, 6, 5000.0, False)
    assert program.messages == network.messages
    messages, sizes, edges = program.arrays
    arrays = {
        "messages": messages,
        "sizes": sizes,
        "edges": edges,
        "pair_of": messages[:, 0].copy(),
        "ways": np.arange(0, 9, 2),
        "wires": np.array([wire for chip in range(4) for wire in (chip, 4 + chip)]),
        "kinds": np.array([0] * 4 + [1] * 4),
        "table": np.array([table_row(network, 50.0)] * 2),
    }
    assert follow(network, arrays)[1] == simpy_network.run(network)


def test_a_network_that_takes_too_many_events_is_given_up():
    network, arrays = random_network(random.Random(3))
    assert follow(network, arrays, budget=5)[0] == GIVEN_UP


# Against the formulas

ANY_LINKS = (
    ("all_reduce", "ring", {}),
    ("reduce_scatter", "ring", {}),
    ("all_gather", "ring", {}),
    ("all_to_all", "ring", {"ring_exchange": "forwarded"}),
    ("all_to_all", "ring", {"ring_exchange": "pairwise"}),
    ("all_to_all", "pairwise", {}),
    ("all_reduce", "halving_doubling", {}),
    ("all_reduce", "tree", {"tree_schedule": "binomial"}),
    ("broadcast", "tree", {"tree_schedule": "binomial"}),
)
ONE_PORT = (
    ("all_to_all", "pairwise", {"cdma_issue": "streaming"}),
    ("all_to_all", "direct", {}),
    ("all_gather", "direct", {}),
    ("all_reduce", "direct", {}),
)
OWN_LINKS = (
    ("all_reduce", "tree", {"tree_schedule": "binomial_own_links"}),
    ("broadcast", "tree", {"tree_schedule": "binomial_own_links"}),
    ("all_reduce", "tree", {"tree_schedule": "pipelined"}),
    ("broadcast", "tree", {"tree_schedule": "pipelined"}),
)
ESTIMATES = (
    ("all_reduce", "tree", {"tree_schedule": "single_binary"}),
    ("all_reduce", "tree", {"tree_schedule": "double_binary"}),
    ("broadcast", "tree", {"tree_schedule": "double_binary"}),
)
CASES = (*ANY_LINKS, *ONE_PORT, *OWN_LINKS, *ESTIMATES)
CHOSEN = {"ring_exchange": "forwarded", "cdma_issue": "blocking", "tree_schedule": "double_binary"}


def label(case: tuple[str, str, dict[str, str]]) -> str:
    return " ".join((*case[:2], *case[2].values()))


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    """All collectives over many networks; compiled once."""
    networks = [
        ("full_mesh", 0, "cut_through", 50.0, "none"),
        ("full_mesh", 1, "store_and_forward", 37.0, "none"),
        ("switched", 1, "cut_through", 50.0, "none"),
        ("switched", 1, "store_and_forward", 100.0, "none"),
        ("switched", 3, "cut_through", 31.0, "none"),
        ("ring", 0, "cut_through", 50.0, "none"),
        ("ring", 0, "cut_through", 50.0, "first"),
        ("fat_tree", 3, "cut_through", 50.0, "none"),
        ("fat_tree", 3, "cut_through", 50.0, "first"),
        ("fat_tree", 1, "cut_through", 50.0, "none"),
    ]
    flows = [("pfc", 512, "step"), ("cbfc", 9, "step"), ("cbfc", 13, "carried"), ("cbfc", 5, "carried")]
    grid = {
        "outputs": [
            "collective_latency",
            "simulated_collective_latency",
            "simulated_chip_finish",
            "slowest_chip",
            "mean_wire_load",
            "peak_wire_load",
            "simulated_collective_frames",
            "simulated_collective_events",
            "deadlocked_sender",
            "lacking_credits",
            "steps",
        ],
        "zip": {
            "case": {
                "label": [label(case) for case in CASES],
                "collective": [case[0] for case in CASES],
                "algorithm": [case[1] for case in CASES],
                **{name: [case[2].get(name, usual) for case in CASES] for name, usual in CHOSEN.items()},
            },
            "network": {
                "label": [" ".join(map(str, network)) for network in networks],
                "network_shape": [network[0] for network in networks],
                "switch_hops": [network[1] for network in networks],
                "forwarding": [network[2] for network in networks],
                "port_bandwidth": [network[3] for network in networks],
                "dead_link": [network[4] for network in networks],
            },
            "flow": {
                "label": [" ".join(map(str, flow)) for flow in flows],
                "flow_control": [flow[0] for flow in flows],
                "credit_limit": [flow[1] for flow in flows],
                "credit_scope": [flow[2] for flow in flows],
            },
        },
        "axes": {
            "symmetric_chips": ["one", "all"],
            "chip_count": [1, 2, 3, 5, 8],
            "message_size": [0, 1, 1000, 30_000],
        },
        "fixed": {"link_bandwidth": 50.0, "leaf_chips": 4, "spine_count": 2, "tree_pieces": 5, "drain_time": 3.0},
    }
    return sweep.run(grid)


def off(found: xr.Dataset, cases: Any, networks: str, flow: str) -> xr.DataArray:
    """By how much formula and simulation differ, in roundings that the simulation may make."""
    part = found.sel(case=[label(case) for case in cases], flow=flow)
    part = part.sel(network=[name for name in part["network"].values if name.startswith(networks)])
    assert bool((part["simulated_collective_latency"].notnull() & part["collective_latency"].notnull()).all())
    frames = part["simulated_collective_frames"] + part["steps"] * (3 * 3 + 2)
    return abs(part["simulated_collective_latency"] - part["collective_latency"]) / (0.5e-6 * np.maximum(frames, 1))


@pytest.mark.heavy
@pytest.mark.parametrize("networks", ["full_mesh", "switched"])
def test_collectives_that_need_no_links_of_their_own_take_the_time_of_the_formula_on_any(found, networks):
    assert float(off(found, ANY_LINKS, networks, "pfc 512 step").max()) <= 1


@pytest.mark.heavy
def test_chips_with_one_port_take_the_time_of_the_formula_through_switches(found):
    assert float(off(found, ONE_PORT, "switched", "pfc 512 step").max()) <= 1


@pytest.mark.heavy
def test_trees_on_links_of_their_own_take_the_time_of_the_formula_and_longer_through_one_port(found):
    assert float(off(found, OWN_LINKS, "full_mesh", "pfc 512 step").max()) <= 1
    ports = found.sel(case=label(OWN_LINKS[3]), network="switched 1 cut_through 50.0 none", flow="pfc 512 step")
    ports = ports.sel(chip_count=8, message_size=30_000)
    more = (ports["simulated_collective_latency"] - ports["collective_latency"]).values
    # The last of five pieces for the child below which the tree is deepest waits for four for the other child.
    assert more == pytest.approx([4 * (6000 + 5 * 78) / 50] * 2, abs=1e-3)


@pytest.mark.heavy
@pytest.mark.parametrize("flow", ["cbfc 13 carried", "cbfc 5 carried"])
@pytest.mark.parametrize(
    "networks", ["full_mesh 0", "switched 1 cut_through", "switched 3", "ring 0 cut_through 50.0 none"]
)
def test_a_ring_with_credits_carried_from_step_to_step_takes_the_time_of_the_formula(found, networks, flow):
    cases = ANY_LINKS[:3]
    sizes = found.sel(message_size=[1000, 30_000])
    if flow == "cbfc 5 carried":  # too few for a full frame, but not for a small one
        full = sizes.sel(
            message_size=[30_000], flow=flow, case=[label(case) for case in cases], chip_count=[2, 3, 5, 8]
        )
        full = full.sel(network=[name for name in full["network"].values if name.startswith(networks)])
        assert bool(full["collective_latency"].isnull().all())
        assert bool(full["simulated_collective_latency"].isnull().all())
        assert bool((full["lacking_credits"] == 1).all())
        sizes = sizes.sel(message_size=[1000])
    assert float(off(sizes, cases, networks, flow).max()) <= 1


@pytest.mark.heavy
def test_pairs_with_credits_of_their_own_start_each_step_with_all_of_them(found):
    for networks in ("full_mesh 0", "switched 1 cut_through", "switched 3"):
        assert float(off(found, ANY_LINKS[4:6], networks, "cbfc 9 step").max()) <= 1


@pytest.mark.heavy
def test_one_chip_that_stands_for_all_finds_the_same_as_all(found):
    one, every = (found.sel(symmetric_chips=which) for which in ("one", "all"))
    for name in (
        "simulated_collective_latency",
        "simulated_chip_finish",
        "simulated_collective_frames",
        "lacking_credits",
    ):
        xr.testing.assert_equal(one[name].drop_vars("symmetric_chips"), every[name].drop_vars("symmetric_chips"))
    np.testing.assert_allclose(one["mean_wire_load"], every["mean_wire_load"], rtol=1e-12)
    ring = {
        "case": label(CASES[0]),
        "network": "full_mesh 0 cut_through 50.0 none",
        "chip_count": 8,
        "message_size": 30_000,
    }
    fewer = (one["simulated_collective_events"] / every["simulated_collective_events"]).sel(
        {**ring, "message_size": 30_000}
    )
    assert bool((fewer.sel(flow=["pfc 512 step", "cbfc 13 carried"]) < 0.2).all())


@pytest.mark.heavy
def test_one_chip_takes_no_time_and_no_wire_is_busy_for_longer_than_the_collective_takes(found):
    latency = found["simulated_collective_latency"]
    assert bool((latency.sel(chip_count=1) == 0).all())
    ran = latency.notnull() & (latency > 0)
    assert float(found["peak_wire_load"].where(ran).max()) <= 1
    assert bool((found["mean_wire_load"] <= found["peak_wire_load"] + 1e-12).where(ran, True).all())
    finish = found["simulated_chip_finish"]
    assert bool((finish.isel(chip_share=-1) == latency).where(ran, True).all())
    assert bool((finish.diff("chip_share") >= 0).where(finish.isel(chip_share=slice(1, None)).notnull(), True).all())


@pytest.mark.heavy
def test_networks_that_do_not_exist_are_infeasible(found):
    chips = found.sel(chip_count=[2, 3, 5, 8], flow="pfc 512 step")
    assert bool(chips["simulated_collective_latency"].sel(network="fat_tree 1 cut_through 50.0 none").isnull().all())


@pytest.mark.heavy
def test_a_dead_link_makes_a_ring_slower_and_a_fat_tree_without_room_to_spare_too(found):
    whole, dead = (
        found["simulated_collective_latency"].sel(
            network=f"ring 0 cut_through 50.0 {link}", flow="pfc 512 step", case=label(CASES[0]), symmetric_chips="all"
        )
        for link in ("none", "first")
    )
    assert bool((dead > whole).sel(chip_count=[3, 5, 8]).all())
    assert bool((dead == whole).sel(chip_count=2).all())  # two chips have two links
    whole, dead = (
        found["simulated_collective_latency"].sel(
            network=f"fat_tree 3 cut_through 50.0 {link}", flow="pfc 512 step", chip_count=8, message_size=30_000
        )
        for link in ("none", "first")
    )
    both = label(ONE_PORT[1])
    assert bool((dead.sel(case=both) > 1.2 * whole.sel(case=both)).all())


@pytest.mark.heavy
def test_around_a_ring_of_unlike_links_the_mean_of_them_counts_and_not_the_longest(found):
    """Each chunk crosses each link once in n steps: a chip that has waited less is not held up by the others."""
    tree = {"network": "fat_tree 3 cut_through 50.0 none", "flow": "pfc 512 step", "chip_count": 8}
    latency = found.sel({**tree, "case": label(CASES[1]), "message_size": [1, 1000, 30_000]})
    of_formula, simulated = latency["collective_latency"], latency["simulated_collective_latency"]
    near = 2 * (500 + 5 + 64 / 50)  # what a way within a leaf is shorter by
    # The chunk that takes longest crosses 7 of the 8 links, of which 5 are within a leaf.
    assert bool((abs(of_formula - simulated - 5 * near) < 1e-3).all())


def test_more_chips_than_can_be_followed_are_given_up_and_many_that_one_stands_for_are_not():
    many = {"chip_count": 2**24, "flow_control": "pfc", "message_size": 2**24}
    for shape, hops in (("full_mesh", 0), ("ring", 0), ("switched", 3)):
        for algorithm in ("ring", "tree", "direct", "halving_doubling"):
            given = {**many, "network_shape": shape, "switch_hops": hops, "algorithm": algorithm}
            assert point("simulated_collective_latency", symmetric_chips="all", **given).status == "budget"
    given = {"chip_count": 20_000, "flow_control": "pfc", "message_size": 20_000}
    found = points(("simulated_collective_latency", "collective_latency"), **given)
    assert found["simulated_collective_latency"].value == pytest.approx(found["collective_latency"].value, rel=1e-12)


def test_chunks_of_any_size_that_are_passed_on_have_no_frame_too_many():
    given = {"collective": "all_to_all", "chunking": "fractional", "chip_count": 10, "message_size": 2688}
    found = points(("collective_latency", "simulated_collective_latency"), flow_control="pfc", **given)
    assert found["simulated_collective_latency"].value == pytest.approx(found["collective_latency"].value, rel=1e-12)


def test_long_drains_do_not_overflow_the_clock():
    given = {"collective": "all_gather", "chip_count": 2, "message_size": 2 * 1344 * 13, "credit_limit": 72}
    found = points(("collective_latency", "simulated_collective_latency"), drain_time=1e12, **given)
    assert found["simulated_collective_latency"].value == pytest.approx(found["collective_latency"].value, rel=1e-12)


def test_messages_without_headers_and_without_credits_can_be_simulated():
    given = {"framing": "none", "message_size": 20_000, "flow_control": "pfc", "drain_time": 2e12}
    found = points(("collective_latency", "simulated_collective_latency"), **given)
    assert found["simulated_collective_latency"].value == pytest.approx(found["collective_latency"].value, rel=1e-12)


def test_credits_on_their_way_back_are_not_lacking():
    given = {"collective": "all_to_all", "algorithm": "direct", "network_shape": "ring", "chip_count": 4}
    given |= {"message_size": 24252, "credit_span": "link", "credit_limit": 11, "drain_time": 1000.0}
    found = points(("simulated_collective_latency", "lacking_credits"), **given)
    assert found["simulated_collective_latency"].status == "deadlock"
    assert found["lacking_credits"].value == 1


def test_who_waits_for_ever_is_not_said_of_simulations_that_do_not_end():
    assert point("deadlocked_sender", event_budget=5).status == "budget"
    assert point("deadlocked_sender", chip_count=2, dead_link="first").status == "infeasible"
    assert point("deadlocked_sender").status == "undefined"
