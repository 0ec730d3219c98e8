"""What YAML 1.1, floats and people make of grid files elsewhere: each kind of misreading, not one example of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import sweep
from sweep.api import load_located
from sweep.errors import InputError
from sweep.located import from_text


def grid_with(text, name):
    """A grid in which a parameter has what a text means."""
    return load_located({"outputs": ["collective_latency"]}, [], {name: from_text(text, "--set")}, [])


def fixed(text, name="base_latency"):
    return grid_with(text, name).fixed[name]


def axis(form, name="base_latency"):
    return grid_with(form, name).axes[0].members[name]


def axis_or_message(form, name):
    try:
        return axis(form, name)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e9", 1e9), ("1E9", 1e9), ("1e+9", 1e9), ("1e-6", 1e-6), (".5", 0.5), ("5.", 5.0), ("+3", 3.0), ("010", 10.0),
        ("0010.50", 10.5), ("1.5e3", 1500.0), ("1e3 ns", 1000.0), (".5us", 500.0), ("00", 0.0), ('"7"', 7.0),
    ],
)  # fmt: skip
def test_a_number_is_decimal_however_it_is_written(text, number):
    assert fixed(text) == number


@pytest.mark.parametrize(
    "text",
    ["0x10", "0o10", "0b1", "1_000", "12:30", "1:30:00", "2026-11-30", ".nan", ".inf", "-.inf", "nan", "inf", "1e400",
     "1,000", "1 000", "yes", "on", "true", "null", "~", '""', "1e", "e9", "--1", "1..2", "١٢"],
)  # fmt: skip
def test_what_is_no_decimal_number_is_refused_and_not_reinterpreted(text):
    with pytest.raises(InputError, match="base_latency"):
        fixed(text)


@pytest.mark.parametrize(
    ("text", "label"), [("on", "on"), ("off", "off"), ("true", "on"), ("false", "off"), ("'on'", "on")]
)
def test_on_and_off_are_words_and_true_and_false_stand_for_them(text, label):
    assert fixed(text, "vlan") == label


@pytest.mark.parametrize("text", ["yes", "no", "y", "On", "OFF", "1", "null"])
def test_no_other_word_or_number_stands_for_on_or_off(text):
    with pytest.raises(InputError, match="vlan is one of off, on"):
        fixed(text, "vlan")


@seed(1)
@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(0, 40), st.integers(1, 12), st.integers(1, 4))
def test_geometric_steps_between_powers_of_two_are_powers_of_two(low, doublings, steps_per_doubling):
    high = low + doublings
    points = axis(f"{{geomspace: [{2**low}, {2**high}, {doublings * steps_per_doubling + 1}]}}")
    assert points[::steps_per_doubling].tolist() == [2.0**k for k in range(low, high + 1)]


@seed(2)
@settings(max_examples=100, deadline=None, database=None)
@given(st.integers(0, 1000), st.integers(1, 500), st.sampled_from((1, 10, 100, 1000, 3)))
def test_equal_steps_are_the_decimals_that_people_write(first, count, parts):
    last = Fraction(first + count, parts)
    text = f"{{linspace: [{float(Fraction(first, parts))!r}, {float(last)!r}, {count + 1}]}}"
    points = axis(text)
    if parts != 3:
        assert points.tolist() == [float(Fraction(first + step, parts)) for step in range(count + 1)]
        ranged = axis(f"{{range: [{float(Fraction(first, parts))!r}, {float(last)!r}, {float(Fraction(1, parts))!r}]}}")
        assert ranged.tolist() == points.tolist()
    assert points.size == count + 1
    assert (points[0], points[-1]) == (float(Fraction(first, parts)), float(last))


@seed(3)
@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(1, 10**6), st.integers(2, 10**9), st.integers(2, 40))
def test_spaced_byte_counts_are_whole_and_differ(first, distance, count):
    for form in ("linspace", "geomspace"):
        points = axis_or_message(f"{{{form}: [{first}, {first + distance}, {count}]}}", "message_size")
        if isinstance(points, str):
            assert "ask for fewer points" in points
            continue
        assert (points == np.rint(points)).all()
        assert (np.diff(points) > 0).all()
        assert (points[0], points[-1]) == (first, first + distance)


def test_halves_round_up_on_whole_numbers():
    assert axis("{linspace: [0, 5, 3]}", "message_size").tolist() == [0, 3, 5]
    assert axis("{linspace: [1, 4, 3]}", "message_size").tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("name", "values", "fault"),
    [
        ("chip_count", "[2, two]", "'two' is not a number"),
        ("chip_count", "[2, [3]]", "takes one number here"),
        ("chip_count", "[2, {range: [3, 4]}]", "takes one number here"),
        ("packet_format", "[standard, 7]", "packet_format is one of .*, not '7'"),
        ("packet_format", "[standard, [afh_lite]]", "takes one word here"),
        ("packet_format", "{range: [1, 2]}", "is a choice; list its values"),
        ("packet_formats", "[standard]", "packet_formats is a table; it cannot be an axis"),
        ("chip_count", "[8, 8.0]", "has 8 twice"),
        ("base_latency", "[1 us, 1000]", "has 1000 twice"),
        ("base_latency", "[1 us, 1000 ns, 1e3]", "has 1000 twice"),
        ("link_bandwidth", "[400 Gb/s, 50 GB/s]", "has 50 twice"),
        ("packet_format", "[standard, standard]", "has standard twice"),
        ("vlan", "[on, true]", "has on twice"),
    ],
)
def test_mixed_types_and_equal_values_in_an_axis_are_refused(name, values, fault):
    with pytest.raises(InputError, match=fault):
        axis(values, name)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("outputs: steps\n", r"1:10: .* in a list, such as outputs: \[collective_latency\]"),
        ("outputs: [[steps]]\n", "1:11: an output is one word"),
        ("outputs: [{steps: 1}]\n", "1:11: an output is one word"),
        ("outputs: [steps]\npresets: exact\n", "2:10: presets is a list of names"),
        ("outputs: [steps]\naxes: {chip_count: 4}\n", "2:20: an axis is a list of values, or one of"),
        ("outputs: [steps]\naxes: [chip_count]\n", "2:7: axes is a mapping"),
        ("outputs: [steps]\nfixed: {chip_count: [4]}\n", "2:21: .* a list belongs under axes"),
        ("outputs: [steps]\nfixed: {chip_count: {range: [1, 4]}}\n", "2:21: .* a range of them belongs under axes"),
        ("outputs: [steps]\ntitle: [a, b]\n", "2:8: the title is a text"),
        ("outputs: [steps]\nzip: {pair: [1, 2]}\n", "2:13: zip pair is a mapping"),
        ("outputs: [steps]\nzip: {pair: {chip_count: 2}}\n", "2:26: an axis is a list"),
        ("outputs: [steps]\nzip: {pair: {label: [a]}}\n", "2:13: zip pair has no parameter"),
        ("outputs: [steps]\nzip: {chip_count: {chip_count: [2, 4]}}\n", "2:7: .* needs a name of its own"),
        ("outputs: [steps]\nzip: {steps_status: {chip_count: [2, 4]}}\n", "2:7: .* needs a name of its own"),
    ],
)
def test_a_list_for_a_word_and_a_word_for_a_list_are_one_fault_each(tmp_path, text, fault):
    (tmp_path / "grid.yaml").write_text(text)
    with pytest.raises(InputError, match=fault) as caught:
        sweep.load_grid(tmp_path / "grid.yaml")
    assert len(caught.value.faults) == 1


def test_every_fault_of_form_is_reported_with_those_of_content_in_the_order_of_the_file(tmp_path):
    (tmp_path / "grid.yaml").write_text(
        "titel: x\n"
        "outputs: [steps, !!binary x]\n"
        "axes:\n"
        "  chip_count: [2, 0, !!set {}]\n"
        "  chip_count: [3]\n"
        "  ? [a]\n"
        "  : 1\n"
        'fixed: {message_size: "\\e", base_latency: -1, vlan: maybe}\n'
        "outputs: []\n"
    )
    with pytest.raises(InputError) as caught:
        sweep.load_grid(tmp_path / "grid.yaml")
    places = [fault.where.rpartition("grid.yaml:")[2] for fault in caught.value.faults]
    assert places == ["1:1", "2:18", "4:19", "4:22", "5:3", "6:5", "8:23", "8:43", "8:53", "9:1"]


def test_a_tag_is_a_fault_on_a_key_too(tmp_path):
    (tmp_path / "grid.yaml").write_text("outputs: [steps]\nfixed: {!!python/name:os.system chip_count: 4}\n")
    with pytest.raises(InputError, match=r"grid\.yaml:2:9: the tag .*os\.system is not used here"):
        sweep.load_grid(tmp_path / "grid.yaml")


def test_every_bad_value_of_a_table_and_of_the_ends_of_an_axis_is_named(tmp_path):
    (tmp_path / "grid.yaml").write_text(
        "outputs: [frame_overhead]\n"
        "fixed: {packet_formats: {a: {header: -1, vlan_tag: null, icrc: 0.5, fcs: x,\n"
        "  ecn: allways, pfc_class: 1, qos: null, retry: always}, b: {header: 1}}}\n"
        "axes: {message_size: {linspace: [-1, x, 3]}}\n"
    )
    with pytest.raises(InputError) as caught:
        sweep.load_grid(tmp_path / "grid.yaml")
    places = [fault.where.rpartition("grid.yaml:")[2] for fault in caught.value.faults]
    assert places == ["2:38", "2:64", "2:74", "3:8", "3:28", "3:36", "3:61", "4:34", "4:38"]
    assert (
        caught.value.faults[3].what == "ecn is one of always, with_vlan, never, not 'allways'; did you mean 'always'?"
    )


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        (np.array([2, 4, 2]), r"chip_count\[2\]: chip_count has 2 twice"),
        (np.array([2.0, 2.5]), r"chip_count\[1\]: chip_count must be a whole number"),
        (np.array([2, np.nan]), r"chip_count\[1\]: .*'nan' is not a number"),
        (np.array([[2, 4]]), "cannot use a ndarray here"),
        ([2, b"4"], r"chip_count\[1\]: cannot use a bytes here"),
        ([2, True], r"chip_count\[1\]: chip_count takes a number, not 'true'"),
        ([2, np.bool_(True)], r"chip_count\[1\]: chip_count takes a number, not 'true'"),
        ([2, None], r"chip_count\[1\]: chip_count takes a number, not nothing"),
        ([2, 1j], r"chip_count\[1\]: cannot use a complex here"),
    ],
)
def test_an_axis_from_python_is_held_to_the_same_rules(values, fault):
    with pytest.raises(InputError, match=fault):
        sweep.load_grid({"outputs": ["steps"], "axes": {"chip_count": values}})


def test_python_values_that_contain_themselves_are_refused():
    endless: list[object] = []
    endless += [endless, endless]
    with pytest.raises(InputError, match="contains itself"):
        sweep.load_grid({"outputs": endless})


def test_one_word_for_the_outputs_is_one_fault():
    with pytest.raises(InputError, match=r"outputs: a list of names is wanted, such as \['steps'\], not 'steps'"):
        sweep.load_grid({"outputs": ["alpha"]}, outputs="steps")


def test_a_plan_can_be_made_of_a_dict_and_says_what_it_is():
    assert repr(sweep.plan({"outputs": ["steps"], "axes": {"chip_count": [2, 4]}})) == "Plan(steps over chip_count 2)"


def test_an_unprintable_character_is_named_with_its_place(tmp_path):
    (tmp_path / "grid.yaml").write_text("title: a\noutputs: [st\x07eps]\n")
    with pytest.raises(InputError, match=r"grid\.yaml:2:13: not YAML: the character U\+0007 is not printable"):
        sweep.load_grid(tmp_path / "grid.yaml")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    (tmp_path / "grid.yaml").write_bytes(b"\xef\xbb\xbfoutputs: [steps]\n")
    assert sweep.load_grid(tmp_path / "grid.yaml").outputs == ("steps",)


def test_empty_sections_are_as_good_as_none(tmp_path):
    (tmp_path / "grid.yaml").write_text("outputs: [steps]\naxes:\nzip:\nfixed:\npresets:\n")
    assert sweep.run(tmp_path / "grid.yaml").steps.item() == 14
