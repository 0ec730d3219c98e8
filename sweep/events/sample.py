"""How sure a mean is: confidence intervals from parts of a sample, one after the other (batch means).

Source: Law, Simulation Modeling and Analysis, 9.5.3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

PARTS = 128
"""Parts of the sample of which the spread of a mean is taken."""
STUDENT = 3.370
"""Of Student's t with 127 degrees of freedom 99.9 % lie within this."""
GROUPS = 16
"""Parts of the sample of which the spread of a quantile is taken."""
STUDENT_OF_GROUPS = 4.073
"""Of Student's t with 15 degrees of freedom 99.9 % lie within this."""


def half_width(parts: NDArray[np.float64], student: float) -> float:
    """Half of the width of the confidence interval around the mean of independent parts."""
    off = parts - parts.mean()
    return student * math.sqrt((off * off).sum() / (parts.size - 1) / parts.size)
