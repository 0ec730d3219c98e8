from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if "SWEEP_CACHE_DIR" not in os.environ:  # workers take the one of the process that starts them
    os.environ["SWEEP_CACHE_DIR"] = tempfile.mkdtemp(prefix="sweep-tests-")
    atexit.register(shutil.rmtree, os.environ["SWEEP_CACHE_DIR"], ignore_errors=True)

ROOT = Path(__file__).parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that both passes leave out would never run."""
    for item in items:
        if item.get_closest_marker("heavy") and item.get_closest_marker("plain"):
            raise pytest.UsageError(f"{item.nodeid} is both heavy and plain, and would never run")


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


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn during a test, in order; they are written as ever."""
    from sweep.views import figure

    drawn: list[Any] = []
    as_picture = figure.as_picture

    def kept(each: Any, suffix: str) -> bytes:
        drawn.append(each)
        return as_picture(each, suffix)

    monkeypatch.setattr(figure, "as_picture", kept)
    return drawn
