"""Parameters whose value is a file: what is in it counts, from where its name starts, what is said of a bad one."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import sweep
from sweep.cli.main import main
from sweep.errors import InputError
from tests.models import points

MODEL = """
import numpy as np
from sweep.errors import Fault, InputError
from sweep import parameter, prepared, quantity, kernel, Output

def read(text, name):
    if "bad" in text:
        raise InputError([Fault(f"{name}:1", "bad numbers")])
    return np.array([float(word) for word in text.split()])

weights = parameter(reads=read, doc="Weights, a file of numbers")
scale = parameter(default=2.0, doc="Scale")

@prepared(unit="1", dims=("place",), internal=True)
def numbers(weights):
    "Numbers of the file; none without one."
    return np.zeros(0) if weights is None else weights

@prepared(unit="1", internal=True)
def first(weights):
    "The first number."
    return -1.0 if weights is None else weights[0]

@kernel(outputs={"total": Output("1")}, dims={})
def total_of(numbers, scale):
    "Sum of all numbers, scaled."
    total = 0.0
    for k in range(numbers.size):
        if not np.isnan(numbers[k]):
            total += numbers[k] * scale
    return total

@quantity(unit="1")
def doubled(first):
    "Twice the first number."
    return 2 * first
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("1 2 3")
    (tmp_path / "in" / "b.txt").write_text("10")
    return tmp_path


def grid_of(folder, text):
    (folder / "grid.yaml").write_text("outputs: [total, doubled]\n" + text)
    return sweep.load_grid(folder / "grid.yaml", with_files=[folder / "model.py"])


def fault(folder, text):
    with pytest.raises(InputError) as caught:
        grid_of(folder, text)
    return [str(each).replace(f"{folder}/", "") for each in caught.value.faults]


def test_files_are_an_axis_and_may_hold_different_amounts(folder):
    found = sweep.run(grid_of(folder, "axes: {weights: [in/a.txt, in/b.txt], scale: [1, 2]}\n"))
    assert found["weights"].values.tolist() == ["in/a.txt", "in/b.txt"]
    assert found["total"].values.tolist() == [[6, 12], [10, 20]]
    assert found["doubled"].dims == ("weights",)
    assert found["doubled"].values.tolist() == [2, 20]


def test_without_a_file_the_model_gets_none(folder):
    found = sweep.run(grid_of(folder, ""))
    assert (float(found["total"]), float(found["doubled"])) == (0, -2)


def test_files_move_along_a_zipped_dimension_with_others(folder):
    found = sweep.run(grid_of(folder, "zip: {case: {weights: [in/b.txt, in/b.txt], scale: [1, 3]}}\n"))
    assert found["total"].values.tolist() == [10, 30]


def test_the_content_of_a_file_is_part_of_the_record_and_its_change_is_noticed(folder, capsys):
    grid = grid_of(folder, "fixed: {weights: in/a.txt}\n")
    record = json.loads(sweep.run(grid).attrs["sweep"])
    assert record["grid"]["fixed"] == {"scale": 2.0, "weights": "in/a.txt"}
    assert record["files"] == grid.files == {"in/a.txt": grid.fixed["weights"].digest}
    command = ["run", str(folder / "grid.yaml"), "--with", str(folder / "model.py"), "-o", str(folder / "r.nc")]
    main(command)
    main(command)
    assert "up to date" in capsys.readouterr().out
    (folder / "in" / "a.txt").write_text("1 2 4")
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    assert "other files" in capsys.readouterr().err


def test_names_start_from_the_folder_of_who_wrote_them(folder, monkeypatch):
    (folder / "in" / "chip.yaml").write_text("parameters: {weights: b.txt}\n")
    assert grid_of(folder, "presets: [./in/chip.yaml]\n").fixed["weights"] == "in/b.txt"
    monkeypatch.chdir(folder / "in")
    loaded = sweep.load_grid("../grid.yaml", with_files=["../model.py"], settings={"weights": ["a.txt", "b.txt"]})
    assert loaded.axes[0].members["weights"] == ("in/a.txt", "in/b.txt")
    assert sweep.run(loaded)["total"].values.tolist() == [12, 20]


def test_a_bad_file_is_told_with_its_line_and_a_missing_one_where_it_is_named(folder):
    (folder / "in" / "c.txt").write_text("bad")
    assert fault(folder, "fixed: {weights: in/c.txt}\n") == ["in/c.txt:1: bad numbers"]
    assert fault(folder, "axes: {weights: [in/c.txt, in/d.txt]}\n") == [
        "in/c.txt:1: bad numbers",
        "grid.yaml:2:28: weights: in/d.txt cannot be read: No such file or directory",
    ]
    assert fault(folder, "fixed: {weights: in}\n") == ["grid.yaml:2:18: weights: 'in' is not a file"]
    assert fault(folder, "fixed: {weights: 3}\n") == ["grid.yaml:2:18: weights takes the name of a file"]
    assert fault(folder, "axes: {weights: {linspace: [1, 2, 3]}}\n") == [
        "grid.yaml:2:17: weights is a file; list the names"
    ]
    assert fault(folder, "axes: {weights: [in/a.txt, in/a.txt]}\n") == ["grid.yaml:2:28: weights has in/a.txt twice"]
    (text,) = fault(folder, f"fixed: {{weights: {'x' * 400}}}\n")
    assert "File name too long" in text


def test_only_prepared_quantities_take_a_file(folder):
    (folder / "model.py").write_text(MODEL + "\n@quantity(unit='1')\ndef wrong(weights):\n    return 1.0\n")
    with pytest.raises(InputError, match="wrong takes 'weights', a file; only prepared quantities can"):
        sweep.load_grid({"outputs": ["wrong"]}, with_files=[folder / "model.py"])


def test_plan_show_and_explain_name_the_file(folder, capsys):
    grid_of(folder, "fixed: {weights: in/a.txt}\n")
    for command in ("plan", "explain"):
        main([command, str(folder / "grid.yaml"), "--with", str(folder / "model.py")])
    assert "weights = in/a.txt" in capsys.readouterr().out


def test_a_file_goes_to_other_processes_with_what_it_holds(folder):
    file = grid_of(folder, "fixed: {weights: in/a.txt}\n").fixed["weights"]
    again = pickle.loads(pickle.dumps(file))
    assert (again, again.digest, again.content.tolist()) == (file, file.digest, [1, 2, 3])


def test_what_a_file_holds_can_be_given_in_python():
    read = sweep.parameters.traffic_trace.reads
    messages = read("time_ns,source,destination,size_B\n0,0,1,100\n", "here")
    found = points(("trace_completion_time",), switch_traffic="trace", traffic_trace=messages)
    assert np.isfinite(found["trace_completion_time"].value)
    with pytest.raises(InputError, match=r"takes what parameters.traffic_trace.reads makes"):
        sweep.quantities.trace_completion_time(switch_traffic="trace", traffic_trace="a.csv")
