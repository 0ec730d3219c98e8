"""A toy model of failures that depend on each other in every way."""

from __future__ import annotations

from sweep import Output, kernel, parameter, quantity

count = parameter(default=4, integer=True, minimum=0, doc="How many")
load = parameter(default=0.5, minimum=0.0, doc="Load")
price_limit = parameter(default=1.0, minimum=0.0, doc="What may be paid")


def none_at_all(count):
    """Nothing is wanted."""
    return count <= 0


def too_dear(price_limit):
    """Nobody pays that."""
    return price_limit < 1


@quantity(unit="1", fails={"infeasible": too_dear})
def bought(price_limit, load):
    """Fails where it is too dear."""
    return price_limit * load


@quantity(unit="1", moot=none_at_all)
def used(bought, count, load):
    """Does not need what was bought where nothing is wanted."""
    return bought * count if count > 0 else load


def much(used):
    """Too much is used."""
    return used >= 2


@quantity(unit="1", fails={"unstable": much})
def last(used):
    """Fails by a value that was moot about a failure."""
    return used


@quantity(unit="1")
def waiting(load):
    """Infinite without load."""
    return 1 / load


def endless(waiting):
    """The wait is long."""
    return waiting >= 2


@quantity(unit="1", fails={"unstable": endless})
def busy(waiting):
    """Fails by an infinite value."""
    return waiting


def crowded(count, load):
    """Too many."""
    return count > 100 or load > 1


@quantity(unit="1", fails={"undefined": none_at_all, "infeasible": crowded})
def both(count, load):
    """Undefined comes before infeasible."""
    return load / count


@kernel(outputs={"walked": Output("1"), "walked_half": Output("1", dims=("part",))}, dims={"part": (0.5,)})
def walked(count, part):
    """A kernel that does not say how many steps it takes."""
    total = 0.0
    for i in range(int(count)):
        total += i
    return total, part * total


def too_far(walked):
    """The kernel went too far."""
    return walked > 1


@quantity(unit="1", fails={"infeasible": too_far})
def judged(walked):
    """Fails by what a kernel found."""
    return walked
