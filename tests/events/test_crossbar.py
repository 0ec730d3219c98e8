"""Switches with slots against published numbers, queueing theory, and a model of deques and sets."""

from __future__ import annotations

import random
from collections import deque

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.events.chance import words
from sweep.events.crossbar import (
    BURSTS,
    INPUT_FIFO,
    OUTPUT_QUEUED,
    PERMUTATION,
    ROOM,
    UNIFORM,
    VOQ,
    follow_crossbar,
)
from sweep.events.simulation import CELL_ARRIVALS, CONTENTION
from sweep.models.crossbar import first_cell_wait, first_cell_wait_squared
from tests.models import point, points

SEED = 20_261_202


def draw(seed, stream, place):
    """Four numbers from 0 to less than 1."""
    return [int(word) / 2**32 for word in words(seed, stream, place)]


class Switch:
    """The same switch with a deque for each pair of ports; says how long each cell waits that leaves in a slot."""

    def __init__(self, ports, load, architecture, iterations, traffic, burst, seed):
        self.ports, self.load, self.traffic, self.burst, self.seed = ports, load, traffic, burst, seed
        self.architecture, self.iterations = architecture, iterations
        self.cells = {}  # queue: cells as (slot, output)
        self.bursts = [None] * ports
        self.grant_pointer, self.accept_pointer = [0] * ports, [0] * ports
        self.lost = 0

    def arrivals(self, slot):
        for i in range(self.ports):
            a, b, c, _ = draw(self.seed, CELL_ARRIVALS, slot * self.ports + i)
            output = None
            if self.traffic == BURSTS:
                chance = self.load / (self.load + self.burst * (1 - self.load)) if self.load else 0
                if self.bursts[i] is None and a < chance:
                    self.bursts[i] = int(b * self.ports)
                output = self.bursts[i]
                if c < 1 / self.burst:
                    self.bursts[i] = None
            elif a < self.load:
                output = i if self.traffic == PERMUTATION else int(b * self.ports)
            if output is not None:
                yield i, output

    def step(self, slot):
        for i, output in self.arrivals(slot):
            if sum(cell[2] == i for queue in self.cells.values() for cell in queue) >= ROOM:
                self.lost += 1
                continue
            queue = {OUTPUT_QUEUED: output, INPUT_FIFO: i, VOQ: (i, output)}[self.architecture]
            self.cells.setdefault(queue, deque()).append((slot, output, i))
        match = {OUTPUT_QUEUED: self.outputs, INPUT_FIFO: self.by_chance, VOQ: self.islip}[self.architecture](slot)
        return [slot - self.cells[queue].popleft()[0] for queue in match]

    def outputs(self, slot):
        return [queue for queue, cells in self.cells.items() if cells]

    def by_chance(self, slot):
        found = []
        for output in range(self.ports):
            wanting = [i for i in range(self.ports) if self.cells.get(i) and self.cells[i][0][1] == output]
            winner = None
            for n, i in enumerate(wanting, start=1):
                if draw(self.seed, CONTENTION, slot * self.ports + i)[0] < 1 / n:
                    winner = i
            if winner is not None:
                found.append(winner)
        return found

    def islip(self, slot):
        match = {}
        for iteration in range(self.iterations):
            requests = {
                o: {i for i in range(self.ports) if self.cells.get((i, o)) and i not in match}
                for o in range(self.ports)
                if o not in match.values()
            }
            grants = {}
            for o, asking in requests.items():
                if asking:
                    grants.setdefault(self.from_pointer(asking, self.grant_pointer[o]), set()).add(o)
            for i, offered in grants.items():
                o = self.from_pointer(offered, self.accept_pointer[i])
                match[i] = o
                if iteration == 0:
                    self.grant_pointer[o] = (i + 1) % self.ports
                    self.accept_pointer[i] = (o + 1) % self.ports
        return list(match.items())

    def from_pointer(self, ports, pointer):
        return min(ports, key=lambda port: (port - pointer) % self.ports)


def test_every_part_is_that_of_a_switch_of_deques_and_sets():
    draws = random.Random(SEED)
    for _ in range(150):
        ports = draws.choice((1, 2, 3, 4, 5, 8))
        given = (
            ports,
            draws.choice((0.0, 0.1, 0.5, 0.8, 0.95, 1.0)),
            draws.choice((OUTPUT_QUEUED, VOQ, INPUT_FIFO)),
            draws.choice((1, 2, 4)),
            draws.choice((UNIFORM, UNIFORM, PERMUTATION, BURSTS)),
            draws.choice((1.0, 3.0, 10.0)),
        )
        seed, part, parts = draws.randrange(2**52), 8, 8
        means, carried = np.zeros(parts), np.zeros(parts)
        lost = follow_crossbar(*given, part, seed, means, carried)
        switch = Switch(*given, seed)
        waited = [switch.step(slot) for slot in range(part * parts // 16 + part * parts)][part * parts // 16 :]
        assert lost == switch.lost == 0
        for n in range(parts):
            here = [wait for slot in waited[n * part : (n + 1) * part] for wait in slot]
            assert carried[n] == len(here) / (part * ports)
            assert means[n] == sum(here) / len(here) if here else np.isnan(means[n]), given


@pytest.fixture(scope="module")
def uniform() -> xr.Dataset:
    """All architectures under uniform traffic."""
    grid = {
        "outputs": [
            *("simulated_crossbar_queueing", "simulated_crossbar_queueing_interval", "crossbar_queueing"),
            *("simulated_crossbar_throughput", "simulated_crossbar_throughput_interval", "crossbar_throughput"),
            "frame_service",
        ],
        "axes": {
            "switch_architecture": ["output_queued", "input_fifo", "voq"],
            "islip_iterations": [1, 2, 4],
            "port_count": [2, 4, 8, 16],
            "egress_utilization": [0.3, 0.5, 0.8, 1.0],
        },
        "fixed": {"sample_slots": 200_000, "seed": SEED},
    }
    return sweep.run(grid)


@pytest.mark.heavy
def test_one_queue_for_each_input_saturates_as_published(uniform):
    # Karol, Hluchyj and Morgan 1987, table I; for 16 ports 0.601 is what other simulations find.
    found = uniform["simulated_crossbar_throughput"].sel(
        switch_architecture="input_fifo", egress_utilization=1.0, islip_iterations=1
    )
    np.testing.assert_allclose(found, [0.75, 0.6553, 0.6184, 0.601], atol=0.0015)


@pytest.mark.heavy
def test_waits_of_output_queues_lie_within_the_interval_around_the_formula(uniform):
    found = uniform.sel(switch_architecture="output_queued", egress_utilization=[0.3, 0.5, 0.8])
    off = abs(found["simulated_crossbar_queueing"] - found["crossbar_queueing"])
    assert bool((off <= found["simulated_crossbar_queueing_interval"]).all())
    width = found["simulated_crossbar_queueing_interval"] / found["crossbar_queueing"]
    assert float(width.max()) < 0.05


@pytest.mark.heavy
def test_waits_of_islip_are_the_published_ones(uniform):
    found = uniform.sel(switch_architecture="voq", port_count=16, egress_utilization=0.8)
    slots = found["simulated_crossbar_queueing"] / found["frame_service"]
    np.testing.assert_allclose(slots, [44.5, 4.6, 3.75], rtol=0.025)


@pytest.mark.heavy
def test_islip_fills_all_outputs_under_uniform_traffic_and_others_carry_what_comes(uniform):
    carried = uniform["simulated_crossbar_throughput"]
    assert float(carried.sel(switch_architecture="voq", egress_utilization=1.0).min()) > 0.99
    below = uniform.sel(egress_utilization=[0.3, 0.5])
    off = abs(below["simulated_crossbar_throughput"] - below["egress_utilization"])
    assert bool((off <= below["simulated_crossbar_throughput_interval"]).all())


@pytest.mark.heavy
def test_first_cells_hold_up_as_the_formula_says_for_many_ports():
    grid = {
        "outputs": ["simulated_crossbar_queueing", "crossbar_queueing", "simulated_crossbar_queueing_interval"],
        "axes": {"egress_utilization": [0.2, 0.4, 0.5], "port_count": [32, 64]},
        "fixed": {"switch_architecture": "input_fifo", "sample_slots": 200_000},
    }
    found = sweep.run(grid)
    few, many = (found["simulated_crossbar_queueing"].sel(port_count=ports) for ports in (32, 64))
    formula = found["crossbar_queueing"]
    assert bool((few < many).all() and (many < formula).all())
    # What is missing goes down with 1/N, so that the limit is as far beyond 64 ports as these are beyond 32.
    interval = 3 * found["simulated_crossbar_queueing_interval"].max("port_count")
    assert bool((abs(2 * many - few - formula) < interval).all())
    assert bool((interval < 0.08 * formula).all())


@pytest.mark.parametrize("architecture", ["output_queued", "voq", "input_fifo"])
def test_a_permutation_never_waits(architecture):
    given = {
        "crossbar_traffic": "permutation",
        "switch_architecture": architecture,
        "port_count": 4,
        "egress_utilization": 0.9,
        "sample_slots": 1000,
    }
    assert point("simulated_crossbar_queueing", **given).value == 0
    assert point("simulated_crossbar_throughput", **given).value == pytest.approx(0.9, abs=0.03)


@pytest.mark.heavy
def test_a_switch_whose_inputs_have_no_room_is_unstable(uniform):
    found = uniform["simulated_crossbar_queueing"].sel(switch_architecture="input_fifo", islip_iterations=1)
    assert bool(np.isposinf(found.sel(egress_utilization=[0.8, 1.0])).all())
    assert bool(np.isfinite(found.sel(egress_utilization=[0.3, 0.5])).all())


def test_an_overloaded_switch_has_no_mean_wait():
    given = {"port_count": 2, "sample_slots": 4000, "switch_architecture": "input_fifo"}
    outputs = ("simulated_crossbar_queueing", "simulated_crossbar_throughput", "crossbar_queueing")
    found = points(outputs, egress_utilization=0.9, **given)
    assert found["simulated_crossbar_queueing"].status == "budget"  # waits grow
    assert found["crossbar_queueing"].status == "unstable"
    assert found["simulated_crossbar_throughput"].value == pytest.approx(0.75, abs=0.02)
    assert point("simulated_crossbar_queueing", egress_utilization=1.0, **given).status == "unstable"


def test_one_port_has_nothing_to_wait_for():
    given = {"port_count": 1, "egress_utilization": 0.9, "sample_slots": 1000}
    found = points(("simulated_crossbar_queueing", "crossbar_queueing"), **given)
    assert found["simulated_crossbar_queueing"].value == found["crossbar_queueing"].value == 0


def test_where_nothing_comes_no_wait_is_known():
    found = point("simulated_crossbar_queueing", egress_utilization=0.0, sample_slots=1000, port_count=2)
    assert found.status == "undefined"


def test_formulas_of_saturation():
    assert point("crossbar_throughput", egress_utilization=1.0).value == 1
    given = {"switch_architecture": "input_fifo", "egress_utilization": 1.0}
    assert point("crossbar_throughput", **given).value == pytest.approx(0.5858, abs=5e-5)
    assert point("crossbar_queueing", switch_architecture="voq", egress_utilization=0.5).status == "infeasible"


def test_the_wait_of_first_cells_is_that_of_a_queue_served_by_chance():
    draws = np.random.default_rng(SEED)
    for rho in (0.3, 0.55):
        here, waits = [], []
        for slot, comes in enumerate(draws.poisson(rho, 200_000)):
            here += [slot] * comes
            if here:
                place = draws.integers(len(here))
                waits.append(slot - here[place])
                here[place] = here[-1]
                here.pop()
        assert np.mean(waits) == pytest.approx(first_cell_wait(rho), rel=0.02)
        assert np.mean(np.square(waits)) == pytest.approx(first_cell_wait_squared(rho), rel=0.05)


def test_a_simulation_of_more_slots_than_its_budget_is_not_begun():
    found = point("simulated_crossbar_throughput", sample_slots=10**7, port_count=16)
    assert found.status == "budget"


@pytest.mark.parametrize("traffic", ["permutation", "bursts"])
def test_formulas_are_for_uniform_traffic(traffic):
    given = {"egress_utilization": 0.5, "crossbar_traffic": traffic}
    found = points(("crossbar_queueing", "crossbar_throughput"), **given)
    assert {each.status for each in found.values()} == {"infeasible"}
