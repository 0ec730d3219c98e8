"""A point-to-point PAXI link: base latency, serialization, and credits.

One message crosses the link in L + wire/b + stall:

- L = `base_latency`, the transmitter and receiver pipelines;
- wire/b, the time to clock the message onto the wire at `wire_rate` b;
- stall, the time the sender waits for credits. A frame takes c = ceil(frame/credit_size) credits when it starts and
  gives them back one `loop` later: frame time t + latency A of the span + drain + return R. So K = floor(credits/c)
  frames are under way at most.

Times in ns, sizes in bytes, rates in B/ns (= GB/s, 1e9). Source: design note, section "PAXI Link"; the window model
is the sliding window of any textbook (Tanenbaum, Computer Networks, 3.4) with frames of two sizes.
"""

from __future__ import annotations

import math

from sweep.models.packet import last_frame_size
from sweep.registry import parameter, quantity

CODED_SHARE = 16 / 17
"""Share of a line rate that 256b/257b transcoding and RS(544,514) leave: (256/257) (514/544)."""

link_bandwidth = parameter(
    unit="GB/s",
    default=50.0,
    above=0.0,
    doc="Rate of one link, one way; see bandwidth_reference",
    source="design note, PAXILinkConfig: 400 Gb/s",
)
bandwidth_reference = parameter(
    choices=("mac", "line"),
    default="mac",
    doc="What link_bandwidth counts: the MAC rate, or the line rate before transcoding and FEC",
    source="IEEE 802.3, clause 119",
)
fec_overhead = parameter(
    unit="1",
    default=0.0,
    minimum=0.0,
    below=1.0,
    doc="Share of link_bandwidth lost to FEC, on links and ports of a path (not in switch_latency and queueing); a MAC "
    "rate already excludes it",
    source="design note, fec_overhead_ratio 0.03",
)
base_latency = parameter(
    unit="ns",
    default=150.0,
    minimum=0.0,
    doc="AXI-to-AXI latency of transmitter and receiver pipelines, no cable flight",
    source="design note, axi_to_axi_base_latency_ns",
)
flow_control = parameter(
    choices=("cbfc", "pfc"),
    default="cbfc",
    doc="Credit-based flow control, or pause frames (no credits, hence no credit stall)",
    source="design note, flow_control_mode",
)
credit_model = parameter(
    choices=("rounds", "window"),
    default="window",
    doc="How credits hold back a message: in rounds that each wait a whole round trip, or as a sliding window",
    source="rounds: design note, calc_paxi_latency",
)
credit_size = parameter(
    unit="B",
    default=256,
    integer=True,
    minimum=1,
    doc="Bytes that one credit stands for; the hardware has 32, 64, 128, 256, 1024 and 2048",
    source="design note, credit_size_bytes",
)
credit_limit = parameter(
    unit="1",
    default=512,
    integer=True,
    minimum=1,
    maximum=32767,
    doc="Credits of one virtual channel",
    source="design note, credit_limit_per_vc",
)
virtual_channels = parameter(
    unit="1",
    default=1,
    integer=True,
    minimum=1,
    maximum=8,
    doc="Virtual channels among which a message's frames go in turn, each with credits of its own",
    source="design note, vc_count",
)
drain_time = parameter(
    unit="ns",
    default=0.0,
    minimum=0.0,
    doc="Time in which the receiver empties one frame before its credits return",
    source="",
)
credit_return_latency = parameter(
    unit="ns",
    minimum=0.0,
    doc="Latency of a returned credit, with credit_model window; unset: the span's one-way latency",
    source="",
)


@quantity("wire_rate", unit="GB/s")
def mac_rate(link_bandwidth: float, fec_overhead: float) -> float:
    """Rate at which bytes of frames and gaps pass the link."""
    return link_bandwidth * (1 - fec_overhead)


@quantity("wire_rate", when={"bandwidth_reference": "line"})
def line_rate(link_bandwidth: float, fec_overhead: float) -> float:
    """Rate at which bytes of frames and gaps pass the link, from the coded line rate."""
    return link_bandwidth * CODED_SHARE * (1 - fec_overhead)


@quantity(unit="ns")
def serialization(wire_size: float, path_rate: float) -> float:
    """Time to clock the whole message onto the wire, at the rate of the slowest link of the path."""
    return wire_size / path_rate


@quantity(unit="ns")
def frame_time(frame_pitch: float, path_rate: float) -> float:
    """Time that a full frame and its gap take on the wire, at the rate of the slowest link of the path."""
    return frame_pitch / path_rate


# Credits as rounds: stop and wait per window, as the design note has it.


@quantity("usable_credits", unit="1", when={"flow_control": "cbfc"}, internal=True)
def credits_of_channel(credit_limit: float) -> float:
    """Credits that hold back a virtual channel."""
    return credit_limit


@quantity("usable_credits", when={"flow_control": "pfc"})
def unlimited_credits() -> float:
    """Credits that hold back a virtual channel: endless, pause frames need none."""
    return math.inf


@quantity(unit="B")
def credit_bytes(credit_limit: float, credit_size: float) -> float:
    """Bytes that the credits of one virtual channel stand for."""
    return credit_limit * credit_size


def stall_in_rounds(size: float, credit_bytes: float, round_trip: float) -> float:
    """Wait for credits if each window of `credit_bytes` waits for the round trip of the one before it (ns)."""
    return max(math.ceil(size / credit_bytes) - 1, 0.0) * round_trip


# Credits as a sliding window.


@quantity(unit="1")
def frame_credits(frame_size: float, credit_size: float) -> float:
    """Credits that a full frame takes."""
    return math.ceil(frame_size / credit_size)


@quantity(unit="1")
def window_frames(credit_limit: float, frame_credits: float, virtual_channels: float) -> float:
    """Full frames that may be under way at once, all virtual channels together; 1 if not even one may (infeasible)."""
    return max(math.floor(credit_limit / frame_credits), 1.0) * virtual_channels


def whole_windows(index: float, window_frames: float) -> float:
    """Whole windows of frames before frame `index` (from 0)."""
    return math.floor(index / window_frames)


def lender_of_last(
    frames: float, last_credits: float, credit_limit: float, frame_credits: float, virtual_channels: float
) -> float:
    """Index of the frame whose credits the last frame of a message waits for; negative: it need not wait.

    The last frame needs only `last_credits`, so more full frames than a window holds may be under way with it.
    """
    beside_last = math.floor((credit_limit - last_credits) / frame_credits) + 1
    return frames - 1 - beside_last * virtual_channels


def stall_before_last(
    frames: float,
    earlier_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    credit_loop: float,
) -> float:
    """Time by which credits delay the last frame but one of a message, against frames back to back (ns).

    The window is K = `window_frames` full frames, and `earlier_windows` are the whole ones before that frame. Frame i
    starts at i t while credits last. After that the slower of wire and drain sets the pace; and if K frames at that
    pace do not cover the loop, each window waits for the rest of it.

    Exact: equal to the recurrence over all frames, start_i = max(start_{i-1} + t, credits of frame i - K back).
    """
    pace = max(frame_time, drain_time)
    wait = credit_loop - window_frames * pace
    windows = earlier_windows if wait > 0 else 1.0
    earlier_frames = frames - 2 if earlier_windows >= 1 else 0.0
    return max(windows * wait + earlier_frames * (pace - frame_time), 0.0)


def stall_of_last(
    stall_before: float,
    frames: float,
    lender: float,
    lender_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    credit_loop: float,
) -> float:
    """Time by which credits delay the last frame of a message, against frames back to back (ns).

    It starts after the frame before it, and once the credits of the `lender` are back: one loop after that one's start,
    later where frames queue to be drained. `lender_windows` are the whole windows before the lender.
    """
    pace = max(frame_time, drain_time)
    wait = credit_loop - window_frames * pace
    credits_back = credit_loop + lender_windows * max(wait, 0.0) + lender * pace
    return max(stall_before, credits_back - (frames - 1) * frame_time if lender >= 0 else 0.0)


def too_few_credits(frames: float, last_credits: float, credit_limit: float, frame_credits: float) -> bool:
    """A frame of the message needs more credits than exist: it would wait for ever."""
    return frames > 0 and (last_credits > credit_limit or (frames > 1 and frame_credits > credit_limit))


@quantity("last_frame_credits", unit="1", when={"framing": ("exact", "note")})
def last_frame_credits_counted(
    message_size: float,
    frames: float,
    max_payload: float,
    frame_overhead: float,
    frame_minimum: float,
    credit_size: float,
) -> float:
    """Credits that the last frame of the message takes."""
    return math.ceil(last_frame_size(message_size, frames, max_payload, frame_overhead, frame_minimum) / credit_size)


def proportional_credits(
    size: float, frames: float, max_payload: float, frame_size: float, credit_size: float
) -> float:
    """Credits of a message's last frame if it is to a full frame as its payload is; one division, rounded once."""
    return math.ceil((size - (frames - 1) * max_payload) * frame_size / (max_payload * credit_size))


@quantity("last_frame_credits", when={"framing": ("none", "full_frames")})
def last_frame_credits_in_proportion(
    message_size: float, frames: float, max_payload: float, frame_size: float, credit_size: float
) -> float:
    """Credits that the last frame of the message takes, in proportion to the bytes it carries."""
    return proportional_credits(message_size, frames, max_payload, frame_size, credit_size)


@quantity(unit="ns")
def credit_return(credit_return_latency: float) -> float:
    """Latency of a credit on its way back to the sender of a message."""
    return credit_return_latency


@quantity("credit_return", when={"credit_return_latency": None})
def credit_return_as_forward(span_latency: float) -> float:
    """Latency of a credit on its way back to the sender of a message: as long as the way out."""
    return span_latency


@quantity(unit="ns")
def credit_loop(frame_time: float, span_latency: float, drain_time: float, credit_return: float) -> float:
    """Time from the start of a full frame until its credits are back, if it need not queue to be drained."""
    return frame_time + span_latency + drain_time + credit_return


def message_needs_too_many_credits(
    frames: float, last_frame_credits: float, credit_limit: float, frame_credits: float
) -> bool:
    """A frame of the message needs more credits than exist."""
    return too_few_credits(frames, last_frame_credits, credit_limit, frame_credits)


@quantity(unit="1")
def earlier_windows(frames: float, window_frames: float) -> float:
    """Whole windows of frames before the message's last frame but one."""
    return whole_windows(frames - 2, window_frames)


@quantity(unit="1", fails={"infeasible": message_needs_too_many_credits})
def lender(
    frames: float, last_frame_credits: float, credit_limit: float, frame_credits: float, virtual_channels: float
) -> float:
    """Index of the frame whose credits the message's last frame waits for; negative: none."""
    return lender_of_last(frames, last_frame_credits, credit_limit, frame_credits, virtual_channels)


@quantity(unit="1")
def lender_windows(lender: float, window_frames: float) -> float:
    """Whole windows of frames before the lender."""
    return whole_windows(lender, window_frames)


@quantity(unit="ns")
def stall_before_last_frame(
    frames: float,
    earlier_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    credit_loop: float,
) -> float:
    """Time that the message's last frame but one waits for credits, as a sliding window."""
    return stall_before_last(frames, earlier_windows, window_frames, frame_time, drain_time, credit_loop)


@quantity("credit_stall", unit="ns", when={"credit_model": "window", "flow_control": "cbfc"})
def credit_stall_window(
    stall_before_last_frame: float,
    frames: float,
    lender: float,
    lender_windows: float,
    window_frames: float,
    frame_time: float,
    drain_time: float,
    credit_loop: float,
) -> float:
    """Time that the message waits for credits, as a sliding window."""
    return stall_of_last(
        stall_before_last_frame,
        frames,
        lender,
        lender_windows,
        window_frames,
        frame_time,
        drain_time,
        credit_loop,
    )


@quantity("last_frame_slack", unit="ns")
def no_slack() -> float:
    """Time by which credits delay the message's last frame beyond the one before it: not looked at."""
    return 0.0


@quantity("last_frame_slack", when={"credit_model": "window", "flow_control": "cbfc"})
def slack_of_window(credit_stall: float, stall_before_last_frame: float) -> float:
    """Time by which credits delay the message's last frame beyond the one before it."""
    return credit_stall - stall_before_last_frame


@quantity("credit_stall", when={"credit_model": "window", "flow_control": "pfc"})
def credit_stall_pfc() -> float:
    """Time that the message waits for credits: none, pause frames need none, and the buffer is taken as endless."""
    return 0.0


@quantity("credit_stall", when={"credit_model": "rounds"})
def credit_stall_rounds(message_size: float, credit_bytes: float, span_latency: float) -> float:
    """Time that the message waits for credits, in rounds; charged with pause frames too, as the design note does."""
    return stall_in_rounds(message_size, credit_bytes, 2 * span_latency)


# What a long message reaches.


def frame_needs_too_many_credits(frame_credits: float, credit_limit: float) -> bool:
    """A full frame needs more credits than exist."""
    return frame_credits > credit_limit


@quantity("link_rate", unit="GB/s", fails={"infeasible": frame_needs_too_many_credits})
def link_rate_of_window(
    frame_pitch: float,
    frame_time: float,
    drain_time: float,
    window_frames: float,
    credit_loop: float,
) -> float:
    """Bytes of line time per ns of a long message: of the wire, the drain and the credits, the slowest."""
    return frame_pitch * min(1 / max(frame_time, drain_time), window_frames / credit_loop)


@quantity("link_rate", when={"flow_control": "pfc", "credit_model": "window"})
def link_rate_without_credits(frame_pitch: float, frame_time: float, drain_time: float) -> float:
    """Bytes of line time per ns of a message that is long against the receiver's buffer: the slower of the wire and the
    drain, to which pause frames hold the sender."""
    return frame_pitch / max(frame_time, drain_time)


@quantity("link_rate", when={"credit_model": "rounds"})
def link_rate_in_rounds(
    frame_pitch: float, max_payload: float, frame_time: float, credit_bytes: float, span_latency: float
) -> float:
    """Bytes of line time per ns of a long message: after each window of credits it waits for a round trip."""
    frames_per_round = credit_bytes / max_payload
    return frame_pitch / (frame_time + 2 * span_latency / frames_per_round)


@quantity(unit="ns")
def link_latency(base_latency: float, serialization: float, credit_stall: float) -> float:
    """The link's share of a transfer: pipelines, serialization and waiting for credits."""
    return base_latency + serialization + credit_stall
