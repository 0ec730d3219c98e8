"""The registry as text: what can be set and what can be asked for, for a terminal and for README."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sweep.errors import Fault, InputError, nearest
from sweep.registry import Parameter, Registry, first_line

PARAMETER_COLUMNS = ("parameter", "unit", "default", "allowed", "what it is")
OUTPUT_COLUMNS = ("output", "unit", "what it is")


def parameters_listing(registry: Registry, names: Sequence[str], width: int) -> str:
    """Parameters, all or those of which a name is a part, each with unit, default, bounds, meaning and source."""
    entries = []
    for parameter in registry.parameters.values():
        name, unit, default, allowed, doc = parameter_row(registry, parameter)
        head = "; ".join(part for part in (unit, allowed, f"default {default}") if part)
        source = f" Source: {parameter.source}." if parameter.source else ""
        entries.append((name, head, f"{doc}.{source}"))
    return listing(chosen(entries, names, "parameter"), width)


def outputs_listing(registry: Registry, names: Sequence[str], width: int) -> str:
    """Outputs, all or those of which a name is a part, each with unit and meaning."""
    return listing(chosen(list(output_rows(registry)), names, "output"), width)


def parameters_markdown(registry: Registry) -> str:
    """A table of all parameters."""
    rows = [parameter_row(registry, parameter) for parameter in registry.parameters.values()]
    return markdown((PARAMETER_COLUMNS, *rows))


def outputs_markdown(registry: Registry) -> str:
    """A table of all outputs."""
    return markdown((OUTPUT_COLUMNS, *output_rows(registry)))


def parameter_row(registry: Registry, parameter: Parameter) -> tuple[str, ...]:
    """Name, unit, default, what is allowed and meaning of a parameter."""
    allowed = ", ".join(registry.labels(parameter, {})) if parameter.is_choice else parameter.bounds
    unit = "label" if parameter.is_choice else "file" if parameter.is_file else parameter.unit
    return parameter.name, unit, default_text(parameter), allowed, parameter.doc


def default_text(parameter: Parameter) -> str:
    """The default of a parameter in a few words."""
    if parameter.is_table:
        return ", ".join(parameter.default)
    if parameter.default is None:
        return "unset"
    if callable(parameter.default):
        return first_line(parameter.default).rstrip(".") or "computed"
    return parameter.default if isinstance(parameter.default, str) else f"{parameter.default:.16g}"


def output_rows(registry: Registry) -> Iterator[tuple[str, str, str]]:
    """Name, unit or labels, and meaning of every output."""
    for node in registry.quantities.values():
        for name, output in node.outputs.items() if not node.internal else ():
            yield name, ", ".join(output.categories) or output.unit, node.variants[0].summary


def chosen(entries: Sequence[tuple[str, str, str]], names: Sequence[str], kind: str) -> list[tuple[str, str, str]]:
    """The entries whose name has one of some texts in it. Raises InputError for a text that is in none."""
    known = [entry[0] for entry in entries]
    faults = [
        Fault("", f"no {kind} has {name!r} in its name{nearest(name, known)}")
        for name in names
        if not any(name in each for each in known)
    ]
    if faults:
        raise InputError(faults)
    return [entry for entry in entries if not names or any(name in entry[0] for name in names)]


def listing(entries: Sequence[tuple[str, str, str]], width: int) -> str:
    """Each entry as a name with a remark, and what it is below, wrapped."""
    column = max(len(name) for name, _, _ in entries) + 2
    lines: list[str] = []
    for name, head, text in entries:
        lines += textwrap.wrap(f"{name:<{column}}{head}", width, subsequent_indent=" " * column, break_on_hyphens=False)
        lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def in_columns(rows: Sequence[Sequence[str]], side: str = ">") -> list[str]:
    """Rows as lines, each column as wide as its longest cell, at its right (>) or left (<) side."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:{side}{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [f"  {line}".rstrip() for line in lines]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table in Markdown, the first as its head."""
    head, *body = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])
