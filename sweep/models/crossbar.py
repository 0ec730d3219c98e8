"""Where a switch keeps what waits: at its outputs, or at its inputs in front of a crossbar.

Time goes in slots, in each of which an input takes one cell and an output sends one. A cell comes to an input with
probability rho = `egress_utilization` and goes to any of N = `port_count` outputs. Waits count from a cell's slot to
the slot in which it leaves.

- output_queued: all that come for an output are put into its queue at once, up to N in a slot;
- input_fifo: each input has one queue. Of the first cells that want the same output one gets it, by chance; the others
  hold up all behind them, so that even without end of cells an output is busy for 2 - sqrt(2) of the slots only;
- voq: each input has a queue for each output, and a schedule (iSLIP) matches inputs with outputs anew in each slot.

Other traffic (`crossbar_traffic`): permutation, each input to an output of its own; bursts, of one destination.

The formulas of input_fifo are limits for many ports: there the first cells that newly want an output are a Poisson
number in each slot, whatever happened before, and each input is a Geom/G/1 queue whose service is the time that a cell
is first. For voq there is no formula, see `events.crossbar`.

Times in ns. Source: Karol, Hluchyj and Morgan, Input versus output queueing on a space-division packet switch, IEEE
Trans. Communications 35, 1987. Their mean wait of input_fifo takes first cells in the order in which they became first;
by chance it is longer, and derived here.
"""

from __future__ import annotations

import math

from sweep.registry import Choices, parameter, quantity

FIFO_SATURATION = 2 - math.sqrt(2)
"""Share of the slots in which an output is busy, with endless queues at the inputs of many ports."""

port_count = parameter(
    default=16,
    integer=True,
    minimum=1,
    maximum=64,
    doc="Ports of a switch",
    source="design note, port_count 8 to 64",
)
switch_architecture = parameter(
    choices=("output_queued", "voq", "input_fifo"),
    default="output_queued",
    doc="Where a switch keeps what waits: a queue at each output; at each input a queue for each output; one at each "
    "input",
    source="design note, SwitchSim: VOQ and iSLIP",
)


crossbar_traffic = parameter(
    choices=("uniform", "permutation", "bursts"),
    default="uniform",
    doc="Where cells go: each to any output; each input to an output of its own; bursts of one destination, of "
    "burst_frames cells on the mean",
    source="Karol, Hluchyj and Morgan 1987; McKeown 1999",
)

OUTPUTS: Choices = {"switch_architecture": "output_queued", "crossbar_traffic": "uniform"}
INPUTS: Choices = {"switch_architecture": "input_fifo", "crossbar_traffic": "uniform"}


def overloaded_outputs(egress_utilization: float) -> bool:
    """An output gets at least as much as it can send."""
    return egress_utilization >= 1


def overloaded_inputs(egress_utilization: float) -> bool:
    """The first cells hold up more than comes."""
    return egress_utilization >= FIFO_SATURATION


@quantity("crossbar_queueing", unit="ns", when=OUTPUTS, fails={"unstable": overloaded_outputs})
def crossbar_queueing_at_outputs(frame_service: float, port_count: float, egress_utilization: float) -> float:
    """Mean wait of a cell in a switch with slots."""
    share = (port_count - 1) / port_count
    return frame_service * share * egress_utilization / (2 * (1 - egress_utilization))


@quantity("crossbar_queueing", when=INPUTS, fails={"unstable": overloaded_inputs})
def crossbar_queueing_at_inputs(frame_service: float, egress_utilization: float) -> float:
    """Mean wait of a cell in a switch with slots, of many ports.

    Pollaczek and Khinchine in slots: rho E[S (S - 1)] / (2 (1 - rho E[S])) + E[S] - 1, with S one slot more than the
    wait of a first cell (`first_cell_wait`, `first_cell_wait_squared`).
    """
    wait = first_cell_wait(egress_utilization)
    more = first_cell_wait_squared(egress_utilization) + wait
    slots = egress_utilization * more / (2 * (1 - egress_utilization * (1 + wait))) + wait
    return frame_service * slots


def first_cell_wait(rho: float) -> float:
    """Mean slots that a cell waits once it is the first of its input: M/D/1 in slots, whatever the order."""
    return rho / (2 * (1 - rho))


def first_cell_wait_squared(rho: float) -> float:
    """Mean square of the slots that a first cell waits, where one of those that want the output gets it by chance.

    With n others it waits n/(2 - rho) slots on the mean, and a n^2 + b n on the mean square: both solve
    w(n) = n/(n + 1) E[f(w(n - 1 + Poisson(rho)))]. n is distributed as the cells that want an output at any time, with
    the moments of M/D/1.
    """
    left = rho * rho / (2 * (1 - rho))  # mean of those that are left after a slot
    more = rho * rho * rho / (6 * (1 - rho))
    mean = left + rho
    square = 2 * (left * left + more) + 2 * left * rho + rho * rho + mean
    a = 2 / ((2 - rho) * (3 - 2 * rho))
    b = (rho / (2 - rho) + a * (1 - rho + rho * rho)) / (2 - rho)
    return a * square + b * mean


@quantity("crossbar_throughput", unit="1", when=OUTPUTS)
def throughput_of_outputs(egress_utilization: float) -> float:
    """Share of the slots in which an output sends a cell."""
    return min(egress_utilization, 1.0)


@quantity("crossbar_throughput", when=INPUTS)
def throughput_of_inputs(egress_utilization: float) -> float:
    """Share of the slots in which an output sends a cell, of many ports."""
    return min(egress_utilization, FIFO_SATURATION)
