"""YAML as data with places: every value remembers the line and column that it came from.

Scalars are read as YAML 1.2 does (1e9 is a number, `on` and `no` are words, 010 is ten), duplicate keys and tags are
faults, and nothing is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from sweep.errors import Fault, InputError

MAX_VALUES = 1_000_000
"""Values that one file may hold after its aliases are followed."""

_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"null": None, "Null": None, "NULL": None, "~": None, "": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge")}


@dataclass(frozen=True)
class Number:
    """A number as it was written, so that units can be applied exactly."""

    text: str


@dataclass(frozen=True)
class Located:
    """A value and where it stands: a dict of Located, a list of Located, a Number, or str, bool, None.

    `key` is where its key stands, if it has one.
    """

    value: Any
    where: str
    key: str = ""


def read_yaml(text: str, name: str) -> Located:
    """Parse one YAML document. Raises InputError for what is not YAML, has duplicate keys, tags or more documents."""
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise InputError([Fault(where, f"not YAML: {error.problem or error.context}")]) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError([Fault(name, f"not YAML: {str(error).partition(chr(10))[0]}")]) from None
    if root is None:
        raise InputError([Fault(name, "the file is empty")])
    return _Walk(name).located(root, ())


class _Walk:
    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0

    def located(self, node: Any, parents: tuple[int, ...]) -> Located:
        where = f"{self.name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
        self.count += 1
        if self.count > MAX_VALUES:
            raise InputError([Fault(where, f"more than {MAX_VALUES} values once aliases are followed")])
        if id(node) in parents or len(parents) > 50:
            raise InputError([Fault(where, "nested too deeply, or an alias that contains itself")])
        inside = (*parents, id(node))
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return Located(self.mapping(node, inside), where)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return Located([self.located(item, inside) for item in node.value], where)
        if isinstance(node, yaml.ScalarNode) and node.tag in _PLAIN_TAGS:
            check_text(node.value, where)
            return Located(node.value if node.style else plain(node.value), where)
        raise InputError([Fault(where, f"the tag {node.tag} is not used here")])

    def mapping(self, node: Any, parents: tuple[int, ...]) -> dict[str, Located]:
        result: dict[str, Located] = {}
        for key_node, value_node in node.value:
            mark = key_node.start_mark
            where = f"{self.name}:{mark.line + 1}:{mark.column + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError([Fault(where, "a key must be a word")])
            if not key_node.value.isprintable():
                raise InputError([Fault(where, "a key must be one line of printable signs")])
            if key_node.value in result:
                raise InputError([Fault(where, f"the key {key_node.value!r} stands here twice")])
            result[key_node.value] = replace(self.located(value_node, parents), key=where)
        return result


def plain(text: str) -> Any:
    """What an unquoted scalar means in YAML 1.2: a Number, True, False, None or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    return Number(text) if _NUMBER.fullmatch(text) else text


def check_text(text: str, where: str) -> None:
    """Raise InputError for signs that no title, label or name has."""
    if any(ord(sign) < 32 and sign not in "\n\t" for sign in text):
        raise InputError([Fault(where, "the text has a control character")])


def from_python(value: Any, where: str, depth: int = 0) -> Located:
    """The same tree from a dict, as `load_grid` takes it: places are paths such as grid.axes.chip_count[2]."""
    if depth > 50:
        raise InputError([Fault(where, "nested too deeply")])
    if isinstance(value, Mapping):
        for key in value:
            check_text(str(key), where)
        items = {str(key): from_python(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
        return Located(items, where, where)
    if isinstance(value, str):
        check_text(value, where)
    if isinstance(value, (str, bool)) or value is None:
        return Located(value, where, where)
    if isinstance(value, (list, tuple)) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1):
        items_of_list = [from_python(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        return Located(items_of_list, where, where)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError([Fault(where, f"cannot use a {type(value).__name__} here")]) from None
    return Located(Number(str(value) if isinstance(value, int) else repr(number)), where, where)
