"""What broken frames cost: a frame arrives whole with probability 1 - p.

- With `retry` (see `capability`) a broken frame and all that were sent after it, w frames in all, are sent again
  (go-back-N): a share (1 - p)/(1 - p + w p) of the frames on the wire is of use, and nothing is lost.
- Without, all frames are of use that arrive whole, and a share p of the data is lost.

p = 1 - (1 - residual_ber)^(8 frame_size), bit errors after FEC taken as independent. Latencies elsewhere count no
frame twice. Rates in B/ns. Source: Bertsekas and Gallager, Data Networks, 2.4.1 (go-back-N).
"""

from __future__ import annotations

import math

from sweep.registry import parameter, quantity

residual_ber = parameter(
    unit="1",
    default=0.0,
    minimum=0.0,
    below=1.0,
    doc="Share of bits that are still wrong after FEC",
    source="IEEE 802.3 asks for a frame loss ratio that amounts to 1e-12 and less",
)


def _frames_of_a_round_trip(link_rate: float, frame_pitch: float, credit_loop: float) -> float:
    """Frames that a long message has under way in a round trip of its credits."""
    return max(math.ceil(link_rate * credit_loop / frame_pitch * (1 - 1e-12)), 1.0)


retry_window = parameter(
    unit="1",
    default=_frames_of_a_round_trip,
    integer=True,
    minimum=1,
    doc="Frames that are sent again for a broken one: itself and those after it",
    source="go-back-N: all that were sent before the sender hears of it",
)


@quantity(unit="1")
def frame_error(residual_ber: float, frame_size: float) -> float:
    """Probability that a full frame arrives broken."""
    return -math.expm1(8 * frame_size * math.log1p(-residual_ber))


@quantity(unit="1")
def retry_efficiency(sends_again: float, frame_error: float, retry_window: float) -> float:
    """Share of the frames on the wire that are of use: neither broken nor to be sent again."""
    whole = 1 - frame_error
    return whole / (whole + retry_window * frame_error) if sends_again > 0 else whole


@quantity(unit="GB/s")
def goodput(link_rate: float, max_payload: float, frame_pitch: float, retry_efficiency: float) -> float:
    """Rate at which a long message's payload arrives whole, at most once."""
    return link_rate * (max_payload / frame_pitch) * retry_efficiency


@quantity(unit="1")
def delivered_share(sends_again: float, frame_error: float) -> float:
    """Share of a long message's payload that ever arrives: with retry all of it, unless no frame does."""
    return 1.0 if sends_again > 0 and frame_error < 1 else 1 - frame_error
