"""What README says is run: grids are loaded, Python is executed, commands give the output that is shown."""

from __future__ import annotations

import re
import shlex

import pytest

import sweep
from sweep.catalog import default_registry
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
TIMES = re.compile(r"in [0-9.]+ s|^about .*$", re.M)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


@pytest.fixture(autouse=True)
def at_the_root_of_a_copy(tmp_path, monkeypatch):
    (tmp_path / "grids").symlink_to(ROOT / "grids")
    monkeypatch.chdir(tmp_path)


def test_the_grid_and_the_program_of_the_readme_are_the_files_that_it_names():
    grid, program = blocks("yaml")
    assert grid == (ROOT / "grids" / "first.yaml").read_text()
    assert program == (ROOT / "grids" / "programs" / "exchange.yaml").read_text()


def test_the_formula_of_the_readme_is_the_file_that_it_names():
    formula = blocks("python")[1]
    assert formula.partition("\n\n")[2] in (ROOT / "grids" / "energy.py").read_text()


@pytest.mark.heavy
def test_the_python_of_the_readme_runs():
    exec(blocks("python")[0], {})


@pytest.mark.heavy
def test_the_commands_of_the_readme_print_what_it_shows(cli):
    for block in blocks("console"):
        for command, shown in re.findall(r"^\$ sweep (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            code, output, messages = cli(*shlex.split(command))
            assert code == 0, messages
            assert TIMES.sub("", output) == TIMES.sub("", shown), command


def test_every_command_is_in_the_readme():
    from sweep.cli.main import COMMANDS

    for name in COMMANDS:
        assert f"`sweep {name}" in README


def test_the_changelog_knows_the_version():
    assert f"## {sweep.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_formula_that_can_be_simulated_is_in_the_table_of_where_formulas_hold():
    table = README[README.index("<!-- validity") : README.index("<!-- end of validity -->")]
    names = default_registry().outputs
    for name in (name for name in names if f"simulated_{name}" in names):
        assert f"| `{name}`" in table, name


def test_every_picture_of_the_readme_is_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) >= 8
    assert [name for name in pictures if not (ROOT / name).exists()] == []
