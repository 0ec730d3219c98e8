from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sweep.engine.execute import execute
from sweep.engine.kernelcache import is_compiled, kernel_name
from sweep.engine.loopnest import write_kernel
from sweep.engine.plan import make_plan
from tests.engine.test_engine import TOY, axis

pytestmark = pytest.mark.heavy

SCRIPT = """
import numpy as np, os, sys
from tests.engine.test_engine import TOY, TOY_AXES, ALL_OUTPUTS
from sweep.engine.execute import execute
from sweep.engine.plan import make_plan
said = []
outputs = ALL_OUTPUTS[: int(os.environ.get("OUTPUTS", 99))]
axes = [axis for axis in TOY_AXES if axis.name in make_plan(TOY, outputs, TOY_AXES, {}).status_dims]
values = execute(make_plan(TOY, outputs, axes, {}), announce=said.append)
np.savez(sys.argv[1], status=values.status, **values.outputs)
print(*said)
"""


def run(tmp_path, name, **environment):
    path = tmp_path / f"{name}.npz"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return dict(np.load(path)), done.stdout


def test_a_second_process_takes_the_kernel_from_the_cache(tmp_path):
    first, said = run(tmp_path, "first", SWEEP_CACHE_DIR=str(tmp_path / "cache"), OUTPUTS="3")
    assert "compiling" in said
    second, said = run(tmp_path, "second", SWEEP_CACHE_DIR=str(tmp_path / "cache"), OUTPUTS="3")
    assert "compiling" not in said
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_without_a_writable_folder_the_kernel_is_compiled_in_memory_and_it_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    _, said = run(tmp_path, "unkept", SWEEP_CACHE_DIR=str(tmp_path / "file" / "cache"), OUTPUTS="3")
    assert "kernels cannot be kept" in said


def test_without_jit_values_agree_to_1e_14_and_statuses_exactly(tmp_path):
    compiled, _ = run(tmp_path, "compiled")
    plain, _ = run(tmp_path, "plain", NUMBA_DISABLE_JIT="1")
    assert np.array_equal(compiled["status"], plain["status"])
    for name in compiled:
        np.testing.assert_allclose(compiled[name], plain[name], rtol=1e-14, atol=0, err_msg=name)


def test_a_user_without_a_home_compiles_in_memory(monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SWEEP_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", nobody)
    said = []
    values = execute(make_plan(TOY, ["area"], [axis("height", 1.0, 7.0)], {}), announce=said.append)
    assert values.outputs["area"].tolist() == [2.0, 14.0]
    assert said == ["kernels cannot be kept (Could not determine home directory.); compiling in memory, this run only"]


@pytest.mark.parametrize("kind", ["nbi", "nbc", "seal"])
def test_a_damaged_cache_is_thrown_away_and_the_kernel_compiled_again(tmp_path, kind):
    first, _ = run(tmp_path, "first", SWEEP_CACHE_DIR=str(tmp_path / "cache"), OUTPUTS="2")
    damaged = list((tmp_path / "cache").rglob(f"*.{kind}"))
    assert damaged
    for file in damaged:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    again, said = run(tmp_path, "again", SWEEP_CACHE_DIR=str(tmp_path / "cache"), OUTPUTS="2")
    assert "compiling" in said
    for name in first:
        assert np.array_equal(first[name], again[name], equal_nan=True)
    _, said = run(tmp_path, "third", SWEEP_CACHE_DIR=str(tmp_path / "cache"), OUTPUTS="2")
    assert "compiling" not in said


def test_any_changed_lost_or_added_byte_of_machine_code_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEP_CACHE_DIR", str(tmp_path))
    made = make_plan(TOY, ["area"], [axis("width", 1.0), axis("height", 1.0, 5.0)], {})
    text = write_kernel(made).text
    monkeypatch.delitem(sys.modules, kernel_name(text), raising=False)
    assert not is_compiled(text)
    execute(made)
    assert is_compiled(text)
    kept = sorted(tmp_path.rglob("*.nb[ci]"))
    assert [file.suffix for file in kept] == [".nbc", ".nbi"]
    for file in kept:
        content = file.read_bytes()
        for place in np.linspace(0, len(content) - 1, 40).astype(int):
            file.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
            assert not is_compiled(text)
        for other in (b"", content[:-1], content + b"\0"):
            file.write_bytes(other)
            assert not is_compiled(text)
        file.unlink()
        assert not is_compiled(text)
        file.write_bytes(content)
        assert is_compiled(text)


def test_a_changed_formula_gets_a_kernel_of_its_own():
    made = make_plan(TOY, ["area"], [axis("width", 2.0)], {})
    source = write_kernel(made)
    changed = replace(source, text=source.text.replace("width * height", "width + height"))
    height = made.fixed["height"]
    assert execute(made, source=changed).outputs["area"].tolist() == [2.0 + height]
    assert execute(made, source=source).outputs["area"].tolist() == [2.0 * height]
