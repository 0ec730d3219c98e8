"""Programs that somebody has damaged: each is refused with messages, or does what it still says."""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Any

import pytest
import yaml

from sweep.errors import InputError
from sweep.multichip.program_file import read_program
from tests.conftest import ROOT
from tests.models import points

pytestmark = pytest.mark.plain

SEED = 20_261_202
PROGRAMS = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "grids" / "programs").glob("*.yaml"))]
OTHER_VALUES = (
    *(None, True, "all", -1, 0, 1, 2, 5, 1e30, 1.5, 10**400, "nan", ".inf", "-0", "0x10", "1 us", "1 GiB", ""),
    *("send", "recv", "all_gather", "TIU", "CDMA", "x" * 600, [], {}, [1], [0, 0], [0, 1], {"a": 1}),
)
KEYS = (
    *("chip", "core", "cmd_id", "dep_engine", "cmd_id_dep", "dep_core", "remote_core", "time", "cycles", "operations"),
    *("data_bytes", "chip_group", "op_type", "algorithm", "another", 3),
)


def damaged(program: Any, chance: Random) -> Any:
    """A program of which up to three places have another value, one more key, one more item, or are gone."""
    program = copy.deepcopy(program)
    for _ in range(chance.randint(1, 3)):
        places = list(all_places(program))
        if not places:
            break
        inside, key = chance.choice(places)
        kind = chance.random()
        if kind < 0.5:
            inside[key] = copy.deepcopy(chance.choice(OTHER_VALUES))
        elif kind < 0.65 and isinstance(inside, dict):
            inside[chance.choice(KEYS)] = copy.deepcopy(chance.choice(OTHER_VALUES))
        elif kind < 0.8 and isinstance(inside, list):
            inside.insert(key, copy.deepcopy(inside[key]))
        else:
            del inside[key]
    return program


def all_places(node: Any) -> Any:
    for key in range(len(node)) if isinstance(node, list) else node if isinstance(node, dict) else ():
        yield node, key
        yield from all_places(node[key])


def test_a_damaged_program_is_refused_in_short_messages_or_followed():
    chance = Random(SEED)
    found: Counter[str] = Counter()
    messages: list[str] = []
    small = {"hidden_size": 64, "ffn_size": 64, "sequence_length": 16, "event_budget": 3000}
    for _ in range(500):
        text = yaml.safe_dump(damaged(chance.choice(PROGRAMS), chance), default_flow_style=None)
        try:
            program = read_program(text, "p.yaml")
        except InputError as error:
            found["refused"] += 1
            messages += map(str, error.faults)
            continue
        given = {**small, "program": program, "recv_credit": chance.choice(("on", "off"))}
        status = points(("makespan", "engine_busy"), **given)["makespan"].status
        found[status] += 1
    assert all(len(message) < 900 and "\n" not in message for message in messages)
    assert set(found) <= {"refused", "ok", "budget", "deadlock", "infeasible"}
    assert min(found["refused"], found["ok"]) > 60
