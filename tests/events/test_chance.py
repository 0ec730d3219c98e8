"""Random numbers of the simulators against published ones, and as numbers should be spread."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweep.events.chance import philox, unit, words

# Random123 1.09, tests/kat_vectors: philox 4x32, 10 rounds
KNOWN = (
    ("00000000 00000000 00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
)


@pytest.mark.parametrize(("given", "expected"), KNOWN)
def test_philox_gives_the_published_words(given, expected):
    found = philox(*(np.uint64(int(word, 16)) for word in given.split()))
    assert " ".join(f"{int(word):08x}" for word in found) == expected


def test_seed_stream_and_place_are_all_told_apart():
    drawn = {tuple(map(int, words(*where))) for where in np.ndindex(5, 5, 5)}
    drawn |= {tuple(map(int, words(2**52 - 1, 2**32 - 1, place))) for place in (0, 1, 2**32, 2**60)}
    assert len(drawn) == 5**3 + 4


def test_numbers_lie_between_zero_and_one_to_53_bits():
    ones = np.uint64(0xFFFFFFFF)
    assert unit(np.uint64(0), np.uint64(0)) == 0.0
    assert unit(ones, ones) == 1 - 2.0**-53
    assert unit(np.uint64(1 << 31), np.uint64(0)) == 0.5


def test_numbers_are_spread_evenly_and_do_not_follow_each_other():
    count = 20_000
    drawn = np.array([unit(*words(7, 0, place)[:2]) for place in range(count)])
    expected = count / 50
    spread = ((np.histogram(drawn, bins=50, range=(0, 1))[0] - expected) ** 2 / expected).sum()
    assert spread < 94.6  # chi-squared with 49 degrees of freedom: 1 in 10 000 lies above
    neighbours = np.corrcoef(drawn[1:], drawn[:-1])[0, 1]
    assert abs(neighbours) < 4 / math.sqrt(count)
