"""Programs from YAML: what is read, what is refused and how it is said, and that what is written is read again."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from sweep.errors import InputError
from sweep.multichip.engines import ENGINES
from sweep.multichip.generators import GENERATORS
from sweep.multichip.prepare import WORKLOAD
from sweep.multichip.program import RECV, SEND, Command, Maker
from sweep.multichip.program_file import OF_PROGRAM, program_text, read_program
from tests.models import point
from tests.multichip import after, program, receive, send

pytestmark = pytest.mark.plain

TIU, DMA, CDMA = (ENGINES.index(name) for name in ("TIU", "DMA", "CDMA"))


def part(op: str, **more: Any) -> dict[str, Any]:
    return {"op_type": op, "data_bytes": 8, "chip_group": "all", **more}


def faults_of(text: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        read_program(text, "p.yaml")
    return [str(fault) for fault in raised.value.faults]


def test_the_words_of_the_design_note_are_read():
    read = read_program(
        """
        commands:
        - chip: 0
          TIU: [{cmd_id: 4, time: 2 us, source_op_id: product}]
          CDMA: [{cmd_id: 7, cmd_id_dep: 4, dep_engine: tiu, op_type: send, data_bytes: 64 KiB, remote_chip_id: 1}]
        - chip: 1
          core: 0
          CDMA: [{op_type: recv, data_bytes: 65536, remote_chip_id: 0}]
        """,
        "folder/two.yaml",
    )
    assert read.title == "two"
    assert read.values == {"chip_count": 2.0}
    tiu, sends = read.queues[0, 0, TIU][0], read.queues[0, 0, CDMA][0]
    assert (tiu.cmd_id, tiu.amount, tiu.measure, tiu.source_op_id) == (4, 2000.0, "time", "product")
    assert (sends.op, sends.amount, sends.remote_chip, sends.remote_core) == (SEND, 65536.0, 1, 0)
    assert (sends.dep, sends.dep_id) == (TIU, 4)
    assert read.queues[1, 0, CDMA][0].op == RECV


def test_a_block_may_be_for_some_chips_or_all_and_queues_go_on_over_blocks():
    read = program(
        {"chip": "all", "TIU": [{"time": 1}]}, {"chip": [0, 2], "TIU": [{"time": 2}], "DMA": [{"cycles": 5}]}, chips=3
    )
    assert {queue: [command.amount for command in commands] for queue, commands in read.queues.items()} == {
        (0, 0, TIU): [1, 2],
        (1, 0, TIU): [1],
        (2, 0, TIU): [1, 2],
        (0, 0, DMA): [5],
        (2, 0, DMA): [5],
    }


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (
            [{"chip": 0, "CDMA": [send(5, 1)]}],
            "p.yaml:4:57: remote_chip_id is a whole number from 0 to 1, not 5",
        ),
        (
            [{"chip": 0, "CDMA": [send(1, 1)]}],
            "no RECV of chip 1 core 0 pairs with this SEND, number 1 between the two",
        ),
        (
            [{"chip": 0, "CDMA": [receive(1, 1)]}],
            "no SEND of chip 1 core 0 pairs with this RECV, number 1 between the two",
        ),
        (
            [{"chip": 0, "CDMA": [send(1, 1)]}, {"chip": 1, "CDMA": [receive(0, 2)]}],
            "sends 1 B, but the RECV that it pairs with gets 2 B (p.yaml:6:10)",
        ),
        (
            [{"chip": 0, "TIU": [{"time": 1, **after("DMA", 1)}], "DMA": [{"time": 1, **after("TIU", 1)}]}],
            "chip 0 core 0 TIU 1 waits for ever: it waits for chip 0 core 0 DMA 1 (p.yaml:5:9), which waits for "
            "chip 0 core 0 TIU 1 (p.yaml:4:9)",
        ),
        (
            [{"chip": 0, "TIU": [{"time": 1, **after("TIU", 1)}]}],
            "chip 0 core 0 TIU 1 waits for ever: it waits for chip 0 core 0 TIU 1 (p.yaml:4:9)",
        ),
        (
            [{"chip": c, "CDMA": [receive(1 - c, 1), send(1 - c, 1, **after("CDMA", 1))]} for c in range(2)],
            "chip 0 core 0 CDMA RECV 1 waits for ever: it waits for chip 1 core 0 CDMA SEND 2 (p.yaml:6:61), which",
        ),
        (
            [{"chip": 0, "TIU": [{"time": 1, **after("HAU", 3)}], "HAU": [{"time": 1}, {"time": 1}]}],
            "waits for ever: HAU of core 0 has no command 3 or higher",
        ),
        (
            [{"chip": 0, "TIU": [{"time": 1, "dep_engine": "TIU"}]}],
            "dep_engine and cmd_id_dep go together",
        ),
        (
            [{"chip": 0, "CDMA": [part("all_reduce")]}],
            "all_reduce: chip 1 core 0 has no such command; all chips of chip_group take part",
        ),
        (
            [{"chip": c, "CDMA": [part(op)]} for c, op in enumerate(("all_reduce", "all_gather"))],
            "all_gather of 8 B is part of the same collective as all_reduce of 8 B (p.yaml:4:10), from which it",
        ),
        (
            [{"chip": 0, "CDMA": [part("all_reduce", chip_group=[1])]}],
            "chip 0, whose command this is, is not in chip_group",
        ),
        (
            [{"chip": 0, "CDMA": [part("all_gather", algorithm="tree")]}],
            "algorithm is one of ring, direct, not tree",
        ),
        (
            [{"chip": 0, "CDMA": [send(0, 1)]}],
            "chip 0 sends to itself; that is what SDMA does",
        ),
        (
            [{"chip": 0, "TIU": [{"time": 1, "cmd_id": 3}, {"time": 1, "cmd_id": 3}]}],
            "cmd_id rises along a queue: 3 follows 3 on chip 0 core 0 TIU",
        ),
        ([{"chip": 0, "DMA": [{}]}], "a command of DMA has one of time, cycles, data_bytes"),
        ([{"chip": 0, "DMA": [{"time": -1}]}], "time is a number from 0 to 1125899906842624, not -1"),
        ([{"chip": 0, "TUI": []}], "'TUI' is not a key of a block of commands"),
        ([{"chip": 2, "TIU": []}], "chip is a whole number from 0 to 1, not 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_commands_is_said_where_it_is(blocks, said):
    found = faults_of(block_text(blocks))
    assert len(found) == 1
    assert said in found[0]


def block_text(blocks: list[dict[str, Any]]) -> str:
    """A program of two chips, each engine of a block on a line of its own."""
    lines = ["chips: 2", "commands:"]
    for block in blocks:
        for number, (key, value) in enumerate(block.items()):
            shown = yaml.safe_dump(value, default_flow_style=True, width=1000, sort_keys=False).strip()
            lines.append(f"{'- ' if number == 0 else '  '}{key}: {shown.removesuffix('...').strip()}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "p.yaml: the file is empty"),
        ("[1]", "p.yaml:1:1: a program is a mapping with the keys title, chips, values, commands, generator"),
        ("title: x", "p.yaml: a program has commands, or a generator that makes them"),
        ("commands: []", "p.yaml:1:11: commands is a list of blocks, each with chip and the engines' commands"),
        ("commands: [{TIU: []}]", "a block of commands has the key chip"),
        ("generator: pipelin", "generator is one of tensor_parallel, pipeline, data_parallel, expert_parallel, not "
         "pipelin; did you mean 'pipeline'?"),
        ("{generator: pipeline, chips: 4}", "chips goes with commands; for a generator say values: {chip_count: 8}"),
        ("{generator: pipeline, values: {hiden_size: 4}}", "did you mean 'hidden_size'?"),
        ("{generator: pipeline, values: {batch_size: 0}}", "batch_size is a number >= 1 and <= 1048576, not 0"),
        ("{generator: pipeline, values: {batch_size: 1.5}}", "batch_size is a whole number, not 1.5"),
        ("{generator: pipeline, values: {tiu_clock: 1 GB}}", "'GB' is not a unit of this parameter; allowed: kHz"),
        ("{chips: 2, values: {chip_count: 3}, commands: [{chip: 0}]}",
         "its commands are for 2 chips, its values say 3"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(text, said):
    found = faults_of(text)
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("chips", [1, 2, 5])
def test_what_is_written_is_read_again(name, chips):
    maker = Maker(chips)
    values = {parameter: OF_PROGRAM[parameter].default for parameter in WORKLOAD}
    GENERATORS[name](maker, values | {"layer_pieces": 2, "layer_count": 2, "micro_batches": 3})
    read = read_program(program_text(maker.queues, "written"), "written.yaml")
    assert read.title == "written"
    assert {queue: without_places(commands) for queue, commands in read.queues.items()} == {
        queue: without_places(commands) for queue, commands in maker.queues.items()
    }


def without_places(commands: Any) -> list[Command]:
    return [
        Command(**{name: getattr(command, name) for name in Command.__slots__} | {"where": ""}) for command in commands
    ]


def test_a_grid_comes_before_a_program_and_a_program_before_defaults():
    text = "{generator: data_parallel, values: {chip_count: 2, gradient_buckets: 3, hidden_size: 64, ffn_size: 64}}"
    read = read_program(text, "p.yaml")
    assert point("command_count", program=read).value.tolist() == [8, 2, 0, 0, 6]
    assert point("command_count", program=read, chip_count=3).value.tolist() == [12, 3, 0, 0, 9]
    assert point("command_count", program=read, gradient_buckets=1).value.tolist() == [4, 2, 0, 0, 2]


def test_more_chips_than_a_grid_has_are_infeasible_and_more_than_a_program_names_are_idle():
    pair = program({"chip": 0, "CDMA": [send(1, 8)]}, {"chip": 1, "CDMA": [receive(0, 8)]})
    assert point("makespan", program=pair, chip_count=1).status == "infeasible"
    assert point("makespan", program=pair, chip_count=3).value == point("makespan", program=pair).value
    assert point("makespan").status == "infeasible"
