"""Lines over heat maps: at values of the variable, and where the winner changes."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import sweep
from sweep.errors import InputError
from sweep.views.contour import index_of, is_number_line
from sweep.views.crossover import crossovers
from sweep.views.cut import Layout
from sweep.views.heatmap import draw_heatmap
from sweep.views.select import select


@pytest.fixture
def drawn(figures, tmp_path):
    """Draw, and return the figures."""

    def draw(dataset, variable, layout, **options):
        figures.clear()
        draw_heatmap(dataset, variable, layout, tmp_path / "map.png", **options)
        return figures

    return draw


def powers(**attributes):
    """10 to the power of row plus column."""
    values = 10.0 ** np.add.outer(np.arange(4), np.arange(5))
    times = xr.DataArray(values, dims=("a", "b"), attrs={"units": "ns", "long_name": "time"} | attributes)
    return xr.Dataset({"time": times, "status": ((), 0)}, {"a": range(4), "b": range(5)}, {"title": "powers"})


def contour_points(panel):
    from matplotlib.contour import ContourSet

    return [
        np.concatenate([path.vertices for path in lines.get_paths()])
        for lines in panel.collections
        if isinstance(lines, ContourSet)
    ]


def test_a_line_runs_where_the_logarithm_says_that_the_value_is(drawn):
    (figure,) = drawn(powers(), "time", Layout("b", "a"), contours=["0.1 us", "2 ms"])
    (points,) = contour_points(figure.axes[0])
    where = points.sum(axis=1)
    assert all(np.isclose(x, 2) or np.isclose(x, np.log10(2e6)) for x in where)
    assert sum(np.isclose(where, 2)) >= 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["0.1 us", "2 ms"]


def test_a_line_avoids_what_is_missing(drawn):
    dataset = powers()
    dataset["time"][:, 2] = np.nan
    (figure,) = drawn(dataset, "time", Layout("b", "a"), contours=["500"])
    for points in contour_points(figure.axes[0]):
        assert not ((points[:, 0] > 1) & (points[:, 0] < 3)).any()


@pytest.mark.parametrize(
    ("layout", "contours", "message"),
    [
        (Layout("b", "a"), ["1 s"], "both sides of 1 s; time \\(ns\\) is 1 .. 1e\\+07 here"),
        (Layout("b", "a"), ["1"], "both sides of 1;"),
        (Layout("b", "a"), ["5 GB"], "GB"),
        (Layout("b", None, "a"), ["100"], "two numeric dimensions of two values or more"),
    ],
)
def test_where_there_can_be_no_line_it_says_why(tmp_path, layout, contours, message):
    dataset = powers()
    shown = dataset if layout.y else dataset.isel(a=[0])
    with pytest.raises(InputError, match=message):
        draw_heatmap(shown, "time", layout, tmp_path / "map.png", contours=contours)
    assert not list(tmp_path.iterdir())


def test_labels_have_no_lines(tmp_path):
    dataset = powers()
    dataset["time"] = (("a", "b"), np.zeros((4, 5), int), {"flag_meanings": "one two"})
    with pytest.raises(InputError, match="has labels, not numbers"):
        draw_heatmap(dataset, "time", Layout("b", "a"), tmp_path / "map.png", contours=["1"])


def test_a_number_stands_between_its_neighbours_in_proportion():
    assert index_of(np.array([0, 10, 12]), np.array([5.0, 10.5])).tolist() == [0.5, 1.25]
    assert np.allclose(index_of(np.array([1024, 2**30]), np.array([2.0**20])), [0.5])
    assert np.allclose(index_of(np.array([1, 4, 16]), np.array([2.0, 8.0])), [0.5, 1.5])


@pytest.fixture(scope="module")
def rings():
    return sweep.run(
        {
            "outputs": ["collective_latency"],
            "axes": {
                "packet_format": ["standard", "afh_gen1", "afh_lite"],
                "switch_hops": [0, 2],
                "chip_count": [8, 32, 64, 128, 256],
                "message_size": {"geomspace": ["256 B", "64 KiB", 17]},
            },
        }
    )


@pytest.mark.heavy
@pytest.mark.parametrize("turned", [False, True])
def test_every_change_is_a_point_in_its_panel_between_two_cells_of_different_winners(drawn, rings, turned):
    changes = crossovers(rings, "message_size")
    chosen = select(rings)
    layout = Layout("chip_count", "message_size", "switch_hops") if turned else Layout(
        "message_size", "chip_count", "switch_hops"
    )  # fmt: skip
    (figure,) = drawn(chosen, "winner", layout, crossings=changes)
    panels = [axes for axes in figure.axes if axes.images]
    shown = [np.concatenate([line.get_xydata() for line in panel.lines]) for panel in panels]
    assert sum(map(len, shown)) == changes.sizes["crossing"] > 4
    for hops, points in zip(chosen.switch_hops, shown, strict=True):
        codes = chosen.winner.sel(switch_hops=hops).transpose("chip_count", "message_size").values
        for along, row in points[:, ::-1] if turned else points:
            assert along != np.floor(along)
            assert codes[int(row), int(np.floor(along))] != codes[int(row), int(np.ceil(along))]


@pytest.mark.heavy
def test_rows_of_labels_have_a_bar_across_the_row_for_each_change(drawn):
    result = sweep.run(
        {
            "outputs": ["collective_latency"],
            "axes": {
                "packet_format": ["standard", "afh_lite"],
                "forwarding": ["cut_through", "store_and_forward"],
                "message_size": {"geomspace": ["256 B", "64 KiB", 17]},
            },
            "fixed": {"chip_count": 128},
        }
    )
    changes = crossovers(result, "message_size")
    layout = Layout("message_size", "forwarding")
    (figure,) = drawn(select(result), "winner", layout, crossings=changes)
    bars = [line.get_xydata() for line in figure.axes[0].lines]
    assert len(bars) == changes.sizes["crossing"] == 2
    assert sorted((bar[0, 1], bar[1, 1]) for bar in bars) == [(-0.5, 0.5), (0.5, 1.5)]
    assert all(bar[0, 0] == bar[1, 0] for bar in bars)
    assert "the winner changes" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.heavy
def test_a_map_without_the_axis_of_the_changes_is_refused(rings, tmp_path):
    changes = crossovers(rings, "message_size")
    with pytest.raises(InputError, match="the changes are along message_size"):
        draw_heatmap(
            select(rings), "winner", Layout("chip_count", "switch_hops"), tmp_path / "map.png", crossings=changes
        )


@pytest.mark.heavy
def test_axes_in_any_order_are_drawn_in_that_of_their_numbers(drawn, rings):
    shuffled = rings.isel(
        message_size=[16, 3, 0, 9, 12, 5, 7, 1, 2, 4, 6, 8, 10, 11, 13, 14, 15], chip_count=[2, 0, 4, 1, 3]
    )
    layout = Layout("message_size", "chip_count", "switch_hops")
    pictures = []
    for result in (rings, shuffled):
        (figure,) = drawn(select(result), "winner", layout, crossings=crossovers(result, "message_size"))
        pictures.append([sorted(map(tuple, line.get_xydata())) for panel in figure.axes for line in panel.lines])
    assert pictures[0] == pictures[1]


def test_positions_of_zipped_parameters_are_no_number_line():
    zipped = xr.DataArray([1, 2], dims="gen", coords={"gen": [0, 1], "rate": ("gen", [5, 6])})
    assert not is_number_line(zipped, "gen")
    assert is_number_line(zipped.drop_vars("rate"), "gen")
