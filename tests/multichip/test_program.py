"""Programs followed: against hand arithmetic, a model written with SimPy, and the formulas of collectives."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import yaml

from sweep.events.simulation import DEADLOCKED, DONE, FEMTOSECONDS
from sweep.models.topology_file import read_topology
from sweep.multichip.engines import CDMA
from sweep.multichip.follow import add_up_times, follow_program
from sweep.multichip.graph import BEGIN, END, Graph, Settings, commands_in_a_circle, graph_of
from sweep.multichip.program import RECV, SEND, Command, Queue
from sweep.multichip.program_file import read_program
from tests.events.simpy_network import Network
from tests.models import close, point, points
from tests.multichip import after, program, receive, send, simpy_program

pytestmark = pytest.mark.plain

SEED = 20_261_201
BARE = {"min_frame": 0, "line_gap": 0}

# By hand


def test_five_engines_with_receive_credits_take_what_hand_arithmetic_says():
    """Chip 0 loads, computes, sorts and sends; chip 1 says that it is ready, receives, computes, and moves the result.

    Link 50 B/ns, base 150 ns, headers of 58 B, no gap, frames of at least 64 B; chip network 1000 B/ns, 2 ns a hop,
    core 9 of a mesh 8 wide: 1 row and 1 column from CDMA.
    """
    first = {
        "chip": 0,
        "core": 9,
        "DMA": [{"data_bytes": 100_000}],  # 100 ns at 1000 B/ns
        "TIU": [{"operations": 512e6, **after("DMA", 1)}],  # 2000 ns at 256 TFLOP/s
        "HAU": [{"operations": 6400, **after("TIU", 1)}],  # 100 ns at 64 a ns
        "SDMA": [{"time": "30 ns", **after("HAU", 1)}],
        "CDMA": [send(1, 13_440, **after("SDMA", 1))],
    }
    second = {
        "chip": 1,
        "core": 9,
        "TIU": [{"cycles": 7000}, {"cycles": 400, **after("CDMA", 1)}],  # 2 GHz: 3500 ns, 200 ns
        "CDMA": [receive(0, 13_440, **after("TIU", 1))],
        "SDMA": [{"data_bytes": 13_440, **after("TIU", 2)}],  # 500 B/ns
    }
    found = points(
        (
            "makespan",
            "exposed_communication",
            "engine_busy",
            "engine_exposed",
            "total_bytes",
            "simulated_program_frames",
        ),
        program=program(first, second),
        noc_bandwidth=1000.0,
        noc_hop_latency=2.0,
        tiu_clock=2.0,
        recv_credit="on",
        recv_credit_size=1,
        **BARE,
    )
    sent_from = 100 + 2000 + 100 + 30
    ready = 3500
    credit = 59 / 50 + 150  # one byte and its headers: 59 B
    network = 2 * 2 + 13_440 / 1000  # a hop down, a hop along
    wire = (13_440 + 10 * 58) / 50 + 150
    received = ready + credit + network + wire + network
    end = received + 200 + 13_440 / 500
    assert found["makespan"].value == close(end)
    busy = dict(zip(("TIU", "DMA", "SDMA", "HAU", "CDMA"), found["engine_busy"].value, strict=True))
    assert busy["TIU"] == close((2000 + 3500 + 200) / 2)
    assert busy["DMA"] == close(100 / 2)
    assert busy["HAU"] == close(100 / 2)
    assert busy["SDMA"] == close((30 + 13_440 / 500) / 2)
    assert busy["CDMA"] == close((received - sent_from + received - ready) / 2)
    # Chip 0 only sends from `sent_from` on, chip 1 only receives from `ready` on.
    assert found["exposed_communication"].value == close(busy["CDMA"])
    assert sum(found["engine_exposed"].value) == close(sum(busy.values()))  # nothing overlaps
    assert found["total_bytes"].value == 13_440
    assert found["simulated_program_frames"].value == 11


def test_what_is_computed_meanwhile_hides_communication():
    overlapped = program(
        {"chip": 0, "TIU": [{"time": 1000}, {"time": 100}], "CDMA": [send(1, 50_000)]},
        {"chip": 1, "CDMA": [receive(0, 50_000)]},
    )
    found = points(("makespan", "exposed_communication", "engine_exposed"), program=overlapped, noc="none", **BARE)
    sending = (50_000 + 38 * 58) / 50 + 150  # 38 frames
    assert found["makespan"].value == close(sending)
    assert found["exposed_communication"].value == close((sending - 1100 + sending) / 2)
    assert found["engine_exposed"].value[0] == 0.0


def test_a_receive_that_blocks_holds_its_engine_and_one_that_is_posted_does_not():
    waits = program(
        {"chip": 0, "CDMA": [receive(1, 0), send(1, 0)]},
        {"chip": 1, "TIU": [{"time": 500}], "CDMA": [send(0, 0, **after("TIU", 1)), receive(0, 0)]},
    )
    assert point("makespan", program=waits, noc="none", recv_issue="posted").value == close(650)
    assert point("makespan", program=waits, noc="none", recv_issue="blocking").value == close(800)


def test_a_send_that_streams_lets_the_next_go_once_its_last_frame_has_left():
    two = program({"chip": 0, "CDMA": [send(1, 1344), send(1, 1344)]}, {"chip": 1, "CDMA": [receive(0, 1344)] * 2})
    frame = 1402 / 50
    assert point("makespan", program=two, noc="none", **BARE).value == close(2 * (frame + 150))
    assert point("makespan", program=two, noc="none", cdma_issue="streaming", **BARE).value == close(2 * frame + 150)


def test_a_program_without_commands_or_with_one_chip_takes_no_time():
    assert point("makespan", program=program({"chip": 0, "TIU": []})).value == 0.0
    alone = program({"chip": 0, "CDMA": [{"op_type": "all_reduce", "data_bytes": 1e6, "chip_group": [0]}]})
    assert point("makespan", program=alone).value == 0.0
    assert point("exposed_share", program=alone).status == "undefined"


def test_messages_of_cores_share_the_links_of_their_chip():
    both = program(
        *({"chip": 0, "core": core, "CDMA": [send(1, 134_400)]} for core in range(2)),
        *({"chip": 1, "core": core, "CDMA": [receive(0, 134_400)]} for core in range(2)),
    )
    one_wire = 2 * 100 * 1402 / 50 + 150
    assert point("makespan", program=both, noc="none", **BARE).value == close(one_wire)


# Against a model written with SimPy


def random_program(draw: random.Random) -> dict[Queue, list[Command]]:
    """Commands at random, each of which waits at most for one that was written before it.

    A RECV may be written late, behind others, so that commands can wait for each other for ever. Messages between two
    cores are of one size, so that it does not matter which of them pair.
    """
    late: list[tuple[int, int, dict[str, Any]]] = []
    sizes: dict[Any, float] = {}
    chips, cores = draw.randint(2, 4), draw.randint(1, 2)
    queues: dict[Queue, list[Command]] = defaultdict(list)

    def add(chip: int, core: int, engine: int, **more: Any) -> None:
        queue = queues[chip, core, engine]
        known = [(key, command) for key, commands in queues.items() if key[0] == chip for command in commands]
        dep: dict[str, Any] = {}
        if known and draw.random() < 0.5:
            (_, dep_core, dep_engine), command = draw.choice(known)
            dep = {"dep": dep_engine, "dep_core": dep_core, "dep_id": command.cmd_id - draw.randint(0, 1)}
        cmd_id = (queue[-1].cmd_id if queue else 0) + draw.randint(1, 3)
        queue.append(Command(cmd_id, **dep, **more))

    for _ in range(draw.randint(1, 25)):
        chip, core = draw.randrange(chips), draw.randrange(cores)
        if draw.random() < 0.5:
            add(chip, core, draw.randrange(CDMA), amount=draw.choice((0.0, draw.uniform(1, 3000))))
            continue
        other, other_core = draw.choice([x for x in range(chips) if x != chip]), draw.randrange(cores)
        size = sizes.setdefault((chip, core, other, other_core), float(draw.choice((0, draw.randint(1, 9000)))))
        ends = [
            (chip, core, {"op": SEND, "remote_chip": other, "remote_core": other_core}),
            (other, other_core, {"op": RECV, "remote_chip": chip, "remote_core": core}),
        ]
        for here, here_core, more in draw.sample(ends, 2):
            if more["op"] == RECV and draw.random() < 0.1:
                late.append((here, here_core, {"amount": size, "measure": "data_bytes", **more}))
                continue
            add(here, here_core, CDMA, amount=size, measure="data_bytes", **more)
    for here, here_core, more in late:
        add(here, here_core, CDMA, **more)
    return dict(queues)


def followed(graph: Graph, chips: int, given: dict[str, Any]) -> tuple[int, Any, Any]:
    """How a program ends, and when its nodes begin and are done, over a full mesh with switches."""
    began, done = np.full(len(graph.nodes), -1), np.full(len(graph.nodes), -1)
    ending = follow_program(
        graph.nodes,
        graph.edges,
        np.zeros((0, 4)),
        float(chips),
        "full_mesh",
        given["hops"],
        8.0,
        8.0,
        "d_mod_k",
        "none",
        1.0,
        np.array([given["row"], given["row"]]),
        np.ones((5, 2)),
        np.array(given["noc"]),
        given["payload"],
        64.0,
        20.0,
        1.0,
        False,
        1e6,
        began,
        done,
        np.zeros(4, np.int64),
        np.zeros(2),
    )
    return ending, began, done


def test_a_model_written_with_simpy_finds_the_same_times_for_every_command():
    draw = random.Random(SEED)
    endings: dict[int, int] = defaultdict(int)
    for _ in range(250):
        queues = random_program(draw)
        credit = draw.choice((None, 1.0, 3000.0))
        streaming, blocking = draw.random() < 0.5, draw.random() < 0.3
        settings = Settings(
            "ring",
            "streaming" if streaming else "blocking",
            "blocking" if blocking else "posted",
            "off" if credit is None else "on",
            credit or 0.0,
            "pairwise",
            "double_binary",
            1.0,
            "whole_bytes",
        )
        graph = graph_of(queues, settings)
        hops, payload = draw.randint(0, 2), draw.choice((200, 1344))
        fixed, flight, base, back = (draw.randrange(1, 300_000_000) for _ in range(4))
        rate, credits = (
            draw.uniform(10, 100),
            draw.choice((math.inf, math.ceil((payload + 40) / 64) + draw.randint(0, 9))),
        )
        noc = (draw.uniform(100, 1000), draw.uniform(0.5, 3), 8.0, 5.0)
        times = [time / FEMTOSECONDS for time in (fixed, flight, base, 0, back)]
        given = {
            "hops": float(hops),
            "row": [rate, 40.0, 64.0, *times, credits, 64.0],
            "noc": noc,
            "payload": float(payload),
        }
        ending, began, done = followed(graph, 4, given)
        network = Network(
            messages=(),
            ways={
                (a, b): [((a, b, hop), rate) for hop in range(hops + 1)] for a in range(4) for b in range(4) if a != b
            },
            payload=payload,
            overhead=40,
            minimum=64,
            gap=20,
            awaited=64.0,
            fixed=fixed,
            flight=flight,
            base=base,
            back=back,
            credits=None if credits == math.inf else int(credits),
            credit_size=64,
        )
        same = simpy_program.Chips(
            queues=queues,
            times={
                (queue, place): round(command.amount * FEMTOSECONDS)
                for queue, commands in queues.items()
                for place, command in enumerate(commands)
            },
            noc=lambda core, size, noc=noc: round((abs(5 - core) * noc[1] + size / noc[0]) * FEMTOSECONDS),
            network=network,
            streaming=streaming,
            blocking_receives=blocking,
            credit=credit,
        )
        begins, ends = simpy_program.run(same)
        rows = [(queue, place) for queue in sorted(queues) for place in range(len(queues[queue]))]
        assert [began[int(row[BEGIN])] for row in graph.commands] == [begins.get(key, -1) for key in rows]
        assert [done[int(row[END])] for row in graph.commands] == [ends.get(key, -1) for key in rows]
        assert (ending == DONE) == (len(ends) == len(rows))
        assert (ending == DEADLOCKED) == bool(commands_in_a_circle(graph))
        endings[ending] += 1
    assert set(endings) == {DONE, DEADLOCKED}
    assert min(endings.values()) > 15


def test_busy_and_exposed_times_are_those_of_counting_every_interval():
    draw = random.Random(SEED + 1)
    for _ in range(200):
        queues = random_program(draw)
        settings = Settings("ring", "streaming", "posted", "off", 0.0, "pairwise", "double_binary", 1.0, "whole_bytes")
        graph = graph_of(queues, settings)
        row = [50.0, 40.0, 64.0, 500.0, 5.0, 150.0, 0.0, 300.0, math.inf, 64.0]
        given = {"hops": 0.0, "row": row, "noc": (math.inf, 0.0, 8.0, 0.0), "payload": 1344.0}
        ending, began, done = followed(graph, 4, given)
        if ending != DONE:
            continue
        busy, exposed = np.zeros(5), np.zeros(5)
        add_up_times(graph.commands, 4, began, done, busy, exposed)
        expected_busy, expected_exposed = np.zeros(5), np.zeros(5)
        for chip in range(4):
            spans = [
                (int(row[2]), began[int(row[BEGIN])], done[int(row[END])]) for row in graph.commands if row[0] == chip
            ]
            edges = sorted({edge for _, begin, end in spans for edge in (begin, end)})
            for start, stop in pairwise(edges):
                active = {engine for engine, begin, end in spans if begin <= start and stop <= end}
                for engine in active:
                    expected_busy[engine] += (stop - start) / FEMTOSECONDS / 4
                if len(active) == 1:
                    expected_exposed[active.pop()] += (stop - start) / FEMTOSECONDS / 4
        np.testing.assert_allclose(busy, expected_busy, rtol=1e-12)
        np.testing.assert_allclose(exposed, expected_exposed, rtol=1e-12)


# Against the formulas

LINK = {"bandwidth_gbps": 200, "latency_us": 0.2}
SWITCH = {"fixed_latency_ns": 500, "port_count": 64}
SLOW = {"fixed_latency_ns": 300, "port_bandwidth_gbps": 100, "port_count": 64, "forwarding_mode": "store_and_forward"}
CORE = {"fixed_latency_ns": 700, "port_count": 64}
TIERS = {
    "direct": LINK,
    "switch": {**LINK, "switch": SWITCH},
    "two switches": {**LINK, "switch": SWITCH, "switch_hops": 2},
    "switches that differ": {**LINK, "switches": [SWITCH, SLOW]},
    "ring": {**LINK, "ring": True},
    "mesh": {**LINK, "mesh": [4, 4]},
    "torus": {**LINK, "torus": [4, 4]},
    "fat tree": {**LINK, "fat_tree": {"leaf": 4}, "switch": SWITCH},
    "fat tree of three levels": {**LINK, "fat_tree": {"leaf": 2, "pod": 4}, "switches": [SWITCH, SLOW, CORE]},
}
TOPOLOGIES = {
    **{name: {"chips": "P1-R1-B1-C16", "interconnect": {"c2c": tier}} for name, tier in TIERS.items()},
    "boards": {
        "chips": "P1-R1-B4-C16",
        "interconnect": {
            "c2c": {**LINK, "paxi_override": {"pkt_format": "afh_lite"}},
            "b2b": {**LINK, "bandwidth_gbps": 50, "latency_us": 2.0, "switch": SWITCH},
        },
    },
    "pods": {
        "chips": "P2-R4-B8-C16",
        "interconnect": {
            "c2c": {**LINK, "ring": True},
            "b2b": {**LINK, "switch": SWITCH},
            "r2r": {**LINK, "switches": [SWITCH, SLOW]},
            "p2p": {**LINK, "fat_tree": {"leaf": 4}, "switch": SWITCH},
        },
    },
}


def ring_by_hand(n: int, size: int) -> dict[str, Any]:
    """An all-reduce as each chip's RECVs and SENDs, written out."""
    chunk = -(-size // n)
    blocks = []
    for chip in range(n):
        queue = []
        for step in range(2 * (n - 1)):
            queue.append(receive((chip - 1) % n, chunk))
            before = after("CDMA", 2 * (step - 1) + 1) if step else {}
            queue.append(send((chip + 1) % n, chunk, **before))
        blocks.append({"chip": chip, "CDMA": queue})
    return program(*blocks)


def as_collective(n: int, size: int, op: str = "all_reduce", **more: Any) -> Any:
    part = {"op_type": op, "data_bytes": size, "chip_group": "all", **more}
    return program({"chip": "all", "CDMA": [part]}, chips=n)


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("stride", [1, 2])
def test_an_all_reduce_of_sends_and_receives_takes_what_the_formula_says_on_every_topology(name, stride):
    topology = read_topology(yaml.safe_dump(TOPOLOGIES[name]), "topology.yaml")
    place = {"topology": topology, "group_stride": stride, "message_size": 20_000, "noc": "none"}
    scarce = {"credit_limit": 9, "credit_scope": "carried"}
    for written in (ring_by_hand(5, 20_000), as_collective(5, 20_000)):
        free = points(("makespan", "collective_latency"), program=written, **place)
        assert free["makespan"].value == close(free["collective_latency"].value)
        held = points(("makespan", "collective_latency"), program=written, **place, **scarce)
        if held["collective_latency"].status == "ok":  # carried has no formula for switches that differ
            assert held["makespan"].value == close(held["collective_latency"].value)
        assert held["makespan"].value > free["makespan"].value


@pytest.mark.parametrize("hops", [0, 1])
def test_collectives_as_commands_take_what_their_formulas_say(hops):
    shape = {"network_shape": "switched" if hops else "full_mesh", "switch_hops": hops}
    for op, algorithm, issue in (
        ("reduce_scatter", "ring", "blocking"),
        ("all_gather", "ring", "blocking"),
        ("all_to_all", "pairwise", "blocking"),
        ("all_to_all", "pairwise", "streaming"),
        ("all_reduce", "halving_doubling", "blocking"),
    ):
        found = points(
            ("makespan", "collective_latency"),
            program=as_collective(4, 30_000, op, algorithm=algorithm),
            collective=op,
            algorithm=algorithm,
            cdma_issue=issue,
            message_size=30_000,
            noc="none",
            **shape,
        )
        assert found["makespan"].value == close(found["collective_latency"].value), (op, algorithm, issue)


def test_a_send_and_its_receive_take_what_the_formula_of_cdma_says():
    pair = program({"chip": 0, "core": 3, "CDMA": [send(1, 5000)]}, {"chip": 1, "core": 3, "CDMA": [receive(0, 5000)]})
    for recv_credit in ("on", "off"):
        found = points(
            ("makespan", "send_latency"),
            program=pair,
            message_size=5000,
            src_core=3,
            dst_core=3,
            recv_credit=recv_credit,
            recv_credit_size=700,
        )
        assert found["makespan"].value == pytest.approx(found["send_latency"].value, abs=5e-6)  # whole femtoseconds


# What must hold


def test_a_program_never_takes_less_than_its_busiest_engine_or_its_longest_way():
    for phase in ("prefill", "decode"):
        found = points(
            ("makespan", "engine_busy", "engine_exposed", "exposed_communication", "peak_link_utilization"),
            program=program_of("tensor_parallel"),
            chip_count=3,
            phase=phase,
            hidden_size=64,
            ffn_size=256,
            sequence_length=32,
        )
        busy, exposed = found["engine_busy"].value, found["engine_exposed"].value
        assert found["makespan"].value >= max(busy)
        assert all(exposed <= busy)
        assert sum(exposed) <= found["makespan"].value * (1 + 1e-12)
        assert 0 < found["peak_link_utilization"].value <= 1


def program_of(generator: str) -> Any:
    return read_program(f"generator: {generator}", "program.yaml")


@pytest.mark.parametrize("schedule", ["binomial", "binomial_own_links", "pipelined", "single_binary", "double_binary"])
def test_trees_as_commands_take_what_simulated_collectives_take(schedule):
    found = points(
        ("makespan", "simulated_collective_latency"),
        program=as_collective(5, 30_000, algorithm="tree"),
        algorithm="tree",
        tree_schedule=schedule,
        tree_pieces=4,
        message_size=30_000,
        noc="none",
    )
    assert found["makespan"].value == close(found["simulated_collective_latency"].value)


def test_groups_that_share_no_link_do_not_wait_for_each_other_and_cores_of_a_chip_share_its_links():
    def part(group: Any) -> dict[str, Any]:
        return {"op_type": "all_reduce", "data_bytes": 30_000, "chip_group": group}

    one = point("makespan", program=as_collective(4, 30_000), noc="none").value
    two = [{"chip": chip, "CDMA": [part([5, 1, 7, 3] if chip % 2 else [0, 2, 4, 6])]} for chip in range(8)]
    assert point("makespan", program=program(*two), noc="none").value == close(one)
    cores = [{"chip": chip, "core": core, "CDMA": [part("all")]} for chip in range(4) for core in range(2)]
    frames = (5 * 1402 + (7500 - 5 * 1344 + 58) + 6 * 20) / 50  # of a chunk, in ns
    assert point("makespan", program=program(*cores), noc="none").value == pytest.approx(one + frames, abs=frames)
    assert point("makespan", program=program(*cores), noc="none").value > one
