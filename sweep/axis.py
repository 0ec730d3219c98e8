"""Axes: the dimensions of a grid, as objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Axis:
    """One dimension: its name and the values along it of each parameter that moves with it.

    Numbers are float64; labels are given as a tuple of str. `labels` name the positions of zipped parameters.
    """

    name: str
    members: Mapping[str, NDArray[np.float64] | tuple[str, ...]]
    labels: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Values along it."""
        return len(next(iter(self.members.values())))
