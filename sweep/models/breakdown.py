"""What the time of a collective is made of, and which part limits it.

Six parts sum to `collective_latency`: payload on the wire, everything else on the wire, waiting for credits
(`credit_time`, in `step_credits`), switches, queues, and pipelines with cables. Times in ns.
"""

from __future__ import annotations

from sweep.models.collective import alone
from sweep.registry import quantity


@quantity(unit="B")
def sent_bytes(wire_steps: float, chunk_size: float) -> float:
    """Payload of the messages that follow each other."""
    return wire_steps * chunk_size


@quantity(unit="ns")
def sent_time(wire_steps: float, chunk_time: float) -> float:
    """Time of the messages that follow each other on the wire."""
    return wire_steps * chunk_time


@quantity(unit="ns")
def steps_switching(alpha_count: float, step_switching: float) -> float:
    """Time in idle switches of the messages that follow each other."""
    return alpha_count * step_switching


@quantity(unit="ns", moot=alone)
def wire_time(chip_count: float, sent_bytes: float, link_bandwidth: float) -> float:
    """Time of the collective for payload bytes at the full rate of the link."""
    return 0.0 if chip_count <= 1 else sent_bytes / link_bandwidth


@quantity(unit="ns", moot=alone)
def header_time(
    chip_count: float, sent_time: float, path_rate: float, wire_rate: float, wire_time: float, gaps_saved: float
) -> float:
    """Time of the collective for everything else on the wire: headers, padding, gaps, coding."""
    return 0.0 if chip_count <= 1 else max(sent_time * (path_rate / wire_rate) - wire_time - gaps_saved, 0.0)


@quantity(unit="ns", moot=alone)
def switch_time(
    chip_count: float, steps_switching: float, sent_time: float, path_rate: float, wire_rate: float
) -> float:
    """Time of the collective in switches, without queueing; with what ports slower than the link add to the wire."""
    return 0.0 if chip_count <= 1 else steps_switching + sent_time * (1 - path_rate / wire_rate)


@quantity(unit="ns", moot=alone)
def queueing_time(chip_count: float, alpha_count: float, step_queueing: float) -> float:
    """Time of the collective spent waiting at egress ports."""
    return 0.0 if chip_count <= 1 else alpha_count * step_queueing


@quantity(unit="ns", moot=alone)
def pipeline_time(chip_count: float, alpha_count: float, base_latency: float, flight_time: float) -> float:
    """Time of the collective in link pipelines and cables."""
    return 0.0 if chip_count <= 1 else alpha_count * (base_latency + flight_time)


LIMITERS = ("none", "wire", "headers", "credits", "switch", "queueing", "latency")


@quantity(categories=LIMITERS)
def limiter(
    wire_time: float,
    header_time: float,
    credit_time: float,
    switch_time: float,
    queueing_time: float,
    pipeline_time: float,
) -> str:
    """What takes the largest part of the collective's time; none if it takes no time."""
    largest = max(wire_time, header_time, credit_time, switch_time, queueing_time, pipeline_time)
    if largest <= 0:
        return "none"
    if wire_time == largest:
        return "wire"
    if header_time == largest:
        return "headers"
    if credit_time == largest:
        return "credits"
    if switch_time == largest:
        return "switch"
    if queueing_time == largest:
        return "queueing"
    return "latency"
