"""Reads programs from YAML: commands in the words of the design note, or a generator and its values.

    title: Two chips, one sends what the other needs
    chips: 2                            # else as many as have commands
    values: {tiu_clock: 1.5 GHz}        # of parameters; a grid comes before them
    commands:
      - chip: 0                         # one, a list of some, or all
        core: 0                         # may be left out
        TIU: [{cmd_id: 1, time: 2 us, source_op_id: product}]
        CDMA: [{cmd_id: 1, dep_engine: TIU, cmd_id_dep: 1, op_type: send, data_bytes: 64 KiB, remote_chip_id: 1}]
      - chip: 1
        CDMA: [{op_type: recv, data_bytes: 64 KiB, remote_chip_id: 0}]
        TIU: [{dep_engine: CDMA, cmd_id_dep: 1, cycles: 1000}]

A command of TIU or HAU has `time`, `cycles` or `operations`, one of DMA or SDMA `time`, `cycles` or `data_bytes`. A
collective has `op_type` all_reduce, all_to_all, all_gather or reduce_scatter, `data_bytes` as in `collective`,
`chip_group`, a list of chips or all, and if wanted `algorithm`. `cmd_id` is the place in the queue where nothing else
is said; 0 as `cmd_id_dep` is no command. `dep_core` and `remote_core` are the own core's number where they are left
out. Instead of commands:

    generator: tensor_parallel          # see `generators`
    values: {hidden_size: 4096, chip_count: 4}
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import yaml

from sweep.errors import Fault, InputError, nearest
from sweep.file import File
from sweep.located import Located, Number
from sweep.models.collective import chip_count
from sweep.multichip import engines, workload
from sweep.multichip.engines import CDMA, ENGINES
from sweep.multichip.generators import GENERATORS
from sweep.multichip.graph import ALGORITHMS, Settings, awaited, commands_in_a_circle, graph_of
from sweep.multichip.program import COLLECTIVES, OPS, Command, Program, Queue, chips_of, place_of
from sweep.reading import Reader
from sweep.registry import Parameter
from sweep.units import exact

MOST_CHIPS = 4096
MOST_CORES = 1024
MOST_BYTES = 2.0**50

ROOT = ("title", "chips", "values", "commands", "generator")
ANY_COMMAND = ("cmd_id", "dep_engine", "cmd_id_dep", "dep_core", "source_op_id")
MEASURES_OF = {
    "TIU": ("time", "cycles", "operations"),
    "DMA": ("time", "cycles", "data_bytes"),
    "SDMA": ("time", "cycles", "data_bytes"),
    "HAU": ("time", "cycles", "operations"),
}
UNITS_OF = {"time": "ns", "cycles": "1", "operations": "1", "data_bytes": "B"}
TRANSFER = ("op_type", "data_bytes", "remote_chip_id", "remote_core", "chip_group", "algorithm")

LOOSEST = Settings("ring", "streaming", "posted", "off", 0.0, "pairwise", "double_binary", 1.0, "whole_bytes")
"""Settings under which commands wait for as little as they can: what goes in a circle here does so under all others."""

OF_PROGRAM: Mapping[str, Parameter] = {
    "chip_count": chip_count,
    **{
        name: value
        for module in (engines, workload)
        for name, value in vars(module).items()
        if isinstance(value, Parameter)
    },
}
"""Parameters that a program may set."""


def read_program(text: str, name: str) -> Program:
    """A program. Raises InputError with every fault that was found."""
    reader = _Reader(name)
    root = reader.root(text, ROOT, "a program")
    values = reader.values(root.get("values"))
    title = str(root["title"].value) if "title" in root else PurePath(name).stem
    if ("generator" in root) == ("commands" in root):
        reader.fault(name, "a program has commands, or a generator that makes them")
    reader.finish()
    if "generator" in root:
        if "chips" in root:
            reader.fault(root["chips"].where, "chips goes with commands; for a generator say values: {chip_count: 8}")
        generator = reader.word(root["generator"], tuple(GENERATORS), "generator")
        reader.finish()
        return Program(title, values, {}, generator)
    queues = reader.queues(root["commands"], root.get("chips"))
    reader.finish()
    chips = reader.chips or chips_of(queues)
    if values.setdefault("chip_count", float(chips)) != chips:
        raise InputError([Fault(name, f"its commands are for {chips} chips, its values say {values['chip_count']:g}")])
    check(queues)
    return Program(title, values, queues)


def check(queues: Mapping[Queue, Sequence[Command]]) -> None:
    """Raise InputError for commands that nothing lets go on."""
    faults = []
    for queue, commands in queues.items():
        for command in commands:
            if command.dep >= 0 and command.dep_id > 0 and awaited(queues, queue, command) is None:
                core = command.dep_core if command.dep_core >= 0 else queue[1]
                what = f"{ENGINES[command.dep]} of core {core} has no command {command.dep_id} or higher"
                faults.append(Fault(command.where, f"waits for ever: {what}"))
    if faults:
        raise InputError(faults)
    circle = commands_in_a_circle(graph_of(queues, LOOSEST, together=True))
    if circle:
        waiting = [(place_of(queue, queues[queue][place]), queues[queue][place].where) for queue, place in circle]
        way = ", which waits for ".join(f"{name} ({where})" for name, where in [*waiting[1:], waiting[0]])
        raise InputError([Fault(waiting[0][1], f"{waiting[0][0]} waits for ever: it waits for {way}")])


class _Reader(Reader):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.chips = 0

    def values(self, item: Located | None) -> dict[str, Any]:
        """Values of parameters."""
        found: dict[str, Any] = {}
        for name, value in self.mapping(item, tuple(OF_PROGRAM), "values").items():
            parameter = OF_PROGRAM.get(name)
            if parameter is None:
                continue
            if parameter.is_choice:
                found[name] = self.word(value, parameter.choices, name)
                continue
            number = self.number(value, parameter.unit, name)
            if not math.isnan(number) and not parameter.allows(number):
                self.fault(value.where, f"{name} is a number {parameter.bounds}, not {number:.17g}")
            if parameter.integer and not math.isnan(number) and number != math.floor(number):
                self.fault(value.where, f"{name} is a whole number, not {number:.17g}")
            found[name] = number
        return found

    def word(self, item: Located, words: tuple[str, ...], what: str) -> str:
        """One of some words; the first where it is none."""
        if item.value not in words:
            hint = nearest(str(item.value), words)
            self.fault(item.where, f"{what} is one of {', '.join(words)}, not {shown(item)}{hint}")
            return words[0]
        return str(item.value)

    def number(self, item: Located, unit: str, what: str) -> float:
        """A number in a unit; NaN where it is wrong."""
        try:
            if not isinstance(item.value, (Number, str)):
                raise ValueError("a number is wanted")
            return float(exact(item.value.text if isinstance(item.value, Number) else item.value, unit))
        except ValueError as error:
            self.fault(item.where, f"{what}: {error}")
            return math.nan

    def whole(self, item: Located, what: str, least: int, most: int) -> int:
        """A whole number; the least where it is none."""
        text = item.value.text if isinstance(item.value, Number) else ""
        if not text.isdigit() or not least <= int(text) <= most:
            self.fault(item.where, f"{what} is a whole number from {least} to {most}, not {shown(item)}")
            return least
        return int(text)

    def queues(self, item: Located, chips: Located | None) -> dict[Queue, list[Command]]:
        """All commands."""
        blocks = item.value if isinstance(item.value, list) else []
        if not blocks:
            self.fault(item.where, "commands is a list of blocks, each with chip and the engines' commands")
            return {}
        self.chips = self.whole(chips, "chips", 1, MOST_CHIPS) if chips is not None else 0
        if self.chips == 0:
            named = [x for block in blocks if isinstance(block.value, dict) for x in listed(block.value.get("chip"))]
            numbers = [int(x.value.text) for x in named if isinstance(x.value, Number) and x.value.text.isdigit()]
            self.chips = min(max(numbers, default=0) + 1, MOST_CHIPS)
        queues: dict[Queue, list[Command]] = {}
        for block in blocks:
            found = self.mapping(block, ("chip", "core", *ENGINES), "a block of commands")
            if "chip" not in found:
                self.fault(block.where, "a block of commands has the key chip")
                continue
            core = self.whole(found["core"], "core", 0, MOST_CORES - 1) if "core" in found else 0
            for chip in self.some_chips(found["chip"], "chip"):
                for number, engine in enumerate(ENGINES):
                    if engine in found:
                        self.queue(queues.setdefault((chip, core, number), []), (chip, core, number), found[engine])
            self.faults = list(dict.fromkeys(self.faults))
        return queues

    def some_chips(self, item: Located, what: str) -> list[int]:
        """Numbers of chips."""
        if item.value == "all":
            return list(range(self.chips))
        chips = [self.chip(each, what) for each in listed(item)]
        if len(set(chips)) < len(chips) or not chips:
            self.fault(item.where, f"{what} is one chip, all, or a list of some, each once")
        return list(dict.fromkeys(chips))

    def chip(self, item: Located, what: str) -> int:
        """The number of a chip that there is."""
        return self.whole(item, what, 0, self.chips - 1)

    def queue(self, commands: list[Command], queue: Queue, item: Located) -> None:
        """Add commands to a queue."""
        if not isinstance(item.value, list):
            self.fault(item.where, f"{ENGINES[queue[2]]} has a list of commands")
            return
        for each in item.value:
            command = self.command(each, queue, len(commands) + 1)
            if commands and command.cmd_id <= commands[-1].cmd_id:
                what = f"cmd_id rises along a queue: {command.cmd_id} follows {commands[-1].cmd_id}"
                self.fault(each.where, f"{what} on chip {queue[0]} core {queue[1]} {ENGINES[queue[2]]}")
            commands.append(command)

    def command(self, item: Located, queue: Queue, place: int) -> Command:
        """One command."""
        engine = queue[2]
        known = TRANSFER if engine == CDMA else MEASURES_OF[ENGINES[engine]]
        block = self.mapping(item, (*ANY_COMMAND, *known), f"a command of {ENGINES[engine]}")
        common: dict[str, Any] = {"where": item.where}
        common["cmd_id"] = self.whole(block["cmd_id"], "cmd_id", 1, 2**31) if "cmd_id" in block else place
        if "source_op_id" in block:
            common["source_op_id"] = shown(block["source_op_id"])
        if ("dep_engine" in block) != ("cmd_id_dep" in block):
            self.fault(item.where, "dep_engine and cmd_id_dep go together")
        elif "dep_engine" in block:
            engine_waited_for = replace(block["dep_engine"], value=str(block["dep_engine"].value).upper())
            common["dep"] = ENGINES.index(self.word(engine_waited_for, ENGINES, "dep_engine"))
            common["dep_id"] = self.whole(block["cmd_id_dep"], "cmd_id_dep", 0, 2**31)
            if "dep_core" in block:
                common["dep_core"] = self.whole(block["dep_core"], "dep_core", 0, MOST_CORES - 1)
        if engine == CDMA:
            return self.transfer(item, block, queue, common)
        given = [key for key in known if key in block]
        if len(given) != 1:
            self.fault(item.where, f"a command of {ENGINES[engine]} has one of {', '.join(known)}")
            return Command(amount=0.0, **common)
        return Command(amount=self.amount(block[given[0]], given[0]), measure=given[0], **common)

    def amount(self, item: Located, measure: str) -> float:
        """How much a command does."""
        number = self.number(item, UNITS_OF[measure], measure)
        if number < 0 or number > MOST_BYTES:
            self.fault(item.where, f"{measure} is a number from 0 to {MOST_BYTES:.0f}, not {shown(item)}")
        return number

    def transfer(self, item: Located, block: Mapping[str, Located], queue: Queue, common: Mapping[str, Any]) -> Command:
        """A command of a CDMA engine."""
        needed = ("op_type", "data_bytes")
        missing = [key for key in needed if key not in block]
        if missing:
            self.fault(item.where, f"a command of CDMA has {' and '.join(missing)}")
            return Command(amount=0.0, **common)
        op = self.word(block["op_type"], OPS, "op_type")
        size = self.amount(block["data_bytes"], "data_bytes")
        if not math.isnan(size) and size != math.floor(size):
            self.fault(block["data_bytes"].where, "data_bytes is a whole number of bytes")
        common = {**common, "op": OPS.index(op), "amount": size, "measure": "data_bytes"}
        wrong = ("remote_chip_id", "remote_core") if op in COLLECTIVES else ("chip_group", "algorithm")
        wanted = "chip_group" if op in COLLECTIVES else "remote_chip_id"
        for key in wrong:
            if key in block:
                self.fault(block[key].key, f"{key} does not go with {op}")
        if wanted not in block:
            self.fault(item.where, f"{op} has {wanted}")
            return Command(**common)
        if op in COLLECTIVES:
            group = tuple(self.some_chips(block["chip_group"], "chip_group"))
            if queue[0] not in group:
                self.fault(block["chip_group"].where, f"chip {queue[0]}, whose command this is, is not in chip_group")
            by = self.word(block["algorithm"], ALGORITHMS[op], "algorithm") if "algorithm" in block else ""
            return Command(group=group, algorithm=by, **common)
        known = len(self.faults)
        remote = self.chip(block["remote_chip_id"], "remote_chip_id")
        if remote == queue[0] and len(self.faults) == known:
            self.fault(block["remote_chip_id"].where, f"chip {remote} sends to itself; that is what SDMA does")
        core = (
            self.whole(block["remote_core"], "remote_core", 0, MOST_CORES - 1) if "remote_core" in block else queue[1]
        )
        return Command(remote_chip=remote, remote_core=core, **common)


def listed(item: Located | None) -> list[Located]:
    """The items of a list, or the only one."""
    if item is None:
        return []
    return item.value if isinstance(item.value, list) else [item]


def shown(item: Located) -> str:
    """A value as it was written."""
    return item.value.text if isinstance(item.value, Number) else str(item.value)


def as_file(queues: Mapping[Queue, Sequence[Command]], title: str) -> File:
    """Commands that were made in Python as a value of `program`, labelled by their title; checked as a file is.

    Raises InputError for commands that do not fit together.
    """
    ordered = dict(sorted(queues.items()))
    check(ordered)
    digest = hashlib.sha256(repr(ordered).encode()).hexdigest()[:16]
    return File(title, Program(title, {"chip_count": float(chips_of(ordered))}, ordered), digest)


def program_text(queues: Mapping[Queue, Sequence[Command]], title: str) -> str:
    """Commands as the text of a program's file."""
    blocks: dict[tuple[int, int], dict[str, Any]] = {}
    for (chip, core, engine), commands in sorted(queues.items()):
        block = blocks.setdefault((chip, core), {"chip": chip, "core": core})
        block[ENGINES[engine]] = [dict(keys_of(command)) for command in commands]
    chips = chips_of(queues)
    return yaml.safe_dump(
        {"title": title, "chips": chips, "commands": list(blocks.values())}, sort_keys=False, default_flow_style=None
    )


def keys_of(command: Command) -> Iterator[tuple[str, Any]]:
    """What a file says of a command."""
    yield "cmd_id", command.cmd_id
    if command.dep >= 0:
        yield "dep_engine", ENGINES[command.dep]
        yield "cmd_id_dep", command.dep_id
    if command.dep_core >= 0:
        yield "dep_core", command.dep_core
    if command.op >= 0:
        yield "op_type", OPS[command.op]
    yield command.measure, command.amount
    if command.remote_chip >= 0:
        yield "remote_chip_id", command.remote_chip
        yield "remote_core", command.remote_core
    if command.group:
        yield "chip_group", list(command.group)
    if command.algorithm:
        yield "algorithm", command.algorithm
    if command.source_op_id:
        yield "source_op_id", command.source_op_id
