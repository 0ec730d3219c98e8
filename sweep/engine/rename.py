"""Functions under other names for what they take: the same formula, of other values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sweep.registry import ARGUMENTS, Quantity, Variant, argument_names


def renamed(function: Callable[..., Any], names: Mapping[str, str]) -> Callable[..., Any]:
    """A function that takes its arguments, in the same order, under other names. `inspect.unwrap` gives it back."""
    arguments = tuple(names.get(name, name) for name in argument_names(function))
    if arguments == argument_names(function):
        return function

    @functools.wraps(function)
    def call(*values: Any) -> Any:
        return function(*values)

    call.__dict__[ARGUMENTS] = arguments  # two may have the same name now, which no signature could say
    return call


def renamed_variant(variant: Variant, names: Mapping[str, str]) -> Variant:
    """A variant that takes its inputs, and those of its predicates, under other names."""
    return replace(
        variant,
        function=renamed(variant.function, names),
        inputs=tuple(names.get(name, name) for name in variant.inputs),
        fails={status: renamed(predicate, names) for status, predicate in variant.fails.items()},
        moot=renamed(variant.moot, names) if variant.moot else None,
    )


def renamed_quantity(quantity: Quantity, prefix: str, names: Mapping[str, str]) -> Quantity:
    """A quantity whose own name and outputs have a prefix, and whose estimate takes its inputs under other names."""
    return replace(
        quantity,
        name=prefix + quantity.name,
        outputs={prefix + name: output for name, output in quantity.outputs.items()},
        steps=renamed(quantity.steps, names) if quantity.steps else None,
    )
