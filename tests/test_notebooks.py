"""Notebooks run from top to bottom in Jupyter, on the results that their first cell names."""

from __future__ import annotations

import os

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.heavy

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.fixture
def executed(cli, tmp_path, monkeypatch):
    """Run a notebook in a folder with the grids and the result of the first; return what its cells printed."""
    import jupytext
    from nbclient import NotebookClient

    monkeypatch.chdir(tmp_path)
    (tmp_path / "grids").symlink_to(ROOT / "grids")
    assert cli("run", "grids/tp_allreduce.yaml")[0] == 0

    def execute(path):
        notebook = jupytext.read(path)
        monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pictures = sum("image/png" in output.get("data", {}) for output in outputs)
        printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
        return printed.splitlines(), pictures

    return execute


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_decision_is_what_it_computed(path, executed, tmp_path):
    lines, pictures = executed(path)
    assert pictures == 1
    assert (tmp_path / "results" / "second_best.png").stat().st_size > 10_000
    assert "ecn -> {'standard': '100.0%'}" in lines
    assert "pfc_class -> {'no_value': '100.0%'}" in lines
    price = {tuple(line.split()[:3:2]): float(line.split()[5].rstrip("%")) for line in lines if " vlan " in line}
    assert price["afh_lite", "off"] == 0
    assert 0.5 < price["afh_gen1", "off"] < price["afh_gen1", "on"] < 1.5  # "about 1 %"
    assert 2 < price["standard", "off"] < price["standard", "on"] < 3.5  # "about 3 %"
