"""Structures for property tests: a few that are compiled once, and any that can be drawn.

A structure is what a kernel is made for: outputs, axes and choices. Numbers are never part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, note, seed, settings
from hypothesis import strategies as st

from sweep.catalog import default_registry, extended_registry
from sweep.engine.branchless import JIT
from sweep.engine.graph import resolve
from tests.cases import Case, has_trace, number
from tests.conftest import ROOT

SEED = 20_240_614

PARTS = ("wire_time", "header_time", "credit_time", "switch_time", "queueing_time", "pipeline_time")
COLLECTIVE = ("collective_latency", "algorithm_bandwidth", "bus_bandwidth")
MESSAGE = ("link_latency", "transfer_latency", "payload_efficiency")
TRACED = ("traced_link_latency", "frame_delivery")


def with_statuses(outputs: Sequence[str]) -> list[str]:
    return [*outputs, *(f"{name}_status" for name in outputs)]


# Structures that are compiled once.


@dataclass(frozen=True)
class Structure:
    """Outputs, axes of numbers, choices (several labels are an axis), and numbers that have one value each.

    `as_large`: compiled as a large grid is.
    """

    name: str
    outputs: tuple[str, ...]
    axes: tuple[str, ...]
    choices: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    zipped: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    as_large: bool = False


STRUCTURES = (
    Structure(
        "ring",
        ("collective_latency", *PARTS, "bus_bandwidth", "limiter"),
        ("credit_size", "chip_count", "message_size"),
        {"collective": "all_reduce", "algorithm": "ring"},
        numbers=("link_bandwidth", "port_bandwidth", "egress_utilization", "credit_limit", "switch_hops"),
    ),
    Structure(
        "design_note",
        ("collective_latency", *PARTS),
        ("link_bandwidth", "chip_count", "message_size"),
        numbers=("switch_hops", "egress_utilization", "credit_limit", "fec_overhead"),
        presets=("design_note",),
    ),
    Structure(
        "pairwise",
        COLLECTIVE,
        ("link_bandwidth", "chip_count", "message_size"),
        {"collective": "all_to_all", "algorithm": "pairwise", "cdma_issue": ("blocking", "streaming")},
        numbers=("base_latency", "credit_limit", "switch_hops"),
    ),
    Structure(
        "tree",
        ("collective_latency", "bus_bandwidth"),
        ("chip_count", "message_size"),
        {
            "collective": "all_reduce",
            "algorithm": "tree",
            "tree_schedule": ("note", "binomial", "single_binary", "double_binary"),
            "framing": ("none", "full_frames", "exact", "note"),
            "flow_control": "pfc",
        },
        numbers=("switch_hops",),
        zipped=("link_bandwidth", "base_latency"),
    ),
    Structure(
        "gather_and_scatter",
        ("collective_latency", "algorithm_bandwidth", "bus_bandwidth"),
        ("credit_limit", "chip_count", "message_size"),
        {"collective": ("all_gather", "all_reduce", "reduce_scatter"), "algorithm": "ring", "chunking": "fractional"},
        numbers=("link_bandwidth", "base_latency", "max_payload"),
    ),
    Structure(
        "pause_frames",
        ("link_latency", "transfer_latency", "payload_efficiency"),
        ("switch_hops", "link_bandwidth", "message_size"),
        {"flow_control": "pfc", "packet_format": ("standard", "afh_gen1", "afh_lite"), "vlan": "on"},
        numbers=("min_frame", "line_gap", "propagation"),
        as_large=True,
    ),
    Structure(
        "store_and_forward",
        ("transfer_latency", "switch_latency"),
        ("port_bandwidth", "egress_utilization", "switch_hops", "message_size"),
        {"forwarding": "store_and_forward", "queueing_model": ("md1_note", "md1"), "flow_control": "pfc"},
        numbers=("link_bandwidth", "switch_fixed"),
    ),
    Structure(
        "credits",
        ("link_latency",),
        ("virtual_channels", "credit_limit", "drain_time", "message_size"),
        {"credit_model": ("rounds", "window"), "flow_control": "cbfc"},
        numbers=("link_bandwidth", "credit_return_latency", "credit_size"),
    ),
    Structure(
        "carried",
        ("collective_latency", *PARTS),
        ("credit_limit", "chip_count", "message_size"),
        {"collective": ("all_reduce", "all_to_all"), "algorithm": ("ring", "direct"), "credit_scope": "carried"},
        numbers=("drain_time", "link_bandwidth", "credit_size", "switch_hops", "egress_utilization"),
    ),
    Structure(
        "uneven",
        ("collective_latency", *PARTS),
        ("credit_limit", "chip_count", "message_size"),
        {"collective": ("all_reduce", "all_to_all"), "algorithm": ("halving_doubling", "ring")},
        numbers=("link_bandwidth", "port_bandwidth", "switch_hops", "credit_size"),
    ),
    Structure(
        "queueing",
        ("queueing", "queueing_p99", "priority_queueing", "incast_latency"),
        ("egress_utilization", "small_frame_size", "switch_hops"),
        {"queueing_model": ("md1", "mg1", "priority", "burst")},
        numbers=("small_frame_share", "priority_utilization", "burst_frames", "message_size", "switch_cell"),
    ),
    Structure(
        "reliability",
        ("goodput", "delivered_share", "link_rate", "retry", "buffer_peak"),
        ("residual_ber", "credit_limit", "congested_queues"),
        {"packet_format": ("standard", "afh_lite"), "vlan": ("off", "on")},
        numbers=("link_bandwidth", "drain_time", "buffer_alpha"),
    ),
    Structure(
        "frame_trace",
        ("traced_link_latency", "frame_delivery"),
        ("credit_limit", "drain_time", "message_size"),
        numbers=("virtual_channels", "link_bandwidth", "base_latency"),
    ),
    Structure(
        "users_quantity",
        ("collective_energy",),
        ("wire_energy", "chip_count", "message_size"),
        {"packet_format": ("standard", "afh_lite"), "flow_control": "pfc"},
        files=(ROOT / "grids" / "energy.py",),
    ),
)


ALWAYS = {"message_size": 0, "chip_count": 1}


def case_of(structure: Structure, chance: Random, most: int) -> Case:
    """A structure with numbers in ascending order; one chip and 0 bytes are always among those of their axes."""
    parameters = extended_registry(structure.files).parameters
    few_frames = has_trace(structure.outputs) or structure.choices.get("credit_scope") == "carried"

    def value(name: str) -> float:
        return number(chance, parameters[name], few_frames)

    axes = {name: list(labels) for name, labels in structure.choices.items() if not isinstance(labels, str)}
    for name in structure.axes:
        always = [ALWAYS[name]] if name in ALWAYS else []
        axes[name] = sorted({*always, *(value(name) for _ in range(chance.randint(1, most)))})
    length = chance.randint(1, most)
    together = {name: [value(name) for _ in range(length)] for name in structure.zipped}
    fixed = {name: label for name, label in structure.choices.items() if isinstance(label, str)}
    grid = {
        "presets": list(structure.presets),
        "outputs": with_statuses(structure.outputs),
        "axes": axes,
        "zip": {"together": together} if together else {},
        "fixed": fixed | {name: value(name) for name in structure.numbers},
    }
    return Case(grid, structure.files, chance)


# Structures that are drawn.

REGISTRY = default_registry()
FORMULAS = tuple(
    name
    for name in REGISTRY.outputs
    if not str(REGISTRY.quantities[REGISTRY.output_owner[name]].variants[0].function.__module__).startswith(
        ("sweep.events", "sweep.multichip")
    )
)
"""Outputs without those of simulators, which take minutes in plain Python; `tests/events` and `tests/multichip` have
their promises."""
SETTABLE = tuple(name for name, parameter in REGISTRY.parameters.items() if not parameter.is_table)
EXISTING = tuple(
    {"collective": collective, "algorithm": algorithm} | credits
    for collective, algorithm in (
        ("all_reduce", "ring"),
        ("all_reduce", "tree"),
        ("all_reduce", "halving_doubling"),
        ("all_reduce", "direct"),
        ("reduce_scatter", "ring"),
        ("all_gather", "ring"),
        ("all_gather", "direct"),
        ("all_to_all", "pairwise"),
        ("all_to_all", "ring"),
        ("all_to_all", "direct"),
        ("broadcast", "tree"),
    )
    for credits in (
        {"credit_scope": "step"},
        {"credit_scope": "step"},
        {"credit_scope": "total", "credit_model": "rounds"},
        {},
    )
)
"""Choices with which a collective has its formulas; most of all that can be drawn have not."""

FILES = {
    "topology": sorted((ROOT / "grids" / "topologies").glob("*.yaml")),
    "chip": sorted((ROOT / "grids" / "chips").glob("*.yaml")),
    "program": sorted((ROOT / "grids" / "programs").glob("*.yaml")),
    "traffic_trace": sorted((ROOT / "grids" / "traces").glob("*.csv")),
}
"""Files that parameters may name."""
OPTIONAL = tuple(name for name in SETTABLE if REGISTRY.parameters[name].default is None)


@cache
def held_by(name: str, path: str) -> Any:
    """What a parameter makes of a file."""
    reads = REGISTRY.parameters[name].reads
    assert reads is not None
    return reads(Path(path).read_text(), path)


def own_formats(chance: Random) -> dict[str, Any]:
    """A header table of one row."""
    bytes_ = {column: chance.randint(0, 60) for column in ("header", "icrc", "fcs")}
    words = {column: chance.choice(("never", "with_vlan", "always")) for column in ("ecn", "pfc_class", "qos", "retry")}
    return {"own": {**bytes_, "vlan_tag": chance.choice((None, 0, 4)), **words}}


def any_case(chance: Random, outputs: Sequence[str] = ()) -> Case:
    """Any formulas, or the outputs given, over any axes, with any choices; axes that change nothing are left out."""
    wanted = list(outputs) or chance.sample(FORMULAS, chance.randint(1, 5))
    carries = has_trace(wanted) or chance.random() < 0.2
    fixed: dict[str, Any] = {"packet_formats": own_formats(chance)} if chance.random() < 0.3 else {}

    def value(name: str) -> Any:
        parameter = REGISTRY.parameters[name]
        if parameter.is_file:
            return str(chance.choice(FILES[name]))
        if not parameter.is_choice:
            return number(chance, parameter, few_frames=carries)
        own = fixed.get(parameter.table, {}) if parameter.table else {}
        labels = [x for x in (*REGISTRY.labels(parameter, {}), *own) if x != "carried" or carries]
        return chance.choice(labels)

    # Files change what parameters are, which promises about some outputs cannot see; without them no switches differ.
    of_files = [*FILES, "path_switches"] if outputs else []
    settable = [name for name in SETTABLE if name not in of_files]
    fixed |= {name: value(name) for name in settable if chance.random() < 0.6}
    if chance.random() < 0.8:
        fixed |= chance.choice(EXISTING)
    held = {name: held_by(name, fixed[name]) for name in FILES if name in fixed}
    graph = resolve(REGISTRY, wanted, {**fixed, **held}, {})
    needed = [name for name in settable if name in graph.parameters or name in graph.nodes or name in OPTIONAL]
    axes = chance.sample(needed, min(chance.randint(1, 4), len(needed)))
    zipped = axes[-2:] if len(axes) > 2 and chance.random() < 0.3 else []
    length = chance.randint(1, 3)
    grid = {
        "presets": chance.choice(([], [], ["exact"], ["sg2262"], ["design_note"], ["design_note", "sg2262"])),
        "outputs": with_statuses(wanted),
        "axes": {name: list({value(name): None for _ in range(3)}) for name in axes if name not in zipped},
        "zip": {"together": {name: [value(name) for _ in range(length)] for name in zipped}} if zipped else {},
        "fixed": {name: value for name, value in fixed.items() if name not in axes},
    }
    return Case(grid, (), chance).without_idle_axes()


# Where cases come from.


CHANCES = st.tuples(*[st.booleans()] * 32).map(lambda bits: Random(sum(bit << place for place, bit in enumerate(bits))))
"""Bits, not a number: among numbers hypothesis mixes the constants of the modules that happen to be loaded."""


@dataclass(frozen=True)
class Source:
    """Where cases come from, and how many are enough.

    Hypothesis gives each case a seed. If it drew every number, most cases would be variations of a few.
    """

    draw: Callable[[Random], Case]
    examples: int
    structure: Structure | None = None

    def all_keep(self, promise: Callable[[Case], None]) -> None:
        """Try a promise on each case."""

        @given(CHANCES)
        def tried(chance: Random) -> None:
            case = self.draw(chance)
            note(str(case))
            promise(case)

        options = {"deadline": None, "database": None, "phases": [Phase.generate]}
        with pytest.MonkeyPatch.context() as patch:
            if self.structure is not None and self.structure.as_large:
                write_as_for_a_large_grid(patch)
            seed(SEED)(settings(max_examples=self.examples, **options)(tried))()


def write_as_for_a_large_grid(patch: pytest.MonkeyPatch) -> None:
    """Values kept between nests, and rows in two ways, whatever the size of the grid."""
    patch.setattr("sweep.engine.plan.STAGE_FROM_POINTS", 1)
    patch.setattr("sweep.engine.plan.STAGE_REUSE", 1)
    patch.setattr("sweep.engine.loopnest.TWO_WAYS_FROM_POINTS", 1)


def sources(*outputs: str, compiled: int = 5, drawn: int = 30, most: int = 4) -> Any:
    """Parametrize by every structure that has some outputs, and by drawn structures with these and their like."""
    found = []
    for x in STRUCTURES if compiled else ():
        if set(outputs) <= set(x.outputs):
            source = Source(partial(case_of, x, most=most), compiled, x)
            found.append(pytest.param(source, id=x.name, marks=pytest.mark.heavy))
    like = next((family for family in ((*COLLECTIVE, *PARTS), MESSAGE, TRACED) if set(outputs) <= set(family)), ())
    anything = Source(partial(any_case, outputs=like if outputs else ()), drawn)
    skip = pytest.mark.skipif(JIT, reason="drawn structures are for plain Python; each would be compiled")
    return pytest.mark.parametrize("source", [*found, pytest.param(anything, id="any_structure", marks=skip)])
