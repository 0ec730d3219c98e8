"""Random numbers by counter: the same number at the same place of the same stream, whoever asks, in whatever order.

Philox4x32-10: ten rounds of multiplying and mixing turn a counter of 128 bits and a key of 64 bits into 128 random
bits. There is no state, so results cannot depend on threads or blocks, and a simulation may look at any place twice.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

from __future__ import annotations

import numpy as np

Word = np.uint64
"""32 random bits; in a wider type, so that products of two words do not overflow."""

WORDS = 2.0**32
"""How many words there are."""

TO_UNIT = 2.0**-53
"""Step between the numbers of `unit`."""


def words(seed: int, stream: int, place: int) -> tuple[Word, Word, Word, Word]:
    """The four words at a place of a stream; seed, stream and place are whole numbers from 0, the stream below 2^32."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    return philox(
        np.uint64(place) & low,
        np.uint64(place) >> half,
        np.uint64(stream),
        np.uint64(0),
        np.uint64(seed) & low,
        np.uint64(seed) >> half,
    )


def philox(a: Word, b: Word, c: Word, d: Word, key: Word, other_key: Word) -> tuple[Word, Word, Word, Word]:
    """Philox4x32-10: a counter of four words, mixed with a key of two."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    for _ in range(10):
        first = a * np.uint64(0xD2511F53)
        second = c * np.uint64(0xCD9E8D57)
        a = (second >> half) ^ b ^ key
        c = (first >> half) ^ d ^ other_key
        b = second & low
        d = first & low
        key = (key + np.uint64(0x9E3779B9)) & low
        other_key = (other_key + np.uint64(0xBB67AE85)) & low
    return a, b, c, d


def unit(word: Word, other: Word) -> float:
    """A number from 0 to less than 1 with 53 random bits, out of two words."""
    whole = ((word >> np.uint64(5)) << np.uint64(26)) | (other >> np.uint64(6))
    return np.float64(whole) * TO_UNIT
