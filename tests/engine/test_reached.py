from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from sweep.engine.reached import reached_source
from sweep.errors import InputError
from tests.conftest import ROOT

MODEL = """
import functools, math
import numpy as np
import helpers
from helpers import Table, double
LIMIT = 3
WORDS = {"b", "a", "c"}
GRID = np.arange(5000)
PARTS = {"f": double, "t": (1, [2.5, None])}

@functools.cache
def cached(x):
    return x + LIMIT

def prepared(chip_count):
    known = Table().scaled(chip_count) + helpers.triple(cached(1)) + PARTS["f"](GRID.sum()) + math.pi
    return known if WORDS else np.sqrt(2)
"""
HELPERS = """
FACTOR = 3
def double(x):
    return 2 * x
def triple(x):
    return FACTOR * x
class Table:
    factor = 2
    def scaled(self, x):
        return self.factor * x + offset()
def offset():
    return 7
"""
SCRIPT = "import model; from sweep.engine.reached import reached_source; print(reached_source(model.prepared))"


def text_of(folder, model=MODEL, helpers=HELPERS, seed="0"):
    (folder / "model.py").write_text(model)
    (folder / "helpers.py").write_text(helpers)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{folder}:{ROOT}",
        "PYTHONHASHSEED": seed,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_text_is_the_same_in_every_process(tmp_path):
    assert len({text_of(tmp_path, seed=seed) for seed in ("0", "1", "77")}) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ('"c"}', '"d"}'),
        ("np.arange(5000)", "np.concatenate([np.arange(2500), [1], np.arange(2501, 5000)])"),
        ("return x + LIMIT", "return x - LIMIT"),
        ("[2.5, None]", "[2.5, 0]"),
        ("FACTOR = 3", "FACTOR = 5"),
        ("return 2 * x", "return 4 * x"),
        ("factor = 2", "factor = 5"),
        ("return 7", "return 8"),
    ],
)
def test_whatever_is_reached_and_changed_changes_the_text(tmp_path, old, new):
    assert (old in MODEL) != (old in HELPERS)
    assert text_of(tmp_path, MODEL.replace(old, new), HELPERS.replace(old, new)) != text_of(tmp_path)


def test_what_is_not_reached_changes_nothing(tmp_path):
    more = HELPERS + "\ndef unused():\n    return 1\n"
    assert text_of(tmp_path, MODEL + "\nOTHER = 1\n", more) == text_of(tmp_path)


def test_a_constant_without_a_lasting_text_is_refused():
    handle = open(os.devnull)  # noqa: SIM115 - closed below

    def reads():
        return handle

    with handle, pytest.raises(InputError, match="reads: reaches a TextIOWrapper"):
        reached_source(reads)


def test_a_method_is_read_with_what_it_reaches(tmp_path):
    (tmp_path / "case.py").write_text(
        textwrap.dedent("""
        BASE = 3
        class Rule:
            def apply(self, x):
                return x + BASE
        def prepared(x):
            return Rule().apply(x)
        """)
    )
    sys.path.insert(0, str(tmp_path))
    try:
        import case

        assert "BASE = 3" in reached_source(case.prepared)
    finally:
        sys.path.remove(str(tmp_path))
