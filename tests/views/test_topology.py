"""Topologies for people: the table of tiers, and the picture."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import ROOT

SYSTEMS = ROOT / "grids" / "topologies"
CHIP = ROOT / "grids" / "chips" / "sg2262.yaml"


def test_the_table_says_of_each_tier_what_is_between_two_chips(cli):
    code, output, messages = cli("topology", SYSTEMS / "P1-R1-B4-C32.yaml", "--chip", CHIP)
    assert code == 0
    assert output.splitlines() == [
        "Four boards of eight chips in a rack, as in the design note",
        "",
        "1 pod, 1 rack, 4 boards, 32 chips",
        "",
        "  tier  in a   chips  between two    link      latency  packets",
        "  c2c   board  8      a link         448 GB/s  150 ns   afh_lite",
        "  b2b   rack   32     switch 500 ns  200 GB/s  200 ns   standard + vlan",
    ]
    assert "bandwidth_gbps is read as GB/s" in messages


def test_shapes_are_told_in_words_and_a_tier_without_links_has_no_route(cli, tmp_path):
    _, output, _ = cli("topology", SYSTEMS / "P1-R2-B8-C64.yaml")
    assert "torus 4 x 2, chips between: chip 100 ns" in output
    assert "fat tree, leaves of 8: leaf 300 ns and spine 500 ns" in output
    assert "5 switches: leaf 300 ns and spine 500 ns and core 800 ns" in output
    (tmp_path / "x.yaml").write_text("chips: P1-R1-B2-C4\ninterconnect: {c2c: {ring: true}}\n")
    assert "  b2b   rack   4      no route" in cli("topology", tmp_path / "x.yaml")[1].splitlines()


def test_the_picture_has_all_chips_and_the_switches_between_each_two(cli, tmp_path, figures):
    assert cli("topology", SYSTEMS / "P1-R2-B8-C64.yaml", "--picture", tmp_path / "x.png")[0] == 0
    places, pairs, _ = figures[0].axes
    assert [text.get_text() for text in places.texts] == [str(chip) for chip in range(64)]
    hops = np.ma.filled(pairs.images[0].get_array(), np.nan)
    assert (hops[0, 1], hops[0, 6], hops[0, 8], hops[0, 40]) == (0, 2, 3, 5)
    assert np.isnan(hops.diagonal()).all()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("chips: P1-R1-B1-C8\ninterconnect: {c2c: {ring: true, speed: 3}}\n", "'speed' is not a key of c2c"),
        ("chips: P1-R1-B1-C1024\ninterconnect: {c2c: {}}\n", "1024 chips; at most 512 can be drawn"),
        ("- 1\n", "a topology is a mapping"),
    ],
)
def test_what_cannot_be_shown_is_told_and_nothing_is_drawn(cli, tmp_path, text, wanted):
    (tmp_path / "x.yaml").write_text(text)
    code, output, messages = cli("topology", tmp_path / "x.yaml", "--picture", tmp_path / "x.png")
    assert (code, output) == (2, "")
    assert wanted in messages
    assert not (tmp_path / "x.png").exists()
