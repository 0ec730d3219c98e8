"""Copy functions into a kernel file: plain Python that numba compiles, self-contained and readable.

A quantity's source is taken as it stands, without decorators, annotations and docstring. What it reaches goes along:
other functions are copied too, constants become constants of the file. A few things change on the way:

- labels become codes: `if forwarding == "cut_through"` compares with the position of the label;
- `math.ceil` and `math.floor` become those of NumPy, which stay in floating point;
- whole numbers become floats everywhere but in `range`, and a scalar quantity returns `float(...)`: machine integers
  would wrap;
- `a if c else b` becomes `select(c, a, b)`, and `and`, `or` between comparisons become `&`, `|`: both sides are
  evaluated, nothing branches, and loops can be vectorised. Not so in kernels, and not without JIT: there, functions
  of NumPy stand for those of `math`, so that overflow gives inf as in compiled code, not an exception.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import math
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sweep.errors import Fault, InputError, nearest

FLOAT_VERSIONS = {"ceil": "np.ceil", "floor": "np.floor", "trunc": "np.trunc"}


def constant(value: Any) -> str:
    """A number as it is written in a kernel file."""
    value = value.item() if isinstance(value, np.generic) else value
    return f"np.{value}" if isinstance(value, float) and not math.isfinite(value) else repr(value)


class Embedder:
    """Collects functions and constants for one kernel file; `labels` maps a name to what its codes stand for."""

    def __init__(self, labels: Mapping[str, tuple[str, ...]], branchless: bool) -> None:
        self.labels = labels
        self.branchless = branchless
        self.functions: list[str] = []
        self.constants: dict[str, str] = {}
        self._names: dict[tuple[Callable[..., Any], str], str] = {}

    def add(self, function: Callable[..., Any], returns: str, categories: tuple[str, ...] = ()) -> str:
        """Copy a function and all that it reaches; the name under which the file has it.

        `returns` is 'float' for a scalar quantity, 'code' for a categorical one, 'flag' for a predicate, 'any' for a
        helper, and 'kernel' for a kernel and its helpers, which are copied as they stand.
        """
        function = inspect.unwrap(function)
        key = (function, returns)
        if key not in self._names:
            name = self._unique(function)
            self._names[key] = name
            tree = _Rewriter(self, function, returns, categories).visit(_definition(function))
            tree.name = name
            self.functions.append("@scalar\n" + ast.unparse(ast.fix_missing_locations(tree)))
        return self._names[key]

    def add_constant(self, name: str, value: Any, as_float: bool) -> str:
        """Copy a number; the name under which the file has it."""
        text = constant(float(value) if as_float and not isinstance(value, (bool, np.bool_)) else value)
        unique = f"c_{name}"
        while self.constants.get(unique, text) != text:
            unique += "_"
        self.constants[unique] = text
        return unique

    def _unique(self, function: Callable[..., Any]) -> str:
        name = f"q_{function.__name__.strip('_')}"
        if name in self._names.values():
            name = f"{name}_{function.__module__.rpartition('.')[2]}"
        while name in self._names.values():
            name += "_"
        return name


def reject(function: Callable[..., Any], line: int, what: str) -> InputError:
    """An error at a line of a function that cannot go into a kernel."""
    code = inspect.unwrap(function).__code__
    return InputError([Fault(f"{code.co_filename}:{code.co_firstlineno + line - 1}", f"{function.__name__}: {what}")])


def _definitions(filename: str) -> dict[int, str]:
    """Sources of all functions of a file, by the line on which each begins, decorators included.

    One parse per file: `inspect.getsource` would read each function token by token, on every start.
    """
    linecache.checkcache(filename)
    return _parsed("".join(linecache.getlines(filename)))


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> dict[int, str]:
    lines = text.splitlines(keepends=True)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    starts = [min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) for node in nodes]
    return {
        start: textwrap.dedent("".join(lines[start - 1 : node.end_lineno]))
        for start, node in zip(starts, nodes, strict=True)
    }


def source_of(function: Callable[..., Any]) -> str:
    """Source text of a function that was defined with def. Raises InputError where it cannot be read."""
    code = inspect.unwrap(function).__code__
    source = _definitions(code.co_filename).get(code.co_firstlineno)
    if source is None:
        raise reject(function, 1, "its source cannot be read; define it in a file, with def, not as a lambda")
    return source


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a function without decorators, annotations and docstring."""
    definition = ast.parse(source_of(function)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    body = definition.body
    if ast.get_docstring(definition) is not None:
        body = body[1:]
    definition.body = body or [ast.Pass()]
    definition.decorator_list = []
    definition.returns = None
    for argument in definition.args.args:
        argument.annotation = None
    return definition


def _whole(node: ast.expr) -> ast.expr:
    """A whole number as an argument of range or an index."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return ast.Constant(int(node.value))
    return ast.Call(ast.Name("int", ast.Load()), [node], [])


def _is_comparison(node: ast.expr) -> bool:
    """Whether an expression is a bool for certain."""
    if isinstance(node, ast.BoolOp):
        return all(map(_is_comparison, node.values))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare)


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self, embedder: Embedder, function: Callable[..., Any], returns: str, categories: tuple[str, ...]
    ) -> None:
        self.embedder = embedder
        self.function = function
        self.returns = returns
        self.categories = categories
        code = function.__code__
        self.local = set(code.co_varnames) | set(code.co_cellvars)
        scope = inspect.getclosurevars(function)
        self.reached = {**scope.builtins, **scope.globals, **scope.nonlocals}

    def reject(self, node: ast.expr | ast.stmt, what: str) -> InputError:
        return reject(self.function, node.lineno, what)

    @property
    def branchless(self) -> bool:
        """Whether both sides of every choice may be evaluated: not in kernels, where one side may be out of bounds."""
        return self.embedder.branchless and self.returns != "kernel"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        is_integer = isinstance(node.func, ast.Name) and node.func.id in ("range", "int", "len")
        if is_integer and self.returns != "kernel":
            return self.visit_integers(node)
        self.generic_visit(node)
        return node

    def visit_integers(self, node: ast.Call) -> ast.expr:
        """`range` is left with whole numbers, `int` gives them as floats, which cannot wrap, and `len` is refused."""
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            node.args = [_whole(self.visit(argument)) for argument in node.args]
            return node
        if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
            return ast.Call(ast.parse("np.trunc", mode="eval").body, [self.visit(node.args[0])], [])
        raise self.reject(node, "len is for kernels; a scalar quantity has numbers only")

    def visit_For(self, node: ast.For) -> list[ast.stmt] | ast.For:
        """In a scalar quantity the loop variable is a float, so that what is calculated with it cannot wrap."""
        self.generic_visit(node)
        if self.returns != "kernel" and isinstance(node.target, ast.Name):
            name = node.target.id
            node.target = ast.Name(f"{name}_whole", ast.Store())
            as_float = ast.parse(f"{name} = float({name}_whole)").body[0]
            node.body = [as_float, *node.body]
        return node

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        raise self.reject(node, "an import stands at the top of the file, not in a formula")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        raise self.reject(node, "an import stands at the top of the file, not in a formula")

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if self.returns != "kernel" and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            node.slice = _whole(node.slice)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if self.returns == "float" and node.value is not None:
            kind = "float" if self.embedder.branchless else "np.float64"
            node.value = ast.Call(ast.parse(kind, mode="eval").body, [node.value], [])
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        branchless = self.branchless and all(map(_is_comparison, node.values))
        self.generic_visit(node)
        if not branchless:
            return node
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        result = node.values[0]
        for value in node.values[1:]:
            result = ast.BinOp(result, operator, value)
        return result

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if not self.branchless:
            return node
        return ast.Call(ast.Name("select", ast.Load()), [node.test, node.body, node.orelse], [])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value, lineno=node.lineno) if node.value is not None else None

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        names = [x.id for x in (node.left, *node.comparators) if isinstance(x, ast.Name)]
        labels = next((self.embedder.labels[name] for name in names if name in self.embedder.labels), None)
        if labels is not None:
            node = _Labels(self, labels).visit(node)
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            if not self.categories:
                raise self.reject(node, f"the text {node.value!r} can only be compared with a choice or a label")
            return _Labels(self, self.categories).visit_Constant(node)
        if type(node.value) is int and self.returns != "kernel":
            return ast.Constant(float(node.value))
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id in self.local:
            return node
        if node.id not in self.reached:
            raise self.reject(node, f"the name {node.id!r} is not defined")
        return self.value(node, node.id, self.reached[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id not in self.local:
            module = self.reached.get(node.value.id)
            if inspect.ismodule(module):
                if not hasattr(module, node.attr):
                    raise self.reject(node, f"{module.__name__} has no {node.attr!r}{nearest(node.attr, dir(module))}")
                return self.value(node, node.attr, getattr(module, node.attr))
        self.generic_visit(node)
        return node

    def value(self, node: ast.expr, name: str, value: Any) -> ast.expr:
        """The expression that stands for a value from outside the function."""
        if isinstance(value, (bool, int, float, np.floating, np.integer)):
            return ast.Name(self.embedder.add_constant(name, value, self.returns != "kernel"), ast.Load())
        if inspect.isfunction(value) and value.__module__.partition(".")[0] != "numpy":
            kind = "kernel" if self.returns == "kernel" else "any"
            declaration = getattr(value, "sweep_declaration", None)
            outputs = declaration.outputs if declaration is not None else None
            categories = next(iter(outputs.values())).categories if outputs else ()
            return ast.Name(self.embedder.add(value, "code" if categories else kind, categories), ast.Load())
        if getattr(math, name, None) is value:
            plain = f"math.{name}" if self.embedder.branchless or not hasattr(np, name) else f"np.{name}"
            return ast.parse(FLOAT_VERSIONS.get(name, plain), mode="eval").body
        if getattr(np, name, None) is value:
            return ast.parse(f"np.{name}", mode="eval").body
        if (inspect.isbuiltin(value) or inspect.isclass(value)) and value.__module__ == "builtins":
            return ast.Name(name, ast.Load())
        what = f"{name!r} is a {type(value).__name__}; a kernel knows numbers, functions, math and numpy"
        raise self.reject(node, what)


class _Labels(ast.NodeTransformer):
    """Replaces label texts by their codes."""

    def __init__(self, rewriter: _Rewriter, labels: tuple[str, ...]) -> None:
        self.rewriter = rewriter
        self.labels = labels

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        if node.value not in self.labels:
            allowed = ", ".join(self.labels)
            hint = nearest(node.value, self.labels)
            raise self.rewriter.reject(node, f"{node.value!r} is not one of {allowed}{hint}")
        return ast.Constant(self.labels.index(node.value))
