"""The graph of a plan as text: each quantity with its unit, its axes, its inputs and its variant."""

from __future__ import annotations

from collections.abc import Iterator

from sweep.engine.plan import Plan


def graph_text(plan: Plan) -> str:
    """One line per parameter and quantity, inputs before what uses them."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    graph = plan.graph
    yield "# parameters"
    for name, parameter in graph.parameters.items():
        if name in plan.axis_of:
            yield f"{name}: along {plan.axis_of[name]}"
        elif parameter.is_table:
            yield f"{name}: {', '.join(plan.fixed[name])}"
        else:
            unit = f" {parameter.unit}" if not parameter.is_choice and parameter.unit != "1" else ""
            value = plan.fixed[name]
            yield f"{name} = {value if isinstance(value, str) else f'{value:.10g}'}{unit}"
    yield ""
    yield "# quantities"
    staged = {name for nest in plan.nests for name in nest.stages}
    for node in graph.nodes.values():
        if not node.branches:
            yield f"{', '.join(node.quantity.outputs)}: no formula for these choices"
        for branch in node.branches:
            chosen = "; ".join(" ".join(case) for case in branch.cases if case)
            outputs = ", ".join(node.quantity.outputs)
            first = next(iter(node.quantity.outputs))
            dims = " x ".join(plan.dims[first]) or "once"
            notes = [node.quantity.kind] if node.quantity.kind != "scalar" else []
            notes += [f"if {chosen}"] if chosen else []
            notes += ["kept in an array"] if first in staged else []
            unit = node.quantity.outputs[first].unit
            yield (
                f"{outputs} [{unit}] <- {branch.variant.function.__name__}({', '.join(branch.variant.inputs)})"
                f"  | {dims}{''.join(f' | {note}' for note in notes)}"
            )
