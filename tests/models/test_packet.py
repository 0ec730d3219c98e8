"""Packets: frames, headers, padding and gaps of a message."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import sweep
from tests.models import BARE, close, cut, point, points

FORMATS = ("standard", "afh_gen1", "afh_gen2_16b", "afh_lite")
OVERHEAD = {
    ("standard", "off", "on"): 58,
    ("standard", "on", "on"): 62,
    ("standard", "off", "off"): 54,
    ("standard", "on", "off"): 58,
    ("afh_gen1", "off", "on"): 30,
    ("afh_gen1", "on", "on"): 34,
    ("afh_gen1", "off", "off"): 26,
    ("afh_gen1", "on", "off"): 30,
    ("afh_gen2_16b", "off", "on"): 30,
    ("afh_gen2_16b", "on", "on"): 34,
    ("afh_gen2_16b", "off", "off"): 26,
    ("afh_gen2_16b", "on", "off"): 30,
    ("afh_lite", "off", "on"): 16,
    ("afh_lite", "off", "off"): 16,
}
SIZES = (0, 1, 2, 5, 6, 7, 47, 48, 49, 1343, 1344, 1345, 2687, 2688, 2689, 131_072, 1_048_576)

overheads = pytest.mark.parametrize(
    ("packet_format", "vlan", "icrc", "overhead"),
    [(*key, overhead) for key, overhead in OVERHEAD.items()],
    ids=["-".join((name, f"vlan_{vlan}", f"icrc_{icrc}")) for name, vlan, icrc in OVERHEAD],
)


@overheads
def test_a_frame_adds_header_tag_and_checks(packet_format, vlan, icrc, overhead):
    got = sweep.quantities.frame_overhead(packet_format=packet_format, vlan=vlan, icrc=icrc)
    assert got == overhead


@pytest.mark.parametrize(
    ("packet_format", "vlan", "frame", "percent"),
    [
        ("standard", "off", 1402, "95.863"),
        ("standard", "on", 1406, "95.590"),
        ("afh_gen1", "off", 1374, "97.817"),
        ("afh_gen1", "on", 1378, "97.533"),
        ("afh_gen2_16b", "off", 1374, "97.817"),
        ("afh_gen2_16b", "on", 1378, "97.533"),
        ("afh_lite", "off", 1360, "98.824"),
    ],
)
def test_full_frames_have_the_published_size_and_efficiency(packet_format, vlan, frame, percent):
    assert sweep.quantities.frame_size(packet_format=packet_format, vlan=vlan) == frame
    assert f"{100 * sweep.quantities.frame_efficiency(packet_format=packet_format, vlan=vlan):.3f}" == percent


@pytest.mark.parametrize(
    ("packet_format", "wire"),
    [("standard", 1093874), ("afh_gen1", 1072006), ("afh_gen2_16b", 1072006), ("afh_lite", 1061072)],
)
def test_a_mebibyte_takes_781_frames_and_the_published_bytes(packet_format, wire):
    assert sweep.quantities.frames(message_size=1048576) == 781
    assert sweep.quantities.wire_size(message_size=1048576, packet_format=packet_format, **BARE) == wire
    assert sweep.quantities.payload_efficiency(message_size=1048576, packet_format=packet_format, **BARE) == (
        1048576 / wire
    )


@overheads
@pytest.mark.parametrize(("minimum", "gap"), [(0, 0), (64, 20), (128, 12)])
def test_wire_size_is_the_sum_over_all_frames(packet_format, vlan, icrc, overhead, minimum, gap):
    for size in SIZES:
        frames = cut(size, 1344, overhead, minimum, gap)
        given = {"packet_format": packet_format, "vlan": vlan, "icrc": icrc, "min_frame": minimum, "line_gap": gap}
        got = points(("frames", "wire_size"), message_size=size, **given)
        assert got["frames"].value == len(frames)
        assert got["wire_size"].value == sum(frame.pitch for frame in frames)


@pytest.mark.parametrize("payload", [1, 2, 64, 1000, 9000])
def test_wire_size_is_the_sum_over_all_frames_of_any_payload(payload):
    for size in (0, 1, payload - 1, payload, payload + 1, 3 * payload, 10 * payload + 1):
        wire = sum(frame.pitch for frame in cut(size, payload, 30, 64, 20))
        assert point("wire_size", message_size=size, max_payload=payload, packet_format="afh_gen1").value == wire


@pytest.mark.parametrize(
    ("packet_format", "size", "wire"),
    [
        ("standard", 0, 0),
        ("standard", 1, 84),
        ("standard", 6, 84),
        ("standard", 7, 85),
        ("afh_gen1", 34, 84),
        ("afh_gen1", 35, 85),
        ("afh_lite", 1, 84),
        ("afh_lite", 48, 84),
        ("afh_lite", 49, 85),
        ("standard", 1343, 1421),
        ("standard", 1344, 1422),
        ("standard", 1345, 1506),
        ("afh_lite", 1345, 1464),
    ],
)
def test_short_frames_are_padded_to_64_bytes_and_followed_by_20(packet_format, size, wire):
    assert sweep.quantities.wire_size(message_size=size, packet_format=packet_format) == wire


@pytest.mark.parametrize("size", [2**50, 2**50 - 1, 2**50 // 1344 * 1344, 2**50 // 1344 * 1344 - 1343])
def test_frames_are_counted_exactly_up_to_a_pebibyte(size):
    frames = -(-size // 1344)
    assert sweep.quantities.frames(message_size=size) == frames
    assert int(sweep.quantities.wire_size(message_size=size, **BARE)) == size + 58 * frames


@pytest.mark.parametrize("size", SIZES)
def test_without_framing_only_the_message_is_on_the_wire(size):
    for packet_format in FORMATS:
        assert point("wire_size", framing="none", packet_format=packet_format, message_size=size).value == size


@pytest.mark.parametrize("size", [*SIZES, 10**12 + 1])
def test_full_frames_charge_headers_and_gaps_in_proportion(size):
    wire = point("wire_size", framing="full_frames", message_size=size).value
    assert wire == close(Fraction(size * 1422, 1344))


@pytest.mark.parametrize("size", SIZES)
def test_the_note_counts_the_frames_of_a_link_one_by_one(size):
    wire = sum(frame.pitch for frame in cut(size, 1344, 58, 64, 20))
    assert point("wire_size", framing="note", message_size=size).value == wire


@pytest.mark.parametrize("packet_format", FORMATS)
def test_counted_frames_equal_the_proportion_at_whole_frames_and_exceed_it_between(packet_format):
    def wire(framing, size):
        return point("wire_size", framing=framing, packet_format=packet_format, message_size=size).value

    for count in (1, 2, 781):
        assert wire("exact", 1344 * count) == close(wire("full_frames", 1344 * count))
        assert wire("exact", 1344 * count + 1) > wire("full_frames", 1344 * count + 1)
        assert wire("exact", 1344 * count - 1) > wire("full_frames", 1344 * count - 1)


@pytest.mark.parametrize("packet_format", FORMATS)
def test_no_message_is_more_efficient_than_a_full_frame(packet_format):
    best = Fraction(1344, 1344 + OVERHEAD[packet_format, "off", "on"])
    for size in (*SIZES[1:], 1344 * 1000):
        got = point("payload_efficiency", packet_format=packet_format, message_size=size, **BARE)
        assert got.status == "ok"
        assert (got.value == float(best)) if size % 1344 == 0 else (got.value < float(best))


@pytest.mark.parametrize("framing", ["none", "full_frames", "exact", "note"])
def test_efficiency_of_an_empty_message_is_undefined(framing):
    got = point("payload_efficiency", framing=framing, message_size=0)
    assert got.status == "undefined"
    assert math.isnan(got.value)


@pytest.mark.parametrize(
    "output",
    [
        "frame_overhead",
        "frame_efficiency",
        "wire_size",
        "payload_efficiency",
        "link_latency",
        "switch_latency",
        "transfer_latency",
        "collective_latency",
        "bus_bandwidth",
        "traced_link_latency",
    ],
)
def test_lite_frames_cannot_carry_a_vlan_tag(output):
    given = {"message_size": 4096, "egress_utilization": 0.5}
    got = point(output, packet_format="afh_lite", vlan="on", **given)
    assert got.status == "infeasible"
    assert math.isnan(got.value)
    assert point(output, packet_format="afh_lite", vlan="off", **given).status == "ok"


COMPRESSED = {
    "standard": {"header": 50, "vlan_tag": 4, "icrc": 4, "fcs": 4},
    "compressed": {"header": 6, "vlan_tag": 2, "icrc": 8, "fcs": 4},
    "untagged": {"header": 6, "vlan_tag": None, "icrc": 0, "fcs": 4},
}


@pytest.mark.parametrize(
    ("packet_format", "vlan", "icrc", "overhead"),
    [
        ("compressed", "off", "off", 10),
        ("compressed", "on", "off", 12),
        ("compressed", "off", "on", 18),
        ("compressed", "on", "on", 20),
        ("untagged", "off", "on", 10),
        ("standard", "on", "on", 62),
    ],
)
def test_users_add_formats_to_the_header_table(packet_format, vlan, icrc, overhead):
    wire = sweep.quantities.wire_size(
        packet_formats=COMPRESSED, packet_format=packet_format, vlan=vlan, icrc=icrc, message_size=3000, **BARE
    )
    assert wire == 3000 + 3 * overhead


def test_a_users_format_without_a_tag_cannot_carry_one():
    got = point("wire_size", packet_formats=COMPRESSED, packet_format="untagged", vlan="on")
    assert got.status == "infeasible"
    assert math.isnan(got.value)
