"""Programs of several chips: read, made, followed, and followed anew by a model written with SimPy."""

from __future__ import annotations

from typing import Any

import yaml

from sweep.multichip.program import Program
from sweep.multichip.program_file import read_program


def program(*blocks: dict[str, Any], **more: Any) -> Program:
    """A program of blocks of commands, read as from a file."""
    return read_program(yaml.safe_dump({"commands": list(blocks), **more}), "program.yaml")


def send(to: int, size: float, **more: Any) -> dict[str, Any]:
    return {"op_type": "send", "data_bytes": size, "remote_chip_id": to, **more}


def receive(of: int, size: float, **more: Any) -> dict[str, Any]:
    return {"op_type": "recv", "data_bytes": size, "remote_chip_id": of, **more}


def after(engine: str, cmd_id: int, **more: Any) -> dict[str, Any]:
    return {"dep_engine": engine, "cmd_id_dep": cmd_id, **more}
