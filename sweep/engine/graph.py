"""From wanted outputs and given parameters to the pruned graph: which functions run, and on what each depends."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sweep.engine.rename import renamed_quantity, renamed_variant
from sweep.errors import Fault, InputError, nearest
from sweep.file import content_of
from sweep.registry import Output, Parameter, Quantity, Registry, Scope, Variant, argument_names


@dataclass(frozen=True)
class Branch:
    """A variant and the combinations of labels (one per selector of its node) that select it."""

    variant: Variant
    cases: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Node:
    """A quantity as this grid needs it.

    `selectors` are the choice parameters with several labels, along axes or computed, that decide between `branches`;
    `missing` are the combinations of their labels for which no variant exists.
    """

    quantity: Quantity
    selectors: tuple[str, ...]
    branches: tuple[Branch, ...]
    missing: tuple[tuple[str, ...], ...]
    inputs: tuple[str, ...]

    def branch_of(self, case: tuple[str, ...]) -> Branch | None:
        """The branch that some labels of the selectors select; None where no variant exists."""
        return next((branch for branch in self.branches if case in branch.cases), None)

    @property
    def summary(self) -> str:
        """First lines of the docstrings of the variants in use."""
        return " / ".join(dict.fromkeys(branch.variant.summary for branch in self.branches))


@dataclass(frozen=True)
class Graph:
    """The pruned graph: nodes in an order in which each comes after its inputs.

    `labels` gives, for every choice parameter and categorical output in it, the labels that its codes stand for.
    `sources` gives, for every node, the nodes with a status of their own of which it has the worst: itself if it can
    fail by itself, else those among its inputs; none if it cannot fail.
    """

    outputs: tuple[str, ...]
    nodes: Mapping[str, Node]
    owner: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    labels: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, tuple[str, ...]]

    def output(self, name: str) -> Output:
        """What the node that computes `name` declares about it."""
        return self.nodes[self.owner[name]].quantity.outputs[name]


def resolve(
    registry: Registry,
    outputs: Sequence[str],
    fixed: Mapping[str, Any],
    varying: Mapping[str, tuple[str, ...] | None],
) -> Graph:
    """Prune the registry to what `outputs` need.

    `fixed` gives values of parameters, `varying` the labels of each parameter that is an axis (None for numbers).
    Raises InputError for an unknown output or a cycle.
    """
    return _Resolver(registry, fixed, varying).resolve(outputs)


class _Resolver:
    def __init__(
        self, registry: Registry, fixed: Mapping[str, Any], varying: Mapping[str, tuple[str, ...] | None]
    ) -> None:
        self.registry = registry
        self.fixed = fixed
        self.varying = varying
        self.nodes: dict[str, Node] = {}
        self.owner: dict[str, str] = {}
        self.parameters: dict[str, Parameter] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        self.sources: dict[str, tuple[str, ...]] = {}
        self.included: dict[str, set[str]] = {}  # for a node with a status: nodes whose status is never worse
        self.shared: set[str] = set()  # names in scopes that change nothing about them
        self.visiting: list[str] = []

    def resolve(self, outputs: Sequence[str]) -> Graph:
        faults = []
        for name in outputs:
            if name not in self.registry.output_owner:
                what = "is a parameter, not an output" if name in self.registry.parameters else "is not an output"
                faults.append(Fault("outputs", f"{name!r} {what}{nearest(name, self.registry.output_owner)}"))
        if faults:
            raise InputError(faults)
        for name in outputs:
            self.visit(name)
        return Graph(tuple(outputs), self.nodes, self.owner, self.parameters, self.labels, self.sources)

    def visit(self, name: str, scope: Scope | None = None) -> str:
        """Make a value part of the graph, as it is in a scope; the name under which it is there. That is its own name
        where the scope changes nothing about it."""
        if "__" in name:
            prefix, _, name = name.partition("__")
            scope = self.registry.scopes[prefix]
        own = f"{scope.name}__{name}" if scope else name
        if own in self.owner or own in self.parameters:
            return own
        if own in self.shared:
            return name
        if own in self.visiting:
            cycle = [*self.visiting[self.visiting.index(own) :], own]
            raise InputError([Fault("model", f"quantities depend on each other: {' -> '.join(cycle)}")])
        parameter = self.registry.parameters.get(name)
        if parameter is not None and scope is not None and name in scope.replaces:
            return self.replaced(own, parameter, scope.replaces[name])
        quantity = self.computed(parameter, scope) if parameter else self.quantity_of(name)
        if quantity is None and scope is None:
            self.add_parameter(self.registry.parameters[name])
            return name
        node, names = None, {}
        if quantity is not None:
            self.visiting.append(own)
            node = self.node(quantity, scope)
            names = {x: self.visit(x, scope) for x in (*node.selectors, *node.inputs)}
            self.visiting.pop()
        changes = {x: y for x, y in names.items() if x != y}
        if node is None or (scope is not None and not changes and not self.is_decided(node.quantity, scope)):
            self.shared.add(own)
            return self.visit(name)
        self.add_node(self.with_names(node, changes, f"{scope.name}__" if scope else ""))
        return own

    def replaced(self, own: str, parameter: Parameter, value: str) -> str:
        """What a scope puts in the place of a parameter: for a choice itself with one label, else another value."""
        if not parameter.is_choice:
            return self.visit(value)
        self.add_parameter(replace(parameter, name=own, default=value))
        return own

    @staticmethod
    def is_decided(quantity: Quantity, scope: Scope) -> bool:
        """Whether a scope decides which variant of a quantity is the one."""
        return any(key in scope.replaces for variant in quantity.variants for key in variant.when)

    def with_names(self, node: Node, names: Mapping[str, str], prefix: str) -> Node:
        """A node that takes values under other names, and has a prefix before its own."""
        if not names and not prefix:
            return node
        for name, actual in names.items():
            if actual in self.labels:  # functions know labels by the names of their arguments
                self.labels.setdefault(name, self.labels[actual])
        return Node(
            renamed_quantity(node.quantity, prefix, names),
            tuple(names.get(name, name) for name in node.selectors),
            tuple(Branch(renamed_variant(branch.variant, names), branch.cases) for branch in node.branches),
            node.missing,
            tuple(dict.fromkeys(names.get(name, name) for name in node.inputs)),
        )

    def computed(self, parameter: Parameter, scope: Scope | None) -> Quantity | None:
        """What computes a parameter that has no value: another one that is given, or its default; None: nothing."""
        if self.is_given(parameter.name):
            return None
        giver = self.registry.givers.get(parameter.name)
        if giver is not None:
            keys = {key for variant in giver.variants for key in variant.when}
            possible = [self.possible_labels(key, scope) for key in keys]
            for combination in product(*possible):
                if select(giver, dict(zip(keys, combination, strict=True))) is not None:
                    labels = self.registry.labels(parameter, self.fixed) if parameter.is_choice else ()
                    return replace(giver, outputs={parameter.name: Output(parameter.unit, labels)})
        return computed_default(parameter) if callable(parameter.default) else None

    def is_given(self, name: str) -> bool:
        return name in self.fixed or name in self.varying

    def quantity_of(self, name: str) -> Quantity:
        return self.registry.quantities[self.registry.output_owner[name]]

    def add_parameter(self, parameter: Parameter) -> None:
        if parameter.is_choice:
            self.labels[parameter.name] = self.registry.labels(parameter, self.fixed)
        self.parameters[parameter.name] = parameter

    def add_node(self, node: Node) -> None:
        name = node.quantity.name
        if node.quantity.kind == "prepared":
            self.check_prepared(node)
        self.nodes[name] = node
        for output, description in node.quantity.outputs.items():
            self.owner[output] = name
            if description.categories:
                self.labels[output] = description.categories
        inherited = {source for x in node.inputs for source in self.sources.get(self.owner.get(x, x), ())}
        variants = [branch.variant for branch in node.branches]
        escapes = bool(node.selectors) or any(variant.moot for variant in variants)
        if node.missing or any(variant.fails for variant in variants) or (inherited and escapes):
            self.sources[name] = (name,)
            included = inherited.union(*(self.included[source] for source in inherited))
            self.included[name] = set() if escapes else included
        else:
            redundant = {source for other in inherited for source in self.included[other]}
            self.sources[name] = tuple(source for source in self.nodes if source in inherited - redundant)

    def check_prepared(self, node: Node) -> None:
        """Raise InputError for a prepared quantity that takes what only kernels compute."""
        for name in node.inputs:
            if name in self.owner and self.nodes[self.owner[name]].quantity.kind != "prepared":
                what = f"takes {name!r}, which kernels compute; it can take parameters and what is prepared"
                raise InputError([Fault("model", f"{node.quantity.name} is prepared and {what}")])

    def node(self, quantity: Quantity, scope: Scope | None) -> Node:
        """Keep the variants that the given choices, and those of a scope, can select."""
        keys = tuple(dict.fromkeys(key for variant in quantity.variants for key in variant.when))
        possible = {key: self.possible_labels(key, scope) for key in keys}

        @functools.cache
        def selected(combination: tuple[str | bool, ...]) -> int | None:
            return select(quantity, dict(zip(keys, combination, strict=True)))

        mattering = [key for key in keys if self.matters(key, possible, selected)]
        for key in mattering:
            if not self.has_labels(key, scope) and not (scope and key in scope.replaces):
                self.add_parameter(self.registry.parameters[key])
        selectors = tuple(key for key in mattering if self.has_labels(key, scope))
        cases: dict[int, dict[tuple[str, ...], None]] = {}
        missing: dict[tuple[str, ...], None] = {}
        for combination in product(*possible.values()):
            labels = dict(zip(keys, combination, strict=True))
            case = tuple(str(labels[key]) for key in selectors)
            index = selected(combination)
            (missing if index is None else cases.setdefault(index, {}))[case] = None
        branches = tuple(Branch(quantity.variants[index], tuple(case)) for index, case in sorted(cases.items()))
        inputs = tuple(dict.fromkeys(name for branch in branches for name in needed_names(branch.variant, quantity)))
        return Node(quantity, selectors, branches, tuple(missing), inputs)

    def has_labels(self, key: str, scope: Scope | None) -> bool:
        """Whether a choice may have another label from point to point."""
        parameter = self.registry.parameters[key]
        if not parameter.is_choice or (scope and key in scope.replaces):
            return False
        return self.varying.get(key) is not None or self.computed(parameter, scope) is not None

    def matters(
        self,
        key: str,
        possible: Mapping[str, Sequence[str | bool]],
        selected: Callable[[tuple[str | bool, ...]], int | None],
    ) -> bool:
        """Whether another label of a choice would select another variant, the other choices being what they are."""
        parameter = self.registry.parameters[key]
        if not parameter.is_choice or len(possible[key]) > 1:
            alternatives: Sequence[str | bool] = possible[key]
        else:
            alternatives = self.registry.labels(parameter, self.fixed)
        choices = [alternatives if name == key else labels for name, labels in possible.items()]
        place = list(possible).index(key)
        found: dict[tuple[str | bool, ...], int | None] = {}
        for combination in product(*choices):
            others = (*combination[:place], *combination[place + 1 :])
            if found.setdefault(others, selected(combination)) != selected(combination):
                return True
        return False

    def possible_labels(self, key: str, scope: Scope | None) -> Sequence[str | bool]:
        """Labels that a choice parameter takes in this grid; for an optional one, whether it is given."""
        parameter = self.registry.parameters[key]
        if not parameter.is_choice:
            return (self.is_given(key),)
        if scope and key in scope.replaces:
            return (scope.replaces[key],)
        giver = self.computed(parameter, scope)
        if giver is not None:
            among = self.labels_of_files(giver)
            labels_of_all = self.registry.labels(parameter, self.fixed)
            return tuple(label for label in labels_of_all if label in among) or labels_of_all
        labels = self.varying.get(key)
        return tuple(dict.fromkeys(labels)) if labels is not None else (self.fixed.get(key, parameter.default),)

    def labels_of_files(self, giver: Quantity) -> set[str]:
        """Labels that can come out of what computes a choice, by the files of the grid; none if nobody says."""
        found: set[str] = set()
        for variant in giver.variants:
            if variant.among is None:
                return set()
            files = [self.varying.get(name) or (self.fixed.get(name),) for name in argument_names(variant.among)]
            for combination in product(*files):
                if combination[0] is not None:
                    found.update(variant.among(*map(content_of, combination)))
        return found


def computed_default(parameter: Parameter) -> Quantity:
    """A parameter without a value whose default is a function, as the quantity that it then is."""
    function: Callable[..., Any] = parameter.default
    variant = Variant(function, argument_names(function), {}, {}, None)
    return Quantity(parameter.name, "scalar", {parameter.name: Output(parameter.unit)}, (variant,))


def needed_names(variant: Variant, quantity: Quantity) -> list[str]:
    """Inputs of a variant's function and predicates, without the coordinates of its own extra dimensions."""
    names = [*variant.inputs, *variant.failure_inputs, *(argument_names(variant.moot) if variant.moot else ())]
    return [name for name in names if name not in quantity.dims]


def holds(label: str | bool, wanted: tuple[str, ...] | bool | None) -> bool:
    """Whether a condition holds: a choice has one of some labels, an optional parameter a value or none."""
    return label in wanted if isinstance(wanted, tuple) else label is bool(wanted)


def select(quantity: Quantity, labels: Mapping[str, str | bool]) -> int | None:
    """Index of the variant that is selected; the one with the most conditions where several are. None: missing."""
    matching = []
    for index, variant in enumerate(quantity.variants):
        if all(holds(labels[key], wanted) for key, wanted in variant.when.items()):
            matching.append((len(variant.when), index))
    if not matching:
        return None
    matching.sort(reverse=True)
    if len(matching) > 1 and matching[0][0] == matching[1][0]:
        names = " and ".join(quantity.variants[index].function.__name__ for _, index in matching[:2])
        raise InputError([Fault("model", f"{quantity.name}: {names} both apply where {dict(labels)}")])
    return matching[0][1]
