"""Parameters that another parameter gives where the grid does not: numbers and choices, from point to point."""

from __future__ import annotations

import pytest

import sweep
from sweep.engine.graph import resolve
from sweep.engine.point import evaluate
from sweep.errors import InputError

MODEL = """
from sweep import GIVEN, parameter, prepared, quantity

catalog = parameter(reads=lambda text, name: dict(line.split() for line in text.splitlines()), doc="Rods by place")
place = parameter(default=0, integer=True, minimum=0, doc="Place")
length = parameter(unit="m", default=2.0, doc="Length")
material = parameter(choices=("wood", "iron", "glass"), default="wood", doc="Material")
kilo = parameter(unit="1", default=1000.0, doc="Factor")

@prepared("material", when={"catalog": GIVEN})
def material_of_place(catalog, place):
    "The material that stands in the catalog."
    return catalog[str(int(place))].split(":")[0]

@prepared(unit="m", internal=True)
def catalog_length(catalog, place):
    "The length that stands in the catalog; 0 without one."
    return 0.0 if catalog is None else float(catalog[str(int(place))].split(":")[1])

def is_missing(catalog_length):
    "The rod is missing."
    return catalog_length < 0

@quantity("length", when={"catalog": GIVEN}, fails={"infeasible": is_missing})
def length_of_place(catalog_length):
    "The length that stands in the catalog."
    return catalog_length

@quantity("mass", unit="kg", when={"material": "wood"})
def wooden(length):
    "Mass."
    return length * 2

@quantity("mass", when={"material": "iron"})
def of_iron(length, kilo):
    "Mass."
    return length * kilo

@prepared(unit="1")
def price(material):
    "Price of the material."
    return {"wood": 1.0, "iron": 3.0, "glass": 5.0}[material]

@quantity(categories=("light", "heavy"))
def weight(material):
    "Light or heavy."
    return "heavy" if material == "iron" else "light"
"""
OUTPUTS = ["mass", "price", "weight"]


@pytest.fixture
def load(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "rods.txt").write_text("0 wood:3\n1 iron:4\n2 glass:1\n3 iron:-1\n")

    def load(text):
        (tmp_path / "grid.yaml").write_text(f"outputs: [{', '.join(OUTPUTS)}]\n{text}")
        return sweep.load_grid(tmp_path / "grid.yaml", with_files=[tmp_path / "model.py"])

    return load


def test_what_a_file_says_of_each_point_selects_formulas_and_fails_where_there_is_nothing(load):
    grid = load("axes: {place: [0, 1, 2, 3], kilo: [10, 1000]}\nfixed: {catalog: rods.txt}\n")
    found = sweep.run(grid)
    assert found["mass"].values[:2].tolist() == [[6, 6], [40, 4000]]
    assert found["price"].dims == ("place",)
    assert found["price"].values.tolist() == [1, 3, 5, 3]
    assert found["status"].values[:, 0].tolist() == [0, 0, 2, 2]
    for place in range(4):
        given = dict(grid.fixed) | {"place": float(place), "kilo": 10.0}
        graph = resolve(grid.registry, OUTPUTS, given, {})
        values, statuses = evaluate(graph, given)
        for name in OUTPUTS:
            cell = found[name].isel(place=place, kilo=0, missing_dims="ignore").item()
            wanted = values[name] if name != "weight" else sweep.plan(grid).graph.labels["weight"].index(values[name])
            assert cell == wanted or (cell != cell and statuses[graph.owner[name]] == "infeasible")


def test_the_plan_counts_what_the_file_makes_infeasible(load):
    from sweep.engine.forecast import forecast

    made = sweep.plan(load("axes: {place: [0, 1, 2, 3]}\nfixed: {catalog: rods.txt}\n"))
    seen = forecast(made)
    assert seen.exact
    assert sorted((failure.reason, failure.points) for failure in seen.failures) == [
        ("The rod is missing (length)", 1),
        ("mass has no formula for this choice", 1),
    ]


def test_a_value_of_the_grid_comes_before_that_of_the_file_and_the_default_where_there_is_none(load):
    assert sweep.run(load("fixed: {catalog: rods.txt, place: 1, length: 7, kilo: 1}\n"))["mass"].item() == 7
    assert sweep.run(load("fixed: {catalog: rods.txt, place: 1, material: wood}\n"))["mass"].item() == 8
    assert sweep.run(load(""))["mass"].item() == 4
    axis = sweep.run(load("axes: {material: [wood, iron]}\nfixed: {catalog: rods.txt, place: 1}\n"))["mass"]
    assert axis.values.tolist() == [8, 4000]


def test_code_is_made_for_those_labels_alone_that_the_file_has(tmp_path):
    among = MODEL.replace(
        '@prepared("material", when={"catalog": GIVEN})',
        'def materials(catalog):\n    return {rod.split(":")[0] for rod in catalog.values()}\n\n'
        '@prepared("material", when={"catalog": GIVEN}, among=materials)',
    )
    (tmp_path / "model.py").write_text(among)
    for rods, cases, missing in (
        ("0 wood:3\n1 iron:4\n", {("wood",), ("iron",)}, ()),
        ("0 iron:4\n1 iron:5\n", {("iron",)}, ()),
        ("0 iron:4\n1 glass:5\n", {("iron",)}, (("glass",),)),
    ):
        (tmp_path / "rods.txt").write_text(rods)
        (tmp_path / "grid.yaml").write_text("outputs: [mass]\naxes: {place: [0, 1]}\nfixed: {catalog: rods.txt}\n")
        made = sweep.plan(sweep.load_grid(tmp_path / "grid.yaml", with_files=[tmp_path / "model.py"]))
        node = made.graph.nodes["mass"]
        assert {case for branch in node.branches for case in branch.cases} == cases
        assert node.missing == missing


def test_what_is_prepared_cannot_take_what_kernels_compute(tmp_path):
    (tmp_path / "model.py").write_text(f"{MODEL}\n@prepared(unit='1')\ndef late(mass):\n    return mass\n")
    with pytest.raises(InputError, match="late is prepared and takes 'mass', which kernels compute"):
        sweep.plan(sweep.load_grid({"outputs": ["late"]}, with_files=[tmp_path / "model.py"]))


def test_what_gives_a_parameter_has_a_condition_and_no_unit_of_its_own(tmp_path):
    for decorator, what in (
        ('@quantity("length")', "length: numbers and choices can be computed, under a condition each"),
        ('@quantity("length", unit="m", when={"catalog": GIVEN})', "the name 'length' is taken"),
        ('@quantity("catalog", when={"material": "wood"})', "catalog: numbers and choices can be computed"),
        ('@quantity("mass", when={"kilo": GIVEN})', "when: 'kilo' always has a value"),
    ):
        (tmp_path / "model.py").write_text(f"{MODEL}\n{decorator}\ndef another(place):\n    return place\n")
        with pytest.raises(InputError, match=what):
            sweep.load_grid({"outputs": ["mass"]}, with_files=[tmp_path / "model.py"])
