from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweep.units import UNITS, exact

FACTORS = {
    ("GB/s", "Gb/s"): Fraction(1, 8),
    ("GB/s", "GiB/s"): Fraction(2**30, 10**9),
    ("GB/s", "TB/s"): Fraction(1000),
    ("GB/s", "B/ns"): Fraction(1),
    ("GB/s", "kb/s"): Fraction(1, 8 * 10**6),
    ("B", "KiB"): Fraction(1024),
    ("B", "kB"): Fraction(1000),
    ("B", "GiB"): Fraction(2**30),
    ("ns", "us"): Fraction(1000),
    ("ns", "ps"): Fraction(1, 1000),
    ("ns", "s"): Fraction(10**9),
    ("1", "%"): Fraction(1, 100),
}


@pytest.mark.parametrize(("unit", "written"), FACTORS)
def test_a_unit_is_worth_what_the_standards_say(unit, written):
    assert exact(f"1 {written}", unit) == FACTORS[unit, written]


@given(st.decimals(-(10**12), 10**12, allow_nan=False, places=6), st.sampled_from(sorted(UNITS)), st.data())
def test_conversion_is_exact_with_or_without_a_space(number, unit, data):
    written = data.draw(st.sampled_from(sorted(UNITS[unit])))
    value = Fraction(number) * UNITS[unit][written]
    assert exact(f"{number:f} {written}", unit) == value
    if not written[0].isdigit():
        assert exact(f"{number:f}{written}", unit) == value
    assert exact(f"{number:f}", unit) == Fraction(number)


@given(st.text(max_size=12), st.sampled_from(sorted(UNITS)))
def test_any_other_text_is_refused_in_one_way(text, unit):
    with contextlib.suppress(ValueError):
        exact(text, unit)


@pytest.mark.parametrize(
    "text", ["1e400", "1e999999999", "1e-999999999", "nan", "inf", "1_000", "0x10", "1 2", "", "--1"]
)
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(ValueError, match=r"too (large|small)|not a number|no unit"):
        exact(text, "1")
