"""What a packet format lets the fabric do: mark congestion, pause one class, tell classes apart, send again.

The columns `ecn`, `pfc_class`, `qos` and `retry` of the header table say `never`, `with_vlan` or `always`:

- ecn: a switch marks congestion in an IP header;
- pfc_class: a pause frame stops one traffic class; without one it stops the port;
- qos: a switch tells traffic classes apart, by DSCP, by the traffic class of a compressed header, or by a VLAN tag;
- retry: lost and broken frames are sent again (go-back-N); see `reliability`.

Source: the PAXI design note, table of packet formats and guide to choosing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweep.models.packet import format_lacks_vlan
from sweep.registry import prepared, quantity


def is_there(cell: str, vlan: str) -> float:
    """1 if a capability is there, with or without a VLAN tag as the case may be; else 0."""
    return 1.0 if cell == "always" or (cell == "with_vlan" and vlan == "on") else 0.0


@prepared(unit="1", internal=True)
def marks_congestion(packet_formats: Mapping[str, Mapping[str, Any]], packet_format: str, vlan: str) -> float:
    """Whether frames can be marked: 1 or 0."""
    return is_there(packet_formats[packet_format]["ecn"], vlan)


@prepared(unit="1", internal=True)
def pauses_classes(packet_formats: Mapping[str, Mapping[str, Any]], packet_format: str, vlan: str) -> float:
    """Whether classes can be paused: 1 or 0."""
    return is_there(packet_formats[packet_format]["pfc_class"], vlan)


@prepared(unit="1", internal=True)
def has_classes(packet_formats: Mapping[str, Mapping[str, Any]], packet_format: str, vlan: str) -> float:
    """Whether classes can be told apart: 1 or 0."""
    return is_there(packet_formats[packet_format]["qos"], vlan)


@prepared(unit="1", internal=True)
def sends_again(packet_formats: Mapping[str, Mapping[str, Any]], packet_format: str, vlan: str) -> float:
    """Whether lost frames are sent again: 1 or 0."""
    return is_there(packet_formats[packet_format]["retry"], vlan)


@quantity(categories=("no", "yes"), fails={"infeasible": format_lacks_vlan})
def ecn(marks_congestion: float) -> str:
    """Whether a switch can mark congestion in frames of the format."""
    return "yes" if marks_congestion > 0 else "no"


@quantity(categories=("no", "yes"), fails={"infeasible": format_lacks_vlan})
def pfc_class(pauses_classes: float) -> str:
    """Whether pause frames can stop one traffic class of the format, and not the whole port."""
    return "yes" if pauses_classes > 0 else "no"


@quantity(categories=("no", "yes"), fails={"infeasible": format_lacks_vlan})
def qos(has_classes: float) -> str:
    """Whether a switch can tell traffic classes of the format apart."""
    return "yes" if has_classes > 0 else "no"


@quantity(categories=("no", "yes"), fails={"infeasible": format_lacks_vlan})
def retry(sends_again: float) -> str:
    """Whether lost and broken frames of the format are sent again."""
    return "yes" if sends_again > 0 else "no"
