"""Formulas against simulations: counts, bands, worst cells, exit codes, against two formulas of which all is known."""

from __future__ import annotations

import numpy as np
import pytest

import sweep

MODEL = '''
"""A formula, and what stands for its simulation: exact up to 4 chips, then too low by a quarter or more."""

import math

from sweep import quantity


def too_many(chip_count):
    """More than 64 chips."""
    return chip_count > 64


def stuck(chip_count):
    """64 chips."""
    return chip_count == 64


def long(message_size):
    """A message of more than 8 B."""
    return message_size > 8


@quantity(unit="ns", fails={"infeasible": too_many})
def price(chip_count, link_bandwidth):
    """The formula."""
    return 3 * chip_count


@quantity(unit="ns", fails={"deadlock": stuck, "undefined": long})
def simulated_price(chip_count, message_size):
    """Its simulation."""
    return 3 * chip_count if chip_count <= 4 else 4 * chip_count + message_size


@quantity(unit="ns")
def guess(chip_count):
    """A formula of what is random."""
    return 100


@quantity(unit="ns")
def simulated_guess(chip_count):
    """Its simulation, off by one more for each chip."""
    return 100 + chip_count if chip_count < 128 else math.inf


@quantity(unit="ns")
def simulated_guess_interval(chip_count):
    """Half the width of its interval."""
    return 4


@quantity(unit="ns")
def simulated_alone(chip_count):
    """A simulation of nothing."""
    return chip_count
'''

GRID = """
title: Prices
outputs: [simulated_price]
axes:
  chip_count: [2, 4, 8, 16, 64, 128]
  message_size: [0 B, 8 B, 16 B]
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.py").write_text(MODEL)
    (tmp_path / "prices.yaml").write_text(GRID)
    return tmp_path


def test_errors_are_those_of_the_formula_in_percent_of_the_simulation(files, cli):
    code, _, _ = cli("validate", "prices.yaml", "--with", "prices.py", "-o", "errors.nc")
    assert code == 1
    found = sweep.open_result("errors.nc")["price_error"]
    expected = np.full((6, 3), np.nan)
    expected[:2, :2] = 0
    for row, chips in ((2, 8), (3, 16)):
        for column, size in enumerate((0, 8)):
            expected[row, column] = 100 * (3 * chips - (4 * chips + size)) / (4 * chips + size)
    assert found.dims == ("chip_count", "message_size")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.attrs["units"] == "%"


def test_in_python_the_errors_are_those_of_the_command(files, cli):
    cli("validate", "prices.yaml", "--with", "prices.py", "-o", "errors.nc")
    loaded = sweep.load_grid("prices.yaml", with_files=["prices.py"])
    found = sweep.validate(loaded)
    np.testing.assert_array_equal(found["price_error"], sweep.open_result("errors.nc")["price_error"])


def test_the_table_counts_points_and_names_the_worst_cells_first(files, cli):
    _, out, _ = cli("validate", "prices.yaml", "--with", "prices.py", "--by", "chip_count")
    assert out.splitlines() == [
        "Prices",
        "",
        "price against simulated_price",
        "  8 of 18 points compared",
        "  off by at most 1e-06 %: 50 %, 0.001 %: 50 %, 0.1 %: 50 %, 1 %: 50 %, 10 %: 50 %; at the most 40 %",
        "  4 not compared: formula ok, simulation undefined",
        "  3 not compared: formula ok, simulation deadlock",
        "  2 not compared: formula infeasible, simulation ok",
        "  1 not compared: formula infeasible, simulation undefined",
        "  chip_count  compared   median  95 of 100 within  at the most",
        "           2         2     +0 %               0 %         +0 %",
        "           4         2     +0 %               0 %         +0 %",
        "           8         2  -32.5 %              40 %        -40 %",
        "          16         2  -29.2 %            33.3 %      -33.3 %",
        "          64         0",
        "         128         0",
        "    -40 %: 24 ns, simulated 40 ns (chip_count 8, message_size 8 B)",
        "    -33.33 %: 48 ns, simulated 72 ns (chip_count 16, message_size 8 B)",
        "    -25 %: 24 ns, simulated 32 ns (chip_count 8, message_size 0 B)",
        "    -25 %: 48 ns, simulated 64 ns (chip_count 16, message_size 0 B)",
        "",
        "7 points are off by more than 1 %, or fail",
    ]


@pytest.mark.parametrize(("tolerance", "bad"), [(0, 7), (24.9, 7), (25, 5), (39, 4), (40, 3), (1000, 3)])
def test_the_exit_code_is_by_tolerance_and_a_deadlock_speaks_against_a_formula(files, cli, tolerance, bad):
    code, out, _ = cli("validate", "prices.yaml", "--with", "prices.py", "--tolerance", tolerance)
    assert code == 1
    assert f"{bad} points are off" in out


def test_a_formula_within_tolerance_ends_well(files, cli):
    arguments = ("--with", "prices.py", "--set", "chip_count=[2,4,8]", "--set", "message_size=[0,1]")
    assert cli("validate", "prices.yaml", *arguments, "--tolerance", 30)[0] == 0
    assert cli("validate", "prices.yaml", *arguments, "--tolerance", 20)[0] == 1


def test_a_grid_that_asks_for_the_formula_alone_is_simulated_too(files, cli):
    arguments = ("validate", "prices.yaml", "--with", "prices.py", "--outputs", "price,simulated_alone")
    _, out, _ = cli(*arguments)
    assert "price against simulated_price" in out
    assert "message_size" not in out  # the grid's own outputs do not depend on it, so that axis is dropped


def test_within_the_interval_of_its_simulation_a_formula_is_not_wrong(files, cli):
    arguments = ("validate", "prices.yaml", "--with", "prices.py", "--outputs", "guess")
    code, out, _ = cli(*arguments)
    assert code == 1
    assert "  2 within the 99.9 % intervals of the simulation, which are up to +-3.92 %" in out
    assert "  5 of 6 points compared" in out
    assert "4 points are off by more than 1 %" in out
    code, out, _ = cli(*arguments, "--set", "chip_count=[2, 4]")
    assert code == 0
    assert "at the most 3.85 %" in out


def test_errors_are_drawn(files, cli, figures):
    code, out, _ = cli("validate", "prices.yaml", "--with", "prices.py", "--picture", "errors.png", "--of", "price")
    assert code == 1
    assert "drawn to errors.png" in out
    (drawn,) = figures
    assert any("error of price (%)" in each.get_ylabel() for each in drawn.axes)


def test_without_a_grid_all_that_are_there_to_validate_are_taken(files, cli):
    (files / "grids").mkdir()
    for name in ("validate_a", "validate_b", "other"):
        (files / "grids" / f"{name}.yaml").write_text(GRID.replace("Prices", name))
    _, out, _ = cli("validate", "--with", "prices.py")
    titles = [line for line in out.splitlines() if line.startswith(("validate", "other"))]
    assert titles == ["validate_a", "validate_b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("prices.yaml", "--by", "chip_cout"),
            "--by: 'chip_cout' is not one of chip_count, message_size; did you mean",
        ),
        (("prices.yaml", "--of", "pric", "--picture", "a.png"), "--of: 'pric' is not one of price"),
        (("prices.yaml", "--of", "price"), "say where to draw it"),
        (("prices.yaml", "--outputs", "steps"), "no formula among steps has a simulation; these have: "),
        (("prices.yaml", "--x", "chip_count"), "lay out a picture; say where to draw it"),
        (("prices.yaml", "--tolerance", "nan"), "--tolerance: a number of percent from 0 is wanted, not nan"),
        ((), "there is no grids/validate_*.yaml here; name a grid"),
    ],
)
def test_wrong_input_gets_one_message_and_no_file(files, cli, arguments, message):
    before = set(files.iterdir())
    code, out, err = cli("validate", *arguments, "--with", "prices.py")
    assert (code, out) == (2, "")
    assert message in err
    assert set(files.iterdir()) == before
