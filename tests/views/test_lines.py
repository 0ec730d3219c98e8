"""Line families, on structure: which lines there are, where their points stand, what their names are."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from sweep.errors import InputError
from sweep.views.cut import Layout
from sweep.views.lines import MAX_LINES, draw_lines, look


@pytest.fixture
def drawn(figures, tmp_path):
    """Draw, and return the figures."""

    def draw(dataset, layout, **options):
        figures.clear()
        draw_lines(dataset, "time", layout, tmp_path / "lines.png", **options)
        return figures

    return draw


def times(values, missing=2, **coordinates):
    values = np.asarray(values, float)
    dims = tuple(coordinates)
    codes = np.where(np.isfinite(values), 0, missing).astype(np.int8)
    return xr.Dataset(
        {"time": (dims, values, {"units": "ns", "long_name": "time"}), "status": (dims, codes)},
        {name: ((name,), each, {"units": "B"} if name == "size" else {}) for name, each in coordinates.items()},
        {"title": "Times", "sweep": "{}"},
    )


def test_each_value_has_a_line_through_its_points_at_their_own_places(drawn):
    dataset = times([[1, 2, 5], [2, 4, 10]], kind=["plain", "fancy"], size=[1024, 2048, 4096])
    (figure,) = drawn(dataset, Layout("size", "kind"))
    (panel,) = figure.axes
    assert [line.get_label() for line in panel.lines] == ["plain", "fancy"]
    assert panel.lines[1].get_xdata().tolist() == [1024, 2048, 4096]
    assert panel.lines[1].get_ydata().tolist() == [2, 4, 10]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1 KiB", "2 KiB", "4 KiB"]
    assert panel.get_ylabel() == "time (ns)"
    assert figure.legends[0].get_title().get_text() == "kind"
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in panel.lines}
    assert len(looks) == len({look[1:] for look in looks}) == 2  # apart without colours too


def test_numbers_in_any_order_are_joined_in_theirs(drawn):
    (figure,) = drawn(times([3, 1, 2], size=[30, 10, 20]), Layout("size"))
    assert figure.axes[0].lines[0].get_ydata().tolist() == [1, 2, 3]


def test_labels_stand_one_after_the_other_in_the_order_of_the_axis(drawn):
    (figure,) = drawn(times([3, 1, 2], kind=["c", "a", "b"]), Layout("kind"))
    assert figure.axes[0].lines[0].get_ydata().tolist() == [3, 1, 2]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["c", "a", "b"]


def test_a_gap_is_a_gap_with_its_reason_and_a_lonely_point_is_marked(drawn):
    many = np.full(40, np.nan)
    many[[0, 1, 2, 10]] = 1, 2, 3, 4
    (figure,) = drawn(times(many, size=range(40)), Layout("size"))
    (line,) = figure.axes[0].lines
    assert np.isnan(line.get_ydata()).sum() == 36
    assert line.get_marker() == "o"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["gaps: infeasible"]


def test_values_over_many_powers_of_ten_have_a_logarithmic_scale_unless_there_is_a_zero(drawn):
    (figure,) = drawn(times([1, 100, 1e4], size=[1, 2, 3]), Layout("size"))
    assert figure.axes[0].get_yscale() == "log"
    (figure,) = drawn(times([0, 100, 1e4], size=[1, 2, 3]), Layout("size"))
    assert figure.axes[0].get_yscale() == "linear"


def test_panels_share_both_scales(drawn):
    dataset = times([[[1, 2], [3, 4]], [[10, 20], [30, 40]]], hops=[0, 1], kind=["a", "b"], size=[1, 2])
    (figure,) = drawn(dataset, Layout("size", "kind", "hops"))
    assert [panel.get_title() for panel in figure.axes] == ["hops = 0", "hops = 1"]
    assert len({panel.get_ylim() for panel in figure.axes}) == 1


def test_percent_above_the_best(drawn):
    (figure,) = drawn(times([[1, 2], [2, 1]], kind=["a", "b"], size=[1, 2]), Layout("size", "kind"), best="kind")
    assert [line.get_ydata().tolist() for line in figure.axes[0].lines] == [[0, 100], [100, 0]]


def test_nothing_but_missing_values_can_be_drawn(drawn):
    (figure,) = drawn(times(np.full((2, 3), np.nan), kind=["a", "b"], size=[1, 2, 3]), Layout("size", "kind"))
    assert "gaps: infeasible" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_more_lines_than_can_be_told_apart_are_refused(tmp_path):
    with pytest.raises(InputError, match="hops has 17 values; at most 16 lines"):
        draw_lines(
            times(np.ones((17, 2)), hops=range(17), size=[1, 2]), "time", Layout("size", "hops"), tmp_path / "x.png"
        )


def test_the_command_draws_lines_and_refuses_what_they_do_not_have(cli, tmp_path, monkeypatch):
    from sweep.store.netcdf import write_new

    monkeypatch.chdir(tmp_path)
    write_new(
        times([[1, 2, 5], [2, 4, 10]], kind=["plain", "fancy"], size=[1024, 2048, 4096]), tmp_path / "r.nc", False
    )
    code, said, messages = cli("plot", "r.nc", "--lines", "kind", "-o", "r.svg")
    assert (code, said) == (0, "drawn to r.svg\n"), messages
    for options, message in (
        (["--lines", "kind", "--y", "size"], "--lines stands in place of --y"),
        (["--lines", "kind", "--contour", "3"], "has no --contour"),
        (["--lines", "kinds"], "did you mean 'kind'"),
    ):
        code, _, messages = cli("plot", "r.nc", *options)
        assert (code, message in messages) == (2, True), messages


def test_sixteen_lines_look_different_without_colours_too():
    assert len({look(place) for place in range(MAX_LINES)}) == MAX_LINES
