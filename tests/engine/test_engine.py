from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweep.axis import Axis
from sweep.catalog import default_registry, extended_registry
from sweep.engine.execute import blocks, execute
from sweep.engine.loopnest import as_boxes, write_kernel
from sweep.engine.plan import make_plan
from sweep.errors import InputError
from sweep.registry import STATUS_CODE, Registry
from tests import oracle
from tests.engine import toy
from tests.oracle import assert_equal_to_points, axis

TOY = Registry()
TOY.add_module(toy)
TOY.check()

ALL_OUTPUTS = (
    "area", "cost", "mass", "volume", "total", "cost_each", "wait", "verdict", "hard_total", "last_step", "steps_at",
    "way", "patience", "moot_and_failing", "big", "paid", "tip",
)  # fmt: skip


def compute(outputs, axes, fixed=None, registry=TOY, **options):
    return oracle.compute(registry, outputs, axes, fixed or {}, **options)


TOY_AXES = [
    axis("width", 0.5, 2.0, 7.0),
    axis("shape", "box", "disc", "star"),
    axis("height", 0.0, 1.0, 4.0),
    axis("count", 0.0, 3.0, 120.0),
    axis("finish", "raw", "paint"),
]


def test_every_point_of_a_grid_equals_the_same_point_in_plain_python():
    assert_equal_to_points(TOY, ALL_OUTPUTS, TOY_AXES, {"density": 1.5})


def test_values_kept_between_nests_and_rows_written_twice_change_no_bit(monkeypatch):
    outputs = ("collective_latency", "bus_bandwidth", "limiter", "payload_efficiency", "transfer_latency")
    axes = [
        axis("link_bandwidth", 25.0, 50.0),
        axis("packet_format", "standard", "afh_lite"),
        axis("credit_size", 32.0, 256.0, 2048.0),
        axis("switch_hops", 0.0, 2.0),
        axis("egress_utilization", 0.5, 1.0),
        axis("chip_count", 1.0, 3.0, 8.0),
        axis("message_size", 0.0, 1.0, 1344.0, 1345.0, 1e6, 3e7),
    ]
    fixed = {"credit_limit": 5.0}
    registry = default_registry()
    made, inline = compute(outputs, axes, fixed, registry)
    monkeypatch.setattr("sweep.engine.plan.STAGE_FROM_POINTS", 1)
    monkeypatch.setattr("sweep.engine.plan.STAGE_REUSE", 2)
    monkeypatch.setattr("sweep.engine.plan.STAGE_COST", 1)
    monkeypatch.setattr("sweep.engine.loopnest.TWO_WAYS_FROM_POINTS", 1)
    staged_plan, staged = compute(outputs, axes, fixed, registry)
    assert sum(len(nest.stages) for nest in staged_plan.nests) > sum(len(nest.stages) for nest in made.nests)
    for name in outputs:
        assert inline.outputs[name].tobytes() == staged.outputs[name].tobytes(), name
        assert inline.statuses[name].tobytes() == staged.statuses[name].tobytes(), name
    assert set(np.unique(inline.status)) == {STATUS_CODE[x] for x in ("ok", "undefined", "infeasible", "unstable")}


@pytest.mark.parametrize("points", [1, 7, 100, 10**9])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_bit_identical_for_any_threads_and_blocks(points, threads, monkeypatch):
    monkeypatch.setattr("sweep.engine.execute.SERIAL_BELOW", 1)
    outputs = ("total", "steps_at", "verdict", "hard_total")
    _, reference = compute(outputs, TOY_AXES, threads=1)
    _, split = compute(outputs, TOY_AXES, threads=threads, block_points=points)
    for name in outputs:
        assert reference.outputs[name].tobytes() == split.outputs[name].tobytes()
    assert reference.status.tobytes() == split.status.tobytes()


def test_blocks_cover_every_index_exactly_once():
    for sizes in ([5, 3, 4], [1], [7, 1, 2], []):
        for points in (1, 2, 5, 12, 1000):
            seen = np.zeros(sizes, int)
            for block in blocks(sizes, points):
                seen[tuple(slice(*bounds) for bounds in block)] += 1
            assert (seen == 1).all()


def test_each_output_has_only_the_axes_that_it_depends_on():
    made, result = compute(ALL_OUTPUTS, TOY_AXES)
    assert made.dims["area"] == ("width", "shape", "height")
    assert made.dims["wait"] == ("width", "count")
    assert made.dims["verdict"] == ("width", "shape", "height", "finish")
    assert made.shape("steps_at") == (3, 3, 3)
    assert result.outputs["wait"].shape == (3, 3)
    assert made.status_dims == tuple(a.name for a in TOY_AXES)


def test_a_fixed_choice_prunes_what_the_other_choices_need():
    made, _ = compute(["area"], [axis("width", 1.0, 2.0)], {"shape": "disc"})
    assert [branch.variant.function.__name__ for branch in made.graph.nodes["area"].branches] == ["disc_area"]
    assert "cost" not in made.graph.nodes


def test_a_choice_axis_emits_branches_for_its_listed_values_only():
    made = make_plan(TOY, ["area"], [axis("shape", "box", "disc")], {})
    assert not made.graph.nodes["area"].missing
    assert "infeasible" in write_kernel(make_plan(TOY, ["area"], [axis("shape", "disc", "box")], {})).text
    assert "q_disc_area" not in write_kernel(make_plan(TOY, ["area"], [axis("shape", "box", "star")], {})).text


@settings(deadline=None, database=None)
@given(st.sets(st.tuples(*[st.sampled_from("abcd")] * 3), min_size=1))
def test_the_test_for_a_branch_holds_for_its_combinations_of_labels_and_no_other(cases):
    boxes = as_boxes(cases)
    covered = [case for box in boxes for case in product(*box)]
    assert sorted(covered) == sorted(cases)


def test_branches_of_many_choices_are_few_tests_without_and_or():
    choices = ("collective", "algorithm", "ring_exchange", "cdma_issue", "tree_schedule", "chunking")
    axes = [axis(name, *default_registry().parameters[name].choices) for name in choices]
    text = write_kernel(make_plan(default_registry(), ["collective_latency"], axes, {})).text
    nests = text[text.index("\ndef nest_1") :]
    assert " and " not in nests
    assert " or " not in nests
    assert max(line.count("==") for line in nests.splitlines()) < 60  # 1200 combinations of labels


def test_a_missing_variant_is_infeasible():
    _, result = compute(["area"], [axis("width", 1.0, 2.0)], {"shape": "star"})
    assert np.isnan(result.outputs["area"]).all()
    assert (result.status == STATUS_CODE["infeasible"]).all()


def test_a_value_that_is_not_finite_without_a_reason_is_an_error():
    _, result = compute(["overflowing"], [axis("width", 0.5, 2.0)])
    assert result.status.tolist() == [0, STATUS_CODE["error"]]
    assert result.outputs["overflowing"][0] == pytest.approx(math.exp(500))


def test_a_grid_without_axes_is_one_number():
    _, result = compute(["area", "steps_at"], [])
    assert result.outputs["area"] == 6.0
    assert result.outputs["steps_at"].shape == (3,)
    assert result.status.shape == ()


def test_zipped_parameters_move_together_along_one_axis():
    both = Axis("pair", {"width": np.array([1.0, 2.0]), "shape": ("box", "disc")})
    made, result = compute(["area"], [both])
    assert made.dims["area"] == ("pair",)
    assert result.outputs["area"].tolist() == pytest.approx([3.0, math.pi * 1.5])


def test_an_optional_parameter_selects_a_variant_by_being_given():
    assert compute(["mass"], [])[1].outputs["mass"] == 6.0
    assert compute(["mass"], [], {"density": 2.0})[1].outputs["mass"] == 12.0


def test_a_computed_default_gives_way_to_a_value():
    assert compute(["volume"], [], {"height": 5.0})[1].outputs["volume"] == 50.0
    assert compute(["volume"], [], {"height": 5.0, "depth": 1.0})[1].outputs["volume"] == 10.0


def test_a_costly_value_is_computed_once_per_combination_of_its_own_axes():
    made = make_plan(TOY, ["hard_total"], TOY_AXES[:4], {})
    (home,) = [nest for nest in made.nests if "hard" in nest.stages]
    assert home.dims == ("width", "shape")
    (deep,) = [nest for nest in made.nests if nest.outputs]
    assert "hard" in deep.reads
    assert "hard" not in deep.nodes


def test_each_quantity_stands_at_the_outermost_loop_where_its_inputs_are_known():
    text = write_kernel(
        make_plan(TOY, ["cost"], [axis("width", 1.0), axis("height", 1.0), axis("count", 1.0)], {})
    ).text
    lines = {
        line.strip().split(" = ")[0]: len(line) - len(line.lstrip()) for line in text.splitlines() if " = q_" in line
    }
    assert lines == {"area": 12, "cost": 16}


def model(tmp_path, body, arguments="chip_count", declaration='@quantity(unit="1")', name="a"):
    """A registry with a user's file of one quantity."""
    from sweep.catalog import extended_registry

    path = tmp_path / "model.py"
    head = "import math\nfrom sweep import parameter, prepared, quantity\nWORDS = {}\n"
    path.write_text(f"{head}{declaration}\ndef {name}({arguments}):\n    return {body}\n")
    return extended_registry([path])


@pytest.mark.parametrize(
    ("quantity", "message"),
    [
        ({"body": "1.0", "arguments": "chip_cuont"}, "model.py:4: a needs 'chip_cuont', .*did you mean 'chip_count'"),
        ({"body": "1.0", "name": "beta"}, "beta is already declared"),
        ({"body": "1.0", "name": "link_bandwidth"}, "'link_bandwidth' is taken"),
        ({"body": "1.0", "declaration": "@quantity()"}, "must state a unit"),
        ({"body": "1.0 +"}, "model.py:6: SyntaxError"),
        ({"body": "1.0", "name": "status"}, "the name 'status' is reserved"),
        ({"body": "1.0", "declaration": '@quantity("a", unit="1", when={"algorithm": "rng"})'}, "did you mean 'ring'"),
        ({"body": "1.0", "declaration": '@quantity("a", unit="1", when={"chip_count": "8"})'}, "is not a choice"),
        ({"body": "1.0", "declaration": '@quantity("a", unit="1", when={"algoritm": "ring"})'}, "mean 'algorithm'"),
        ({"body": "1.0", "declaration": "@quantity(unit=WRONG)"}, "model.py:4: NameError: name 'WRONG'"),
    ],
)
def test_a_faulty_model_file_is_refused_with_one_clear_message(quantity, message, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        model(tmp_path, **quantity)
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize(
    ("quantity", "message"),
    [
        ({"body": "a + 1", "arguments": "a"}, "depend on each other: a -> a"),
        ({"body": '1.0 if vlan == "onn" else 0.0', "arguments": "vlan"}, "model.py:6: a: 'onn' is not one of off, on"),
        ({"body": "open(chip_count)"}, "model.py:6: a: 'open' is a"),
        ({"body": "WORDS[chip_count]"}, "model.py:6: a: 'WORDS' is a dict"),
        ({"body": "missing(chip_count)"}, "model.py:6: a: the name 'missing' is not defined"),
        ({"body": "math.floors(chip_count)"}, "model.py:6: a: math has no 'floors'; did you mean 'floor'"),
    ],
)
def test_a_formula_that_cannot_become_a_kernel_is_refused_with_its_line(quantity, message, tmp_path):
    registry = model(tmp_path, **quantity)
    with pytest.raises(InputError, match=message):
        execute(make_plan(registry, ["a"], [], {}))


@pytest.mark.heavy
def test_a_formula_that_numba_cannot_type_is_refused(tmp_path):
    registry = model(tmp_path, "chip_count.first")
    with pytest.raises(InputError, match="a formula cannot be compiled"):
        execute(make_plan(registry, ["a"], [axis("chip_count", 1.0)], {}))


@pytest.mark.heavy
def test_a_choice_among_the_many_arguments_of_a_call_is_refused(tmp_path):
    names = [f"x{number}" for number in range(33)]
    (tmp_path / "many.py").write_text(
        "from sweep import Output, kernel\n"
        f"def first({', '.join(names)}):\n"
        "    return x0\n"
        "@kernel(outputs={'many': Output('1')}, dims={})\n"
        "def many_arguments(chip_count: float) -> float:\n"
        "    'A call with many arguments.'\n"
        f"    return first(1.0 if chip_count > 1 else 2.0, {', '.join(['3.0'] * 32)})\n"
    )
    registry = extended_registry([tmp_path / "many.py"])
    with pytest.raises(InputError, match="stands among the many arguments of a call; give it a name before"):
        execute(make_plan(registry, ["many"], [axis("chip_count", 1.0)], {}))


def test_integers_in_a_formula_do_not_wrap(tmp_path):
    registry = model(tmp_path, "math.ceil(message_size) * math.floor(message_size)", "message_size")
    result = execute(make_plan(registry, ["a"], [axis("message_size", 2.0**40)], {}))
    assert result.outputs["a"].tolist() == [2.0**80]


def test_an_edited_model_is_read_again(tmp_path):
    for factor in (2, 35, 7):
        registry = model(tmp_path, f"{factor} * chip_count")
        result = execute(make_plan(registry, ["a"], [axis("chip_count", 1.0, 2.0)], {}))
        assert result.outputs["a"].tolist() == [factor, 2 * factor]


def test_a_kernel_keeps_the_order_of_its_conditions():
    text = write_kernel(make_plan(TOY, ["last_step"], [], {})).text
    assert "select" not in text.partition("def q_walk")[2].partition("@nest")[0]


def test_no_label_can_become_code():
    table = {"x\nimport os": {"header": 1, "vlan_tag": 0, "icrc": 0, "fcs": 0}}
    fixed = {"packet_formats": table, "packet_format": "x\nimport os"}
    assert "\nimport os" not in write_kernel(make_plan(default_registry(), ["frame_overhead"], [], fixed)).text


def test_a_choice_axis_of_one_value_is_an_axis():
    made, result = compute(["area"], [axis("shape", "disc")])
    assert made.dims["area"] == ("shape",)
    assert result.outputs["area"].shape == (1,)


def test_the_model_digest_covers_what_prepared_quantities_reach(tmp_path):
    from sweep.catalog import extended_registry
    from sweep.store.record import model_digest

    digests = set()
    for constant in (3, 5):
        path = tmp_path / "model.py"
        path.write_text(
            f"from sweep import prepared\nC = {constant}\ndef helper():\n    return C\n"
            f'@prepared(unit="1")\ndef a(chip_count):\n    return helper() + chip_count\n'
        )
        made = make_plan(extended_registry([path]), ["a"], [axis("chip_count", 1.0)], {})
        digests.add(model_digest(made, write_kernel(made).text))
    assert len(digests) == 2


def test_a_prepared_quantity_that_raises_is_one_message(tmp_path):
    registry = model(tmp_path, "1 / 0", "chip_count", '@prepared(unit="1")')
    with pytest.raises(InputError, match=r"model.py:4: a: ZeroDivisionError: division by zero"):
        execute(make_plan(registry, ["a"], [axis("chip_count", 1.0)], {}))
