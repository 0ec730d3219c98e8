from __future__ import annotations

import numpy as np
import pytest

import sweep
from sweep.errors import InputError
from sweep.store.netcdf import with_labels


def load(tmp_path, text):
    path = tmp_path / "grid.yaml"
    path.write_text(text)
    return sweep.load_grid(path)


def values(tmp_path, name, form):
    grid = load(tmp_path, f"outputs: [collective_latency]\naxes:\n  {name}: {form}\n")
    return grid.axes[0].members[name]


def faults(tmp_path, text):
    with pytest.raises(InputError) as caught:
        sweep.plan(load(tmp_path, text))
    return [str(fault).replace(f"{tmp_path}/", "") for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("base_latency", "[1, 2.5, 1e3]", [1.0, 2.5, 1000.0]),
        ("base_latency", "[0.2 us, 150ns, 1 ms]", [200.0, 150.0, 1e6]),
        ("link_bandwidth", "[400 Gb/s, 50 GB/s, 46.57 GiB/s]", [50.0, 50.0, 46.57 * 2**30 / 1e9]),
        ("message_size", "[1 KiB, 1 kB, 0, 1e6]", [1024.0, 1000.0, 0.0, 1e6]),
        ("base_latency", "{linspace: [0, 1, 11]}", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("switch_hops", "{range: [0, 3]}", [0, 1, 2, 3]),
        ("base_latency", "{range: [0, 1, 0.25]}", [0, 0.25, 0.5, 0.75, 1]),
        ("chip_count", "{powers_of_two: [2, 256]}", [2, 4, 8, 16, 32, 64, 128, 256]),
        ("message_size", "{geomspace: [64, 4096, 7]}", [64, 128, 256, 512, 1024, 2048, 4096]),
        ("message_size", "{geomspace: [1 KiB, 1 GiB, 3]}", [1024, 2**20, 2**30]),
        ("message_size", "{linspace: [0, 5, 3]}", [0, 3, 5]),
    ],
)
def test_axis_forms_give_exact_points(tmp_path, name, form, expected):
    if form.startswith("[400"):
        form = "[400 Gb/s, 46.57 GiB/s]"
        expected = expected[1:]
    assert values(tmp_path, name, form).tolist() == expected


def test_geomspace_hits_every_power_of_two_exactly(tmp_path):
    points = values(tmp_path, "base_latency", "{geomspace: [1, 1073741824, 61]}")
    assert points[::2].tolist() == [2.0**k for k in range(31)]


def test_choices_are_words_and_on_is_not_a_boolean(tmp_path):
    grid = load(tmp_path, "outputs: [wire_size]\naxes: {vlan: [off, on]}\nfixed: {icrc: true}\n")
    assert grid.axes[0].members["vlan"] == ("off", "on")
    assert grid.fixed["icrc"] == "on"


def test_numbers_are_those_of_yaml_1_2(tmp_path):
    grid = load(tmp_path, "outputs: [collective_latency]\nfixed: {message_size: 1e9, chip_count: 010}\n")
    assert grid.fixed == {"message_size": 1e9, "chip_count": 10.0}


def test_presets_apply_in_order_and_the_grid_has_the_last_word(tmp_path):
    (tmp_path / "mine.yaml").write_text("title: mine\nparameters: {fec_overhead: 0.1, line_gap: 5}\n")
    grid = load(
        tmp_path,
        "outputs: [collective_latency]\npresets: [design_note, ./mine.yaml]\n"
        "axes: {framing: [exact, none]}\nfixed: {line_gap: 7}\n",
    )
    assert (grid.fixed["fec_overhead"], grid.fixed["line_gap"], grid.fixed["credit_model"]) == (0.1, 7.0, "rounds")
    assert "framing" not in grid.fixed
    assert list(grid.presets) == ["design_note", "./mine.yaml"]


def test_a_preset_can_add_a_packet_format(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "parameters:\n  packet_formats:\n    tiny: {header: 6, vlan_tag: null, icrc: 0, fcs: 4, "
        "ecn: never, pfc_class: never, qos: always, retry: with_vlan}\n"
    )
    text = "outputs: [frame_overhead, qos, retry]\npresets: [./mine.yaml]\naxes: {packet_format: [standard, tiny]}\n"
    result = sweep.run(load(tmp_path, text))
    assert result.frame_overhead.values.tolist() == [58.0, 10.0]
    assert with_labels(result.qos).values.tolist() == ["yes", "yes"]
    assert with_labels(result.retry).values.tolist() == ["yes", "no"]


def test_zipped_parameters_share_a_labelled_dimension(tmp_path):
    grid = load(
        tmp_path,
        "outputs: [collective_latency]\nzip:\n  generation:\n    label: [old, new]\n"
        "    link_bandwidth: [25 GB/s, 50 GB/s]\n    base_latency: [200, 200]\n",
    )
    result = sweep.run(grid)
    assert result.collective_latency.dims == ("generation",)
    assert result.generation.values.tolist() == ["old", "new"]
    assert result.link_bandwidth.values.tolist() == [25.0, 50.0]
    assert result.link_bandwidth.dims == ("generation",)


def test_dimensions_come_in_the_order_of_the_file(tmp_path):
    axes = "axes: {chip_count: [2, 4], link_bandwidth: [25, 50]}\n"
    pair = "zip: {pair: {base_latency: [1, 2], switch_fixed: [3, 4]}}\n"
    head = "outputs: [collective_latency]\nfixed: {switch_hops: 1}\n"
    assert sweep.plan(load(tmp_path, head + axes + pair)).status_dims == ("chip_count", "link_bandwidth", "pair")
    assert sweep.plan(load(tmp_path, head + pair + axes)).status_dims == ("pair", "chip_count", "link_bandwidth")


def test_a_dict_is_a_grid_too():
    grid = sweep.load_grid({"outputs": ["steps"], "axes": {"chip_count": np.array([2, 3])}})
    assert sweep.run(grid).steps.values.tolist() == [2.0, 4.0]
    with pytest.raises(InputError, match=r"grid\.axes\.chip_count\[1\]: chip_count has 2 twice"):
        sweep.load_grid({"outputs": ["steps"], "axes": {"chip_count": [2, 2]}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["grid.yaml: the file is empty"]),
        ("[1, 2]", ["grid.yaml:1:1: a grid is a mapping"]),
        ("a: {", ["grid.yaml:2:1: not YAML"]),
        ("outputs: [steps]\noutputs: [alpha]\n", ["grid.yaml:2:1: the key 'outputs' stands here twice"]),
        ("outputs: !!python/object/apply:os.system [ls]\n", ["grid.yaml:1:10: the tag"]),
        ("title: x\n", ["grid.yaml:1:1: a grid names its outputs"]),
        ("outputs: [latencyy]\n", ["grid.yaml:1:11: there is no output 'latencyy'"]),
        ("outputs: [alpha_status, alpha]\n", ["1:11: 'alpha_status' needs 'alpha' among the outputs before it"]),
        ("outputs: [alpha, status]\n", ["1:18: status is always there"]),
        ("outputs: [chip_count]\n", ["grid.yaml:1:11: 'chip_count' is a parameter"]),
        ("outputs: [steps]\naxis: {}\n", ["grid.yaml:2:1: 'axis' is not a key of a grid; .* did you mean 'axes'"]),
        ("outputs: [steps]\naxes: {chip_cuont: [2]}\n", ["grid.yaml:2:8: there is no parameter .*'chip_count'"]),
        ("outputs: [steps]\naxes: {alpha: [2]}\n", ["grid.yaml:2:8: 'alpha' is computed"]),
        ("outputs: [steps]\naxes: {chip_count: 2}\n", ["grid.yaml:2:20: an axis is a list of values, or one of"]),
        ("outputs: [steps]\naxes: {chip_count: []}\n", ["grid.yaml:2:20: chip_count has no values"]),
        ("outputs: [steps]\naxes: {chip_count: [2, 2.0]}\n", ["grid.yaml:2:24: chip_count has 2 twice"]),
        ("outputs: [steps]\naxes: {chip_count: [2, two, 2.5, 0]}\n", [":24: .*'two'", ":29: .*whole", ":34: .*>= 1"]),
        ("outputs: [steps]\naxes: {chip_count: [2, null]}\n", ["takes a number, not nothing"]),
        ("outputs: [steps]\naxes: {chip_count: [2, .inf]}\n", ["'.inf' is not a number"]),
        ("outputs: [steps]\naxes: {chip_count: [2, 1e400]}\n", ["'1e400' is too large"]),
        ("outputs: [steps]\naxes: {chip_count: {rnge: [1, 2]}}\n", ["'rnge' is not a form .* did you mean 'range'"]),
        ("outputs: [steps]\naxes: {chip_count: {range: [1, 2.5]}}\n", ["must be a whole number"]),
        ("outputs: [steps]\naxes: {chip_count: {linspace: [1, 3, 9]}}\n", ["chip_count has 1 twice; ask for fewer"]),
        ("outputs: [steps]\naxes: {chip_count: {powers_of_two: [2, 9]}}\n", ["9 is not a power of two"]),
        ("outputs: [steps]\naxes: {chip_count: [2]}\nfixed: {chip_count: 3}\n", ["already stands in axes"]),
        ("outputs: [steps]\nfixed: {chip_count: [3]}\n", ["has one value here; a list belongs under axes"]),
        ("outputs: [steps]\naxes: {credit_size: [32, 64]}\n", ["2:8: no output depends on 'credit_size'"]),
        ("outputs: [steps]\nzip: {a: {chip_count: [2], base_latency: [1, 2]}}\n", ["lists of different lengths"]),
        ("outputs: [steps]\npresets: [design_nota]\n", ["there is no preset .* did you mean 'design_note'"]),
        ("outputs: [steps]\npresets: [../x.yaml]\n", ["lies outside the folder of the grid"]),
        ("outputs: [steps]\nfixed: {link_bandwidth: 400G}\n", ["can be read as 400 Gb/s .* or as 400 GB/s"]),
        ("outputs: [steps]\nfixed: {link_bandwidth: 1GBps}\n", ["can be read as 1 Gb/s .* or as 1 GB/s"]),
        ("outputs: [steps]\nfixed: {message_size: 10 Kb}\n", ["can be read as 10 kB .* or as 10 KiB"]),
        ("outputs: [steps]\nfixed: {base_latency: 3 m}\n", ["'m' is not a unit .* allowed: ps, ns, us"]),
        ("outputs: [steps]\nfixed: {vlan: maybe}\n", ["vlan is one of off, on, not 'maybe'"]),
    ],
)
def test_a_fault_is_named_with_its_place_what_is_allowed_and_the_nearest_name(tmp_path, text, expected):
    import re

    found = faults(tmp_path, text)
    assert len(found) == len(expected)
    for message, pattern in zip(found, expected, strict=True):
        assert re.search(pattern, message), message


def test_all_faults_of_a_file_are_reported_at_once(tmp_path):
    found = faults(
        tmp_path,
        "titel: x\noutputs: [steps, alhpa]\naxes: {chip_count: [0], message_size: [1, 1]}\nfixed: {vlan: 7, nope: 1}\n",
    )
    places = [message.split(": ")[0] for message in found]
    assert places == [f"grid.yaml:{place}" for place in ("1:1", "2:18", "3:21", "3:43", "4:15", "4:18")]
