"""Values and outputs given on the command line, or to `load_grid`, in place of those of the grid."""

from __future__ import annotations

import pytest

import sweep
from sweep.errors import InputError

GRID = """\
outputs: [collective_latency, payload_efficiency]
axes:
  packet_format: [standard, afh_lite]
  chip_count: [2, 8]
  message_size: [1 KiB, 1 MiB]
zip: {generation: {link_bandwidth: [25, 50], base_latency: [200, 150]}}
fixed: {credit_size: 256, switch_hops: 1}
"""


@pytest.fixture
def grid(tmp_path):
    (tmp_path / "grid.yaml").write_text(GRID)
    return tmp_path / "grid.yaml"


def dims(grid, **options):
    return [axis.name for axis in sweep.load_grid(grid, **options).axes]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"chip_count": 4}, ["packet_format", "message_size", "generation"]),
        ({"chip_count": [4, 5]}, ["packet_format", "chip_count", "message_size", "generation"]),
        ({"credit_size": [32, 64]}, ["packet_format", "chip_count", "message_size", "credit_size", "generation"]),
        (
            {"switch_hops": {"range": [0, 3]}},
            ["packet_format", "chip_count", "message_size", "switch_hops", "generation"],
        ),
        ({"vlan": "on"}, ["packet_format", "chip_count", "message_size", "generation"]),
    ],
)
def test_one_value_is_fixed_and_several_are_an_axis_in_place_of_what_the_grid_says(grid, settings, expected):
    assert dims(grid, settings=settings) == expected
    loaded = sweep.load_grid(grid, settings=settings)
    ((name, value),) = settings.items()
    if isinstance(value, (int, str)):
        assert loaded.fixed[name] == value
    else:
        assert name not in loaded.fixed


def test_the_command_line_takes_what_a_grid_takes(grid, cli, monkeypatch):
    monkeypatch.chdir(grid.parent)
    code, output, messages = cli(
        "plan", grid, "--set", "chip_count={powers_of_two: [2, 16]}", "--set", "switch_fixed = 0.5 us",
        "--set", "packet_format=afh_lite", "--set", "message_size=[1 KiB, 2 kB, 5]",
    )  # fmt: skip
    assert code == 0, messages
    assert "24 points" in output
    assert "axis    chip_count                      4" in output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--set", "chip_cuont=8"], "--set chip_cuont: there is no parameter 'chip_cuont'; did you mean 'chip_count'?"),
        (["--set", "chip_count=0"], "--set chip_count: chip_count must be >= 1 and <= 16777216, not 0"),
        (["--set", "chip_count=[2, 2]"], "--set chip_count: chip_count has 2 twice"),
        (["--set", "chip_count="], "--set chip_count: chip_count takes a number, not nothing"),
        (["--set", "chip_count"], "--set: 'chip_count' is not of the form NAME=VALUE"),
        (["--set", "chip_count=[2"], "--set chip_count: not YAML: did not find"),
        (["--set", "chip_count={rnge: [1, 2]}"], "--set chip_count: 'rnge' is not a form of axis"),
        (["--set", "chip_count=2", "--set", "chip_count=3"], "--set: 'chip_count' is given twice"),
        (["--set", "base_latency=3"], "--set base_latency: base_latency moves along 'generation' in this grid"),
        (["--set", "link_bandwidth=400G"], "--set link_bandwidth: link_bandwidth moves along"),
        (["--set", "port_bandwidth=400G"], "--set port_bandwidth: port_bandwidth: '400 G' can be read as"),
        (["--set", "frames=3"], "--set frames: 'frames' is computed"),
        (["--outputs", "latency"], "--outputs: there is no output 'latency'"),
        (["--outputs", "alpha,alpha"], "--outputs: the output 'alpha' stands here twice"),
        (["--outputs", "alpha,"], "--outputs: the name of an output is missing"),
        (["--outputs", "chip_count"], "--outputs: 'chip_count' is a parameter, not an output"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_wrong(grid, cli, options, expected):
    for command in ("run", "plan", "explain"):
        code, output, messages = cli(command, grid, *options)
        assert (code, output) == (2, "")
        assert f"error: {expected}" in messages


def test_axes_that_the_outputs_asked_for_do_not_need_are_dropped_with_one_line(grid, cli):
    code, output, messages = cli("plan", grid, "--outputs", "payload_efficiency")
    assert code == 0
    assert messages.splitlines()[0] == "no output depends on chip_count, generation: dropped"
    assert "4 points" in output
    assert sweep.run(sweep.load_grid(grid, outputs=["payload_efficiency"])).sizes == {
        "packet_format": 2,
        "message_size": 2,
    }


def test_an_axis_that_a_setting_makes_idle_is_a_fault_that_names_it(grid, cli):
    code, _, messages = cli("plan", grid, "--set", "cdma_issue=[blocking, streaming]")
    assert code == 2
    assert "--set cdma_issue: no output depends on 'cdma_issue' here" in messages


def test_members_of_a_zipped_dimension_that_change_nothing_are_named(grid, cli):
    code, _, messages = cli("run", grid, "--outputs", "serialization", "-o", grid.parent / "result.nc")
    assert code == 0
    assert "not used by these outputs: credit_size, base_latency (zip generation)" in messages


def test_a_setting_of_what_no_yaml_could_say_is_refused(grid):
    with pytest.raises(InputError, match="cannot use a object here"):
        sweep.load_grid(grid, settings={"chip_count": object()})
