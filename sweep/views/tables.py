"""The registry as tables: what can be set, and what can be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getdoc

from sweep.registry import Parameter, Registry


def outputs_table(registry: Registry) -> str:
    """Name, unit and meaning of every output."""
    rows = [("output", "unit", "what it is")]
    for node in registry.quantities.values():
        for name, output in node.outputs.items():
            unit = "label" if output.categories else output.unit
            rows.append((name, unit, node.variants[0].summary))
    return aligned(rows)


def parameters_table(registry: Registry) -> str:
    """Name, unit, default, what is allowed, meaning and source of every parameter."""
    rows = [("parameter", "unit", "default", "allowed", "what it is", "source")]
    for parameter in registry.parameters.values():
        allowed = ", ".join(registry.labels(parameter, {})) if parameter.is_choice else parameter.bounds
        unit = "label" if parameter.is_choice else parameter.unit
        rows.append((parameter.name, unit, default_text(parameter), allowed, parameter.doc, parameter.source))
    return aligned(rows)


def default_text(parameter: Parameter) -> str:
    """The default of a parameter in a few words."""
    if parameter.is_table:
        return "table"
    if parameter.default is None:
        return "unset"
    if callable(parameter.default):
        return (getdoc(parameter.default) or "computed").rstrip(".")
    return parameter.default if isinstance(parameter.default, str) else f"{parameter.default:g}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)
