from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from matplotlib.text import Text

import sweep
from sweep.errors import InputError
from sweep.views.cut import Layout
from sweep.views.figure import PALETTE, power_text
from sweep.views.heatmap import draw_heatmap
from sweep.views.ticks import tick_positions, tick_text, tick_texts

AXES = {
    "link_bandwidth": [25, 50],
    "packet_format": ["standard", "afh_gen1", "afh_lite"],
    "vlan": ["off", "on"],
    "chip_count": [1, 2, 8, 1000],
    "message_size": {"geomspace": ["1 KiB", "1 GiB", 21]},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from sweep.store.netcdf import write

    file = tmp_path_factory.mktemp("plot") / "result.nc"
    outputs = ["collective_latency", "limiter", "frame_overhead", "steps"]
    write(sweep.run({"title": "A title", "outputs": outputs, "axes": AXES}), file)
    return file


@pytest.fixture
def figure(figures, path, cli, tmp_path):
    """Draw, and return the matplotlib figure."""

    def draw(*options):
        code, _, messages = cli("plot", path, "-o", tmp_path / "map.png", *options)
        assert code == 0, messages
        assert all(file.stat().st_size > 5000 for file in tmp_path.glob("map*.png"))
        return figures[-1]

    draw.all = figures
    return draw


def panels(figure):
    return [axes for axes in figure.axes if axes.images and axes.get_label() != "<colorbar>"]


def test_cells_stand_on_index_positions_with_ticks_at_powers_of_two(figure, path):
    drawn = figure("--of", "collective_latency", "--at", "link_bandwidth=50", "--at", "packet_format=afh_lite")
    (panel,) = panels(drawn)
    with sweep.open_result(path) as dataset:
        chosen = dataset.collective_latency.sel(link_bandwidth=50, packet_format="afh_lite", vlan="off")
        assert np.array_equal(panel.images[0].get_array(), chosen.values)
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["1", "2", "8", "1000"]
    ticks = [tick.get_text() for tick in panel.get_xticklabels()]
    assert (ticks[0], ticks[-1]) == ("1 KiB", "1 GiB")
    assert panel.get_xlabel() == "message size"
    assert panel.get_ylabel() == "chip count"
    title = drawn.get_suptitle()
    assert title.startswith("A title\n")
    assert "link bandwidth 50 GB/s, packet format afh_lite, vlan off" in title


def test_facets_share_one_scale_and_say_their_value(figure):
    drawn = figure("--facet", "packet_format", "--at", "vlan=off")
    assert [panel.get_title() for panel in panels(drawn)] == [
        f"packet format = {name}" for name in ("standard", "afh_gen1", "afh_lite")
    ]
    assert len({panel.images[0].norm for panel in panels(drawn)}) == 1


def test_labels_are_drawn_with_a_legend_of_those_that_occur(figure):
    drawn = figure("--of", "limiter", "--at", "vlan=off")
    names = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert "wire" in names
    assert "credits" not in names


def test_missing_cells_are_hatched_and_the_legend_says_why(figure):
    drawn = figure("--of", "limiter", "--y", "vlan", "--at", "packet_format=afh_lite", "--at", "chip_count=8")
    assert "infeasible" in [text.get_text() for text in drawn.legends[0].get_texts()]
    drawn = figure(
        "--of", "collective_latency", "--y", "vlan", "--at", "packet_format=afh_lite", "--at", "chip_count=8"
    )
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["infeasible"]
    assert np.isnan(np.ma.filled(panels(drawn)[0].images[0].get_array(), np.nan)[1]).all()


def test_of_a_bandwidth_best_is_the_largest(cli, figures, tmp_path):
    data = xr.Dataset(
        {"v": (("a", "b"), np.array([[50.0, 40.0], [25.0, 40.0]]), {"units": "GB/s"}), "status": ((), 0)},
        {"a": [0, 1], "b": [0, 1]},
    )
    draw_heatmap(data, "v", Layout("b", "a"), tmp_path / "x.png", best="a")
    assert np.asarray(panels(figures[0])[0].images[0].get_array()).tolist() == [[0, 0], [50, 0]]
    assert "below the best a" in figures[0].axes[-1].get_ylabel()


def test_best_shows_percent_above_the_smallest_along_a_dimension(figure):
    drawn = figure("--best", "packet_format", "--y", "packet_format", "--at", "chip_count=8")
    cells = np.asarray(panels(drawn)[0].images[0].get_array())
    assert (cells.min(axis=0) == 0).all()
    assert cells[0].max() == pytest.approx(3.1, abs=0.2)


def test_against_shows_percent_of_difference_from_one_value_of_a_dimension(figure, path):
    options = ("--of", "collective_latency", "--y", "packet_format", "--at", "chip_count=8")
    drawn = figure(*options, "--against", "packet_format=standard")
    cells = np.asarray(panels(drawn)[0].images[0].get_array())
    with sweep.open_result(path) as dataset:
        times = dataset.collective_latency.sel(chip_count=8, link_bandwidth=25, vlan="off")
        expected = (times.isel(packet_format=[1, 2]) / times.sel(packet_format="standard") - 1) * 100
        assert np.allclose(cells, expected.transpose("packet_format", "message_size").values)
    assert [tick.get_text() for tick in panels(drawn)[0].get_yticklabels()] == ["afh_gen1", "afh_lite"]
    assert "against packet format standard" in drawn.axes[-1].get_ylabel().replace("\n", " ")


def test_what_has_nothing_to_be_compared_with_is_hatched(figure):
    drawn = figure("--y", "chip_count", "--against", "chip_count=1", "--at", "packet_format=standard")
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["nothing to compare with"]
    drawn = figure(
        "--of", "frame_overhead", "--x", "vlan", "--y", "packet_format", "--against", "packet_format=standard"
    )
    assert "infeasible" in [text.get_text() for text in drawn.legends[0].get_texts()]


def test_zeros_do_not_hide_what_else_spans_many_powers_of_ten(figure):
    drawn = figure("--of", "collective_latency", "--y", "chip_count")
    norm = panels(drawn)[0].images[0].norm
    assert norm(0) == 0
    assert 0.2 < norm(1e5) < 0.8


def test_one_dimension_and_no_dimension_can_be_drawn(figure):
    drawn = figure("--of", "steps")
    assert panels(drawn)[0].images[0].get_array().shape == (1, 4)
    drawn = figure("--of", "steps", "--at", "chip_count=8")
    assert panels(drawn)[0].images[0].get_array().tolist() == [[14.0]]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_is_of_the_kind_that_its_name_says(cli, path, tmp_path, suffix):
    assert cli("plot", path, "--of", "steps", "-o", tmp_path / f"a.{suffix}")[0] == 0
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert (tmp_path / f"a.{suffix}").read_bytes().startswith(starts[suffix])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--of", "latency"], "variable: 'latency' is not one of"),
        (["--x", "mesage_size"], "did you mean 'message_size'"),
        (["--x", "vlan", "--y", "vlan"], "must name different dimensions"),
        (["--at", "vlan"], "is not of the form DIM=VALUE"),
        (["--at", "chip_count=3"], "'3' is not one of 1, 2, 8, 1000"),
        (["--of", "limiter", "--best", "vlan"], "has labels, not numbers"),
        (["--of", "limiter", "--against", "vlan=on"], "has labels, not numbers"),
        (["--against", "vlan"], "is not of the form DIM=VALUE"),
        (["--against", "vlan=onn"], "--against vlan: 'onn' is not one of off, on"),
        (["--against", "vlna=on"], "did you mean 'vlan'"),
        (["--against", "vlan=on", "--best", "vlan"], "two ways to compare"),
        (["-o", "map.gif"], "a picture is a .png, .svg or .pdf file"),
    ],
)
def test_a_wrong_option_is_one_message(cli, path, options, message):
    code, _, messages = cli("plot", path, *options)
    assert code == 2
    assert message in messages


def test_ticks_are_few_and_readable():
    assert [tick_text(value, "B") for value in (0, 512, 1024, 1536, 2**20, 2**30)] == [
        "0", "512", "1 KiB", "1.5 KiB", "1 MiB", "1 GiB",
    ]  # fmt: skip
    assert tick_positions(np.array([2.0])) == [0]
    assert tick_positions(np.arange(5.0)) == [0, 1, 2, 3, 4]
    assert tick_positions(2.0 ** np.arange(0, 31, 0.5)) == [0, 10, 20, 30, 40, 50, 60]
    assert len(tick_positions(np.linspace(0, 1, 1000))) <= 9
    assert tick_positions(np.arange(64)) == [0, 10, 20, 30, 40, 50, 60]
    assert tick_positions(np.arange(3, 25)) == [2, 7, 12, 17]


def test_panels_beyond_a_page_go_to_numbered_pages_of_one_scale(figure, tmp_path):
    drawn = figure("--facet", "message_size", "--y", "packet_format", "--x", "chip_count")
    files = sorted(path.name for path in tmp_path.glob("*.png"))
    assert files == ["map-1.png", "map-2.png"]
    pages = figure.all[-2:]
    assert [len(panels(page)) for page in pages] == [12, 9]
    assert len({panel.images[0].norm for page in pages for panel in panels(page)}) == 1
    assert [page.get_suptitle().split("\n")[-1] for page in pages] == ["page 1 of 2", "page 2 of 2"]
    assert drawn is pages[1]


def test_a_pdf_has_its_pages_in_one_file(cli, path, tmp_path):
    options = ("--facet", "message_size", "--y", "packet_format", "--x", "chip_count")
    code, output, _ = cli("plot", path, *options, "-o", tmp_path / "map.pdf")
    assert (code, output.strip()) == (0, f"drawn to {tmp_path / 'map.pdf'}")
    assert [file.name for file in tmp_path.iterdir()] == ["map.pdf"]
    assert (tmp_path / "map.pdf").read_bytes().count(b"/Type /Page ") == 2


def test_more_pages_than_anyone_turns_are_refused(tmp_path):
    data = xr.Dataset({"v": (("a", "b"), np.zeros((241, 2))), "status": ((), 0)}, {"a": range(241), "b": range(2)})
    with pytest.raises(InputError, match="at most 240 fit on 20 pages"):
        draw_heatmap(data, "v", Layout("b", None, "a"), tmp_path / "x.png")


def test_many_labels_get_a_colour_each(tmp_path):
    labels = [f"label{i}" for i in range(12)]
    cells = xr.DataArray(np.arange(12).reshape(3, 4), dims=("a", "b"), attrs={"flag_meanings": " ".join(labels)})
    data = xr.Dataset({"v": cells, "status": ((), 0)}, {"a": range(3), "b": range(4)}, {"title": "many"})
    draw_heatmap(data, "v", Layout("b", "a"), tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()


def test_ticks_tell_different_values_apart():
    assert tick_texts(np.array([100000.0, 100001.0]), "1") == ["100000", "100001"]
    assert tick_texts(np.array([1344.0, 1345.0]), "B") == ["1344", "1345"]


def test_a_value_can_be_chosen_with_its_unit(cli, path, tmp_path):
    options = ["--at", "message_size=1KiB", "--at", "link_bandwidth=400 Gb/s", "-o", tmp_path / "x.png"]
    assert cli("plot", path, *options)[0] == 0
    code, _, messages = cli("plot", path, "--at", "vlan=on", "--at", "vlan=off")
    assert (code, "given twice" in messages) == (2, True)


def made(values, **attributes):
    values = np.asarray(values, float)
    dims = ("a", "b")[: values.ndim]
    status = np.where(np.isfinite(values), 0, 2).astype(np.int8)
    variables = {"time": (dims, values, {"units": "ns"} | attributes), "status": (dims, status)}
    coordinates = {dim: range(size) for dim, size in zip(dims, values.shape, strict=True)}
    return xr.Dataset(variables, coordinates, {"title": "Made"})


@pytest.fixture
def drawn(figures, tmp_path):
    def draw(dataset, layout):
        draw_heatmap(dataset, "time", layout, tmp_path / "map.png")
        return figures[-1], [text.get_text() for legend in figures[-1].legends for text in legend.get_texts()]

    return draw


def test_one_value_everywhere_is_named_and_has_no_scale(drawn):
    figure, names = drawn(made(np.full((3, 40), 7.25)), Layout("b", "a"))
    assert names == ["7.25"]
    assert [axes.get_label() for axes in figure.axes] == [""]


def test_few_numbers_have_a_colour_each_in_the_order_of_their_size(drawn):
    values = np.array([64, 128, 2048] * 40).reshape(3, 40)
    figure, names = drawn(made(values, units="B"), Layout("b", "a"))
    assert names == ["64 B", "128 B", "2 KiB"]
    colours = [patch.get_facecolor() for patch in figure.legends[0].get_patches()]
    brightness = [0.3 * red + 0.59 * green + 0.11 * blue for red, green, blue, _ in colours]
    assert brightness == sorted(brightness)
    norm = panels(figure)[0].images[0].norm
    assert [int(norm(value)) for value in (64, 128, 2048)] == [0, 1, 2]


def test_what_only_rounding_tells_apart_is_one_number(drawn):
    values = np.full((3, 40), 0.3)
    values[1] = 0.1 + 0.2
    assert drawn(made(values), Layout("b", "a"))[1] == ["0.3"]


def test_nothing_but_missing_cells_is_drawn_as_that(drawn):
    figure, names = drawn(made(np.full((3, 4), np.nan)), Layout("b", "a"))
    assert names == ["infeasible"]
    assert np.isnan(np.ma.filled(panels(figure)[0].images[0].get_array(), np.nan)).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1)])
def test_a_row_a_column_and_a_cell_show_their_values(drawn, shape):
    values = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    figure, _ = drawn(made(values), Layout("b", "a"))
    assert [text.get_text() for text in panels(figure)[0].texts] == [f"{value:g}" for value in values.ravel()]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_picture_has_the_same_bytes(tmp_path, suffix):
    for name in "ab":
        draw_heatmap(made(np.arange(12.0).reshape(3, 4)), "time", Layout("b", "a"), tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match="cannot be written"):
        draw_heatmap(made(np.ones((2, 2))), "time", Layout("b", "a"), tmp_path / "file" / "map.png")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("facets", [1, 2, 3, 4, 12])
def test_at_800_pixels_letters_of_axes_are_seven_pixels_high_and_none_leave_the_page(figures, tmp_path, facets):
    data = xr.Dataset(
        {"v": (("f", "a", "b"), np.random.default_rng(1).random((facets, 5, 200))), "status": ((), 0)},
        {"f": range(facets), "a": range(5), "b": range(200)},
    )
    draw_heatmap(data, "v", Layout("b", "a", "f"), tmp_path / "x.png")
    (figure,) = figures
    page = figure.get_window_extent()
    for panel in panels(figure):
        for text in (
            panel.title,
            panel.xaxis.label,
            panel.yaxis.label,
            *panel.get_xticklabels(),
            *panel.get_yticklabels(),
        ):
            box = text.get_window_extent()
            if text.get_text() and box.width:
                assert text.get_fontsize() / 72 * 800 / figure.get_figwidth() >= 7
                assert page.x0 <= box.x0
                assert box.x1 <= page.x1


def test_winners_with_little_margin_are_pale_and_ties_have_dots(figures, tmp_path):
    margins, tied = np.array([[0.0, 5.0, 10.0, np.nan]]), np.array([[2, 1, 1, 1]])
    data = xr.Dataset(
        {
            "winner": (("a", "b"), np.array([[1, 1, 1, 1]]), {"flag_meanings": "x y no_value"}),
            "margin": (("a", "b"), margins, {"units": "%"}),
            "tied": (("a", "b"), tied),
            "status": ((), 0),
        },
        {"a": [0], "b": range(4)},
    )
    draw_heatmap(data, "winner", Layout("b", "a"), tmp_path / "x.png")
    panel = panels(figures[0])[0]
    colours = np.asarray(panel.images[0].get_array())[0, :, :3]
    full = np.array([0, 0x72, 0xB2]) / 255
    assert np.allclose(colours[0], 0.25 * full + 0.75)  # a tie: no margin
    assert np.allclose(colours[1], 0.625 * full + 0.375)
    assert np.allclose(colours[2], full)
    assert np.allclose(colours[3], full)  # nothing else can be chosen
    assert panel.collections[-1].get_offsets().tolist() == [[0, 0]]


def test_a_region_of_a_label_has_its_name_where_there_is_room(drawn):
    codes = np.zeros((3, 40), int)
    codes[1:, 10:] = 1
    codes[2, 39] = 2
    dataset = xr.Dataset(
        {"time": (("a", "b"), codes, {"flag_meanings": "first second third"}), "status": ((), 0)},
        {"a": range(3), "b": range(40)},
    )
    figure, _ = drawn(dataset, Layout("b", "a"))
    names = {text.get_text(): text.get_position() for text in panels(figure)[0].texts}
    assert names == {"first": (19.5, 0), "second": (24.5, 1)}  # one cell has no room for "third"


def test_the_first_four_colours_of_labels_differ_in_grey():
    from matplotlib.colors import to_rgb

    grey = [0.299 * red + 0.587 * green + 0.114 * blue for red, green, blue in map(to_rgb, PALETTE[:4])]
    assert min(abs(one - other) for one, other in combinations(grey, 2)) > 0.07


@pytest.mark.parametrize("words", ["a $\\frac{ title", "from $5 to $6", "x_{1}^2 % & # ~"])
def test_a_title_and_a_label_are_text_whatever_signs_they_have(figures, tmp_path, words):
    data = (
        made(np.arange(6.0).reshape(2, 3)).assign_coords(a=np.array([words, "plain"], object)).assign_attrs(title=words)
    )
    draw_heatmap(data, "time", Layout("b", "a"), tmp_path / "map.png")
    draw_heatmap(data, "time", Layout("b", None, "a"), tmp_path / "map.png")
    assert figures[0].get_suptitle() == words
    assert not any(
        text.get_parse_math() for figure in figures for text in figure.findobj(Text) if words in text.get_text()
    )


def test_more_powers_of_ten_than_a_scale_has_are_refused(tmp_path):
    with pytest.raises(InputError, match="more than 100 powers of ten"):
        draw_heatmap(made([[1e-300, 3e300], [1, 2]]), "time", Layout("b", "a"), tmp_path / "x.png")
    draw_heatmap(made([[0, 3e300], [1e290, np.inf]]), "time", Layout("b", "a"), tmp_path / "x.png")


def test_powers_of_ten_are_written_as_such():
    assert [power_text(x) for x in (0, 1, 50, 1000, 1e-5, -1e6, 2e5)] == [
        "0",
        "1",
        "50",
        "10³",
        "10⁻⁵",
        "−10⁶",
        "200000",
    ]


def test_a_value_can_be_given_as_messages_print_it(cli, tmp_path, monkeypatch):
    from sweep.store.netcdf import write_new

    monkeypatch.chdir(tmp_path)
    data = made(np.ones((2, 2))).assign_coords(a=("a", [1048576, 1185360]), b=[0, 1]).assign_attrs(sweep="{}")
    write_new(data, tmp_path / "r.nc", False)
    assert cli("plot", "r.nc", "--x", "b", "--at", "a=1.18536e+06")[0] == 0


def test_labels_of_which_there_are_none_are_all_missing(drawn):
    dataset = made(np.zeros((1, 2)), flag_meanings="no_value")
    dataset["status"][:] = 2
    assert drawn(dataset, Layout("b", "a"))[1] == ["infeasible"]


def test_where_one_page_cannot_be_written_none_is(tmp_path):
    data = xr.Dataset({"v": (("a", "b"), np.ones((20, 2))), "status": ((), 0)}, {"a": range(20), "b": range(2)})
    (tmp_path / "x-2.png").mkdir()
    with pytest.raises(InputError, match=r"x-2\.png: is there and not a file"):
        draw_heatmap(data, "v", Layout("b", None, "a"), tmp_path / "x.png")
    assert [path.name for path in tmp_path.iterdir()] == ["x-2.png"]
