"""Marks on congestion, and sources that slow down: what `traffic` simulates, where everything is described.

Times in ns, sizes in bytes. Source: Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015.
"""

from __future__ import annotations

from sweep.registry import parameter

ecn_minimum = parameter(
    unit="B",
    default=50_000,
    minimum=0.0,
    doc="Bytes in a queue from which frames are marked by chance",
    source="Zhu et al. 2015",
)


def _four_times_the_minimum(ecn_minimum: float) -> float:
    """A wide range, so that marks grow slowly."""
    return 4 * ecn_minimum


ecn_maximum = parameter(
    unit="B",
    default=_four_times_the_minimum,
    minimum=0.0,
    doc="Bytes in a queue from which all frames are marked",
    source="Zhu et al. 2015",
)
congestion_control = parameter(
    choices=("dcqcn", "off"),
    default="dcqcn",
    doc="Whether a source slows down when it hears that its frames were marked",
    source="Zhu et al. 2015",
)
cnp_interval = parameter(
    unit="ns",
    default=50_000,
    minimum=0.0,
    doc="Shortest time between two congestion notices from a host to another",
    source="Zhu et al. 2015",
)
rate_recovery_time = parameter(
    unit="ns",
    default=55_000,
    above=0.0,
    doc="Time after which a source that was slowed down comes half of the way back",
    source="Zhu et al. 2015",
)
rate_increase = parameter(
    unit="GB/s",
    default=0.005,
    minimum=0.0,
    doc="Rate by which a source goes on once it is back, each rate_recovery_time",
    source="Zhu et al. 2015: 40 Mb/s",
)
rate_gain = parameter(
    default=1 / 256,
    minimum=0.0,
    maximum=1.0,
    doc="Weight of a congestion notice in the share by which a source slows down",
    source="Zhu et al. 2015",
)
