"""Programs in compiled kernels, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import sweep
from sweep.multichip.program_file import as_file
from tests.models import points
from tests.multichip.test_program import ring_by_hand


@pytest.mark.heavy
def test_compiled_programs_take_the_same_times_as_in_plain_python():
    outputs = ("makespan", "engine_busy", "engine_exposed", "mean_link_utilization", "command_count", "total_bytes")
    made = [as_file(ring_by_hand(n, 20_000).queues, f"ring of {n}") for n in (2, 5)]
    small = {"hidden_size": 64, "ffn_size": 256, "sequence_length": 32, "layer_pieces": 2}
    grid = {
        "outputs": list(outputs),
        "axes": {
            "program": made,
            "recv_credit": ["on", "off"],
            "credit_limit": [5, 9],
        },
        "fixed": {"network_shape": "switched", "switch_hops": 1, **small},
    }
    found = sweep.run(grid)
    names = list(grid["axes"])
    assert set(np.unique(found.status)) == {0, 4}  # 5 credits are too few for a frame
    for place in np.ndindex(*found.status.shape):
        given = {name: grid["axes"][name][index] for name, index in zip(names, place, strict=True)}
        expected = points(outputs, **given, **grid["fixed"])
        for output in outputs:
            here = found[output].transpose(*(x for x in names if x in found[output].dims), ...)
            value = here.values[tuple(index for name, index in zip(names, place, strict=True) if name in here.dims)]
            if expected[output].status == "ok":
                np.testing.assert_allclose(value, expected[output].value, rtol=1e-14)
            else:
                assert expected[output].status == "deadlock"
                assert np.isnan(value).all()
