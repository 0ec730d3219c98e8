"""Waiting at the egress port of a switch: one server, Poisson arrivals, utilization rho.

| queueing_model | what arrives | mean wait of a data frame |
|---|---|---|
| md1_note | full frames | M/D/1 as the design note cuts it: 0 up to rho 0.01, rho held at 0.99 |
| md1 | full frames, service S | rho S / (2 (1 - rho)) |
| mg1 | full frames, and a share of small ones | lambda E[S^2] / (2 (1 - rho)) |
| priority | full frames, and small ones of a class above them | W0 / ((1 - rho_1) (1 - rho_1 - rho_2)) |
| burst | messages of `burst_frames` full frames, back to back | that of M/D/1 with messages for frames |

rho is `egress_utilization`. With priority it is that of the data alone, to which `priority_utilization` adds. lambda is
the rate of arrivals, W0 = sum of lambda_i E[S_i^2] / 2. A burst's wait is that of its first frame.

`queueing_p99` is the wait that 99 of 100 frames stay within. It decays like C exp(-theta x), where theta > 0 solves
lambda (E[exp(theta S)] - 1) = theta; where few frames wait for few others, that is too rough, and the distribution
itself is summed up:

    P(wait <= x) = (1 - rho) sum over i, j of (-lambda_1 z)^i (-lambda_2 z)^j / (i! j!) exp(lambda z)
    with z = x - i S_1 - j S_2 >= 0

That is exact for frames of one size. For two it is off by 0.03 % at most while no more than nine of ten are small, by
up to 7 % where 99 of 100 are. Below a class of small frames it is within 4 % of simulations, 11 % where data hardly
waits.

Times in ns, rates in B/ns. Source: design note, section "L2 Switch"; Kleinrock, Queueing Systems I, 5.7, and II, 3.6
(Cobham's priorities, and the transform of their waits); distribution of the M/D/1 wait: Crommelin 1932, for two sizes
by the same expansion.
"""

from __future__ import annotations

import math

from sweep.registry import parameter, quantity

CRITICAL = 0.99
"""Share of frames that wait no longer than `queueing_p99`."""

SUMMED_ARRIVALS = 12.0
"""Waits in which no more than so many frames arrive are summed up; terms then cancel to 1e-5 at most."""

egress_utilization = parameter(
    unit="1",
    default=0.0,
    minimum=0.0,
    doc="Utilization rho of the egress port by other traffic; at 1 and above its queue grows without end",
    source="design note, egress_utilization",
)
queueing_model = parameter(
    choices=("md1_note", "md1", "mg1", "priority", "burst"),
    default="md1",
    doc="What waits at the egress port: full frames, as the design note counts them (none up to 0.01, rho held at "
    "0.99) or as M/D/1; full and small frames (M/G/1); data below a class of small frames; whole messages",
    source="design note, calc_switch_latency",
)
small_frame_size = parameter(
    unit="B",
    default=64,
    integer=True,
    minimum=1,
    doc="Size of small frames (acknowledgements, requests)",
    source="IEEE 802.3, minFrameSize",
)
small_frame_share = parameter(
    unit="1",
    default=0.5,
    minimum=0.0,
    maximum=1.0,
    doc="Small frames among all frames of queueing_model mg1, by count",
    source="one acknowledgement per data frame",
)
priority_utilization = parameter(
    unit="1",
    default=0.05,
    minimum=0.0,
    doc="Utilization by the class of small frames above the data, with queueing_model priority",
    source="one 64 B acknowledgement per data frame",
)
burst_frames = parameter(
    unit="1",
    default=16,
    integer=True,
    minimum=1,
    doc="Full frames of a message, with queueing_model burst; mean cells of a burst, with crossbar_traffic bursts",
    source="",
)


NEGLIGIBLE = -50.0
"""Logarithm of a term that no longer counts."""

# Service times.


@quantity(unit="ns")
def frame_service(frame_size: float, cell_factor: float, port_mac_rate: float) -> float:
    """Time in which an egress port serves a full frame, without the gap after it."""
    return frame_size * cell_factor / port_mac_rate


@quantity(unit="ns")
def small_frame_service(small_frame_size: float, switch_cell: float, port_mac_rate: float) -> float:
    """Time in which an egress port serves a small frame."""
    return math.ceil(small_frame_size / switch_cell) * switch_cell / port_mac_rate


@quantity("small_frame_service", when={"switch_cell": None})
def small_frame_service_without_cells(small_frame_size: float, port_mac_rate: float) -> float:
    """Time in which an egress port serves a small frame."""
    return small_frame_size / port_mac_rate


# Mean waits.


def overloaded(egress_utilization: float) -> bool:
    """The port gets at least as much as it can send; its queue has no mean."""
    return egress_utilization >= 1


def overloaded_by_both(egress_utilization: float, priority_utilization: float) -> bool:
    """The port gets at least as much of both classes as it can send; its queue has no mean."""
    return egress_utilization + priority_utilization >= 1


@quantity("queueing", unit="ns", when={"queueing_model": "md1"}, fails={"unstable": overloaded})
def queueing_md1(frame_service: float, egress_utilization: float) -> float:
    """Mean wait of a data frame at one egress port."""
    return frame_service * egress_utilization / (2 * (1 - egress_utilization))


@quantity("queueing", when={"queueing_model": "md1_note"})
def queueing_md1_note(frame_service: float, egress_utilization: float) -> float:
    """Mean wait of a data frame at one egress port, none at rho <= 0.01 and as at 0.99 above that."""
    rho = min(egress_utilization, 0.99)
    return frame_service * rho / (2 * (1 - rho)) if rho > 0.01 else 0.0


@quantity("queueing", when={"queueing_model": "mg1"}, fails={"unstable": overloaded})
def queueing_mg1(
    frame_service: float, small_frame_service: float, small_frame_share: float, egress_utilization: float
) -> float:
    """Mean wait of any frame at one egress port, by Pollaczek and Khinchine."""
    mean = small_frame_share * small_frame_service + (1 - small_frame_share) * frame_service
    square = (
        small_frame_share * small_frame_service * small_frame_service
        + (1 - small_frame_share) * frame_service * frame_service
    )
    return egress_utilization / mean * square / (2 * (1 - egress_utilization))


def residual_work(
    frame_service: float, small_frame_service: float, egress_utilization: float, priority_utilization: float
) -> float:
    """Cobham's W0: what is left of the frame in service when another arrives, on the mean (ns)."""
    return (egress_utilization * frame_service + priority_utilization * small_frame_service) / 2


@quantity("queueing", when={"queueing_model": "priority"}, fails={"unstable": overloaded_by_both})
def queueing_priority(
    frame_service: float, small_frame_service: float, egress_utilization: float, priority_utilization: float
) -> float:
    """Mean wait of a data frame at one egress port, below a class of small frames."""
    work = residual_work(frame_service, small_frame_service, egress_utilization, priority_utilization)
    return work / ((1 - priority_utilization) * (1 - priority_utilization - egress_utilization))


@quantity("queueing", when={"queueing_model": "burst"}, fails={"unstable": overloaded})
def queueing_burst(frame_service: float, burst_frames: float, egress_utilization: float) -> float:
    """Mean wait of a message's first frame at one egress port."""
    return burst_frames * frame_service * egress_utilization / (2 * (1 - egress_utilization))


def overloaded_by_small_frames(priority_utilization: float) -> bool:
    """The upper class alone gets at least as much as the port can send."""
    return priority_utilization >= 1


@quantity(unit="ns", fails={"unstable": overloaded_by_small_frames})
def priority_queueing(
    frame_service: float, small_frame_service: float, egress_utilization: float, priority_utilization: float
) -> float:
    """Mean wait of a small frame in a class of its own above the data, which takes at most what is left of the port.

    A data frame in service is not cut off.
    """
    data = min(egress_utilization, 1 - priority_utilization)
    work = residual_work(frame_service, small_frame_service, data, priority_utilization)
    return work / (1 - priority_utilization)


# The wait that 99 of 100 stay within.


def exponential_rest(y: float) -> float:
    """exp(y) - 1 - y, exact for small y too."""
    if y > 0.5:
        return math.expm1(y) - y
    rest = 1.0
    for n in range(16, 2, -1):
        rest = 1.0 + rest * y / n
    return rest * y * y / 2


def excess_of_work(
    theta: float, idle: float, small_rate: float, large_rate: float, small: float, large: float
) -> float:
    """lambda E[S exp(theta S)] - 1, exact for small theta too."""
    return small_rate * small * math.expm1(theta * small) + large_rate * large * math.expm1(theta * large) - idle


def decay_rate(idle: float, small_rate: float, large_rate: float, small: float, large: float) -> float:
    """The theta > 0 with lambda (E[exp(theta S)] - 1) = theta, by Newton from above; rates of arrivals per ns.

    Written with exp(y) - 1 - y and the share of `idle` time, so that it stays exact as that comes close to 0.
    """
    longest = max(small if small_rate > 0 else 0.0, large if large_rate > 0 else 0.0)
    small = min(small, longest)
    large = min(large, longest)
    theta = min(2 * idle / (small_rate * small * small + large_rate * large * large), 700 / longest)
    for _ in range(1000):
        above = (
            small_rate * exponential_rest(theta * small) + large_rate * exponential_rest(theta * large) - idle * theta
        )
        slope = excess_of_work(theta, idle, small_rate, large_rate, small, large)
        following = theta - above / slope
        if not following < theta:
            break
        theta = following
    return theta


def share_within(wait: float, idle: float, small_rate: float, large_rate: float, small: float, large: float) -> float:
    """P(wait <= x), summed up. Terms of both signs cancel: not for long x."""
    total = 0.0
    large_logs = 0.0  # log of j!
    for j in range(int(wait / large) + 1 if large_rate > 0 else 1):
        large_logs += math.log(j) if j > 0 else 0.0
        small_logs = 0.0  # log of i!
        for i in range(int((wait - j * large) / small) + 1 if small_rate > 0 else 1):
            small_logs += math.log(i) if i > 0 else 0.0
            z = wait - i * small - j * large
            exponent = (small_rate + large_rate) * z - small_logs - large_logs
            if i > 0:
                exponent += i * math.log(small_rate * z) if z > 0 else -math.inf
            if j > 0:
                exponent += j * math.log(large_rate * z) if z > 0 else -math.inf
            if exponent < NEGLIGIBLE and i > small_rate * z:
                break  # further terms are smaller still
            sign = 1.0 - 2.0 * ((i + j) - 2.0 * math.floor((i + j) / 2))
            total += sign * math.exp(exponent)
    return idle * total


def critical_wait(idle: float, small_rate: float, large_rate: float, small: float, large: float) -> float:
    """The wait that a share `CRITICAL` of all arrivals stays within (ns); 0 if that many find the port idle."""
    if idle >= CRITICAL:
        return 0.0
    longest = max(small if small_rate > 0 else 0.0, large if large_rate > 0 else 0.0)
    small = min(small, longest)
    large = min(large, longest)
    theta = decay_rate(idle, small_rate, large_rate, small, large)
    slope = excess_of_work(theta, idle, small_rate, large_rate, small, large)
    tail = max(math.log(idle / slope / (1 - CRITICAL)) / theta, 0.0)
    if (small_rate + large_rate) * (tail + longest) > SUMMED_ARRIVALS:
        return tail
    low = 0.0
    high = tail + longest
    for _ in range(60):
        middle = (low + high) / 2
        if share_within(middle, idle, small_rate, large_rate, small, large) < CRITICAL:
            low = middle
        else:
            high = middle
    return high


@quantity("queueing_p99", unit="ns", when={"queueing_model": "md1"}, fails={"unstable": overloaded}, costly=True)
def queueing_p99_md1(frame_service: float, egress_utilization: float) -> float:
    """Wait at one egress port that 99 of 100 data frames stay within."""
    return critical_wait(1 - egress_utilization, 0.0, egress_utilization / frame_service, frame_service, frame_service)


@quantity("queueing_p99", when={"queueing_model": "mg1"}, fails={"unstable": overloaded}, costly=True)
def queueing_p99_mg1(
    frame_service: float, small_frame_service: float, small_frame_share: float, egress_utilization: float
) -> float:
    """Wait at one egress port that 99 of 100 frames stay within."""
    mean = small_frame_share * small_frame_service + (1 - small_frame_share) * frame_service
    rate = egress_utilization / mean
    return critical_wait(
        1 - egress_utilization,
        rate * small_frame_share,
        rate * (1 - small_frame_share),
        small_frame_service,
        frame_service,
    )


@quantity("queueing_p99", when={"queueing_model": "burst"}, fails={"unstable": overloaded}, costly=True)
def queueing_p99_burst(frame_service: float, burst_frames: float, egress_utilization: float) -> float:
    """Wait at one egress port that the first frames of 99 of 100 messages stay within."""
    message = burst_frames * frame_service
    return critical_wait(1 - egress_utilization, 0.0, egress_utilization / message, message, message)


def tail_below_class(
    idle: float, small_rate: float, large_rate: float, small_frame_service: float, frame_service: float
) -> float:
    """The wait that 99 of 100 data frames stay within, from the pole of the transform of their wait (ns).

    Work of both classes decays with the rate eta, waits with theta = eta - lambda_1 (exp(eta S_1) - 1), as small frames
    overtake. 0 where there is no such pole, because small frames alone make waits long.
    """
    if large_rate <= 0:
        return 0.0
    eta = decay_rate(idle, small_rate, large_rate, small_frame_service, frame_service)
    slack = 1 - small_rate * small_frame_service * math.exp(eta * small_frame_service)
    if slack <= 0:
        return 0.0
    theta = eta - small_rate * math.expm1(eta * small_frame_service)
    excess = excess_of_work(eta, idle, small_rate, large_rate, small_frame_service, frame_service) / slack
    return max(math.log(idle * eta / theta / excess / (1 - CRITICAL)) / theta, 0.0)


@quantity("queueing_p99", when={"queueing_model": "priority"}, fails={"unstable": overloaded_by_both}, costly=True)
def queueing_p99_priority(
    frame_service: float, small_frame_service: float, egress_utilization: float, priority_utilization: float
) -> float:
    """Wait at one egress port that 99 of 100 data frames stay within, below a class of small frames.

    Short waits are those without classes, longer by 1/(1 - rho_1) as means are; long ones come from `tail_below_class`.
    """
    idle = 1 - egress_utilization - priority_utilization
    if idle >= CRITICAL:
        return 0.0
    small_rate = priority_utilization / small_frame_service
    large_rate = egress_utilization / frame_service
    mixed = critical_wait(idle, small_rate, large_rate, small_frame_service, frame_service)
    short = mixed / (1 - priority_utilization)
    if short < frame_service:
        return short
    return max(short, tail_below_class(idle, small_rate, large_rate, small_frame_service, frame_service))
