"""Notebooks run from top to bottom, on the results that their first cell names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.heavy

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_decision_is_what_it_computed(path, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grids").symlink_to(ROOT / "grids")
    assert cli("run", "grids/tp_allreduce.yaml")[0] == 0
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "ecn -> {'standard': '100.0%'}" in lines
    assert "pfc_class -> {'no_value': '100.0%'}" in lines
    price = {tuple(line.split()[:3:2]): float(line.split()[5].rstrip("%")) for line in lines if " vlan " in line}
    assert price["afh_lite", "off"] == 0
    assert 0.5 < price["afh_gen1", "off"] < price["afh_gen1", "on"] < 1.5  # "about 1 %"
    assert 2 < price["standard", "off"] < price["standard", "on"] < 3.5  # "about 3 %"
