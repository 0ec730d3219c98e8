"""Quantities asked for once more under other values of some parameters."""

from __future__ import annotations

import math

import pytest

import sweep
from sweep.engine.graph import resolve
from sweep.engine.point import evaluate
from sweep.errors import InputError

MODEL = """
import math
from sweep import Output, kernel, parameter, prepared, quantity, scope

shape = parameter(choices=("box", "disc"), default="box", doc="Shape")
paint = parameter(choices=("raw", "red"), default="raw", doc="Paint")
width = parameter(unit="m", default=2.0, doc="Width")
height = parameter(unit="m", default=3.0, doc="Height")
def _height(height):
    "The height."
    return height
depth = parameter(unit="m", default=_height, doc="Depth")

small = scope(shape="disc", width="half_width")
flat = scope(height="width")

@prepared(unit="m", internal=True)
def half_width(width):
    "Half of the width."
    return width / 2

@quantity("area", unit="m2", when={"shape": "box"})
def box(width, height):
    "Area."
    return width * height

def too_wide(width):
    "Too wide."
    return width > 9

@quantity("area", when={"shape": "disc"}, fails={"infeasible": too_wide})
def disc(width, height):
    "Area."
    return math.pi * width * height / 4

@prepared(unit="1")
def price(width, paint):
    "Price by width and paint."
    return width * (3.0 if paint == "red" else 1.0)

@quantity(unit="1")
def others(height, depth):
    "What neither shape nor width changes."
    return height + depth

@kernel(outputs={"sum": Output("1"), "product": Output("1")}, dims={})
def loop(area, others, shape):
    "Sum and product."
    extra = 100.0 if shape == "disc" else 0.0
    return area + others + extra, area * others

@quantity(unit="1")
def total(sum, small__sum, small__product, small__price, small__others, flat__area, flat__depth):
    "All together."
    return sum + 10 * small__sum + small__product + 1000 * small__price + small__others + flat__area + 0 * flat__depth
"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path / "model.py"


def by_hand(shape, paint, width, height, depth=None):
    def area(shape, width, height):
        return width * height if shape == "box" else math.pi * width * height / 4

    others = height + (height if depth is None else depth)
    whole = area(shape, width, height) + others + (100 if shape == "disc" else 0)
    small = area("disc", width / 2, height)
    price = width / 2 * (3 if paint == "red" else 1)
    return whole + 10 * (small + others + 100) + small * others + 1000 * price + others + area(shape, width, width)


def test_a_scope_computes_the_same_formulas_of_other_values(model):
    grid = {
        "outputs": ["total", "area"],
        "axes": {"shape": ["box", "disc"], "paint": ["raw", "red"], "width": [1, 4, 10, 20], "height": [2, 5]},
    }
    found = sweep.run(sweep.load_grid(grid, with_files=[model]))
    for cell in found["total"].stack(all=found["total"].dims).transpose("all"):
        at = {name: cell[name].item() for name in grid["axes"]}
        if (at["width"] > 9 and at["shape"] == "disc") or at["width"] > 18:  # of the whole, or of the small one
            assert math.isnan(cell.item())
        else:
            assert cell.item() == pytest.approx(by_hand(**at), rel=1e-12)
    registry = sweep.load_grid(grid, with_files=[model]).registry
    given = {"shape": "disc", "paint": "red", "width": 4.0, "height": 5.0}
    values, _ = evaluate(resolve(registry, ["total"], given, {}), given)
    assert values["total"] == pytest.approx(by_hand(**given), rel=1e-12)


def test_what_a_scope_does_not_change_is_computed_once(model):
    made = sweep.plan(sweep.load_grid({"outputs": ["total"]}, with_files=[model]))
    assert "others" in made.graph.nodes
    assert "small__others" not in made.graph.nodes
    assert "small__price" in made.graph.nodes
    assert made.graph.nodes["small__price"].inputs == ("half_width", "paint")
    assert made.graph.nodes["flat__depth"].inputs == ("width",)


def test_a_value_of_the_grid_holds_in_scopes_too(model):
    found = sweep.run(sweep.load_grid({"outputs": ["total"], "fixed": {"depth": 7}}, with_files=[model]))
    assert found["total"].item() == pytest.approx(by_hand("box", "raw", 2, 3, depth=7), rel=1e-12)


def test_the_record_and_its_grid_say_nothing_of_scopes(model):
    import json

    loaded = sweep.load_grid({"outputs": ["total"]}, with_files=[model])
    record = json.loads(sweep.run(loaded).attrs["sweep"])
    assert sorted(record["grid"]["fixed"]) == ["height", "paint", "shape", "width"]
    again = sweep.load_grid(record["grid"], with_files=[model])
    assert sweep.run(again).attrs == sweep.run(loaded).attrs


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('bad = scope(shape="ball")', "shape cannot be 'ball'"),
        ('bad = scope(width="nothing")', "width cannot be 'nothing'"),
        ('bad = scope(area="width")', "'area' is no number or choice"),
        ('@quantity(unit="1")\ndef worse(tiny__area):\n    return tiny__area\n', "needs 'tiny__area'"),
        ('@quantity(unit="1")\ndef small__x(width):\n    return width\n', "the name 'small__x' is reserved"),
        (
            '@quantity("half_size", unit="1")\ndef half_size(small__half_size):\n    return 1.0\n',
            "depend on each other",
        ),
    ],
)
def test_a_scope_that_refers_to_nothing_is_an_error(model, line, what):
    model.write_text(f"{MODEL}\n{line}\n")
    with pytest.raises(InputError, match=what):
        sweep.plan(sweep.load_grid({"outputs": ["half_size" if "half_size" in line else "total"]}, with_files=[model]))
