"""The page of a result: what is in it, and what a browser makes of it."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import urlencode

import numpy as np
import pytest

import sweep
from sweep.errors import InputError
from sweep.views import report as report_module
from sweep.views.report import four_digits, report

pytestmark = pytest.mark.heavy

CHROMIUM = shutil.which("chromium")
HOSTILE = "Rings </script><script>alert(1)</script> & <b>more</b>"
GRID = {
    "title": HOSTILE,
    "outputs": ["collective_latency", "limiter"],
    "axes": {
        "packet_format": ["standard", "afh_gen1", "afh_lite"],
        "vlan": ["off", "on"],
        "link_bandwidth": [25, 50, 200],
        "chip_count": [1, 8],
        "message_size": {"geomspace": ["1 KiB", "16 MiB", 15]},
    },
}


@pytest.fixture(scope="module")
def rings():
    return sweep.run(GRID)


@pytest.fixture(scope="module")
def page(rings):
    return report(rings)


def script(page, kind):
    return re.search(rf'<script type="{kind}"[^>]*>(.*?)</script>', page, re.DOTALL)[1]


def unpacked(page):
    """The variables of a page, as arrays with the names of their dimensions."""
    about = json.loads(script(page, "application/json"))
    blob = gzip.decompress(base64.b64decode(script(page, "text/plain")))
    sizes = {dim["name"]: len(dim["names"]) for dim in about["dims"]}
    found = {}
    for each in about["variables"]:
        shape = [sizes[dim] for dim in each["dims"]]
        values = np.frombuffer(blob, f"<{each['kind']}", int(np.prod(shape)), each["offset"])
        found[each["name"]] = (each["dims"], values.reshape(shape))
    return found


def test_the_page_has_every_number_to_seven_digits_and_every_label(rings, page):
    found = unpacked(page)
    for name in ("collective_latency", "limiter", "status"):
        dims, values = found[name]
        assert dims == list(rings[name].dims)
        assert np.allclose(values, rings[name].values, rtol=1e-7, atol=0, equal_nan=True)
    chosen = sweep.select(rings)
    assert np.array_equal(found["page.winner"][1], chosen["winner"].values)
    assert np.allclose(found["page.margin"][1], chosen["margin"].values, rtol=1e-7, equal_nan=True)
    dims, values = found["page.elasticity"]
    wanted = sweep.elasticities(GRID).elasticity
    assert dims == ["page.parameter", *wanted.dims[1:]]
    assert np.allclose(values, wanted.values, rtol=6.2e-5, atol=1e-12, equal_nan=True)


def test_the_page_asks_for_nothing_from_elsewhere(page):
    class Links(HTMLParser):
        found: list[str] = []  # noqa: RUF012 - one parser

        def handle_starttag(self, tag, attrs):
            self.found += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset", "action", "data")]

    Links().feed(page)
    assert Links.found == []
    assert "://" not in page
    assert "default-src 'none'" in page


def test_a_title_is_text_whatever_it_says(page):
    assert "<b>more" not in page
    assert "<script>alert" not in page
    assert html.escape(HOSTILE) in page


def test_the_same_result_has_the_same_page(rings, page):
    assert report(rings) == page


def test_the_choice_and_the_grid_are_there_in_words(page):
    assert "Best packet format: smallest collective latency" in page
    assert "strongest in" in page
    assert "<td>base latency</td><td>fixed</td><td>150 ns</td>" in page
    assert "<td>packet format</td><td>3 values</td><td>standard, afh_gen1, afh_lite</td>" in page


def test_dimensions_at_a_value_leave_the_page(rings, page):
    part = report(rings, at={"vlan": "off", "message_size": "1 MiB"})
    assert unpacked(part)["collective_latency"][0] == ["packet_format", "link_bandwidth", "chip_count"]
    assert len(part) < len(page)
    wanted = rings.collective_latency.sel(vlan="off", message_size=2**20)
    assert np.allclose(unpacked(part)["collective_latency"][1], wanted, rtol=1e-7)
    assert unpacked(part)["page.elasticity"][0] == ["page.parameter", "packet_format", "link_bandwidth", "chip_count"]


def test_a_part_of_a_result_has_the_elasticities_of_its_own_cells(rings):
    part = rings.isel(message_size=slice(5, 9), packet_format=[2, 0], chip_count=1)
    dims, values = unpacked(report(part))["page.elasticity"]
    assert dims == ["page.parameter", "packet_format", "vlan", "link_bandwidth", "message_size"]
    whole = sweep.elasticities(GRID).elasticity.isel(message_size=slice(5, 9), packet_format=[2, 0], chip_count=1)
    assert np.allclose(values, whole.values, rtol=6.2e-5, atol=1e-12, equal_nan=True)


def test_what_is_too_large_is_refused_or_left_out_with_a_word(rings, monkeypatch):
    monkeypatch.setattr(report_module, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="put dimensions at one value by --at"):
        report(rings)
    size = 16 * rings.status.size
    monkeypatch.setattr(report_module, "MOST_BYTES", size)
    said = []
    found = report(rings, announce=said.append)
    assert "page.elasticity" not in unpacked(found)
    assert "page.strongest" in unpacked(found)
    assert any("they are left out" in line for line in said)
    assert "Left out: the elasticities of all cells" in found


def test_four_digits_are_right_and_missing_ones_stay_missing():
    values = np.array([1.0, -0.123456789, 1e-30, 98765.4321, 0.0, np.nan])
    found = four_digits(values)
    assert np.allclose(found, values, rtol=6.2e-5, atol=0, equal_nan=True)
    assert found[0] == 1
    assert np.isnan(four_digits(np.array([np.nan, np.inf]))).all()


def test_without_labels_there_is_no_choice_but_a_word():
    found = report(sweep.run({"outputs": ["steps"], "axes": {"chip_count": [1, 2, 8]}}))
    assert "No dimension has labels" in found
    assert "page.winner" not in unpacked(found)


def test_a_choice_and_a_comparison_have_pages_too(rings):
    assert "This is a choice already." in report(sweep.select(rings))
    with pytest.raises(InputError, match="'bogus' is not one of"):
        report(sweep.select(rings), over="bogus")
    assert "is no result of a grid" in report(sweep.compare(rings, rings), over=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--at", "vlan=onn"], "'onn' is not one of off, on"),
        (["--over", "packet"], "'packet' is not one of"),
        (["--require", "ecm"], "did you mean 'ecn'"),
        (["-o", "page.htm"], "a page is a .html file"),
        (["-o", "there.html"], "--overwrite replaces it"),
        (["-o", "there.html/page.html"], "cannot be written"),
    ],
)
def test_a_wrong_option_is_one_message_and_writes_nothing(cli, rings, tmp_path, monkeypatch, options, message):
    from sweep.store.netcdf import write

    monkeypatch.chdir(tmp_path)
    write(rings, tmp_path / "rings.nc")
    (tmp_path / "there.html").write_text("mine")
    before = sorted(tmp_path.iterdir())
    code, _, messages = cli("report", "rings.nc", *options)
    assert (code, messages.count("error:")) == (2, 1), messages
    assert message in messages
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "there.html").read_text() == "mine"


def test_the_command_writes_the_page_beside_the_result(cli, rings, tmp_path, monkeypatch, page):
    from sweep.store.netcdf import write

    monkeypatch.chdir(tmp_path)
    write(rings, tmp_path / "rings.nc")
    assert cli("report", "rings.nc")[:2] == (0, "written to rings.html\n")
    assert (tmp_path / "rings.html").read_text("utf-8") == page
    assert cli("report", "rings.nc", "--overwrite")[0] == 0


def test_quantities_may_be_called_as_the_page_calls_its_own(tmp_path):
    (tmp_path / "own.py").write_text(
        "import sweep\n@sweep.quantity(unit='1')\ndef winner(chip_count):\n    'Chips.'\n    return chip_count\n"
    )
    grid = sweep.load_grid({"outputs": ["winner"], "axes": {"chip_count": [2, 3]}}, [tmp_path / "own.py"])
    found = unpacked(report(sweep.run(grid), with_files=[str(tmp_path / "own.py")]))
    assert found["winner"][1].tolist() == [2, 3]
    assert found["page.elasticity"][1].shape == (1, 2)


# In a browser.


@pytest.fixture(scope="module")
def shown(page, tmp_path_factory):
    """What a browser makes of the page, at a state that its address names: the document after the script ran."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed here")
    folder = tmp_path_factory.mktemp("page")

    def show(then="", **state):
        state = {key if key in ("of", "x", "y", "numbers") else f"at.{key}": value for key, value in state.items()}
        (folder / "page.html").write_text(page.replace("</body>", f"<script>{then}</script></body>"), encoding="utf-8")
        command = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=20000", "--dump-dom", f"file://{folder / 'page.html'}#{urlencode(state)}",
        ]  # fmt: skip
        environment = {**os.environ, "HOME": str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=True)
        return done.stdout

    return show


def rows_of(document, place):
    """Texts of the rows of a table."""
    inside = document.split(f'id="{place}"', 1)[1].split("</table>", 1)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in inside.split("<tr>")[1:]]
    return [[html.unescape(cell) for cell in row] for row in rows]


def test_in_a_browser_the_map_shows_the_numbers_of_the_result(rings, shown):
    state = {"of": "collective_latency", "x": "link_bandwidth", "y": "packet_format", "message_size": "1 MiB"}
    document = shown(**state, chip_count="8", numbers="open")
    assert 'id="state"' not in document
    rows = rows_of(document, "numbers")
    assert rows[0] == ["packet format", "25", "50", "200"]
    assert [row[0] for row in rows[1:]] == ["afh_lite", "afh_gen1", "standard"]
    cells = rings.collective_latency.sel(message_size=2**20, chip_count=8, vlan="off")
    for name, *texts in rows[1:]:
        wanted = cells.sel(packet_format=name).values
        assert np.allclose([float(text) for text in texts], wanted, rtol=1e-5)


def test_in_a_browser_the_other_dimensions_have_menus_and_sliders(shown):
    document = shown(of="collective_latency", x="message_size", y="chip_count", link_bandwidth="200")
    form = document.split('id="controls"')[1].split("</form>")[0]
    assert len(re.findall(r'<input[^>]*type="range"', form)) == 1
    assert set(re.findall(r'name="(\w+)"', form)) == {"of", "x", "y", "packet_format", "vlan", "link_bandwidth"}
    assert "<output>200</output>" in form
    assert [name for name in ("results", "choice", "sensitivity") if f'label="{name}"' in form] == [
        "results", "choice", "sensitivity",
    ]  # fmt: skip


def test_in_a_browser_a_missing_cell_says_why(shown):
    for variable in ("collective_latency", "page.strongest", "page.elasticity"):
        document = shown(of=variable, x="vlan", y="packet_format", chip_count="8", numbers="open")
        assert {row[0]: row[2] for row in rows_of(document, "numbers")}["afh_lite"] == "infeasible"
    document = shown(of="collective_latency", x="vlan", y="packet_format", chip_count="8", numbers="open")
    cells = {row[0]: row[1:] for row in rows_of(document, "numbers")}
    assert cells["afh_lite"][1] == "infeasible"
    assert "infeasible" in document.split('id="legend"')[1].split("</div>")[0]


def test_in_a_browser_labels_and_winners_are_named(rings, shown):
    document = shown(of="page.winner", x="message_size", y="chip_count", link_bandwidth="50", numbers="open")
    chosen = sweep.select(rings)
    names = chosen.winner.attrs["flag_meanings"].split()
    wanted = chosen.winner.sel(vlan="off", link_bandwidth=50)
    rows = rows_of(document, "numbers")[1:]
    assert [row[1:] for row in rows] == [[names[code] for code in line] for line in wanted.values[::-1]]
    assert "full colour: margin from" in document


def test_in_a_browser_one_point_has_all_that_is_known_there(rings, shown):
    at = {"packet_format": "afh_lite", "link_bandwidth": 200, "chip_count": 8, "message_size": 2**20}
    document = shown(of="limiter", **{**at, "message_size": "1 MiB"})
    values = {row[0]: row[1] for row in rows_of(document, "values")}
    cell = rings.sel(**at, vlan="off")
    assert float(values["collective latency"].split()[0]) == pytest.approx(float(cell.collective_latency), rel=1e-5)
    assert values["limiter"] == cell.limiter.attrs["flag_meanings"].split()[int(cell.limiter)]
    effects = sweep.sensitivity(GRID, at=at, step=1e-2).effects
    bars = document.split('id="bars"')[1].split("</section>")[0]
    names = re.findall(r"<span>(\w+)</span>", bars)
    known = {effect.name: abs(effect.elasticity) for effect in effects}
    assert names[0] == max((name for name in names), key=known.get)
    assert known[names[0]] == pytest.approx(abs(float(re.findall(r"<b>(.*?)</b>", bars)[0])), rel=1e-2)


def test_in_a_browser_a_wrong_address_is_no_trouble(shown):
    document = shown(of="nothing", x="nowhere", y="-", chip_count="77", nothing="1")
    assert 'id="state"' not in document
    assert "<canvas" in document.split('<section id="maps">')[1]


def test_in_a_browser_moving_a_slider_and_choosing_from_a_menu_changes_the_map(rings, shown):
    then = """
    setTimeout(() => {
      const change = (name, value, kind) => {
        const item = document.querySelector(`[name="${name}"]`);
        item.value = value;
        item.dispatchEvent(new Event(kind));
      };
      change("chip_count", 1, "input");
      change("packet_format", 2, "change");
      change("y", "-", "change");
    }, 1500);
    """
    document = shown(then, of="collective_latency", x="message_size", y="link_bandwidth", numbers="open")
    rows = rows_of(document, "numbers")
    wanted = rings.collective_latency.sel(packet_format="afh_lite", chip_count=8, vlan="off", link_bandwidth=25)
    assert len(rows) == 2
    assert np.allclose([float(text) for text in rows[1][1:]], wanted.values, rtol=1e-5)
    assert 'name="link_bandwidth"' in document.split('id="controls"')[1].split("</form>")[0]


def test_in_a_browser_a_click_picks_a_point(rings, shown):
    then = """
    setTimeout(() => {
      const map = document.getElementById("map"), frame = map.getBoundingClientRect(), box = map.box;
      const where = { clientX: frame.left + box.left + box.width - 2, clientY: frame.top + box.top + 2 };
      map.dispatchEvent(new MouseEvent("mousemove", where));
      map.dispatchEvent(new MouseEvent("click", where));
    }, 1500);
    """
    document = shown(then, of="collective_latency", x="message_size", y="link_bandwidth", chip_count="8")
    value = float(rings.collective_latency.sel(message_size=2**24, link_bandwidth=200, chip_count=8, vlan="off")[0])
    texts = {row[0]: row[1] for row in rows_of(document, "values")}
    assert float(texts["collective latency"].split()[0]) == pytest.approx(value, rel=1e-5)
    readout = document.split('id="readout"')[1].split("</output>")[0]
    assert "message size 16 MiB, link bandwidth (GB/s) 200: " in readout
    assert float(readout.rsplit(": ", 1)[1].split()[0]) == pytest.approx(value, rel=1e-5)
