"""Whatever is in a grid file, the command answers with a message and exit code 2, or with a result; never otherwise."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import sweep
from sweep.cli.main import main
from sweep.engine.branchless import JIT
from tests.conftest import ROOT

SEED = 20261130
EXAMPLES = 1500 if JIT else 500  # without JIT the small ones among the good grids are computed
SMALL = 200
"""Points up to which a valid grid is computed, where that needs no compiling."""

GRIDS = [path.read_text() for path in sorted(ROOT.glob("grids/**/*.yaml")) if path.stem != "energy"]
TEXT = r"""title presets outputs axes zip fixed label parameters range linspace geomspace powers_of_two exact ring tree
design_note collective_latency limiter status alpha_status steps chip_count message_size packet_format link_bandwidth
standard afh_lite vlan on off true null ~ nan .nan inf -.inf 1e400 1e-400 -0 0 1 2.5 010 0x10 1_000 12:30 2026-11-30
1e9 -1 99999999999999999999 400G 50 GB/s KiB ns % : , - [ ] { } & * ! | > ' " # ? @ ` << *a &a !!python/object:os.system
!!binary !!set ../x.yaml ./mine.yaml é 世"""
WORDS = [*TEXT.split(), " ", "\n", "\n  ", "  - ", "\t", "\x00", "\ufeff", "\u202e", "\u00a0"]


class StoppedError(Exception):
    """A grid was good, and is not computed."""


@contextlib.contextmanager
def computing_only_small_grids():
    """Commands stop before they write a kernel for what would have to be compiled, is large, or is simulated."""
    from sweep.engine import loopnest

    write_kernel = loopnest.write_kernel

    def small(made, *rest, **options):
        simulates = any(node.quantity.steps is not None for node in made.graph.nodes.values())
        if JIT or simulates or made.points(made.status_dims) > SMALL:
            raise StoppedError
        return write_kernel(made, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loopnest, "write_kernel", small)
        yield


def answer(*arguments):
    """Exit code (None where a good grid was not computed), output and messages of a command."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code or 0
        except StoppedError:
            code = None
    return code, out.getvalue(), err.getvalue()


def check(folder: Path, content: bytes | str, plan_too: bool = True):
    """Give a file to the commands: messages where it is bad, by both the same, and nothing left behind."""
    grid = folder / "grid.yaml"
    grid.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    result = folder / "result.nc"
    with computing_only_small_grids():
        code, output, messages = answer("run", grid, "-o", result)
    assert "Traceback" not in messages
    if code == 2:
        assert messages.startswith("error: ")
        assert output == ""
    elif code in (0, 1):
        with sweep.open_result(result) as dataset:
            assert "status" in dataset
        result.unlink()
    assert [path.name for path in folder.iterdir()] == ["grid.yaml"]
    if plan_too:
        planned, shown, complaints = answer("plan", grid)
        good = code != 2 or " are available" in messages or " are free" in messages
        assert planned == (0 if good else 2)
        assert good or (complaints, shown) == (messages, "")
    return code


@st.composite
def mutated_grids(draw):
    """A shipped grid with some of its text cut out, repeated, moved or replaced by words that mean something."""
    text = draw(st.sampled_from(GRIDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(start + draw(st.sampled_from((0, 1, 2, 5, 20))), len(text))
        kind = draw(st.sampled_from(("replace", "replace", "insert", "delete", "repeat", "move")))
        word = draw(st.sampled_from(WORDS))
        piece = text[start:stop]
        if kind == "move":
            target = draw(st.integers(0, len(text)))
            text = text[:target] + piece + text[target:]
        else:
            middle = {"replace": word, "insert": word + piece, "delete": "", "repeat": piece * 2}[kind]
            text = text[:start] + middle + text[stop:]
    return text


SCALARS = st.sampled_from(WORDS) | st.integers(-10, 10**6).map(str) | st.floats().map(repr) | st.text(max_size=8)


def flow(children):
    """YAML in flow style around some children."""
    pairs = st.lists(st.tuples(st.sampled_from(WORDS), children), max_size=4)
    return st.lists(children, max_size=4).map(lambda items: f"[{', '.join(items)}]") | pairs.map(
        lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"
    )


KEYS = ("title", "presets", "outputs", "axes", "zip", "fixed")
LINES = st.tuples(st.sampled_from(KEYS), st.recursive(SCALARS, flow, max_leaves=8)).map(": ".join)
INVENTED = st.lists(LINES, max_size=6).map("\n".join)
"""Documents with the keys of a grid, and anything below them."""

CONTENTS = mutated_grids() | mutated_grids() | INVENTED | st.text(max_size=60) | st.binary(max_size=60)


@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(CONTENTS, st.integers(0, 9).map(lambda number: number == 0))
def test_any_file_gives_a_message_or_a_result_and_leaves_nothing_else(tmp_path, content, plan_too):
    check(tmp_path, content, plan_too)


@seed(SEED + 1)
@settings(max_examples=EXAMPLES // 10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(CONTENTS, st.sampled_from(WORDS) | SCALARS | st.recursive(SCALARS, flow, max_leaves=8))
def test_any_preset_and_any_setting_give_a_message_or_a_plan(tmp_path, content, setting):
    (tmp_path / "grid.yaml").write_text("outputs: [steps]\npresets: [./mine.yaml]\n")
    preset = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    (tmp_path / "mine.yaml").write_bytes(preset)
    for options in ([], ["--set", f"chip_count={setting}"], ["--outputs", setting]):
        code, output, messages = answer("plan", tmp_path / "grid.yaml", *options)
        assert code in (0, 2)
        assert code == 0 or (messages.startswith("error: ") and output == "")
    assert len(list(tmp_path.iterdir())) == 2


def bomb(levels=12):
    """Aliases of aliases, a thousand million values in a few lines."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


HOSTILE = {
    "empty": "",
    "blank": " \n\n",
    "comment": "# nothing\n",
    "null": "null\n",
    "only dashes": "---\n",
    "two documents": "outputs: [steps]\n---\noutputs: [alpha]\n",
    "aliases of aliases": bomb(),
    "aliases of aliases in axes": bomb() + "\noutputs: [steps]\naxes: {chip_count: *a11}\n",
    "an alias that contains itself": "outputs: &a [*a]\n",
    "an anchor without alias": "outputs: [*nothing]\n",
    "a merge key": "base: &b {x: 1}\noutputs: [steps]\nfixed: {<<: *b}\n",
    "deep lists": "[" * 100_000,
    "deep mappings": "{a: " * 100_000,
    "deep and closed": "outputs: " + "[" * 900 + "]" * 900,
    "a python tag": "outputs: !!python/object/apply:os.system ['touch owned']\n",
    "a python name": "outputs: [!!python/name:os.system x]\n",
    "a set": "outputs: [steps]\naxes: {chip_count: !!set {2, 4}}\n",
    "not a number": "outputs: [steps]\nfixed: {chip_count: .nan}\n",
    "infinity": "outputs: [steps]\nfixed: {chip_count: .inf}\n",
    "too large a number": "outputs: [steps]\nfixed: {chip_count: 1e400}\n",
    "too small a number": "outputs: [wire_size]\nfixed: {line_gap: 1e-999999999}\n",
    "an exponent that fills memory": "outputs: [wire_size]\nfixed: {line_gap: 1e99999999999}\n",
    "nulls": "outputs: null\naxes: null\nfixed: {chip_count: null}\n",
    "a null in a list": "outputs: [steps, null]\n",
    "unicode names": "outputs: [stéps]\naxes: {チップ: [1]}\nzip: {größe: {chip_count: [1, 2]}}\n",
    "bytes that are no text": b"outputs: [\xff\xfe]\n",
    "utf-16": "outputs: [steps]\n".encode("utf-16"),
    "a null character": "outputs: [steps\x00]\n",
    "an escape sequence": 'title: "\\e[2J"\noutputs: [steps]\n',
    "a long word": f"outputs: [{'x' * 100_000}]\n",
    "a long key": f"outputs: [steps]\nfixed: {{{'x' * 100_000}: 1}}\n",
    "many digits": f"outputs: [steps]\nfixed: {{chip_count: {'9' * 100_000}}}\n",
    "ten megabytes of one word": "outputs: [steps]\ntitle: " + "x" * 10**7,
    "ten megabytes of values": "outputs: [steps]\naxes: {chip_count: [" + "1, " * (10**7 // 3) + "]}\n",
    "too many points": "outputs: [steps]\naxes: {chip_count: {range: [1, 9999999]}}\n",
    "a step of nothing": "outputs: [alpha]\naxes: {base_latency: {range: [0, 1, 1e-30]}}\n",
    "a mapping as a key": "{? {a: 1} : 2}\n",
    "a list as a key": "? [a]\n: 2\n",
    "a tab": "outputs:\n\t- steps\n",
    "a preset that is a device": "outputs: [steps]\npresets: [/dev/zero.yaml]\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_message(tmp_path, name):
    assert check(tmp_path, HOSTILE[name]) == 2
    assert not Path("owned").exists()


@pytest.mark.parametrize("path", ["", ".", "/dev/zero", "/dev/null", "missing.yaml", "x" * 300, "a\n.yaml"])
def test_what_is_no_file_is_refused_with_a_message(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    for command in ("run", "plan", "explain"):
        code, output, messages = answer(command, path)
        assert (code, output) == (2, "")
        assert messages.startswith("error: ")
    assert not list(tmp_path.iterdir())


def test_a_file_with_ten_thousand_faults_names_the_first_and_counts_the_rest(tmp_path):
    (tmp_path / "grid.yaml").write_text(f"outputs: [steps]\naxes: {{chip_count: [{'0, ' * 10_000}]}}\n")
    code, _, messages = answer("plan", tmp_path / "grid.yaml")
    assert code == 2
    assert len(messages.splitlines()) == 51
    assert messages.splitlines()[-1] == "error: and 9950 more faults"
