from __future__ import annotations

import json

import pytest

import sweep
from sweep.errors import InputError

GRID = "outputs: [collective_latency]\npresets: [{}]\n"


@pytest.fixture
def folder(tmp_path):
    def write(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + ".yaml")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return tmp_path / "grid.yaml"

    return write


def faults(grid):
    with pytest.raises(InputError) as caught:
        sweep.load_grid(grid)
    return [str(fault).replace(f"{grid.parent}/", "") for fault in caught.value.faults]


def test_a_preset_comes_after_those_that_it_includes_and_before_the_grid(folder):
    grid = folder(
        grid=GRID.format("./chip.yaml") + "fixed: {line_gap: 7}\n",
        chip="presets: [design_note, ./parts/link.yaml]\nparameters: {fec_overhead: 0.2}\n",
        parts__link="parameters: {fec_overhead: 0.1, base_latency: 99, line_gap: 1}\n",
    )
    loaded = sweep.load_grid(grid)
    assert list(loaded.presets) == ["design_note", "./parts/link.yaml", "./chip.yaml"]
    assert [loaded.fixed[name] for name in ("fec_overhead", "base_latency", "line_gap", "min_frame")] == [0.2, 99, 7, 0]
    assert loaded.given_by["base_latency"] == "./parts/link.yaml"
    record = json.loads(sweep.run(loaded).attrs["sweep"])
    assert record["presets"] == dict(loaded.presets)


def test_paths_in_a_preset_start_from_its_own_folder(folder):
    grid = folder(
        grid=GRID.format("./parts/chip.yaml"),
        parts__chip="presets: [./link.yaml, ../top.yaml]\n",
        parts__link="parameters: {base_latency: 99}\n",
        top="parameters: {line_gap: 3}\n",
    )
    assert sweep.load_grid(grid).fixed == {"base_latency": 99.0, "line_gap": 3.0}


def test_a_circle_of_presets_is_named(folder):
    grid = folder(grid=GRID.format("./a.yaml"), a="presets: [./b.yaml]\n", b="presets: [./a.yaml]\n")
    assert faults(grid) == ["b.yaml:1:11: the preset includes itself: ./a.yaml -> ./b.yaml -> ./a.yaml"]
    grid = folder(grid=GRID.format("./a.yaml"), a="presets: [./a.yaml]\n")
    assert faults(grid) == ["a.yaml:1:11: the preset includes itself: ./a.yaml -> ./a.yaml"]


def test_what_several_presets_include_applies_once_before_the_first_of_them(folder):
    grid = folder(
        grid=GRID.format("./a.yaml, ./b.yaml"),
        a="presets: [./base.yaml]\nparameters: {line_gap: 7}\n",
        b="presets: [./base.yaml]\nparameters: {min_frame: 9}\n",
        base="parameters: {line_gap: 1, min_frame: 1, base_latency: 1}\n",
    )
    loaded = sweep.load_grid(grid)
    assert list(loaded.presets) == ["./base.yaml", "./a.yaml", "./b.yaml"]
    assert loaded.fixed == {"line_gap": 7, "min_frame": 9, "base_latency": 1}


def test_a_preset_that_the_grid_lists_applies_where_it_stands_in_the_list(folder):
    files = {"a": "presets: [./base.yaml]\nparameters: {line_gap: 7}\n", "base": "parameters: {line_gap: 1}\n"}
    assert sweep.load_grid(folder(grid=GRID.format("./a.yaml, ./base.yaml"), **files)).fixed == {"line_gap": 1}
    assert sweep.load_grid(folder(grid=GRID.format("./base.yaml, ./a.yaml"), **files)).fixed == {"line_gap": 7}


def test_a_preset_twice_in_a_list_is_a_fault(folder):
    grid = folder(grid=GRID.format("exact, design_note, exact"))
    assert faults(grid) == ["grid.yaml:2:31: the preset 'exact' stands here twice"]


def test_presets_that_include_each_other_many_times_or_very_deep_are_read_once_or_refused(folder):
    levels = {f"p{i}": f"presets: [./p{i + 1}.yaml, ./p{i + 2}.yaml]\n" for i in range(40)}
    grid = folder(grid=GRID.format("./p0.yaml"), **levels, p40="parameters: {}\n", p41="parameters: {}\n")
    assert len(sweep.load_grid(grid).presets) == 42
    levels = {f"p{i}": f"presets: [./p{i + 1}.yaml]\n" for i in range(200)}
    grid = folder(grid=GRID.format("./p0.yaml"), **levels, p200="parameters: {}\n")
    assert faults(grid) == ["p49.yaml:1:11: presets include each other more than 50 deep"]


@pytest.mark.parametrize("name", ["../outside.yaml", "/etc/outside.yaml", "./parts/../../outside.yaml", "./link.yaml"])
def test_a_preset_outside_the_folder_of_the_grid_is_refused_however_it_is_reached(folder, tmp_path_factory, name):
    outside = tmp_path_factory.mktemp("elsewhere") / "outside.yaml"
    outside.write_text("parameters: {line_gap: 3}\n")
    grid = folder(grid=GRID.format(name), parts__chip="")
    (grid.parent / "link.yaml").symlink_to(outside)
    assert faults(grid) == [f"grid.yaml:2:11: the preset {name!r} lies outside the folder of the grid"]


def test_a_preset_included_by_another_may_not_lie_outside_the_folder_of_the_grid_either(folder):
    grid = folder(
        grid=GRID.format("./parts/chip.yaml"), parts__chip="presets: [../../outside.yaml, ../top.yaml]\n", top=""
    )
    assert faults(grid) == [
        "parts/chip.yaml:1:11: the preset '../../outside.yaml' lies outside the folder of the grid",
        "top.yaml: the file is empty",
    ]


def test_links_in_a_circle_are_no_preset(folder):
    grid = folder(grid=GRID.format("./loop.yaml"))
    (grid.parent / "loop.yaml").symlink_to(grid.parent / "loop.yaml")
    assert len(faults(grid)) == 1


def test_all_faults_of_grid_and_presets_come_together_each_with_its_place(folder):
    grid = folder(
        grid="outputs: [collective_latencyy]\npresets: [exakt, ./a.yaml, ./none.yaml, 7]\n",
        a="titel: x\nparameters: {line_gap: -1, line_gpa: 2, chip_count: [2, 3], frames: 1}\n",
    )
    assert faults(grid) == [
        "grid.yaml:1:11: there is no output 'collective_latencyy'; did you mean 'collective_latency'? "
        "(sweep outputs lists them)",
        "grid.yaml:2:11: there is no preset 'exakt'; there are design_note, exact, sg2262; did you mean 'exact'?",
        "grid.yaml:2:28: the preset './none.yaml' cannot be read: No such file or directory",
        "grid.yaml:2:41: a preset is one of design_note, exact, sg2262, or a file such as ./my_chip.yaml",
        "a.yaml:1:1: 'titel' is not a key of a preset; there are title, presets, parameters; did you mean 'title'?",
        "a.yaml:2:24: line_gap must be >= 0 B, not -1",
        "a.yaml:2:28: there is no parameter 'line_gpa'; did you mean 'line_gap'? (sweep params lists them)",
        "a.yaml:2:53: chip_count has one value here; a list belongs under axes",
        "a.yaml:2:61: 'frames' is computed; it cannot be given a value",
    ]


def test_a_shipped_preset_is_meant_by_its_name_whatever_files_there_are(folder):
    grid = folder(grid=GRID.format("exact"), exact="parameters: {line_gap: 3}\n")
    assert sweep.load_grid(grid).fixed["line_gap"] == 20
