"""YAML as data with places: every value remembers the line and column that it came from.

Scalars are read as YAML 1.2 does (1e9 is a number, `on` and `no` are words, 010 is ten), duplicate keys and tags are
faults, and nothing is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import yaml

from sweep.errors import Fault, InputError

MAX_BYTES = 2_000_000
"""Size of one file; reading a longer one would take many seconds, and a spaced axis says the same in a line."""
MAX_VALUES = 1_000_000
"""Values that one file may hold after its aliases are followed."""
MAX_DEPTH = 50
MAX_TEXT = 500
"""Signs of one text: a title, a name, a number."""

_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"null": None, "Null": None, "NULL": None, "~": None, "": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge")}
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


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


@dataclass(frozen=True)
class Document:
    """What one YAML text says, and what is wrong with its form. A value of wrong form stands in `root` as None."""

    root: Located
    faults: tuple[Fault, ...]


def read_text(path: Path, shown: str = "", most: int = MAX_BYTES) -> str:
    """The text of a file that the user named; InputError, which calls it `shown`, where there is none, or one of more
    than `most` bytes."""
    shown = shown or str(path)
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise InputError([Fault(shown, f"cannot be read: {getattr(error, 'strerror', error)}")]) from None
    if len(content) > most:
        advice = "; spaced axes such as {linspace: [0, 1, 1000]} keep it short" if most == MAX_BYTES else ""
        raise InputError([Fault(shown, f"has more than {most // 10**6} MB{advice}")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError([Fault(shown, "is not a text file in UTF-8")]) from None


def read_yaml(text: str, name: str) -> Document:
    """Parse one YAML document. Raises InputError for what is not YAML, or is too large to be followed."""
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        lines = text[: unprintable.start()].split("\n")
        where = f"{name}:{len(lines)}:{len(lines[-1]) + 1}"
        raise InputError([Fault(where, f"not YAML: the character U+{ord(unprintable[0]):04X} is not printable")])
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
    walk = _Walk(name)
    return Document(walk.located(root, ()), tuple(walk.faults))


class _Walk:
    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []
        self.seen: dict[int, Located] = {}
        self.sizes: dict[int, int] = {}

    def place(self, node: Any) -> str:
        return f"{self.name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"

    def located(self, node: Any, parents: tuple[int, ...]) -> Located:
        """The value of a node. One that aliases repeat is read once; its values count as often as they stand there."""
        if id(node) in parents or len(parents) > MAX_DEPTH:
            raise self.too_much(node, "nested too deeply, or an alias that contains itself")
        if id(node) not in self.seen:
            value = self.value(node, (*parents, id(node)))
            self.seen[id(node)] = Located(value, self.place(node))
            self.sizes[id(node)] = 1 + sum(self.sizes[id(child)] for child in children(node))
            if self.sizes[id(node)] > MAX_VALUES:
                raise self.too_much(node, f"more than {MAX_VALUES} values once aliases are followed")
        return self.seen[id(node)]

    def too_much(self, node: Any, what: str) -> InputError:
        return InputError([*self.faults, Fault(self.place(node), what)])

    def value(self, node: Any, inside: tuple[int, ...]) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return self.mapping(node, inside)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return [self.located(item, inside) for item in node.value]
        if isinstance(node, yaml.ScalarNode) and node.tag in _PLAIN_TAGS:
            return self.scalar(node, self.place(node))
        self.faults.append(Fault(self.place(node), f"the tag {node.tag} is not used here"))
        return None

    def scalar(self, node: Any, where: str) -> Any:
        wrong = wrong_text(node.value)
        if wrong:
            self.faults.append(Fault(where, wrong))
            return None
        return node.value if node.style else plain(node.value)

    def mapping(self, node: Any, parents: tuple[int, ...]) -> dict[str, Located]:
        result: dict[str, Located] = {}
        for key_node, value_node in node.value:
            where = self.place(key_node)
            value = self.located(value_node, parents)
            if not isinstance(key_node, yaml.ScalarNode):
                self.faults.append(Fault(where, "a key must be a word"))
            elif key_node.tag not in _PLAIN_TAGS:
                self.faults.append(Fault(where, f"the tag {key_node.tag} is not used here"))
            elif not key_node.value.isprintable() or len(key_node.value) > MAX_TEXT:
                self.faults.append(Fault(where, f"a key must be one line of at most {MAX_TEXT} printable signs"))
            elif key_node.value in result:
                self.faults.append(Fault(where, f"the key {key_node.value!r} stands here twice"))
            else:
                result[key_node.value] = replace(value, key=where)
        return result


def children(node: Any) -> Iterator[Any]:
    """The nodes below one, keys of mappings not counted; none below a node with a tag."""
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        yield from (value for _, value in node.value)
    elif isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        yield from node.value


def plain(text: str) -> Any:
    """What an unquoted scalar means in YAML 1.2: a Number, True, False, None or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    return Number(text) if _NUMBER.fullmatch(text) else text


def from_text(text: str, where: str) -> Located:
    """The value that a text of an option means, as if it stood in a file; `where` names the option.

    Raises InputError for what is not YAML.
    """
    if not text.strip():
        return Located(None, where, where)
    try:
        document = read_yaml(text, where)
        faults = document.faults
    except InputError as error:
        faults = error.faults
    if faults:
        raise InputError([Fault(where, fault.what) for fault in faults])
    return _placed(document.root, where)


def _placed(item: Located, where: str) -> Located:
    """The same values, all of them at one place."""
    if isinstance(item.value, dict):
        return Located({key: _placed(value, where) for key, value in item.value.items()}, where, where)
    if isinstance(item.value, list):
        return Located([_placed(value, where) for value in item.value], where, where)
    return Located(item.value, where, where)


def from_python(value: Any, where: str, parents: tuple[int, ...] = ()) -> Located:
    """The same tree from a dict, as `load_grid` takes it: places are paths such as grid.axes.chip_count[2].

    Raises InputError for what YAML could not say.
    """
    if id(value) in parents or len(parents) > MAX_DEPTH:
        raise InputError([Fault(where, "nested too deeply, or a list that contains itself")])
    inside = (*parents, id(value))
    if getattr(value, "ndim", None) == 0:  # a number, bool or text of NumPy
        value = value.item()
    if isinstance(value, Mapping):
        for key in value:
            check_text(str(key), where)
        items = {str(key): from_python(item, f"{where}.{key}", inside) for key, item in value.items()}
        return Located(items, where, where)
    if isinstance(value, str):
        check_text(value, where)
    if isinstance(value, (str, bool)) or value is None:
        return Located(value, where, where)
    if isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) == 1:
        items_of_list = [from_python(item, f"{where}[{index}]", inside) for index, item in enumerate(value)]
        return Located(items_of_list, where, where)
    if isinstance(value, int):
        return Located(Number(str(value)), where, where)
    if isinstance(value, (Real, Decimal)):
        return Located(Number(repr(float(value))), where, where)
    raise InputError([Fault(where, f"cannot use a {type(value).__name__} here")])


def check_text(text: str, where: str) -> None:
    """Raise InputError for what no title, label or name is."""
    wrong = wrong_text(text)
    if wrong:
        raise InputError([Fault(where, wrong)])


def wrong_text(text: str) -> str:
    """What makes a text unfit to be a title, label, name or number; empty if nothing does."""
    if _CONTROL.search(text):
        return "the text has a control character"
    return f"the text has {len(text)} signs; at most {MAX_TEXT} are read" if len(text) > MAX_TEXT else ""
