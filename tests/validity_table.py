"""The table of README that says where formulas hold: `make validity` simulates the grids `validate_*` and writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

import sweep
from tests.conftest import ROOT

HEADER = ("formula", "holds for", "worst error there", "elsewhere, at the most", "design_note there")
ROUNDING = 1e-6
"""Percent; errors below come from the rounding of times to femtoseconds, or of numbers."""
MARKS = "<!-- validity: made by `make validity` -->\n", "<!-- end of validity -->"


def validated(name: str) -> xr.Dataset:
    """A shipped grid, computed and simulated."""
    return sweep.validate(ROOT / "grids" / f"validate_{name}.yaml")


def worst(errors: xr.DataArray) -> str:
    """The largest error, with its sign where it is more than rounding; a dash where nothing is compared."""
    known = errors.values[~np.isnan(errors.values)]
    if not known.size:
        return "-"
    largest = float(known[np.argmax(np.abs(known))])
    return f"{largest:+.3g} %" if abs(largest) > ROUNDING else f"{abs(largest):.1g} %"


def link_rows() -> Iterator[Sequence[str]]:
    found = validated("link")
    for formula in ("link_latency", "credit_stall", "goodput"):
        error = found[f"{formula}_error"]
        window, rounds = (worst(error.sel(credit_model=model)) for model in ("window", "rounds"))
        yield f"`{formula}`", "any credits, drain, channels", window, "-", f"{rounds} (`credit_model` rounds)"
    axes = {"residual_ber": [1e-7, 1e-6, 1e-5]}
    fixed = {"packet_format": "afh_lite", "message_size": 1344 * 1_000_000, "flow_control": "pfc"}
    lossy = sweep.validate({"outputs": ["delivered_share"], "axes": axes, "fixed": fixed})
    yield "`delivered_share`", "frames that break, 1e6 of them", worst(lossy["delivered_share_error"]), "-", "-"


def queueing_rows() -> Iterator[Sequence[str]]:
    found = validated("queueing")
    errors = {formula: found[f"{formula}_error"] for formula in ("queueing", "queueing_p99")}
    texts = {"md1": "M/D/1", "mg1": "two sizes of frames", "priority": "a class above", "burst": "bursts"}
    for formula, error in errors.items():
        for model, text in texts.items():
            note = worst(errors["queueing"].sel(queueing_model="md1_note"))
            beyond = f"{note} (`md1_note`, rho 0.005)" if (formula, model) == ("queueing", "md1") else "-"
            which = found.sel(queueing_model=model)
            width = which[f"simulated_{formula}_interval"] / which[f"simulated_{formula}"] * 100
            inside = f"{worst(error.sel(queueing_model=model))}; intervals up to +-{float(width.max()):.2g} %"
            yield f"`{formula}`, {text}", "utilization up to 0.9", inside, "-", beyond

    upper = found["priority_queueing_error"].sel(queueing_model="priority")
    yield "`priority_queueing`", "utilization up to 0.9", worst(upper), "-", "-"


def crossbar_rows() -> Iterator[Sequence[str]]:
    found = validated("crossbar")
    for formula in ("crossbar_queueing", "crossbar_throughput"):
        error = found[f"{formula}_error"]
        yield (
            f"`{formula}`, output queues",
            "any ports",
            worst(error.sel(switch_architecture="output_queued")),
            "-",
            "-",
        )
        inputs = error.sel(switch_architecture="input_fifo")
        many, few = inputs.sel(port_count=64), inputs.sel(port_count=2)
        yield f"`{formula}`, input queues", "64 ports", worst(many), f"{worst(few)} (2 ports)", "-"


def incast_rows() -> Iterator[Sequence[str]]:
    error = validated("incast")["incast_latency_error"]
    hops = {"outputs": ["incast_latency"], "axes": {"switch_hops": [2, 3], "incast_senders": [2, 8]}}
    more = sweep.validate({**hops, "fixed": {"flow_control": "pfc", "buffer_size": 128 * 2**20}})
    yield "`incast_latency`", "one switch, any rates", worst(error), f"{worst(more['incast_latency_error'])} (3)", "-"
    axes = {"buffer_alpha": [0.25, 0.5, 1, 2, 4, 8], "incast_senders": [2, 8]}
    fixed = {
        "switch_hops": 1,
        "message_size": 2**20,
        "buffer_size": 300_000,
        "flow_control": "pfc",
        "pfc_enabled": "off",
    }
    full = sweep.validate({"outputs": ["buffer_peak"], "axes": axes, "fixed": fixed})
    yield "`buffer_peak`", "queues without pauses, up to a frame", worst(full["buffer_peak_error"]), "-", "-"


def switch_rows() -> Iterator[Sequence[str]]:
    axes = {"port_count": [2, 4, 8, 16, 32], "egress_utilization": [0.1, 0.3, 0.5, 0.7]}
    fixed = {"acknowledgements": "off", "flow_control": "pfc", "sample_frames": 1_000_000}
    error = sweep.validate({"outputs": ["switch_latency"], "axes": axes, "fixed": fixed})["switch_latency_error"]
    many, few = worst(error.sel(port_count=32)), worst(error.sel(port_count=2))
    yield "`switch_latency`", "Poisson traffic of 32 ports", many, f"{few} (2 ports)", "-"


def collective_rows() -> Iterator[Sequence[str]]:
    found = validated("collectives")
    errors = found["collective_latency_error"]
    exact, carried, note = (errors.sel(profile=name) for name in ("exact", "exact, credits carried", "design_note"))
    for program in found["schedule"].values:
        enough = exact.sel(schedule=program, credit_limit=512)
        rest = [dim for dim in enough.dims if dim != "network"]
        largest = abs(enough).max(rest)
        holds = [str(name) for name in found["network"].values if float(largest.sel(network=name)) <= ROUNDING]
        others = [name for name in found["network"].values if name not in holds]
        shown = holds or ["one switch"]
        there = worst(enough.sel(network=shown))
        few = [
            f"{scope} {worst(each.sel(schedule=program, credit_limit=16, network=shown))}"
            for scope, each in (("step", exact), ("carried", carried))
            if bool(each.sel(schedule=program).notnull().any())
        ]
        where = ", ".join(holds) or "nowhere; an estimate, one switch"
        beyond = f"{worst(enough.sel(network=others))}; few credits: {', '.join(few)}"
        of_note = [worst(note.sel(schedule=program, credit_limit=limit, network=shown)) for limit in (512, 16)]
        yield f"`collective_latency`, {program}", where, there, beyond, f"{of_note[0]}; few credits: {of_note[1]}"
    yield "`bus_bandwidth`", "as collective_latency", "-", "-", "-"


def table() -> str:
    """The table, in Markdown."""
    rows = [HEADER, ("---",) * len(HEADER)]
    for part in (link_rows, queueing_rows, crossbar_rows, incast_rows, switch_rows, collective_rows):
        rows += part()
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    before, begin, rest = readme.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    readme.write_text(f"{before}{begin}{table()}{end}{after}", encoding="utf-8")
