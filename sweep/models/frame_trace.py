"""A message followed frame by frame over a credit link: what the closed form of `link` sums up, step by step.

Frame i goes on virtual channel i mod V. It starts once the wire is free and its channel has the credits it needs;
its credits are back after its time on the wire, the latency of the span, its turn to be drained, and the return.
Use it to see when the parts of a message arrive, and to check `link_latency` at any grid point.

Times in ns. Cost: proportional to the number of frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweep.models.link import too_few_credits
from sweep.registry import Output, kernel

FRAME_BUDGET = 1e8
"""Frames that one point may trace."""


def too_many_frames(frames: float) -> bool:
    """The trace would take minutes."""
    return frames > FRAME_BUDGET


def followed_frames(frames: float) -> float:
    """Each frame is a step."""
    return frames


def starved_for_ever(frames: float, last_frame_credits: float, usable_credits: float, frame_credits: float) -> bool:
    """A frame of the message needs more credits than exist."""
    return too_few_credits(frames, last_frame_credits, usable_credits, frame_credits)


@kernel(
    outputs={"traced_link_latency": Output("ns"), "frame_delivery": Output("ns", dims=("quantile",))},
    dims={"quantile": (0.5, 0.9, 0.99, 1.0)},
    fails={"infeasible": starved_for_ever, "budget": too_many_frames},
    steps=followed_frames,
)
def frame_trace(
    frames: float,
    last_frame_credits: float,
    usable_credits: float,
    frame_credits: float,
    virtual_channels: float,
    frame_time: float,
    serialization: float,
    base_latency: float,
    span_latency: float,
    drain_time: float,
    credit_return: float,
    quantile: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Time until the last frame of a message has arrived, and until a share `quantile` of its frames has."""
    count = int(frames)
    channels = int(virtual_channels)
    endless = usable_credits == np.inf
    slots = 1 if endless else int(min(usable_credits / max(frame_credits, 1.0), frames)) + 1
    back = np.zeros((channels, slots))  # when the credits of a channel's frames return, oldest overwritten
    oldest = np.zeros(channels, np.int64)
    sent = np.zeros(channels, np.int64)
    credits = np.full(channels, usable_credits)
    delivery = np.full(quantile.size, base_latency)
    start = -frame_time
    drained = 0.0
    for i in range(count):
        channel = i % channels
        last = i == count - 1
        need = last_frame_credits if last else frame_credits
        duration = serialization - (frames - 1.0) * frame_time if last else frame_time
        start += frame_time
        while credits[channel] < need:
            start = max(start, back[channel, oldest[channel] % slots])
            oldest[channel] += 1
            credits[channel] += frame_credits
        credits[channel] -= need
        drained = max(drained, start + duration + span_latency) + drain_time
        back[channel, sent[channel] % slots] = drained + credit_return
        sent[channel] += 1
        for k in range(quantile.size):
            if i + 1 <= np.ceil(quantile[k] * frames):
                delivery[k] = start + duration + base_latency
    return delivery[quantile.size - 1], delivery
