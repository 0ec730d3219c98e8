"""Reads a grid: which outputs, over which axes, with which fixed values. All faults are reported at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweep.axis import Axis
from sweep.errors import Fault, InputError, nearest
from sweep.grid.located import Located, Number, from_python, read_yaml
from sweep.grid.values import RejectedError, read_axis, read_table, read_value
from sweep.registry import RESERVED, Parameter, Registry

KEYS = ("title", "presets", "outputs", "axes", "zip", "fixed")
PRESETS = Path(__file__).parent.parent / "presets"


@dataclass(frozen=True)
class Preset:
    """Where a set of values came from: its name and the digest of its file."""

    name: str
    digest: str


@dataclass(frozen=True)
class Grid:
    """A checked grid: `axes` from outer to inner, `fixed` values of parameters that are not axes.

    `statuses` names the outputs of which the status is wanted apart, by `<output>_status`.
    `places` says where each axis, value and output was written; `given_by` which preset (or the grid, '') gave each
    fixed value.
    """

    name: str
    title: str
    outputs: tuple[str, ...]
    statuses: tuple[str, ...]
    axes: tuple[Axis, ...]
    fixed: Mapping[str, Any]
    presets: tuple[Preset, ...]
    places: Mapping[str, str]
    given_by: Mapping[str, str]
    registry: Registry


def load_grid(source: str | Path | Mapping[str, Any], registry: Registry) -> Grid:
    """Read a grid file, or a dict of the same shape. Raises InputError with every fault that was found."""
    if isinstance(source, Mapping):
        return _Reader(registry, "grid", Path.cwd()).read(from_python(source, "grid"))
    path = Path(source)
    return _Reader(registry, path.stem, path.parent).read(read_yaml(read_text(path), str(source)))


def read_text(path: Path) -> str:
    """The text of a file that the user named; InputError where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError([Fault(str(path), "is not a text file in UTF-8")]) from None
    except OSError as error:
        raise InputError([Fault(str(path), f"cannot be read: {error.strerror}")]) from None


class _Reader:
    def __init__(self, registry: Registry, name: str, folder: Path) -> None:
        self.registry = registry
        self.name = name
        self.folder = folder
        self.faults: list[Fault] = []
        self.fixed: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.given_by: dict[str, str] = {}
        self.presets: list[Preset] = []

    def read(self, root: Located) -> Grid:
        if not isinstance(root.value, dict):
            raise InputError([Fault(root.where, f"a grid is a mapping with the keys {', '.join(KEYS)}")])
        for key, item in root.value.items():
            if key not in KEYS:
                what = f"{key!r} is not a key of a grid; there are {', '.join(KEYS)}{nearest(key, KEYS)}"
                self.faults.append(Fault(item.key, what))
        sections = {key: root.value[key] for key in KEYS if key in root.value}
        title = self.title(sections)
        self.read_presets(sections)
        fixed = self.mapping(sections, "fixed")
        self.read_fixed({name: item for name, item in fixed.items() if self.is_table(name)}, "")
        outputs = self.outputs(sections, root)
        zipped = self.mapping(sections, "zip")
        self.check_once(sections, zipped)
        axes: list[Axis] = []
        for key in root.value:  # dimensions come in the order of the file
            if key == "axes":
                axes += self.plain_axes(self.mapping(sections, "axes"))
            elif key == "zip":
                axes += self.zipped_axes(zipped)
        self.read_fixed({name: item for name, item in fixed.items() if not self.is_table(name)}, "")
        for axis in axes:
            for member in axis.members:
                self.fixed.pop(member, None)
        if self.faults:
            raise InputError(self.faults)
        statuses = tuple(name.removesuffix("_status") for name in outputs if name not in self.registry.output_owner)
        values = tuple(name for name in outputs if name in self.registry.output_owner)
        return Grid(
            name=self.name,
            title=title,
            outputs=values,
            statuses=statuses,
            axes=tuple(axes),
            fixed=self.fixed,
            presets=tuple(self.presets),
            places=self.places,
            given_by=self.given_by,
            registry=self.registry,
        )

    def fault(self, item: Located, what: str) -> None:
        self.faults.append(Fault(item.where, what))

    def is_table(self, name: str) -> bool:
        return name in self.registry.parameters and self.registry.parameters[name].is_table

    def title(self, sections: Mapping[str, Located]) -> str:
        item = sections.get("title")
        if item is None:
            return self.name
        if not isinstance(item.value, str):
            self.fault(item, "the title is a text; put it in quotes")
            return self.name
        return item.value

    def mapping(self, sections: Mapping[str, Located], key: str) -> dict[str, Located]:
        item = sections.get(key)
        if item is None or item.value is None:
            return {}
        if not isinstance(item.value, dict):
            self.fault(item, f"{key} is a mapping of parameters to values")
            return {}
        return item.value

    def outputs(self, sections: Mapping[str, Located], root: Located) -> tuple[str, ...]:
        item = sections.get("outputs")
        if item is None or not isinstance(item.value, list) or not item.value:
            self.fault(item or root, "a grid names its outputs in a list, such as outputs: [collective_latency]")
            return ()
        names: list[str] = []
        for element in item.value:
            name = element.value if isinstance(element.value, str) else str(getattr(element.value, "text", ""))
            self.check_output(name, element, names)
            names.append(name)
            self.places[name] = element.where
        return tuple(names)

    def check_output(self, name: str, item: Located, earlier: list[str]) -> None:
        """A name is an output, or `<output>_status` for one of the outputs named before it."""
        known = self.registry.output_owner
        base = name.removesuffix("_status")
        if name in earlier:
            self.fault(item, f"the output {name!r} stands here twice")
        elif name in self.registry.parameters:
            self.fault(item, f"{name!r} is a parameter, not an output")
        elif name == "status":
            self.fault(item, "status is always there; it need not be asked for")
        elif name != base and base in known and name not in known:
            if base not in earlier:
                self.fault(item, f"{name!r} needs {base!r} among the outputs before it")
        elif name not in known:
            self.fault(item, f"there is no output {name!r}{nearest(name, known)} (sweep outputs lists them)")

    def parameter(self, name: str, item: Located) -> Parameter | None:
        known = self.registry.parameters
        if name in known:
            return known[name]
        if name in self.registry.output_owner:
            self.faults.append(Fault(item.key, f"{name!r} is computed; it cannot be given a value"))
        else:
            what = f"there is no parameter {name!r}{nearest(name, known)} (sweep params lists them)"
            self.faults.append(Fault(item.key, what))
        return None

    def labels(self, parameter: Parameter) -> tuple[str, ...]:
        return self.registry.labels(parameter, self.fixed)

    def check_once(self, sections: Mapping[str, Located], zipped: Mapping[str, Located]) -> None:
        """A name stands in one of axes, zip and fixed."""
        seen: dict[str, str] = {}
        groups = [("axes", self.mapping(sections, "axes")), ("fixed", self.mapping(sections, "fixed"))]
        groups += [(f"zip {dim}", item.value) for dim, item in zipped.items() if isinstance(item.value, dict)]
        for group, names in groups:
            for name, item in names.items():
                if name == "label":
                    continue
                if name in seen:
                    self.faults.append(Fault(item.key, f"{name!r} already stands in {seen[name]}"))
                seen[name] = group

    def plain_axes(self, axes: Mapping[str, Located]) -> Iterator[Axis]:
        for name, item in axes.items():
            parameter = self.parameter(name, item)
            if parameter is None:
                continue
            self.places[name] = item.key
            try:
                yield Axis(name, {name: read_axis(item, parameter, self.labels(parameter))})
            except RejectedError as rejected:
                self.faults += rejected.faults

    def zipped_axes(self, zipped: Mapping[str, Located]) -> Iterator[Axis]:
        for dim, item in zipped.items():
            if not isinstance(item.value, dict) or not item.value:
                self.fault(item, f"zip {dim} is a mapping of parameters to lists of one length")
                continue
            taken = dim in self.registry or dim in RESERVED or dim in self.extra_dims()
            if taken or not dim.isidentifier():
                self.fault(item, f"the dimension {dim!r} needs a name of its own, made of letters, digits and _")
            self.places[dim] = item.key
            members: dict[str, Any] = {}
            labels = self.zip_labels(item.value["label"]) if "label" in item.value else ()
            for name, values in item.value.items():
                if name == "label":
                    continue
                parameter = self.parameter(name, values)
                if parameter is None:
                    continue
                try:
                    members[name] = self.zipped_values(values, parameter)
                except RejectedError as rejected:
                    self.faults += rejected.faults
            lengths = {name: len(values) for name, values in members.items()}
            if labels:
                lengths["label"] = len(labels)
            if len(set(lengths.values())) > 1:
                self.fault(item, f"zip {dim} has lists of different lengths: {lengths}")
            elif members:
                yield Axis(dim, members, labels)
            else:
                self.fault(item, f"zip {dim} has no parameter")

    def extra_dims(self) -> set[str]:
        """Dimensions that kernels bring along."""
        return {dim for node in self.registry.quantities.values() for dim in node.dims}

    def zip_labels(self, item: Located) -> tuple[str, ...]:
        """Names of the positions of a zipped dimension, all different."""
        values = [x.value for x in item.value] if isinstance(item.value, list) else []
        words = [x.text if isinstance(x, Number) else x if isinstance(x, str) else "" for x in values]
        if not words or "" in words or len(set(words)) < len(words):
            self.fault(item, "label takes a list of different words, one for each position")
        return tuple(words)

    def zipped_values(self, item: Located, parameter: Parameter) -> Any:
        """Values of a zipped parameter; unlike those of an axis they may repeat."""
        if not isinstance(item.value, list):
            return read_axis(item, parameter, self.labels(parameter))
        if parameter.is_table or not item.value:
            raise RejectedError(Fault(item.where, f"{parameter.name} takes a list of values here"))
        values = [read_value(element, parameter, self.labels(parameter)) for element in item.value]
        if parameter.is_choice:
            return tuple(values)
        import numpy as np

        return np.array(values, np.float64)

    def read_fixed(self, values: Mapping[str, Located], preset: str) -> None:
        for name, item in values.items():
            parameter = self.parameter(name, item)
            if parameter is None:
                continue
            if isinstance(item.value, list):
                self.fault(item, f"{name} has one value here; a list belongs under axes")
                continue
            try:
                if parameter.is_table:
                    self.fixed[name] = {**self.fixed.get(name, parameter.default), **read_table(item, parameter)}
                else:
                    self.fixed[name] = read_value(item, parameter, self.labels(parameter))
            except RejectedError as rejected:
                self.faults += rejected.faults
                continue
            self.places[name] = item.where
            self.given_by[name] = preset

    def read_presets(self, sections: Mapping[str, Located]) -> None:
        item = sections.get("presets")
        if item is None:
            return
        if not isinstance(item.value, list):
            self.fault(item, "presets is a list of names, or of files such as ./my_chip.yaml")
            return
        for element in item.value:
            path = self.preset_path(element)
            if path is None:
                continue
            try:
                text = read_text(path)
                root = read_yaml(text, element.value if path.parent == PRESETS else str(path))
            except InputError as error:
                self.faults += error.faults
                continue
            self.presets.append(Preset(element.value, hashlib.sha256(text.encode()).hexdigest()[:16]))
            values = root.value.get("parameters") if isinstance(root.value, dict) else None
            if values is None or not isinstance(values.value, dict):
                self.fault(root, "a preset is a mapping with the keys title and parameters")
                continue
            for key, extra in root.value.items():
                if key not in ("title", "parameters"):
                    self.faults.append(
                        Fault(extra.key, f"{key!r} is not a key of a preset; there are title, parameters")
                    )
            tables_first = sorted(values.value.items(), key=lambda pair: not self.is_table(pair[0]))
            self.read_fixed(dict(tables_first), element.value)

    def preset_path(self, item: Located) -> Path | None:
        shipped = sorted(path.stem for path in PRESETS.glob("*.yaml"))
        name = item.value
        if not isinstance(name, str):
            self.fault(item, f"a preset is one of {', '.join(shipped)}, or a file such as ./my_chip.yaml")
            return None
        if name in shipped:
            return PRESETS / f"{name}.yaml"
        if not name.endswith((".yaml", ".yml")):
            self.fault(item, f"there is no preset {name!r}; there are {', '.join(shipped)}{nearest(name, shipped)}")
            return None
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            self.fault(item, f"the preset {name!r} lies outside the folder of the grid")
            return None
        return path
