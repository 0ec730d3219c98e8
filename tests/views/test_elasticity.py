"""Elasticities over a grid, against those of each point in plain Python and against derivatives by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import sweep
from sweep.errors import InputError
from sweep.views.elasticity import elasticity_table

pytestmark = pytest.mark.heavy

GRID = {
    "title": "Rings",
    "outputs": ["limiter", "collective_latency"],
    "axes": {
        "packet_format": ["standard", "afh_lite"],
        "link_bandwidth": [25, 50, 200],
        "message_size": ["1 KiB", "100 KiB", "5 MiB"],
    },
    "zip": {"fabric": {"label": ["direct", "switched"], "switch_hops": [0, 2], "switch_fixed": [0, 300]}},
}


@pytest.fixture(scope="module")
def found():
    return sweep.elasticities(GRID, step=1e-3)


def test_every_cell_has_the_elasticities_that_its_point_has(found):
    for index in np.ndindex(found.collective_latency.shape):
        cell = found.isel(dict(zip(found.collective_latency.dims, index, strict=True)))
        at = {
            name: cell[name].item()
            for name in ("packet_format", "link_bandwidth", "message_size", "switch_hops", "switch_fixed")
        }
        effects = {
            effect.name: effect.elasticity for effect in sweep.sensitivity(GRID, "collective_latency", at, 1e-3).effects
        }
        for name, value in zip(cell.parameter.values, cell.elasticity.values, strict=True):
            assert value == pytest.approx(effects[name], rel=1e-9, abs=1e-9, nan_ok=True), (name, at)
        known = {name: abs(effects[name]) for name in cell.parameter.values if math.isfinite(effects[name])}
        strongest = cell.strongest.attrs["flag_meanings"].split()[int(cell.strongest)]
        assert known[strongest] == pytest.approx(max(known.values()), rel=1e-9)


def test_by_hand_on_a_formula_of_powers(tmp_path):
    """y = a^2 * b / c has elasticities 2, 1 and -1 wherever it stands."""
    (tmp_path / "own.py").write_text(
        "import sweep\n"
        "a = sweep.parameter(unit='1', default=2.0, above=0, doc='a', source='here')\n"
        "b = sweep.parameter(unit='1', default=3.0, above=0, doc='b', source='here')\n"
        "c = sweep.parameter(unit='1', default=4.0, above=0, doc='c', source='here')\n"
        "d = sweep.parameter(unit='1', default=4.0, above=0, doc='d', source='here')\n"
        "@sweep.quantity(unit='1')\n"
        "def y(a, b, c, d):\n"
        "    'A product of powers.'\n"
        "    return a * a * b / c + 0.0 * d\n"
    )
    grid = sweep.load_grid({"outputs": ["y"], "axes": {"a": [1, 2, 5], "c": [1, 10]}}, [tmp_path / "own.py"])
    found = sweep.elasticities(grid)
    assert found.elasticity.dims == ("parameter", "a", "c")
    for name, power in {"a": 2, "b": 1, "c": -1, "d": 0}.items():
        assert np.allclose(found.elasticity.sel(parameter=name), power, rtol=1e-12, atol=0), name
    assert json.loads(found.attrs["sweep"])["sensitivity"]["idle"] == ["d"]
    lines = "\n".join(elasticity_table(found))
    assert "no effect anywhere: d" in lines
    assert lines.index("  a ") < lines.index("  b ") < lines.index("no effect")


def test_what_is_0_has_an_effect_but_no_elasticity():
    """A share lost to FEC, and a wait in front of a port, lengthen a transfer even from 0."""
    grid = {"outputs": ["transfer_latency"], "axes": {"message_size": [1000, 2000]}, "fixed": {"switch_hops": 2}}
    found = sweep.elasticities(grid)
    about = json.loads(found.attrs["sweep"])["sensitivity"]
    assert set(about["at_zero"]) >= {"fec_overhead", "egress_utilization"}
    assert not {"fec_overhead", "egress_utilization"} & set(about["idle"])
    assert "as they are 0: " in "\n".join(elasticity_table(found))


def test_a_member_of_a_zip_stands_where_the_zip_has_it():
    alone = sweep.sensitivity(GRID, "collective_latency", {"switch_hops": 2}).value
    assert alone == sweep.sensitivity(GRID, "collective_latency", {"fabric": "switched"}).value
    with pytest.raises(InputError, match="switch_hops moves with switch_fixed along fabric; it is one of 0, 2 there"):
        sweep.sensitivity(GRID, "collective_latency", {"switch_hops": 1})


@pytest.mark.parametrize("turned", [False, True])
def test_what_stands_at_two_positions_of_a_zip_is_refused_in_any_order(turned):
    at = {"fabric": "direct", "switch_hops": 2}
    with pytest.raises(InputError, match="at another position of fabric"):
        sweep.sensitivity(GRID, "collective_latency", dict(reversed(at.items())) if turned else at)


def test_names_that_the_command_itself_gives_are_refused():
    grid = {**GRID, "zip": {"parameter": GRID["zip"]["fabric"]}}
    with pytest.raises(InputError, match="'parameter' is a name of this command's own"):
        sweep.elasticities(grid)


def test_an_output_without_a_value_anywhere_is_said_to_be_so():
    found = sweep.elasticities({"outputs": ["queueing"], "fixed": {"egress_utilization": 2}})
    assert "queueing has no value anywhere" in "\n".join(elasticity_table(found))


def test_only_what_is_asked_for_is_moved_and_axes_can_stand_at_a_value(found):
    part = sweep.elasticities(
        GRID, "collective_latency", ["link_bandwidth"], {"fabric": "switched", "message_size": "100 KiB"}, 1e-3
    )
    assert part.elasticity.dims == ("parameter", "packet_format", "link_bandwidth")
    whole = found.elasticity.sel(parameter=["link_bandwidth"], message_size=102400, fabric="switched")
    assert np.allclose(part.elasticity, whole.transpose(*part.elasticity.dims))
    assert part.attrs["title"].endswith("at fabric switched, message size 100 KiB")


def test_cells_without_a_value_have_no_elasticity_and_say_why():
    grid = {"outputs": ["queueing"], "axes": {"egress_utilization": [0, 0.5, 1, 1.5]}}
    found = sweep.elasticities(grid)
    assert np.isnan(found.elasticity.values[:, 2:]).all()
    assert found.status.values.tolist() == [0, 0, 3, 3]
    assert found.strongest.attrs["flag_meanings"].split()[found.strongest.values[3]] == "no_value"


def test_what_is_computed_from_others_is_named_as_not_moved(found):
    assert "port_bandwidth" in json.loads(found.attrs["sweep"])["sensitivity"]["left_out"]
    assert "not moved, computed from others here: " in "\n".join(elasticity_table(found))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": ["link_bandwith"]}, "did you mean 'link_bandwidth'"),
        ({"parameters": ["packet_format"]}, "is no number that is moved here"),
        ({"output": "limiter"}, "is no output that is a number"),
        ({"at": {"fabric": "swiched"}}, "fabric is one of direct, switched, not 'swiched'; did you mean 'switched'?"),
        ({"at": {"fabrik": "direct"}}, "did you mean 'fabric'"),
        ({"step": 0}, "a share between 0 and 1"),
    ],
)
def test_a_wrong_argument_is_one_message(arguments, message):
    with pytest.raises(InputError) as caught:
        sweep.elasticities(GRID, **arguments)
    assert len(caught.value.faults) == 1
    assert message in str(caught.value)


def test_a_zipped_dimension_has_positions_for_a_point_too():
    there = sweep.sensitivity(GRID, "collective_latency", {"fabric": "switched"})
    assert there.value == sweep.sensitivity(GRID, "collective_latency", {"switch_hops": 2, "switch_fixed": 300}).value


def test_the_command_writes_a_map_and_a_table(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.yaml").write_text(json.dumps(GRID))
    options = ["--everywhere", "-o", "e.nc", "--picture", "e.png", "--facet", "packet_format"]
    code, said, messages = cli("sensitivity", "grid.yaml", *options)
    assert code == 0, messages
    assert "Elasticities of collective latency" in said
    assert "strongest in" in said
    assert (tmp_path / "e.png").stat().st_size > 5000
    assert "elasticity" in cli("show", "e.nc")[1]
    assert cli("plot", "e.nc", "--of", "elasticity", "--facet", "parameter")[0] == 0
    for wrong, message in (
        (["-o", "x.nc"], "go with --everywhere"),
        (["--x", "message_size"], "go with --everywhere"),
        (["--everywhere", "-o", "e.nc"], "--overwrite replaces it"),
        (["--everywhere", "--picture", "e.png", "--x", "mesage_size"], "did you mean 'message_size'"),
    ):
        code, _, messages = cli("sensitivity", "grid.yaml", *wrong)
        assert (code, message in messages) == (2, True), messages
