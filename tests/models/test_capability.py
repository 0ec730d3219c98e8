"""What packet formats can do, against the table of the design note."""

from __future__ import annotations

import pytest

import sweep
from tests.models import point

CAPABILITIES = ("ecn", "pfc_class", "qos", "retry")


@pytest.mark.parametrize(
    ("packet_format", "vlan", "expected"),
    [
        ("standard", "off", ("yes", "no", "yes", "yes")),
        ("standard", "on", ("yes", "yes", "yes", "yes")),
        ("afh_gen1", "off", ("no", "no", "yes", "yes")),
        ("afh_gen1", "on", ("no", "yes", "yes", "yes")),
        ("afh_gen2_16b", "off", ("no", "no", "yes", "yes")),
        ("afh_gen2_16b", "on", ("no", "yes", "yes", "yes")),
        ("afh_lite", "off", ("no", "no", "no", "no")),
    ],
)
def test_capabilities_of_each_format_with_and_without_a_tag(packet_format, vlan, expected):
    found = tuple(getattr(sweep.quantities, name)(packet_format=packet_format, vlan=vlan) for name in CAPABILITIES)
    assert found == expected


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_format_that_cannot_be_tagged_has_no_capabilities_with_a_tag(name):
    got = point(name, packet_format="afh_lite", vlan="on")
    assert (got.value, got.status) == ("no_value", "infeasible")


def test_a_format_of_the_user_has_the_capabilities_that_its_row_states():
    row = {"header": 6, "vlan_tag": 4, "icrc": 0, "fcs": 4}
    words = {"ecn": "with_vlan", "pfc_class": "always", "qos": "never", "retry": "with_vlan"}
    for vlan, expected in (("off", ["no", "yes", "no", "no"]), ("on", ["yes", "yes", "no", "yes"])):
        given = {"packet_formats": {"own": row | words}, "packet_format": "own", "vlan": vlan}
        assert [point(name, **given).value for name in CAPABILITIES] == expected


@pytest.mark.heavy
def test_capabilities_over_formats_and_tags_are_labels_with_a_status():
    result = sweep.run(
        {
            "outputs": list(CAPABILITIES),
            "axes": {"packet_format": ["standard", "afh_gen1", "afh_lite"], "vlan": ["off", "on"]},
        }
    )
    assert result.ecn.attrs["flag_meanings"] == "no yes no_value"
    assert result.pfc_class.values.tolist() == [[0, 1], [0, 1], [0, 2]]
    assert result.status.values.tolist() == [[0, 0], [0, 0], [0, 2]]
