"""Parameters and quantities: the vocabulary in which every model is written.

A *quantity* is a pure function whose argument names are the names of other quantities or of *parameters*; that is the
whole wiring. The decorators here only attach a description to the function, which stays a plain Python function:
call it with numbers and labels. A `Registry` collects the descriptions from modules; nothing is global.

Three kinds of quantity:

- scalar (`@quantity`): numbers in, one number or label out; fused into the loop nest.
- kernel (`@kernel`): a compiled loop with its own scratch, several named outputs and extra dimensions.
- prepared (`@prepared`): plain Python and NumPy, once per combination of its own axes.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, TypeVar

from sweep.errors import Fault, InputError, nearest

STATUSES = ("ok", "undefined", "infeasible", "unstable", "deadlock", "budget", "error", "not_run")
"""Flags of every `status` variable; the position is the code, and the worse of two is the greater."""

NO_VALUE = "no_value"
"""The label of a categorical result that failed."""

ARGUMENTS = "sweep_arguments"
"""Attribute of a function that stands for another one and takes its arguments under these names."""

STATUS_CODE = {label: code for code, label in enumerate(STATUSES)}

Function = TypeVar("Function", bound=Callable[..., Any])
Predicate = Callable[..., bool]
Coordinates = tuple[float, ...] | tuple[str, ...]
"""Coordinates of an extra dimension: numbers, or labels, of which kernels see the positions."""
Choices = dict[str, str | tuple[str, ...] | bool | None]
"""Labels of choice parameters, one or several each; for an optional parameter GIVEN, or None: it has no value."""

GIVEN = True
"""The condition of a variant that an optional parameter has a value."""


@dataclass(frozen=True)
class Parameter:
    """What a grid may give a value to.

    Exactly one of five kinds: a number (`unit`), a whole number (`integer`), a choice among labels (`choices`, or the
    keys of the table parameter named by `table`), a table (`default` is a mapping of labels to records), or a file
    (`reads` makes of its text and its name what prepared quantities get; it raises InputError for what is wrong).
    """

    name: str
    unit: str
    default: Any
    doc: str
    source: str
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    below: float | None = None
    integer: bool = False
    choices: tuple[str, ...] = ()
    table: str | None = None
    reads: Callable[[str, str], Any] | None = None

    @property
    def is_file(self) -> bool:
        """Whether its value is a file."""
        return self.reads is not None

    @property
    def is_number(self) -> bool:
        """Whether its value is a number."""
        return not (self.is_choice or self.is_table or self.is_file)

    @property
    def is_choice(self) -> bool:
        """Whether its values are labels."""
        return bool(self.choices) or self.table is not None

    @property
    def is_table(self) -> bool:
        """Whether its value is a table of labelled rows."""
        return isinstance(self.default, Mapping)

    @property
    def bounds(self) -> str:
        """The allowed range in words; empty where there is none."""
        limits = ((">=", self.minimum), (">", self.above), ("<=", self.maximum), ("<", self.below))
        return " and ".join(f"{sign} {limit:.16g}" for sign, limit in limits if limit is not None)

    def allows(self, value: float) -> bool:
        """Whether a number lies within the bounds."""
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.above is None or value > self.above)
            and (self.maximum is None or value <= self.maximum)
            and (self.below is None or value < self.below)
        )


@dataclass(frozen=True)
class Output:
    """One named result of a quantity: its unit, its labels if it is categorical, its extra dimensions.

    `unstable` is its value where the status is unstable: inf for what grows without end, 0 for what comes to rest.
    With `gaps` single elements along its extra dimensions may have no value: they are NaN, as its docstring says.
    """

    unit: str
    categories: tuple[str, ...] = ()
    dims: tuple[str, ...] = ()
    unstable: float = math.inf
    gaps: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """What the codes of a categorical result stand for: its labels, and one for where there is none."""
        return (*self.categories, NO_VALUE) if self.categories else ()


@dataclass(frozen=True)
class Variant:
    """One function that computes a quantity, and the choices under which it is the one.

    `when` maps a choice parameter to the labels that select this variant, or an optional parameter to None (selected
    where the grid gives it no value) or GIVEN (where it does). `fails` maps a status to the predicate under which the
    value does not exist. Where the predicate `moot` holds, failures of the inputs do not matter: the function does not
    use them. `among`, a function of file parameters, says which labels a computed choice can have.
    """

    function: Callable[..., Any]
    inputs: tuple[str, ...]
    when: Mapping[str, tuple[str, ...] | bool | None]
    fails: Mapping[str, Predicate]
    moot: Predicate | None
    among: Callable[..., Iterable[str]] | None = None

    @property
    def failure_inputs(self) -> list[str]:
        """Names that the predicates of `fails` take."""
        return [name for predicate in self.fails.values() for name in argument_names(predicate)]

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return first_line(self.function)


@dataclass(frozen=True)
class Quantity:
    """A named node of the graph with its variants; `outputs` has one entry except for kernels.

    `steps` says how many steps the loop of a kernel takes, for estimates of time. An `internal` quantity is for other
    quantities: a grid cannot ask for it.
    """

    name: str
    kind: str
    outputs: Mapping[str, Output]
    variants: tuple[Variant, ...]
    costly: bool = False
    dims: Mapping[str, Coordinates] = field(default_factory=dict)
    steps: Callable[..., float] | None = None
    internal: bool = False


@dataclass(frozen=True)
class _Declaration:
    """What a decorator leaves on a function; a registry turns declarations of one name into a Quantity."""

    name: str
    kind: str
    outputs: Mapping[str, Output] | None
    variants: tuple[Variant, ...]
    costly: bool
    dims: Mapping[str, Coordinates]
    steps: Callable[..., float] | None = None
    internal: bool = False


@dataclass(frozen=True)
class Scope:
    """Other values of some parameters, under which quantities can be asked for once more.

    A quantity takes `inner__x`, x as it is in the scope that a module calls `inner`. `replaces` maps parameters to what
    stands in their place: a choice to a label, any other to the name of a quantity or parameter outside the scope.
    """

    name: str
    replaces: Mapping[str, str]


def scope(**replaces: str) -> Scope:
    """Declare a scope; it takes the name of the module attribute that it is assigned to."""
    return Scope("", replaces)


def parameter(
    *,
    unit: str = "1",
    default: Any = None,
    doc: str,
    source: str = "",
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    integer: bool = False,
    choices: tuple[str, ...] = (),
    table: str | None = None,
    reads: Callable[[str, str], Any] | None = None,
) -> Parameter:
    """Declare a parameter; it takes the name of the module attribute that it is assigned to.

    `default` is a value in `unit`, a label, a table, a function of other parameters and quantities (used where the
    grid gives no value), or None for an optional parameter on which variants are selected, or for a file. `reads` makes
    of a file's text and name what prepared quantities get.
    """
    return Parameter(
        "", unit, default, doc, source, minimum, above, maximum, below, integer, tuple(choices), table, reads
    )


def quantity(
    name: str | None = None,
    *,
    unit: str | None = None,
    when: Choices | tuple[Choices, ...] = (),
    fails: Mapping[str, Predicate] | None = None,
    moot: Predicate | None = None,
    categories: tuple[str, ...] = (),
    costly: bool = False,
    unstable: float = math.inf,
    internal: bool = False,
) -> Callable[[Function], Function]:
    """Declare a scalar quantity, or a variant of the quantity `name`; or, with the name of a parameter, what computes
    it where a grid does not give it.

    The first declaration of a name states its `unit` (or `categories`). `when` says for which choices it is the one, or
    for which alternatives of choices. `costly` asks for one evaluation per
    combination of its own axes wherever the loops around it are more. `unstable`: see Output. `internal`: it may be
    infinite or NaN without a status, and a grid cannot ask for it.
    """
    outputs = Output(unit or "1", categories, (), unstable) if unit is not None or categories else None
    return _declare(name, "scalar", outputs, when, fails, moot, costly, internal)


def as_numbers(points: Coordinates) -> Any:
    """Coordinates of an extra dimension as kernels take them: numbers, or for labels their positions."""
    return list(range(len(points))) if isinstance(points[0], str) else points


def prepared(
    name: str | None = None,
    *,
    unit: str | None = None,
    when: Choices | tuple[Choices, ...] = (),
    dims: tuple[str, ...] = (),
    among: Callable[..., Iterable[str]] | None = None,
    internal: bool = False,
) -> Callable[[Function], Function]:
    """Declare a prepared quantity: called in Python with numbers, labels, tables and what files hold, never compiled.

    With the `name` of a parameter it computes that where the grid does not give it, `when` says under which condition.
    Returns a number, NaN where there is none, or for a choice a label; or an array with the extra dimensions `dims`.
    Arrays may be of different sizes: kernels then see NaN behind the end of the smaller ones. `among`, a function of
    file parameters, says which labels can come out: only for these is code made. `internal`: a grid cannot ask for it.
    """
    output = Output(unit, (), dims) if unit is not None else None
    return _declare(name, "prepared", output, when, None, None, False, internal, among)


def kernel(
    *,
    outputs: Mapping[str, Output],
    dims: Mapping[str, Coordinates],
    fails: Mapping[str, Predicate] | None = None,
    steps: Callable[..., float] | None = None,
    internal: bool = False,
) -> Callable[[Function], Function]:
    """Declare a kernel: a function that returns one value per entry of `outputs`, in that order.

    `dims` gives the coordinates of its extra dimensions; each is passed to the argument of its name, as an array of its
    numbers, or for labels of their positions.
    `steps`, a function of some of its inputs, says how many steps its loop takes, for estimates of time. `internal`: a
    grid cannot ask for its outputs.
    """

    def decorate(function: Function) -> Function:
        variants = _variants(function, (), fails, None)
        declaration = _Declaration(
            function.__name__, "kernel", dict(outputs), variants, True, dict(dims), steps, internal
        )
        _attach(function, declaration)
        return function

    return decorate


def _declare(
    name: str | None,
    kind: str,
    output: Output | None,
    when: Choices | tuple[Choices, ...],
    fails: Mapping[str, Predicate] | None,
    moot: Predicate | None,
    costly: bool,
    internal: bool,
    among: Callable[..., Iterable[str]] | None = None,
) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        own_name = name or function.__name__
        outputs = {own_name: output} if output is not None else None
        variants = tuple(replace(variant, among=among) for variant in _variants(function, when, fails, moot))
        _attach(function, _Declaration(own_name, kind, outputs, variants, costly, {}, None, internal))
        return function

    return decorate


def _variants(
    function: Callable[..., Any],
    when: Choices | tuple[Choices, ...],
    fails: Mapping[str, Predicate] | None,
    moot: Predicate | None,
) -> tuple[Variant, ...]:
    """A variant for each alternative; one without conditions if there is none."""
    for status in fails or {}:
        if status not in STATUS_CODE:
            raise TypeError(f"{function.__name__}: no status is called {status!r}; there are {', '.join(STATUSES)}")
    inputs = argument_names(function)
    alternatives = when if isinstance(when, tuple) else (when,)
    labels = [
        {key: (value,) if isinstance(value, str) else value for key, value in choices.items()}
        for choices in alternatives or ({},)
    ]
    return tuple(Variant(function, inputs, each, dict(fails or {}), moot) for each in labels)


def first_line(function: Callable[..., Any]) -> str:
    """The first line of a function's docstring; empty if it has none."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


@functools.cache
def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of a function's arguments; it must take nothing but plain arguments without defaults."""
    given: tuple[str, ...] | None = function.__dict__.get(ARGUMENTS)
    if given is not None:
        return given
    names = []
    for argument in inspect.signature(function).parameters.values():
        if argument.kind is not argument.POSITIONAL_OR_KEYWORD or argument.default is not argument.empty:
            raise TypeError(f"{function.__name__}: argument {argument} must be a plain name without a default")
        names.append(argument.name)
    return tuple(names)


def _attach(function: Callable[..., Any], declaration: _Declaration) -> None:
    function.__dict__["sweep_declaration"] = declaration


RESERVED = {"status", "label", "select", "scalar", "nest", "np", "math", "numba", "float", "range", "max", "min", "abs"}


RESERVED_STARTS = ("i_", "q_", "c_", "start_", "stop_", "kept_", "out_", "status_")


def is_reserved(name: str) -> bool:
    """Whether a name means something else in grids, results or kernels."""
    return name in RESERVED or "__" in name or name.endswith(("_", "_status")) or name.startswith(RESERVED_STARTS)


def check_name(name: str, where: str) -> None:
    """Raise InputError for a reserved name."""
    if is_reserved(name):
        raise InputError([Fault(where, f"the name {name!r} is reserved; call it something else")])


class Registry:
    """All parameters and quantities of some modules, by name.

    `givers` are quantities with the name of a parameter: they compute it where a grid does not give it and the
    conditions of a variant hold.
    """

    def __init__(self) -> None:
        self.parameters: dict[str, Parameter] = {}
        self.quantities: dict[str, Quantity] = {}
        self.givers: dict[str, Quantity] = {}
        self.scopes: dict[str, Scope] = {}
        self.output_owner: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        prefix, separator, rest = name.partition("__")
        if separator:
            return prefix in self.scopes and rest in self
        return name in self.parameters or name in self.quantities or name in self.output_owner

    def names(self) -> Iterator[str]:
        """Every name that a quantity may take."""
        yield from self.parameters
        yield from self.output_owner

    @property
    def outputs(self) -> list[str]:
        """Every name that a grid may ask for."""
        return [name for name, owner in self.output_owner.items() if not self.quantities[owner].internal]

    def labels(self, parameter: Parameter, given: Mapping[str, Any]) -> tuple[str, ...]:
        """The labels of a choice; those of an open one are the keys of its table, the shipped or the `given` one."""
        if parameter.table is None:
            return parameter.choices
        return tuple(given.get(parameter.table, self.parameters[parameter.table].default))

    def add_module(self, module: ModuleType) -> None:
        """Collect what a module declares. A name that already means something else is an error."""
        where = str(getattr(module, "__file__", None) or module.__name__)
        for name, value in vars(module).items():
            if isinstance(value, Parameter):
                self._add_parameter(replace(value, name=name), where)
            if isinstance(value, Scope):
                self.scopes[name] = replace(value, name=name)
            declaration = getattr(value, "sweep_declaration", None)
            if isinstance(declaration, _Declaration) and value.__module__ == module.__name__:
                self._add_declaration(declaration, where)

    def _add_parameter(self, new: Parameter, where: str) -> None:
        check_name(new.name, where)
        if new.name in self.output_owner or self.parameters.get(new.name, new) != new:
            raise InputError([Fault(where, f"the name {new.name!r} is taken by another parameter or quantity")])
        self.parameters[new.name] = new

    def _add_declaration(self, new: _Declaration, where: str) -> None:
        if new.name in self.parameters:
            self._add_giver(self.parameters[new.name], new, where)
            return
        known = self.quantities.get(new.name)
        if known is None:
            if new.outputs is None:
                raise InputError([Fault(where, f"{new.name}: the first declaration must state a unit or categories")])
            for output in new.outputs:
                check_name(output, where)
                if output in self:
                    raise InputError([Fault(where, f"the name {output!r} is taken by another parameter or quantity")])
            self.quantities[new.name] = Quantity(
                new.name, new.kind, new.outputs, new.variants, new.costly, new.dims, new.steps, new.internal
            )
            self.output_owner.update(dict.fromkeys(new.outputs, new.name))
            return
        if new.kind != known.kind or (new.outputs is not None and new.outputs != known.outputs):
            raise InputError([Fault(where, f"{new.name} is already declared, with another unit, kind or labels")])
        for variant in new.variants:
            if any(variant.when == other.when for other in known.variants):
                raise InputError([Fault(where, f"{new.name} is already declared for {dict(variant.when) or 'all'}")])
        self.quantities[new.name] = replace(known, variants=(*known.variants, *new.variants))

    def _add_giver(self, parameter: Parameter, new: _Declaration, where: str) -> None:
        if new.outputs is not None:
            raise InputError([Fault(where, f"the name {new.name!r} is taken by another parameter or quantity")])
        known = self.givers.get(new.name)
        if parameter.is_table or parameter.is_file or not all(variant.when for variant in new.variants):
            raise InputError([Fault(where, f"{new.name}: numbers and choices can be computed, under a condition each")])
        if known is not None and known.kind != new.kind:
            raise InputError([Fault(where, f"{new.name} is already declared, with another kind")])
        variants = (*(known.variants if known else ()), *new.variants)
        output = {new.name: Output(parameter.unit)}
        self.givers[new.name] = Quantity(new.name, new.kind, output, variants, new.costly, internal=True)

    def check(self) -> None:
        """Raise InputError, naming each argument, choice and label that refers to nothing."""
        faults = []
        for node in (*self.quantities.values(), *self.givers.values()):
            for variant in node.variants:
                code = inspect.unwrap(variant.function).__code__
                where = f"{code.co_filename}:{code.co_firstlineno}"
                faults += [Fault(where, f"{node.name} {what}") for what in self.faults_of_names(node, variant)]
                faults += [Fault(where, f"{node.name}: {what}") for what in self.faults_of_choices(variant)]
        for each in self.scopes.values():
            for name, value in each.replaces.items():
                known = self.parameters.get(name)
                if known is None or known.is_table or known.is_file:
                    faults.append(Fault(f"scope {each.name}", f"{name!r} is no number or choice that it could replace"))
                elif value not in (self.labels(known, {}) if known.is_choice else self):
                    faults.append(Fault(f"scope {each.name}", f"{name} cannot be {value!r}, which does not exist"))
        if faults:
            raise InputError(faults)

    def faults_of_names(self, node: Quantity, variant: Variant) -> Iterator[str]:
        """Which names a variant, its predicates and its node take that do not exist."""
        predicates = [*variant.failure_inputs, *(argument_names(variant.moot) if variant.moot else ())]
        for name in dict.fromkeys((*variant.inputs, *predicates)):
            if name not in self and not (name in node.dims and name in variant.inputs):
                yield f"needs {name!r}, which does not exist{nearest(name, self.names())}"
            elif node.kind != "prepared" and name in self.parameters and self.parameters[name].is_file:
                yield f"takes {name!r}, a file; only prepared quantities can"
        for name in argument_names(node.steps) if node.steps else ():
            if name not in variant.inputs or name in node.dims:
                yield f"takes {name!r} for its steps, which is none of its inputs"

    def faults_of_choices(self, variant: Variant) -> Iterator[str]:
        """What is wrong with the choices under which a variant is the one."""
        for key, labels in variant.when.items():
            parameter = self.parameters.get(key)
            if parameter is None:
                yield f"when: {key!r} is not a parameter{nearest(key, self.parameters)}"
            elif labels is None or isinstance(labels, bool):
                if parameter.default is not None:
                    yield f"when: {key!r} always has a value"
            elif not parameter.is_choice:
                yield f"when: {key!r} is not a choice"
            elif parameter.table is None:
                for label in labels:
                    if label not in parameter.choices:
                        known = ", ".join(parameter.choices)
                        yield f"when: {key} is one of {known}, not {label!r}{nearest(label, parameter.choices)}"
