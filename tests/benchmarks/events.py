"""Simulators on one thread: against models of the same written with SimPy, and against a bare winner tree."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import sweep
from sweep.api import plan
from sweep.engine.execute import Execution
from sweep.engine.kernelcache import load_kernel
from sweep.engine.loopnest import write_kernel
from sweep.engine.news import ignore
from sweep.events.simulation import DATA_ARRIVALS, FEMTOSECONDS
from sweep.multichip.program import Command, Maker, Queue
from sweep.multichip.program_file import as_file
from tests.benchmarks import row
from tests.benchmarks.kernel import alternate
from tests.events import simpy_incast, simpy_link, simpy_network, simpy_port, simpy_switch
from tests.events.test_port import arrivals
from tests.multichip import simpy_program


@numba.njit(nogil=True, error_model="numpy")
def winner_tree(resources: int, events: int) -> int:
    """As many events as wanted, the earliest of some resources first, each due again after a time of its own."""
    times = np.arange(1, resources + 1)
    winners = np.empty(2 * resources, np.int64)
    winners[resources:] = np.arange(resources)
    for node in range(resources - 1, 0, -1):
        left, right = winners[2 * node], winners[2 * node + 1]
        winners[node] = left if times[left] <= times[right] else right
    now = 0
    for _ in range(events):
        winner = winners[1]
        now = times[winner]
        times[winner] = now + 100 + (winner * 37 + now * 11) % 64
        node = (winner + resources) >> 1
        while node >= 1:
            left, right = winners[2 * node], winners[2 * node + 1]
            winners[node] = left if times[left] <= times[right] else right
            node >>= 1
    return now


class Simulation:
    """One point of a grid, compiled, to be run on one thread."""

    def __init__(self, output: str, events: str, fixed: dict[str, Any]) -> None:
        made = plan(sweep.load_grid({"outputs": [output, events], "fixed": fixed}))
        source = write_kernel(made)
        self.execution = Execution(made, source, load_kernel(source.text, ignore))
        self.names = output, events
        self.run()

    def run(self) -> tuple[float, float]:
        """The output, and how many events it took."""
        self.execution.run(1)
        output, events = (float(self.execution.arrays[f"out_{name}"][()]) for name in self.names)
        return output, events


def link(frames: int) -> tuple[Simulation, Callable[[], float]]:
    """A message over a link with two channels, a slow drain and scarce credits, and its SimPy model (ns)."""
    fixed = {
        "message_size": 1344 * frames,
        "credit_limit": 30,
        "virtual_channels": 2,
        "drain_time": 10.0,
        "event_budget": 1e9,
    }
    same = simpy_link.Link(
        frames=frames,
        duration=28_440_000,
        last_duration=28_440_000,
        need=6,
        last_need=6,
        credits=30,
        channels=2,
        base=150_000_000,
        span=150_000_000,
        drain=10_000_000,
        back=150_000_000,
    )
    simulation = Simulation("simulated_link_latency", "simulated_link_events", fixed)
    return simulation, lambda: simpy_link.finish_time(same)[0] / FEMTOSECONDS


def port(frames: int) -> tuple[Simulation, Callable[[], float]]:
    """An egress port at 80 % of its rate, and its SimPy model (ns)."""
    fixed = {
        "egress_utilization": 0.8,
        "sample_frames": frames,
        "link_bandwidth": 1402 / 32,  # a frame takes 32 ns
        "event_budget": 1e9,
    }
    skipped = frames // 128 * 8

    def mean_wait() -> float:
        data = arrivals(4e7, 1, DATA_ARRIVALS, skipped + frames // 128 * 128, lambda _: 32 * 10**6)
        waits, _ = simpy_port.waits(data, [], 1)
        return sum(waits[skipped:]) / len(waits[skipped:]) / FEMTOSECONDS

    return Simulation("simulated_queueing", "simulated_port_events", fixed), mean_wait


def incast(frames: int) -> tuple[Simulation, Callable[[], float]]:
    """Eight hosts that send to one through two switches that pause them, and the SimPy model (ns)."""
    count = frames // 8
    fixed = {
        "message_size": 1344 * count,
        "switch_hops": 2,
        "flow_control": "pfc",
        "buffer_size": 1_000_000,
        "pause_delay": 300.0,
        "event_budget": 1e9,
    }
    same = simpy_incast.Incast(
        hops=2,
        senders=8,
        counts=(count, 0),
        full=1402,
        last=(1402, 64),
        gap=20,
        classes=2,
        pauses_classes=False,
        pause=True,
        credits=None,
        credit_size=256,
        rates=(50.0, 800.0, 50.0),
        awaited=64.0,
        fixed=500_000_000,
        flight=5_000_000,
        back=155_000_000,
        pause_delay=300_000_000,
        reserves=(50 * 300 + 1402, 800 * 300 + 1402),
        ratio=0.85,
        buffer=1_000_000,
        alpha=1.0,
    )
    simulation = Simulation("simulated_incast_latency", "simulated_incast_events", fixed)
    return simulation, lambda: max(simpy_incast.run(same)[0]) / FEMTOSECONDS + 150


def switch(frames: int) -> tuple[Simulation, Callable[[], float]]:
    """A switch with eight hosts, four classes, acknowledgements, pauses and marks, and its SimPy model (load)."""
    ports, counted = 8, frames // 128 * 128
    fixed = {
        "port_count": ports,
        "egress_utilization": 0.8,
        "sample_frames": counted,
        "flow_control": "pfc",
        "buffer_size": 300_000,
        "pause_delay": 300.0,
        "ecn_minimum": 20_000,
        "event_budget": 1e9,
    }
    same = simpy_switch.Given(
        ports=ports,
        pattern=0,
        gap_between=1422 / 50 / 0.8 * 1e6,
        burst=1,
        messages=(),
        payload=1344,
        overhead=58,
        minimum=64,
        response_share=0.5,
        acknowledged=True,
        queue_of=(0, 1, 2, 3),
        sizes=(64, 64, 1402, 1402),
        gap=20,
        rates=(50.0, 50.0),
        awaited=64.0,
        fixed=500_000_000,
        flight=0,
        base=150_000_000,
        pause=True,
        pauses_classes=False,
        credits=None,
        credit_size=256,
        back=150_000_000,
        pause_delay=300_000_000,
        reserve=50 * 300 + 1402,
        ratio=0.85,
        buffer=300_000,
        alpha=1.0,
        marks=(20_000, 80_000),
        slows=True,
        notice_gap=50_000_000_000,
        recovery=55_000_000_000,
        increase=0.005,
        gain=1 / 256,
        request_weight=1,
        seed=1,
    )

    def utilization() -> float:
        found = simpy_switch.run(same, counted // 16, counted)
        return found.busy / (found.until - found.since) / ports

    return Simulation("switch_utilization", "simulated_switch_events", fixed), utilization


def network(frames: int) -> tuple[Simulation, Callable[[], float]]:
    """An all-reduce around 16 chips through a switch, each of them simulated, with few credits, and the SimPy model."""
    n = 16
    chunk = 1344 * max(frames // (2 * (n - 1) * n), 1)
    fixed = {
        "message_size": chunk * n,
        "chip_count": n,
        "network_shape": "switched",
        "switch_hops": 1,
        "symmetric_chips": "all",
        "credit_limit": 300,
        "event_budget": 1e9,
    }
    way = {(chip, (chip + 1) % n): [(chip, 50.0), (n + chip, 50.0)] for chip in range(n)}
    back = 150_000_000 + 2 * 5_000_000 + 500_000_000 + 1_280_000
    same = simpy_network.Network(
        messages=simpy_network.ring_all_reduce(n, chunk),
        ways=way,
        payload=1344,
        overhead=58,
        minimum=64,
        gap=20,
        awaited=64.0,
        fixed=500_000_000,
        flight=5_000_000,
        base=150_000_000,
        back=back,
        credits=300,
    )
    simulation = Simulation("simulated_collective_latency", "simulated_collective_events", fixed)
    return simulation, lambda: max(simpy_network.run(same)) / FEMTOSECONDS


def tensor_parallel_layer(chips: int, size: float) -> dict[Queue, list[Command]]:
    """Two matrix products, each followed by an all-reduce of `size` bytes in SENDs and RECVs around a ring."""
    maker = Maker(chips)
    chunk = float(-(-size // chips))
    for chip in range(chips):
        after: tuple[str, int] | None = None
        for _ in range(2):
            done = maker.add(chip, "TIU", 20_000.0, after=after)
            after = ("TIU", done)
            for _ in range(2 * (chips - 1)):
                got = maker.receive(chip, (chip - 1) % chips, chunk)
                maker.send(chip, (chip + 1) % chips, chunk, after)
                after = ("CDMA", got)
    return maker.queues


def program(frames: int) -> tuple[Simulation, Callable[[], float]]:
    """A tensor-parallel layer on eight chips with their engines, direct links, and its SimPy model."""
    chips = 8
    queues = tensor_parallel_layer(chips, 1344 * max(frames // (4 * (chips - 1)), 1))
    fixed = {"program": as_file(queues, "layer"), "event_budget": 1e9}
    simulation = Simulation("makespan", "simulated_program_events", fixed)
    same = simpy_program.Chips(
        queues=queues,
        times={
            (queue, place): round(command.amount * FEMTOSECONDS)
            for queue, commands in queues.items()
            for place, command in enumerate(commands)
        },
        noc=lambda core, size: round(size / 1024 * FEMTOSECONDS),
        network=simpy_network.Network(
            messages=(),
            ways={(a, b): [((a, b), 50.0)] for a in range(chips) for b in range(chips) if a != b},
            payload=1344,
            overhead=58,
            minimum=64,
            gap=20,
            awaited=64.0,
            fixed=500_000_000,
            flight=0,
            base=150_000_000,
            back=150_000_000,
            credits=512,
        ),
        streaming=False,
        blocking_receives=False,
        credit=None,
        rounds=0,
    )
    return simulation, lambda: max(simpy_program.run(same)[1].values()) / FEMTOSECONDS


def large_program(chips: int, commands: int) -> Simulation:
    """So many commands on each of many chips, of three engines, a quarter of them SENDs of 1 to 16 frames."""
    maker = Maker(chips)
    for step in range(commands // 4):
        for chip in range(chips):
            to, of = (chip + 1 + step % 3) % chips, (chip - 1 - step % 3) % chips
            size = 1344.0 * (1 + step % 16)
            done = maker.add(chip, "TIU", 300.0 + step % 7)
            maker.add(chip, "DMA", 200.0 + step % 5)
            maker.receive(chip, of, size)
            maker.send(chip, to, size, ("TIU", done))
    fixed = {"program": as_file(maker.queues, "large"), "event_budget": 1e9}
    return Simulation("makespan", "simulated_program_events", fixed)


def collective_of(chips: int, collective: str, algorithm: str) -> Simulation:
    """A collective of many chips, all simulated, in messages of 8 frames over direct links."""
    fixed = {
        "message_size": 8 * 1344 * chips,
        "chip_count": chips,
        "collective": collective,
        "algorithm": algorithm,
        "symmetric_chips": "all",
        "event_budget": 1e9,
    }
    return Simulation("simulated_collective_latency", "simulated_collective_events", fixed)


def measure_many_chips(chips: int, commands: int, rounds: int) -> list[str]:
    """Lines about a program of many chips beside collectives of as many."""
    program = large_program(chips, commands)
    events = program.run()[1]
    lines = [f"program of {chips} chips x {commands} commands"]
    for collective, algorithm in (("all_reduce", "ring"), ("all_to_all", "pairwise")):
        network = collective_of(chips, collective, algorithm)
        of_network = network.run()[1]
        pairs = zip(*alternate(program.run, network.run, rounds), strict=True)
        slower = statistics.median((one / events) / (other / of_network) for one, other in pairs)
        lines.append(row(f"time of an event over that of a {algorithm} {collective}", slower, "1.5"))
    return lines


def measure(frames: int = 12_800, rounds: int = 5, many: int = 100, chips: int = 256) -> list[str]:
    """Lines of ratios; both models of the same work run in turn, and must give the same answer."""
    lines = []
    models = (
        ("link", link, 4),
        ("port", port, 4),
        ("incast", incast, 64),
        ("switch", switch, 64),
        ("ring all-reduce", network, 64),
        ("program", program, 256),
    )
    for name, model, resources in models:
        simulation, other = model(frames)
        np.testing.assert_allclose(simulation.run()[0], other(), rtol=1e-12)
        pairs = zip(*alternate(simulation.run, other, rounds), strict=True)
        faster = statistics.median(long / short for short, long in pairs)
        larger, _ = model(frames * many)
        events = int(larger.run()[1])
        spent, bare = alternate(larger.run, lambda count=events, size=resources: winner_tree(size, count), rounds)
        reached = statistics.median(b / a for a, b in zip(spent, bare, strict=True))
        lines += [
            f"simulated {name}: {events / statistics.median(spent) / 1e6:.0f} M events/s on one thread",
            row("times faster than SimPy on the same work, same answer", faster, "50"),
            row(f"speed of a bare winner tree of {resources} resources reached", reached, "-"),
        ]
    return lines + measure_many_chips(chips, 1000 if chips > 100 else 40, rounds)
