"""Every grid that is shipped can be planned, and the main one has what it promises."""

from __future__ import annotations

import math

import pytest

import sweep
from sweep.models.topology_file import read_chip, read_topology
from sweep.multichip.program_file import read_program
from tests.conftest import ROOT

NAMED = {"topologies": read_topology, "chips": read_chip, "programs": read_program}
"""Folders of files that grids name, and what reads them."""
GRIDS = sorted(path for path in (ROOT / "grids").rglob("*.yaml") if path.parent.name not in NAMED)


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_a_shipped_grid_can_be_planned(path):
    model = [path.with_suffix(".py")] if path.with_suffix(".py").exists() else []
    assert sweep.plan(sweep.load_grid(path, model)).nests


@pytest.mark.parametrize("path", sorted(path for name in NAMED for path in (ROOT / "grids" / name).iterdir()))
def test_a_shipped_file_that_grids_name_can_be_read(path):
    assert NAMED[path.parent.name](path.read_text(), path.name)


def test_the_main_grid_is_the_full_product_of_six_axes():
    made = sweep.plan(sweep.load_grid(ROOT / "grids" / "tp_allreduce.yaml"))
    names = ("link_bandwidth", "packet_format", "credit_size", "switch_hops", "chip_count", "message_size")
    assert made.status_dims == names
    assert math.prod(made.axes[name].size for name in names) >= 400_000
    assert set(made.axes["packet_format"].members["packet_format"]) == set(sweep.parameters.packet_formats.default)
    assert made.fixed["collective"] == "all_reduce"
    assert made.fixed["algorithm"] == "ring"
