"""Notebooks run from top to bottom in Jupyter, on the results that their first cell names."""

from __future__ import annotations

import os
import re

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.heavy

NOTEBOOKS = ROOT / "notebooks"


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Run a notebook in a folder with the grids; return what its cells printed, and how many pictures they drew."""
    import jupytext
    from nbclient import NotebookClient

    monkeypatch.chdir(tmp_path)
    (tmp_path / "grids").symlink_to(ROOT / "grids")
    (tmp_path / "results").mkdir()

    def execute(name):
        notebook = jupytext.read(NOTEBOOKS / f"{name}.py")
        monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pictures = sum("image/png" in output.get("data", {}) for output in outputs)
        printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
        return printed.splitlines(), pictures

    return execute


def test_every_notebook_is_run_here():
    names = {path.stem for path in NOTEBOOKS.glob("*.py")}
    assert names == {"packet_format_selection", "where_the_formula_holds", "tp_layer"}


def test_the_packet_format_is_chosen_as_the_notebook_says(executed, cli, tmp_path):
    assert cli("run", "grids/tp_allreduce.yaml")[0] == 0
    lines, pictures = executed("packet_format_selection")
    assert pictures == 1
    assert (tmp_path / "results" / "second_best.png").stat().st_size > 10_000
    assert "ecn -> {'standard': '100.0%'}" in lines
    assert "pfc_class -> {'no_value': '100.0%'}" in lines
    price = {tuple(line.split()[:3:2]): float(line.split()[5].rstrip("%")) for line in lines if " vlan " in line}
    assert price["afh_lite", "off"] == 0
    assert 0.5 < price["afh_gen1", "off"] < price["afh_gen1", "on"] < 1.5  # "about 1 %"
    assert 2 < price["standard", "off"] < price["standard", "on"] < 3.5  # "about 3 %"


def test_formulas_hold_where_the_notebook_says(executed, tmp_path):
    lines, pictures = executed("where_the_formula_holds")
    assert pictures == 1
    assert (tmp_path / "results" / "worst_errors.png").stat().st_size > 10_000
    few = {tuple(line[:43].split("  ", 1)): line[43:].split() for line in lines if " .. " in line}
    few = {(program.strip(), profile.strip()): numbers for (program, profile), numbers in few.items()}
    for exact in (("ring all_reduce", "exact, credits carried"), ("pairwise all_to_all", "exact")):
        assert {abs(float(few[exact][place])) for place in (0, 2)} == {0.0}
    assert float(few["ring all_reduce", "exact"][0]) < -30
    assert float(few["pairwise all_to_all", "exact, credits carried"][2]) > 30


def test_a_layer_gains_from_what_the_notebook_says(executed, tmp_path):
    lines, pictures = executed("tp_layer")
    assert pictures == 1
    assert (tmp_path / "results" / "tp_layer.png").stat().st_size > 10_000
    rows = [(line.split()[:2], re.findall(r"([-+][0-9.]+) %", line)) for line in lines if " chips: " in line]
    saved = {(phase, int(chips)): [float(percent) for percent in percents] for (phase, chips), percents in rows}
    assert len(saved) == 6
    for chips in (2, 8):
        assert max(saved["prefill", chips][:2]) == saved["prefill", chips][1] > 10  # pieces, more than the header
    assert saved["prefill", 32][1] < -20
    assert saved["prefill", 32][2] > 20
    assert max(header for header, _, _ in saved.values()) < 2
    for chips in (2, 8, 32):
        assert max(saved["decode", chips]) < 1
