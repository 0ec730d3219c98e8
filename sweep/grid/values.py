"""Values of parameters: one value, or the values along an axis, checked against what the parameter allows.

An axis is a list or one of the spaced forms; both ends are included, and points are computed exactly and rounded
once, so that powers of two come out as such and 0.3 is 0.3.
"""

from __future__ import annotations

import decimal
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sweep.errors import Fault, InputError, nearest
from sweep.file import File
from sweep.located import Located, Number, read_text
from sweep.registry import Parameter
from sweep.units import exact

Item = TypeVar("Item")
Value = TypeVar("Value")

Reading = Callable[[Located], Any]
"""How one value of a parameter is read."""

MAX_NUMBER = 10**300
MAX_FILE = 200_000_000
"""Bytes of a file that a parameter names."""
MAX_POINTS = 100_000
"""Points of one spaced axis; exact ones take time."""


class RejectedError(Exception):
    """A value that cannot be used; carries its faults."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("; ".join(map(str, faults)))


def text_of(item: Located) -> str:
    """The text of a scalar. Raises RejectedError for a list or a mapping."""
    if isinstance(item.value, (dict, list)):
        raise RejectedError(Fault(item.where, "one value is wanted here"))
    return item.value.text if isinstance(item.value, Number) else str(item.value)


def read_number(item: Located, parameter: Parameter) -> Fraction:
    """The exact number that a scalar means for a parameter, in its unit, within its bounds."""
    value = item.value
    if isinstance(value, (dict, list)):
        raise RejectedError(Fault(item.where, f"{parameter.name} takes one number here"))
    if value is None or isinstance(value, bool):
        unit = f" in {parameter.unit}" if parameter.unit != "1" else ""
        shown = "nothing" if value is None else f"{str(value).lower()!r}"
        raise RejectedError(Fault(item.where, f"{parameter.name} takes a number{unit}, not {shown}"))
    try:
        number = exact(value.text if isinstance(value, Number) else value, parameter.unit)
    except ValueError as error:
        raise RejectedError(Fault(item.where, f"{parameter.name}: {error}")) from None
    if abs(number) > MAX_NUMBER:
        raise RejectedError(Fault(item.where, f"{parameter.name}: the number is too large"))
    check_number(number, item.where, parameter)
    return number


def read_each(items: Iterable[Item], read: Callable[[Item], Value]) -> list[Value]:
    """Several values, each read by a function; every one that it rejects is a fault of its own."""
    values: list[Value] = []
    faults: list[Fault] = []
    for item in items:
        try:
            values.append(read(item))
        except RejectedError as rejected:
            faults += rejected.faults
    if faults:
        raise RejectedError(*faults)
    return values


def read_numbers(items: Sequence[Located], parameter: Parameter) -> list[Fraction]:
    """Several numbers for a parameter, as `read_number` reads each."""
    return read_each(items, lambda item: read_number(item, parameter))


def check_number(number: Fraction, where: str, parameter: Parameter) -> None:
    """Raise RejectedError for a number that is out of bounds, or not whole where it must be."""
    if not parameter.allows(float(number)):
        unit = f" {parameter.unit}" if parameter.unit != "1" else ""
        raise RejectedError(Fault(where, f"{parameter.name} must be {parameter.bounds}{unit}, not {float(number):g}"))
    if parameter.integer and number.denominator != 1:
        raise RejectedError(Fault(where, f"{parameter.name} must be a whole number, not {float(number):.17g}"))


def read_label(item: Located, parameter: Parameter, labels: Sequence[str]) -> str:
    """The label that a scalar means for a choice; true and false stand for on and off."""
    value = item.value
    if isinstance(value, (dict, list)):
        raise RejectedError(Fault(item.where, f"{parameter.name} takes one word here: {', '.join(labels)}"))
    if isinstance(value, bool) and "on" in labels:
        value = "on" if value else "off"
    text = value.text if isinstance(value, Number) else str(value)
    if text not in labels:
        raise RejectedError(
            Fault(item.where, f"{parameter.name} is one of {', '.join(labels)}, not {text!r}{nearest(text, labels)}")
        )
    return text


def read_value(item: Located, parameter: Parameter, labels: Sequence[str]) -> Any:
    """One value: a label for a choice, else a float; tables are read by `read_table`."""
    if parameter.is_choice:
        return read_label(item, parameter, labels)
    return float(read_number(item, parameter))


def read_file(item: Located, parameter: Parameter, folder: Path) -> File:
    """The file that a name means, from a folder, read and checked as its parameter wants it."""
    if isinstance(item.value, File):  # made in Python
        return item.value
    if not isinstance(item.value, str) or not item.value:
        raise RejectedError(Fault(item.where, f"{parameter.name} takes the name of a file"))
    path = folder / item.value
    if os.path.exists(path) and not os.path.isfile(path):  # unlike Path.exists no error for impossible names
        raise RejectedError(Fault(item.where, f"{parameter.name}: {item.value!r} is not a file"))
    name = os.fsencode(path).decode("utf-8", "replace")
    try:
        text = read_text(path, name, MAX_FILE)
    except InputError as error:
        raise RejectedError(
            *(Fault(item.where, f"{parameter.name}: {fault.where} {fault.what}") for fault in error.faults)
        ) from None
    assert parameter.reads is not None
    try:
        content = parameter.reads(text, name)
    except InputError as error:
        raise RejectedError(*error.faults) from None
    return File(item.value, content, hashlib.sha256(text.encode()).hexdigest()[:16])


def read_table(item: Located, parameter: Parameter) -> dict[str, dict[str, Any]]:
    """The rows that a mapping adds to a table parameter; each row has exactly the columns of the shipped ones."""
    if not isinstance(item.value, dict):
        raise RejectedError(Fault(item.where, f"{parameter.name} takes a mapping of labels to rows"))
    return dict(read_each(item.value.items(), lambda pair: (pair[0], read_row(pair[1], parameter))))


def read_row(item: Located, parameter: Parameter) -> dict[str, Any]:
    """One row of a table, with the columns of the shipped ones."""
    columns = next(iter(parameter.default.values()))
    if not isinstance(item.value, dict) or set(item.value) != set(columns):
        raise RejectedError(Fault(item.where, f"{parameter.name}: a row has the columns {', '.join(columns)}"))
    return dict(read_each(item.value.items(), lambda pair: (pair[0], read_cell(pair[1], pair[0], parameter))))


def read_cell(item: Located, column: str, parameter: Parameter) -> int | str | None:
    """One value of a table: a whole number, or nothing where a shipped row has nothing either; a word in a column of
    words, one of those that shipped rows use."""
    shipped = [row[column] for row in parameter.default.values()]
    if isinstance(shipped[0], str):
        words = dict.fromkeys(x for row in parameter.default.values() for x in row.values() if isinstance(x, str))
        word = item.value.text if isinstance(item.value, Number) else str(item.value)
        if word not in words:
            hint = nearest(word, words)
            raise RejectedError(Fault(item.where, f"{column} is one of {', '.join(words)}, not {word!r}{hint}"))
        return word
    if item.value is None and None in shipped:
        return None
    try:
        number = exact(text_of(item), parameter.unit)
    except ValueError as error:
        raise RejectedError(Fault(item.where, f"{column}: {error}")) from None
    if number < 0 or number.denominator != 1:
        raise RejectedError(Fault(item.where, f"{column} must be a whole number of {parameter.unit}"))
    return int(number)


def read_axis(item: Located, parameter: Parameter, read: Reading) -> NDArray[np.float64] | tuple[str, ...]:
    """The values along an axis: float64 for numbers, a tuple of labels for a choice, of files for a file."""
    if isinstance(item.value, list):
        return read_list(item, parameter, read)
    forms = ", ".join(SPACED)
    if not isinstance(item.value, dict) or len(item.value) != 1:
        raise RejectedError(Fault(item.where, f"an axis is a list of values, or one of {{{forms}}}"))
    ((form, arguments),) = item.value.items()
    if form not in SPACED:
        raise RejectedError(
            Fault(arguments.where, f"{form!r} is not a form of axis; there are {forms}{nearest(form, SPACED)}")
        )
    if not parameter.is_number:
        kind = "table; it cannot be an axis" if parameter.is_table else "choice; list its values"
        kind = "file; list the names" if parameter.is_file else kind
        raise RejectedError(Fault(item.where, f"{parameter.name} is a {kind}"))
    if not isinstance(arguments.value, list):
        raise RejectedError(
            Fault(arguments.where, f"{form} takes a list such as [first, last{', count' * (form[1:] == 'inspace')}]")
        )
    return checked_points(SPACED[form](arguments, parameter), arguments.where, parameter)


def read_list(
    item: Located, parameter: Parameter, read: Reading, repeats: bool = False
) -> NDArray[np.float64] | tuple[str, ...]:
    """The values of an axis written out; every bad one is a fault of its own. `repeats` allows equal values."""
    if parameter.is_table:
        raise RejectedError(Fault(item.where, f"{parameter.name} is a table; it cannot be an axis"))
    if not item.value:
        raise RejectedError(Fault(item.where, f"{parameter.name} has no values"))
    seen: set[Any] = set()

    def read_new(element: Located) -> Any:
        value = read(element)
        if value in seen and not repeats:
            shown = value if isinstance(value, str) else f"{value:.17g}"
            raise RejectedError(Fault(element.where, f"{parameter.name} has {shown} twice"))
        seen.add(value)
        return value

    values = read_each(item.value, read_new)
    return np.array(values, np.float64) if parameter.is_number else tuple(values)


def checked_points(points: Sequence[Fraction], where: str, parameter: Parameter) -> NDArray[np.float64]:
    """Spaced points as floats, rounded half up on whole-number parameters; equal neighbours are a fault."""
    if parameter.integer:
        points = [Fraction((2 * point.numerator + point.denominator) // (2 * point.denominator)) for point in points]
    for point in points:
        check_number(point, where, parameter)
    values = np.array([float(point) for point in points], np.float64)
    equal = np.flatnonzero(np.diff(values) == 0)
    if equal.size:
        raise RejectedError(Fault(where, f"{parameter.name} has {values[equal[0]]:.17g} twice; ask for fewer points"))
    return values


def _ends_and_count(arguments: Located, parameter: Parameter, form: str) -> tuple[Fraction, Fraction, int]:
    if len(arguments.value) != 3:
        raise RejectedError(Fault(arguments.where, f"{form} takes [first, last, count]"))
    first, last = read_numbers(arguments.value[:2], parameter)
    item = arguments.value[2]
    try:
        wanted = exact(item.value.text, "1") if isinstance(item.value, Number) else Fraction(0)
    except ValueError:
        wanted = Fraction(0)
    if wanted.denominator != 1 or not 1 <= wanted <= MAX_POINTS:
        raise RejectedError(Fault(item.where, f"the count is a whole number from 1 to {MAX_POINTS}"))
    count = int(wanted)
    if (count == 1) != (first == last):
        raise RejectedError(Fault(arguments.where, f"{count} points cannot reach from first to last"))
    return first, last, count


def linspace(arguments: Located, parameter: Parameter) -> list[Fraction]:
    """Points at equal distances."""
    first, last, count = _ends_and_count(arguments, parameter, "linspace")
    return [first + (last - first) * Fraction(index, max(count - 1, 1)) for index in range(count)]


def geomspace(arguments: Located, parameter: Parameter) -> list[Fraction]:
    """Points at equal ratios."""
    first, last, count = _ends_and_count(arguments, parameter, "geomspace")
    if first <= 0 or last <= 0:
        raise RejectedError(Fault(arguments.where, "geomspace needs two numbers above 0"))
    if count == 1:
        return [first]
    with decimal.localcontext() as context:
        context.prec = 40
        start, end = (decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator) for x in (first, last))
        step = (end / start).ln() / (count - 1)
        inner = [Fraction(float(start * (step * index).exp())) for index in range(1, count - 1)]
    return [first, *inner, last]


def powers_of_two(arguments: Located, parameter: Parameter) -> list[Fraction]:
    """All powers of two from first to last."""
    if len(arguments.value) != 2:
        raise RejectedError(Fault(arguments.where, "powers_of_two takes [first, last]"))
    first, last = read_numbers(arguments.value, parameter)
    for item, number in zip(arguments.value, (first, last), strict=True):
        if number < 1 or number.denominator != 1 or number.numerator & (number.numerator - 1):
            raise RejectedError(Fault(item.where, f"{float(number):g} is not a power of two"))
    if first > last:
        raise RejectedError(Fault(arguments.where, "powers_of_two takes [first, last] with first <= last"))
    exponents = range(first.numerator.bit_length() - 1, last.numerator.bit_length())
    return [Fraction(2**exponent) for exponent in exponents]


def whole_range(arguments: Located, parameter: Parameter) -> list[Fraction]:
    """Points from first to last in steps of 1, or of a third number that must divide the distance."""
    if len(arguments.value) not in (2, 3):
        raise RejectedError(Fault(arguments.where, "range takes [first, last] or [first, last, step]"))
    first, last = read_numbers(arguments.value[:2], parameter)
    step = Fraction(1)
    if len(arguments.value) == 3:
        item = arguments.value[2]
        try:
            step = exact(text_of(item), parameter.unit)
        except ValueError as error:
            raise RejectedError(Fault(item.where, f"range: {error}")) from None
    if step <= 0 or last < first or (last - first) % step:
        raise RejectedError(Fault(arguments.where, "range does not reach its last number in whole steps"))
    count = (last - first) / step
    if count >= MAX_POINTS:
        raise RejectedError(Fault(arguments.where, f"more than {MAX_POINTS} points"))
    return [first + step * index for index in range(count.numerator + 1)]


SPACED: dict[str, Callable[[Located, Parameter], list[Fraction]]] = {
    "linspace": linspace,
    "geomspace": geomspace,
    "powers_of_two": powers_of_two,
    "range": whole_range,
}
