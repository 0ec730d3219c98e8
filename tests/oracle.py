"""A grid computed by the engine, and point by point in plain Python."""

from __future__ import annotations

import itertools

import numpy as np

from sweep.axis import Axis
from sweep.engine.execute import execute
from sweep.engine.graph import resolve
from sweep.engine.plan import make_plan
from sweep.engine.point import evaluate
from sweep.registry import STATUS_CODE


def axis(name, *values):
    return Axis(name, {name: values if isinstance(values[0], str) else np.array(values, float)})


def compute(registry, outputs, axes, fixed, **options):
    """The plan of a grid and its values, with the status of each output."""
    made = make_plan(registry, outputs, axes, fixed)
    return made, execute(made, status_of=tuple(outputs), **options)


def evaluate_points(registry, outputs, axes, fixed):
    """Every point evaluated on its own in plain Python: values and status codes, in the order of the axes."""
    values = {name: [] for name in outputs}
    codes = {name: [] for name in outputs}
    for index in itertools.product(*(range(a.size) for a in axes)):
        given = dict(fixed)
        for a, position in zip(axes, index, strict=True):
            for name, points in a.members.items():
                given[name] = points[position] if isinstance(points, tuple) else float(points[position])
        graph = resolve(registry, outputs, given, {})
        found, statuses = evaluate(graph, given)
        for name in outputs:
            values[name].append(found[name])
            codes[name].append(STATUS_CODE[statuses[graph.owner[name]]])
    return values, codes


def assert_equal_to_points(registry, outputs, axes, fixed, **options):
    """Every value of a grid is that of its point to 1e-14, with the same status."""
    made, result = compute(registry, outputs, axes, fixed, **options)
    expected, codes = evaluate_points(registry, outputs, axes, fixed)
    shape = tuple(a.size for a in axes)
    worst = np.zeros(shape, int)
    for name in outputs:
        dims = made.dims[name]
        missing = tuple(i for i, a in enumerate(axes) if a.name not in dims)
        status = np.array(codes[name]).reshape(shape)
        worst = np.maximum(worst, status)
        found = np.expand_dims(result.statuses[name], missing)
        assert np.array_equal(np.broadcast_to(found, shape), status), name
        description = made.graph.output(name)
        extra = tuple(len(points) for points in made.extra_dims(name).values())
        got = np.broadcast_to(np.expand_dims(result.outputs[name], missing), shape + extra)
        want = expected[name]
        if description.categories:
            want = np.array([description.labels.index(label) for label in want]).reshape(shape)
            assert np.array_equal(got, want), name
            continue
        if extra:
            want = np.array([x if isinstance(x, np.ndarray) else np.full(extra, x) for x in want])
        want = np.array(want, float).reshape(shape + extra)
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=0, err_msg=name)
    assert np.array_equal(result.status, worst)
