"""All that a Python function reaches, as text: what decides over its results, for digests.

Functions and classes go in with their source, constants with their values, modules with the attributes that are used.
What the standard library and NumPy have is taken for granted.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from sweep.engine.embed import reject, source_of

GENERATED = "<string>"
"""File of the methods that a dataclass is given; its fields say what they do."""

GIVEN = {*sys.stdlib_module_names, "numpy"}


def reached_source(function: Callable[..., Any]) -> str:
    """Everything that a function reaches, the same text in every process.

    Raises InputError for a constant of which no lasting text can be made.
    """
    walk = _Walk(function)
    walk.value(function)
    return "\n".join(walk.texts)


class _Walk:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.texts: list[str] = []
        self.seen: list[Any] = []

    def value(self, value: Any) -> str:
        """A text that stands for a value; what it reaches is added to `texts`."""
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, functools.partial):
            return f"partial({self.value(value.func)}, {self.value(value.args)}, {self.value(value.keywords)})"
        if inspect.isfunction(value) or inspect.isclass(value):
            self.follow(value)
            return f"{value.__module__}.{value.__qualname__}"
        if isinstance(value, ModuleType) or inspect.isbuiltin(value) or isinstance(value, np.ufunc):
            return str(value.__name__)
        return self.constant(value)

    def constant(self, value: Any) -> str:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return repr(value)
        if isinstance(value, np.ndarray) and value.dtype != object:
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return f"array({value.dtype}, {value.shape}, {content})"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.value(key)}: {self.value(item)}' for key, item in value.items())}}}"
        if isinstance(value, (set, frozenset)):
            return f"{{{', '.join(sorted(map(self.value, value)))}}}"
        if isinstance(value, (list, tuple)):
            return f"({', '.join(map(self.value, value))})"
        if dataclasses.is_dataclass(value):
            fields = [f"{each.name}={self.value(getattr(value, each.name))}" for each in dataclasses.fields(value)]
            return f"{self.value(type(value))}({', '.join(fields)})"
        try:
            return f"{self.value(type(value))} {hashlib.sha256(pickle.dumps(value)).hexdigest()}"
        except Exception:
            what = f"reaches a {type(value).__name__}, of which nobody can tell whether it is the same next time"
            raise reject(self.function, 1, what) from None

    def follow(self, value: Any) -> None:
        """Add the source of a function or class, and what that reaches."""
        if value in self.seen or value.__module__.partition(".")[0] in GIVEN:
            return
        self.seen.append(value)
        if inspect.isclass(value):
            self.texts.append(inspect.getsource(value))
            for member in map(function_of, vars(value).values()):
                if inspect.isfunction(member) and member.__code__.co_filename != GENERATED:
                    self.names(member)
            return
        self.texts.append(source_of(value))
        self.names(value)

    def names(self, function: Any) -> None:
        """Add what the names in a function stand for."""
        scope = inspect.getclosurevars(function)
        for name, value in sorted({**scope.globals, **scope.nonlocals}.items()):
            if isinstance(value, ModuleType):
                for attribute in attributes_of(function, name):
                    self.texts.append(f"{name}.{attribute} = {self.value(getattr(value, attribute, None))}")
            else:
                self.texts.append(f"{name} = {self.value(value)}")


def function_of(member: Any) -> Any:
    """The function behind a property, a class method or a static one; others as they are."""
    for name in ("fget", "func", "__func__"):
        if hasattr(member, name):
            return getattr(member, name)
    return inspect.unwrap(member) if inspect.isfunction(member) else member


def attributes_of(function: Any, module: str) -> list[str]:
    """Names that a function takes from a module which it knows by a name."""
    nodes = [node for node in ast.walk(ast.parse(source_of(function))) if isinstance(node, ast.Attribute)]
    return sorted({node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == module})
