"""When each command of a program begins and ends, for one point of a grid; see `views.trace`, which asks for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.events.simulation import FEMTOSECONDS
from sweep.file import rows_of
from sweep.multichip.chips import has_no_program
from sweep.multichip.follow import follow_program
from sweep.multichip.graph import BEGIN, END
from sweep.registry import Output, kernel


@kernel(
    outputs={
        "record_begin": Output("ns", dims=("program_command",), gaps=True),
        "record_end": Output("ns", dims=("program_command",), gaps=True),
        "record_ending": Output("1"),
        "record_stuck": Output("1"),
        "record_lacking": Output("1"),
    },
    dims={"program_command": (0.0,)},
    fails={"infeasible": has_no_program},
    internal=True,
)
def program_records(
    program_nodes: NDArray[np.float64],
    program_edges: NDArray[np.float64],
    program_commands: NDArray[np.float64],
    program_ways: NDArray[np.float64],
    chip_count: float,
    network_shape: str,
    switch_hops: float,
    leaf_chips: float,
    spine_count: float,
    routing: str,
    dead_link: str,
    seed: float,
    wire_table: NDArray[np.float64],
    engine_speeds: NDArray[np.float64],
    chip_network: NDArray[np.float64],
    max_payload: float,
    frame_minimum: float,
    frame_gap: float,
    virtual_channels: float,
    credit_span: str,
    event_budget: float,
    program_command: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float, float]:
    """When each command begins and ends, NaN where it does not, how the program ends, and which node lacks how many
    credits for ever, -1 if none does.

    `program_command` has a coordinate for each command: who asks gives it as many as there are.
    """
    loads = np.zeros(2)
    figures = np.zeros(4, np.int64)
    count = rows_of(program_nodes)
    began = np.full(count, -1)
    done = np.full(count, -1)
    ending = follow_program(
        program_nodes,
        program_edges,
        program_ways,
        chip_count,
        network_shape,
        switch_hops,
        leaf_chips,
        spine_count,
        routing,
        dead_link,
        seed,
        wire_table,
        engine_speeds,
        chip_network,
        max_payload,
        frame_minimum,
        frame_gap,
        virtual_channels,
        credit_span == "link",
        event_budget,
        began,
        done,
        figures,
        loads,
    )
    begins = np.full(program_command.size, np.nan)
    ends = np.full(program_command.size, np.nan)
    for row in range(program_command.size):
        begin = began[int(program_commands[row, BEGIN])]
        end = done[int(program_commands[row, END])]
        if begin >= 0:
            begins[row] = begin / FEMTOSECONDS
        if end >= 0:
            ends[row] = end / FEMTOSECONDS
    return begins, ends, float(ending), float(figures[2]), float(figures[3])
