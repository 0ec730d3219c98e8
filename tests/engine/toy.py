"""A toy model with one of everything: choices, a computed default, a prepared table, a kernel, failures."""

from __future__ import annotations

import math

import numpy as np

from sweep import Output, kernel, parameter, prepared, quantity

OFFSET = 0.25

width = parameter(unit="m", default=2.0, above=0.0, doc="Width")
height = parameter(unit="m", default=3.0, minimum=0.0, doc="Height")
count = parameter(default=4, integer=True, minimum=0, doc="How many")
shape = parameter(choices=("box", "disc", "star"), default="box", doc="Shape")
finish = parameter(choices=("raw", "paint"), default="raw", doc="Finish")
density = parameter(unit="kg/m2", doc="Density; unset: one")


def _as_wide_as_high(height):
    """The height."""
    return height


depth = parameter(unit="m", default=_as_wide_as_high, minimum=0.0, doc="Depth")


def flat(height):
    return height == 0


@quantity("area", unit="m2", when={"shape": "box"})
def box_area(width, height):
    """Area of the shape."""
    return width * height


@quantity("area", when={"shape": "disc"}, fails={"infeasible": flat})
def disc_area(width, height):
    """Area of the shape."""
    return math.pi * width * height / 4


@prepared(unit="1")
def price(shape, finish):
    """Price by shape and finish; no painted star."""
    if shape == "star" and finish == "paint":
        return math.nan
    return {"box": 1.0, "disc": 2.0, "star": 5.0}[shape] + (0.5 if finish == "paint" else 0.0)


@quantity(unit="1")
def cost(area, price, count):
    """Price of all pieces."""
    return area * price * count + OFFSET


@quantity("mass", unit="kg", when={"density": None})
def mass_as_area(area):
    """Mass."""
    return area


@quantity("mass")
def mass_with_density(area, density):
    """Mass."""
    return area * density


@quantity(unit="m3")
def volume(area, depth):
    """Volume."""
    return area * depth


def none_at_all(count):
    return count <= 0


@quantity(unit="1", moot=none_at_all)
def total(count, cost):
    """Cost, nothing for nothing."""
    return cost if count > 0 else 0.0


@quantity(unit="1", fails={"undefined": none_at_all})
def cost_each(total, count):
    """Cost of one."""
    return total / count


def crowded(count):
    return count >= 100


@quantity(unit="s", fails={"unstable": crowded})
def wait(count, width):
    """Wait in a queue."""
    return width * count / (100 - count)


@quantity(unit="1")
def overflowing(width):
    """A value that leaves the numbers without saying why."""
    return math.exp(width * 1000)


@quantity(categories=("small", "large"))
def verdict(area, finish):
    """Whether it is large; paint makes small things large."""
    if area > 6 or finish == "paint":
        return "large"
    return "small"


@quantity(unit="1", costly=True)
def hard(width, shape):
    """Something dear that depends on two axes."""
    value = 0.0
    for step in range(10):
        value += math.sin(width * step)
    return value if shape == "box" else -value


@quantity(unit="1")
def hard_total(hard, height, count):
    """Uses the dear value in a deeper nest."""
    return hard * height + count


FIRST_STEP = 0


def as_walked(count):
    return count


@kernel(
    outputs={"last_step": Output("1"), "steps_at": Output("m", dims=("share",))},
    dims={"share": (0.25, 0.5, 1.0)},
    fails={"budget": crowded},
)
def walk(width, count, share):
    """A walk of count steps: where it ends, and where it is at shares of the way."""
    n = int(as_walked(count))
    path = np.zeros(n + 1)
    for i in range(FIRST_STEP, n):
        path[i + 1] = path[i] + width / (i + 1)
    reached = np.empty(share.size)
    for k in range(share.size):
        reached[k] = path[int(share[k] * n)]
    return path[n], reached


@quantity(unit="m")
def way(last_step, height):
    """Uses one output of the kernel."""
    return last_step + height


def queued_long(wait):
    return wait > 10


@quantity(unit="1", fails={"infeasible": queued_long})
def patience(width):
    """Fails by what it does not use: the wait."""
    return width


@quantity(unit="1", fails={"infeasible": crowded}, moot=none_at_all)
def moot_and_failing(count, price):
    """Where nothing is wanted, a missing price does not matter; a crowd does."""
    return count * 1.0 if count <= 0 else price


@quantity(unit="1")
def big(count):
    """Whole numbers beyond the machine's."""
    total = 0
    for i in range(3):
        total += 2**40 * (i + 1)
    return total * HUGE * (count + int(count * 2.5))


HUGE = 2**40


@quantity("paid", categories=("none", "some", "much"))
def payment(cost):
    """How much it costs."""
    if cost > 50:
        return "much"
    return "some" if cost > 0 else "none"


@quantity(unit="1")
def tip(paid, finish, cost):
    """Depends on labels, computed and chosen."""
    share = 0.2 if paid == "much" and finish != "raw" else 0.1
    return cost * share if paid != "none" else 0.0
