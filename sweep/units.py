"""Units: what a number with a unit means in the unit of a parameter.

b is bit, B is byte; k, M, G, T, P are powers of 1000, Ki, Mi, Gi, Ti, Pi of 1024. Conversion is exact, rounded once.
What could be read in two ways is refused, with both readings.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from sweep.errors import nearest

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_PREFIXES = _DECIMAL | _BINARY

BYTES = {f"{prefix}B": Fraction(factor) for prefix, factor in _PREFIXES.items()}
RATES = {f"{prefix}B/s": Fraction(factor, 10**9) for prefix, factor in _PREFIXES.items()}
RATES |= {f"{prefix}b/s": Fraction(factor, 8 * 10**9) for prefix, factor in _PREFIXES.items()}
RATES |= {"B/ns": Fraction(1)}
TIMES = {"ps": Fraction(1, 1000), "ns": Fraction(1), "us": Fraction(10**3), "µs": Fraction(10**3)}
TIMES |= {"ms": Fraction(10**6), "s": Fraction(10**9)}
SHARES = {"%": Fraction(1, 100), "1": Fraction(1)}

CLOCKS = {"kHz": Fraction(1, 10**6), "MHz": Fraction(1, 1000), "GHz": Fraction(1)}
ARITHMETIC = {"GFLOP/s": Fraction(1, 1000), "TFLOP/s": Fraction(1), "PFLOP/s": Fraction(1000)}

UNITS = {"B": BYTES, "GB/s": RATES, "ns": TIMES, "1": SHARES, "GHz": CLOCKS, "TFLOP/s": ARITHMETIC}
"""For each unit of a parameter: the units that may be written instead, and what one of them is."""

_QUANTITY = re.compile(r"\s*([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*")


def exact(text: str, unit: str) -> Fraction:
    """The exact value, in `unit`, of a text such as '400 Gb/s'; a bare number is in `unit` already.

    Raises ValueError with a message for a person: not a number, not finite, unknown or ambiguous unit.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number{_with_unit(unit)}")
    number, written = match.groups()
    if len(number) > 400:
        raise ValueError(f"'{number[:20]}...' has too many digits")
    if not math.isfinite(float(number)):
        raise ValueError(f"{text!r} is too large")
    if abs(_exponent(number)) > 400:
        raise ValueError(f"{text!r} is too small")
    if not written:
        return Fraction(number)
    units = UNITS.get(unit, {unit: Fraction(1)})
    if written not in units:
        raise ValueError(_refusal(number, written, unit, units))
    return Fraction(number) * units[written]


def _exponent(number: str) -> int:
    return int(number.lower().partition("e")[2] or 0)


def _with_unit(unit: str) -> str:
    return f" in {unit}" if unit != "1" else ""


def _refusal(number: str, written: str, unit: str, units: dict[str, Fraction]) -> str:
    """Why a unit is not understood here, with the two readings where there are two."""
    readings: tuple[str, ...] = ()
    rate = re.fullmatch(r"([kKMGTP]i?)(?:([bB])?ps|)", written)
    size = re.fullmatch(r"([kKMGTP]i?)([bB])?", written)
    if unit == "GB/s" and rate:
        prefix = "k" if rate[1] == "K" else rate[1]
        readings = (f"{number} {prefix}b/s (bits)", f"{number} {prefix}B/s (bytes)")
    elif unit == "B" and size:
        if size[1] == "K":
            readings = (f"{number} kB (1000 bytes each)", f"{number} KiB (1024 bytes each)")
        else:
            readings = (f"{number} {size[1]}B (bytes)", f"{float(number) / 8:g} {size[1]}B (bits / 8)")
    if readings:
        return f"'{number} {written}' can be read as {readings[0]} or as {readings[1]}; write which"
    if unit == "1":
        return f"'{number}{written}' is not a number, and this parameter has no unit"
    return f"{written!r} is not a unit of this parameter; allowed: {', '.join(units)}{nearest(written, units)}"
