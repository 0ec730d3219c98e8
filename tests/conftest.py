from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("SWEEP_CACHE_DIR", tempfile.mkdtemp(prefix="sweep-tests-"))

ROOT = Path(__file__).parent.parent


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: exit code, output, messages."""
    from sweep.cli.main import main

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            main([str(argument) for argument in arguments])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
