"""PAXI packets: how many bytes a message takes on the wire.

A message of D bytes is cut into frames that carry at most P = `max_payload` bytes each; the last one carries the
remainder. A frame adds o = `frame_overhead` bytes of headers and checks, is padded to `min_frame`, and is followed by
`line_gap` bytes of preamble and gap in which nothing else is sent:

    | header (VLAN tag) | payload | ICRC | FCS | padding |   gap   |
    |<-------------- frame_size -------------->|
    |<-------------------- frame_pitch ------------------->|

Sizes are in bytes. Source: the PAXI design note, section "PAXI Link"; IEEE 802.3 for minimum frame and gap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sweep.registry import parameter, prepared, quantity

packet_formats = parameter(
    default={
        "standard": {"header": 50, "vlan_tag": 4, "icrc": 4, "fcs": 4}
        | {"ecn": "always", "pfc_class": "with_vlan", "qos": "always", "retry": "always"},
        "afh_gen1": {"header": 22, "vlan_tag": 4, "icrc": 4, "fcs": 4}
        | {"ecn": "never", "pfc_class": "with_vlan", "qos": "always", "retry": "always"},
        "afh_gen2_16b": {"header": 22, "vlan_tag": 4, "icrc": 4, "fcs": 4}
        | {"ecn": "never", "pfc_class": "with_vlan", "qos": "always", "retry": "always"},
        "afh_lite": {"header": 12, "vlan_tag": None, "icrc": 0, "fcs": 4}
        | {"ecn": "never", "pfc_class": "never", "qos": "never", "retry": "never"},
    },
    unit="B",
    doc="Header table: bytes that each packet format adds to a frame (a tag that is not possible is null), and what it "
    "can do: never, with_vlan or always",
    source="design note, table of packet formats: MAC 12 + type 2 + IP 20 + UDP 8 + RH 8; AFH 12 (+ type 2 + RH 8)",
)
packet_format = parameter(
    table="packet_formats",
    default="standard",
    doc="Packet format of the transaction layer",
    source="design note, PAXI Link",
)
vlan = parameter(
    choices=("off", "on"), default="off", doc="VLAN tag in every frame", source="design note, PAXILinkConfig"
)
icrc = parameter(
    choices=("off", "on"),
    default="on",
    doc="Invariant CRC in every frame of the formats that have one",
    source="design note, PAXILinkConfig",
)
max_payload = parameter(
    unit="B",
    default=1344,
    integer=True,
    minimum=1,
    maximum=65536,
    doc="Largest payload of one frame",
    source="design note, TYPE1_PKT_LEN",
)
min_frame = parameter(
    unit="B",
    default=64,
    integer=True,
    minimum=0,
    doc="Shortest frame; shorter ones are padded",
    source="IEEE 802.3, minFrameSize",
)
line_gap = parameter(
    unit="B",
    default=20,
    integer=True,
    minimum=0,
    doc="Preamble and inter-packet gap after every frame",
    source="IEEE 802.3: 8 B preamble and delimiter, 12 B gap",
)
framing = parameter(
    choices=("none", "full_frames", "exact", "note"),
    default="exact",
    doc="How headers are counted: not at all; in proportion to the bytes, as if every frame were full; frame by frame; "
    "or as the design note does: frame by frame on a link, in proportion in collectives",
    source="design note, calc_paxi_latency and calc_cdma_collective_latency",
)
message_size = parameter(
    unit="B",
    default=1048576,
    integer=True,
    minimum=0,
    maximum=2**50,
    doc="Bytes of one message, or of one collective: the total for all_reduce, all_gather and reduce_scatter, one "
    "chip's send buffer for all_to_all",
    source="",
)


@prepared(unit="B", internal=True)
def header_and_checks(
    packet_formats: Mapping[str, Mapping[str, Any]], packet_format: str, vlan: str, icrc: str
) -> float:
    """Bytes of header, tag, ICRC and FCS in a frame; NaN if the format cannot carry a VLAN tag."""
    sizes = packet_formats[packet_format]
    tag = sizes["vlan_tag"] if vlan == "on" else 0
    if tag is None:
        return math.nan
    return float(sizes["header"] + tag + (sizes["icrc"] if icrc == "on" else 0) + sizes["fcs"])


def format_lacks_vlan(header_and_checks: float) -> bool:
    """The format has no room for the VLAN tag that is asked for."""
    return math.isnan(header_and_checks)


@quantity(unit="B", fails={"infeasible": format_lacks_vlan})
def frame_overhead(header_and_checks: float) -> float:
    """Bytes that a frame adds to its payload."""
    return header_and_checks


@quantity("frame_overhead", when={"framing": "none"}, fails={"infeasible": format_lacks_vlan})
def no_overhead() -> float:
    """Bytes that a frame adds to its payload: none, headers are not counted."""
    return 0.0


@quantity(unit="B")
def frame_minimum(min_frame: float) -> float:
    """Size to which shorter frames are padded."""
    return min_frame


@quantity("frame_minimum", when={"framing": "none"})
def no_minimum() -> float:
    """Size to which shorter frames are padded: none, framing is not counted."""
    return 0.0


@quantity(unit="B")
def frame_gap(line_gap: float) -> float:
    """Bytes of line time after a frame in which nothing is sent."""
    return line_gap


@quantity("frame_gap", when={"framing": "none"})
def no_gap() -> float:
    """Bytes of line time after a frame in which nothing is sent: none, framing is not counted."""
    return 0.0


@quantity(unit="B")
def frame_size(max_payload: float, frame_overhead: float, frame_minimum: float) -> float:
    """Size of a full frame with its padding, without the gap."""
    return max(max_payload + frame_overhead, frame_minimum)


@quantity(unit="B")
def frame_pitch(frame_size: float, frame_gap: float) -> float:
    """Bytes of line time that a full frame takes, gap included."""
    return frame_size + frame_gap


@quantity(unit="1")
def frame_efficiency(max_payload: float, frame_size: float) -> float:
    """Payload of a full frame over its size, gap not counted."""
    return max_payload / frame_size


def frame_count(size: float, max_payload: float) -> float:
    """Frames that carry `size` bytes; exact up to 1 PiB, where size/max_payload still has its fraction."""
    return math.ceil(size / max_payload)


def first_frame_size(size: float, max_payload: float, frame_overhead: float, frame_minimum: float) -> float:
    """Size of a message's first frame with padding, 0 without a message (B)."""
    return max(min(size, max_payload) + frame_overhead, frame_minimum) if size > 0 else 0.0


def proportional_frame_size(carried: float, max_payload: float, frame_size: float) -> float:
    """Size of a frame that carries some bytes, if it is to a full one as its payload is (B)."""
    return carried * frame_size / max_payload


def last_frame_size(
    size: float, frames: float, max_payload: float, frame_overhead: float, frame_minimum: float
) -> float:
    """Size of the last of a message's frames, which carries the remainder, with its padding (B)."""
    return max(size - (frames - 1) * max_payload + frame_overhead, frame_minimum)


def counted_wire_size(
    size: float,
    frames: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_size: float,
    frame_gap: float,
) -> float:
    """Bytes of line time for `size` bytes: full frames, and a last one that carries the remainder."""
    last = last_frame_size(size, frames, max_payload, frame_overhead, frame_minimum) + frame_gap
    return (frames - 1) * (frame_size + frame_gap) + last if frames > 0 else 0.0


@quantity(unit="1")
def frames(message_size: float, max_payload: float) -> float:
    """Frames of the message."""
    return frame_count(message_size, max_payload)


@quantity("wire_size", unit="B", when={"framing": ("exact", "note")})
def wire_size_counted(
    message_size: float,
    frames: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    frame_size: float,
    frame_gap: float,
) -> float:
    """Bytes of line time that the message takes, counted frame by frame."""
    return counted_wire_size(message_size, frames, max_payload, frame_overhead, frame_minimum, frame_size, frame_gap)


@quantity("wire_size", when={"framing": ("none", "full_frames")})
def wire_size_in_proportion(message_size: float, max_payload: float, frame_pitch: float) -> float:
    """Bytes of line time that the message takes, in proportion to its bytes, as if every frame were full."""
    return message_size * (frame_pitch / max_payload)


def nothing_sent(wire_size: float) -> bool:
    """No bytes on the wire."""
    return wire_size == 0


@quantity(unit="1", fails={"undefined": nothing_sent})
def payload_efficiency(message_size: float, wire_size: float) -> float:
    """Bytes of the message over the bytes of line time that it takes."""
    return message_size / wire_size
