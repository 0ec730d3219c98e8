"""What `sweep run` refuses before any work, when it has nothing to do, and what it shows meanwhile."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
import xarray as xr

import sweep
from sweep.cli import progress
from sweep.engine import machine

GRID = """\
title: A small grid
presets: [./chip.yaml]
outputs: [serialization, frame_overhead]
axes:
  packet_format: [standard, afh_lite]
  message_size: [0, 1 B, 1 MiB]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(GRID)
    (tmp_path / "chip.yaml").write_text("parameters: {link_bandwidth: 50 GB/s}\n")
    return tmp_path


@pytest.fixture
def result(folder, cli):
    code, _, messages = cli("run", "small.yaml")
    assert code == 0, messages
    return folder / "results" / "small.nc"


@pytest.fixture
def nothing_computed(monkeypatch):
    from sweep import api

    def fail(*arguments, **options):
        raise AssertionError("computed")

    monkeypatch.setattr(api, "compute", fail)


def test_the_same_grid_again_is_up_to_date_and_nothing_is_computed(result, cli, nothing_computed):
    before = result.stat()
    code, output, _ = cli("run", "small.yaml")
    assert (code, output) == (0, "results/small.nc is up to date\n")
    assert (result.stat().st_ino, result.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_grid_that_is_written_otherwise_but_means_the_same_is_up_to_date(result, cli, nothing_computed):
    text = GRID.replace("1 MiB", "1024 KiB").replace("[0, 1 B,", "[0 B, 1,").replace("title: A small grid\n", "")
    (result.parents[1] / "small.yaml").write_text(text + "title: A small grid\n")
    assert cli("run", "small.yaml", "--threads", "1", "--set", "link_bandwidth=400 Gb/s")[1].endswith("is up to date\n")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("title: A small grid", "title: Another"), "title"),
        (("1 MiB", "2 MiB"), "axes"),
        (("frame_overhead", "frames"), "outputs, axes"),
        (("outputs: [serialization, frame_overhead]", "outputs: [frame_overhead, serialization]"), "outputs"),
    ],
)
def test_another_result_is_kept_and_the_message_says_in_what_it_differs(result, cli, nothing_computed, change, what):
    before = result.read_bytes()
    (result.parents[1] / "small.yaml").write_text(GRID.replace(*change))
    code, output, messages = cli("run", "small.yaml")
    assert (code, output) == (2, "")
    assert messages == f"error: results/small.nc: has another result (other {what.removesuffix(', axes')}" + (
        "); --overwrite replaces it, -o writes elsewhere\n"
    )
    assert result.read_bytes() == before


def test_another_value_or_file_of_a_preset_is_another_result(result, cli):
    assert "(other fixed)" in cli("run", "small.yaml", "--set", "line_gap=7")[2]
    (result.parents[1] / "chip.yaml").write_text("parameters: {link_bandwidth: 50}\n")
    assert "(other presets)" in cli("run", "small.yaml")[2]
    (result.parents[1] / "chip.yaml").write_text("parameters: {link_bandwidth: 51}\n")
    assert "(other fixed, presets)" in cli("run", "small.yaml")[2]


def test_axes_in_another_order_are_another_result(result, cli):
    swapped = "axes: {message_size: [0, 1 B, 1 MiB], packet_format: [standard, afh_lite]}\n"
    (result.parents[1] / "small.yaml").write_text(GRID.partition("axes")[0] + swapped)
    assert "(other order of dimensions)" in cli("run", "small.yaml")[2]


def test_a_changed_formula_is_another_result(folder, cli):
    model = folder / "mine.py"
    text = "from sweep import quantity\n\n\n@quantity(unit='1')\ndef mine(message_size):\n    return message_size * 2\n"
    for formula in (text, text.replace("* 2", "* 3")):
        model.write_text(formula)
        code, output, messages = cli("run", "small.yaml", "--outputs", "mine", "--with", model)
        if formula == text:
            assert code == 0
            assert "up to date" in cli("run", "small.yaml", "--outputs", "mine", "--with", model)[1]
    assert (code, output) == (2, "")
    assert "(other model)" in messages


@pytest.mark.parametrize("damage", ["cut", "emptied", "overwritten", "a NetCDF file of somebody else"])
def test_a_file_that_is_no_whole_result_is_kept_until_overwrite_is_asked_for(result, cli, damage):
    if damage == "cut":
        os.truncate(result, result.stat().st_size // 2)
    elif damage == "emptied":
        os.truncate(result, 0)
    elif damage == "overwritten":
        result.write_text("precious")
    else:
        result.unlink()
        xr.Dataset({"x": 1}).to_netcdf(result, engine="h5netcdf")
    before = result.read_bytes()
    code, _, messages = cli("run", "small.yaml")
    assert code == 2
    assert "results/small.nc: is there and not a whole result of sweep; --overwrite replaces it" in messages
    assert result.read_bytes() == before
    assert cli("run", "small.yaml", "--overwrite")[0] == 0
    assert "up to date" in cli("run", "small.yaml")[1]


def test_overwrite_replaces_a_result_and_nothing_that_is_no_file(result, cli):
    assert cli("run", "small.yaml", "--overwrite", "--set", "line_gap=7")[0] == 0
    with sweep.open_result(result) as dataset:
        assert dataset.serialization.sel(message_size=1, packet_format="afh_lite").item() == (64 + 7) / 50
    code, _, messages = cli("run", "small.yaml", "-o", "results", "--overwrite")
    assert (code, messages) == (2, "error: results: is there and not a file\n")


def test_a_result_that_memory_cannot_hold_is_refused_before_work(folder, cli, nothing_computed, monkeypatch):
    huge = ["--set", "message_size={range: [0, 99999]}", "--set", "link_bandwidth={range: [1, 100000]}"]
    code, output, messages = cli("run", "small.yaml", *huge)
    assert (code, output) == (2, "")
    assert "GB of memory are needed and" in messages
    assert "use fewer points or outputs" in messages
    assert "sweep run will refuse" in cli("plan", "small.yaml", *huge)[1]
    assert not (folder / "results").exists()


def test_a_notebook_is_refused_a_result_that_memory_cannot_hold(monkeypatch):
    monkeypatch.setattr("sweep.api.available_memory", lambda: 100)
    with pytest.raises(sweep.api.InputError, match="of memory are needed and 100 B are available"):
        sweep.run({"outputs": ["steps"], "axes": {"chip_count": {"range": [1, 100]}}})


def test_available_memory_is_the_least_of_what_machine_system_and_container_allow(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "OWN_CGROUP", tmp_path / "cgroup")
    whole = machine.available_memory()
    assert whole == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   5000 kB\n")
    assert machine.available_memory() == 5_120_000
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("2000000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 300000\nactive_file 0\n")
    assert machine.available_memory() == 1_300_000
    (tmp_path / "job" / "step").mkdir(parents=True)
    (tmp_path / "cgroup").write_text("0::/job/step\n")
    (tmp_path / "job" / "memory.max").write_text("1500000\n")
    (tmp_path / "job" / "memory.current").write_text("500000\n")
    assert machine.available_memory() == 1_000_000
    (tmp_path / "job" / "memory.max").write_text("max\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.available_memory() == 5_120_000


def test_a_result_larger_than_the_disk_is_refused_before_work(folder, cli, nothing_computed, monkeypatch):
    from sweep.store import target

    monkeypatch.setattr(target.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    code, output, messages = cli("run", "small.yaml")
    assert (code, output) == (2, "")
    assert "results/small.nc: 100 kB are needed and 1 kB are free on that disk; use fewer points or outputs" in messages
    assert not (folder / "results").exists()


def test_an_old_result_is_up_to_date_however_full_the_disk(result, cli, nothing_computed, monkeypatch):
    from sweep.store import target

    monkeypatch.setattr(target.shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    assert "is up to date" in cli("run", "small.yaml")[1]


@pytest.mark.parametrize(
    "output",
    ["file/result.nc", "/proc/result.nc", "x" * 250 + ".nc", "x" * 300 + "/result.nc", "loop/result.nc", "loop"],
)
def test_a_place_that_cannot_be_written_is_refused_before_work(folder, cli, nothing_computed, output):
    (folder / "file").write_text("")
    (folder / "loop").symlink_to("loop")
    for overwrite in ([], ["--overwrite"]):
        code, shown, messages = cli("run", "small.yaml", "-o", output, *overwrite)
        assert (code, shown) == (2, "")
        assert f"error: {output}: cannot be written: " in messages
    assert sorted(path.name for path in folder.iterdir()) == ["chip.yaml", "file", "loop", "small.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the super-user may write anywhere")
def test_a_folder_without_the_right_to_write_is_refused_before_work(folder, cli, nothing_computed):
    (folder / "results").mkdir(mode=0o500)
    assert "Permission denied" in cli("run", "small.yaml")[2]


MANY = ["--set", "message_size={range: [1, 3000]}", "--set", "link_bandwidth={linspace: [1, 100, 100]}"]


class Terminal:
    """Messages go to a terminal that remembers them."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Puts the terminal in place; within a test, because between fixture and test pytest sets its own."""

    def put():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return put


def test_long_work_shows_share_rate_and_remaining_time_on_a_terminal(folder, cli, terminal, monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    shown = terminal()
    assert cli("run", "small.yaml", *MANY)[0] == 0
    for part in ("computing  [", "100%", "points/s", "writing  [", "MB/s"):
        assert part in shown.text


@pytest.mark.parametrize("output", ["table", "traced_link_latency", "frame_overhead"])
def test_any_kind_of_quantity_can_be_computed_on_a_terminal(folder, cli, terminal, monkeypatch, output):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    (folder / "mine.py").write_text(
        "from sweep import prepared\n@prepared(unit='1')\ndef table(message_size):\n    return message_size + 1\n"
    )
    terminal()
    assert cli("run", "small.yaml", "--outputs", output, "--with", "mine.py")[0] == 0


def test_short_work_shows_no_bar(folder, cli, terminal):
    shown = terminal()
    assert cli("run", "small.yaml")[0] == 0
    assert "[" not in shown.text


def test_a_pipe_gets_nothing_of_a_bar(folder, cli, monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    code, output, messages = cli("run", "small.yaml", *MANY)
    assert code == 0
    assert "points/s" not in output + messages


def test_a_bar_shows_the_share_of_work_and_is_finished_after_an_error(terminal, monkeypatch):
    def interrupted_half_way():
        with progress.Bar("working", lambda rate: f"{rate:.0f} per second") as bar:
            for _ in range(5):
                bar.add(0.1, 1)
            raise KeyboardInterrupt

    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    shown = terminal()
    with pytest.raises(KeyboardInterrupt):
        interrupted_half_way()
    assert "working" in shown.text
    assert "50%" in shown.text
    assert shown.text.endswith("\x1b[?25h\n")


def test_what_another_run_has_written_meanwhile_is_kept(folder, cli, monkeypatch):
    from sweep import api

    compute = api.compute
    other = []

    def slow(grid, made, *rest, **options):
        dataset = compute(grid, made, *rest, **options)
        if not other:
            other.append(1)
            assert cli("run", "small.yaml", "-o", "x.nc", *setting)[0] == 0
        return dataset

    monkeypatch.setattr(api, "compute", slow)
    setting = ["--set", "line_gap=7"]
    code, output, messages = cli("run", "small.yaml", "-o", "x.nc")
    assert (code, output) == (2, "")
    assert "x.nc: has another result (other fixed)" in messages
    with sweep.open_result("x.nc") as dataset:
        assert dataset.serialization.sel(message_size=1, packet_format="afh_lite").item() == (64 + 7) / 50
    other.clear()
    (folder / "x.nc").unlink()
    setting = []
    code, output, _ = cli("run", "small.yaml", "-o", "x.nc")
    assert (code, output) == (0, "x.nc is up to date; another run has written it meanwhile\n")


@pytest.mark.parametrize("output", ["", "results/"])
def test_a_place_without_a_file_name_is_refused(folder, cli, output):
    code, _, messages = cli("run", "small.yaml", "-o", output)
    assert (code, messages) == (2, f"error: -o: {output!r} names no file\n")


def test_a_formula_that_fails_while_it_runs_is_one_message(folder, cli):
    (folder / "mine.py").write_text(
        "from sweep import quantity\n@quantity(unit='1')\n"
        "def mine(message_size):\n    return (1.0, 2.0)[message_size]\n"
    )
    code, _, messages = cli("run", "small.yaml", "--outputs", "mine", "--with", "mine.py")
    assert code == 2
    assert "model: a formula fails: IndexError" in messages
    assert "Traceback" not in messages


def test_a_grid_whose_name_is_no_text_can_be_run(folder, cli):
    name = os.fsdecode(b"g\xff.yaml")
    (folder / name).write_text(GRID.replace("title: A small grid\n", ""))
    assert cli("run", name, "-o", "x.nc")[0] == 0
    with sweep.open_result("x.nc") as dataset:
        assert dataset.title == "g\ufffd"


@pytest.mark.parametrize("spot", [5000, 7000, 9000, 13000])
def test_a_result_with_damage_inside_is_not_up_to_date(result, cli, spot):
    with result.open("rb+") as file:
        file.seek(spot)
        file.write(bytes(range(200, 232)) * 2)
    code, output, messages = cli("run", "small.yaml")
    if code == 0:  # damage to numbers is not seen
        assert output.endswith("is up to date\n")
        assert cli("show", result)[0] == 0
    else:
        assert "is there and not a whole result of sweep" in messages


def command(*arguments, shell="exec {}"):
    """A command in a process of its own, within a shell line."""
    line = [sys.executable, "-c", "from sweep.cli.main import console; console()", *map(str, arguments)]
    text = " ".join(map(shlex.quote, line))
    return subprocess.run(["bash", "-c", shell.format(text)], capture_output=True, text=True, check=False)


@pytest.mark.heavy
def test_a_closed_or_full_output_and_a_reader_that_left_are_no_failures_of_points(result):
    assert command("run", "small.yaml", shell="{} >&-").returncode == 0
    assert command("show", result, shell="{} >&-").returncode == 0
    assert command("run", "nope.yaml", shell="{} 2>&-").returncode == 2
    full = command("params", shell="{} >/dev/full")
    assert (full.returncode, full.stderr) == (2, "error: [Errno 28] No space left on device\n")
    assert command("params", shell="{} | true; exit ${{PIPESTATUS[0]}}").returncode in (0, 141)
    assert command("params", shell="{} | head -1").stderr == ""


@pytest.mark.heavy
def test_a_limit_on_memory_is_one_message(result):
    done = command("run", "small.yaml", "-o", "y.nc", *MANY, shell="ulimit -v 3000000; exec {}")
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.heavy
def test_a_signal_whose_exception_a_library_swallows_stops_the_run_all_the_same(folder):
    code = (
        "import os, signal\n"
        "from sweep.cli import interrupt, main\n"
        "from sweep import api\n"
        "compute = api.compute\n"
        "def swallowing(*arguments, **options):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        while True: pass\n"
        "    except KeyboardInterrupt:\n"
        "        return compute(*arguments, **options)\n"
        "api.compute = swallowing\n"
        "main.console()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "small.yaml"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr.endswith("interrupted; nothing was written\n")
    assert not (folder / "results").exists()


@pytest.mark.heavy
def test_a_signal_lost_while_a_kernel_compiles_stops_the_run_before_the_kernel_runs(folder):
    code = (
        "import os, signal\n"
        "from sweep.cli import main\n"
        "from sweep.engine.execute import Execution\n"
        "compile_nest = Execution.compile_nest\n"
        "def swallowing(*arguments):\n"
        "    compile_nest(*arguments)\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        while True: pass\n"
        "    except KeyboardInterrupt: pass\n"
        "def too_late(*arguments): os._exit(99)\n"
        "Execution.compile_nest = swallowing\n"
        "from sweep.engine import execute\n"
        "execute.run_on_threads = too_late\n"
        "main.console()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "small.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.endswith("interrupted; nothing was written\n")


@pytest.mark.heavy
def test_a_long_kernel_is_interrupted_at_once(folder):
    (folder / "long.yaml").write_text(
        "outputs: [traced_link_latency]\naxes: {message_size: [100 GiB, 110 GiB, 120 GiB]}\n"
    )
    line = [sys.executable, "-c", "from sweep.cli.main import console; console()", "run", "long.yaml"]
    several = ["--set", "base_latency={range: [1, 64]}"]
    small = ["--set", "message_size=[1, 2]", "-o", "warm.nc"]
    subprocess.run([*line, *several, *small], check=True, capture_output=True)
    with subprocess.Popen([*line, *several], stderr=subprocess.PIPE, text=True) as process:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.communicate(timeout=4)
            process.send_signal(2)
            _, messages = process.communicate(timeout=10)
        finally:
            process.kill()
    assert process.returncode == 130
    assert messages.endswith("interrupted; nothing was written\n")
