"""Reads a grid: which outputs, over which axes, with which fixed values. All faults are reported at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sweep.axis import Axis
from sweep.errors import Fault, InputError, in_order, nearest
from sweep.file import File
from sweep.grid.presets import read_presets
from sweep.grid.values import SPACED, Reading, RejectedError, read_axis, read_file, read_list, read_table, read_value
from sweep.located import Document, Located, Number, from_python, read_text, read_yaml
from sweep.registry import Parameter, Registry, is_reserved

KEYS = ("title", "presets", "outputs", "axes", "zip", "fixed")


@dataclass(frozen=True)
class Grid:
    """A checked grid: `axes` from outer to inner, `fixed` values of parameters that are not axes.

    `statuses` names the outputs of which the status is wanted apart, by `<output>_status`. `presets` maps the presets
    that gave values to the digests of their files. `places` says where each axis, value and output was written;
    `given_by` which preset (or the grid, '') gave each fixed value. `dropped` are axes that were left out because none
    of the outputs that were asked for in place of the grid's depends on them.
    """

    name: str
    title: str
    outputs: tuple[str, ...]
    statuses: tuple[str, ...]
    axes: tuple[Axis, ...]
    fixed: Mapping[str, Any]
    presets: Mapping[str, str]
    places: Mapping[str, str]
    given_by: Mapping[str, str]
    registry: Registry
    dropped: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        """Names of the files that parameters name, with the digests of what they hold."""
        return {str(file): file.digest for file in self.named_files()}

    @property
    def notes(self) -> list[str]:
        """What the files have to say to people."""
        return [f"{file}: {note}" for file in self.named_files() for note in getattr(file.content, "notes", ())]

    def named_files(self) -> Iterator[File]:
        """All values that are files."""
        along = [x for axis in self.axes for values in axis.members.values() for x in values]
        yield from (x for x in (*self.fixed.values(), *along) if isinstance(x, File))


def load_grid(
    source: str | Path | Mapping[str, Any],
    registry: Registry,
    settings: Mapping[str, Located] | None = None,
    outputs: Sequence[Located] = (),
) -> Grid:
    """Read a grid file, or a dict of the same shape. Raises InputError with every fault that was found.

    `settings` are values that come before those of the grid: a list or a spaced form makes an axis, in the place of
    the axis of that name or after the others; one value takes the place of an axis or of a fixed value. `outputs`
    come instead of the grid's.
    """
    if not isinstance(source, (str, Path, Mapping)):
        raise InputError([Fault("grid", f"a grid is a path or a dict, not a {type(source).__name__}")])
    if isinstance(source, Mapping):
        name, folder, document = "grid", Path.cwd(), Document(from_python(source, "grid"), ())
    else:
        path = Path(source)
        name, folder, document = path.stem, path.parent, read_yaml(read_text(path), shown(path))
    reader = _Reader(registry, name, folder)
    try:
        grid = reader.read(document.root, settings or {}, outputs)
    except InputError as error:
        reader.faults += error.faults
    faults = in_order([*document.faults, *reader.faults])
    if faults:
        raise InputError(faults)
    return grid


def moved(item: Located, folder: Path, to: Path) -> Located:
    """Names of files in a folder as another folder has them."""
    if isinstance(item.value, list):
        return replace(item, value=[moved(element, folder, to) for element in item.value])
    if not isinstance(item.value, str) or folder.absolute() == to.absolute():
        return item
    return replace(item, value=os.path.relpath(folder / item.value, to))


def shown(path: Path) -> str:
    """A path as text, also where its name is none."""
    return os.fsencode(path).decode("utf-8", "replace")


class _Reader:
    def __init__(self, registry: Registry, name: str, folder: Path) -> None:
        self.registry = registry
        self.name = name
        self.folder = folder
        self.faults: list[Fault] = []
        self.fixed: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.given_by: dict[str, str] = {}

    def read(self, root: Located, settings: Mapping[str, Located], outputs: Sequence[Located]) -> Grid:
        if not isinstance(root.value, dict):
            raise InputError([Fault(root.where, f"a grid is a mapping with the keys {', '.join(KEYS)}")])
        for key, item in root.value.items():
            if key not in KEYS:
                what = f"{key!r} is not a key of a grid; there are {', '.join(KEYS)}{nearest(key, KEYS)}"
                self.faults.append(Fault(item.key, what))
        title = self.title(root)
        names = self.outputs(outputs or self.output_list(root))
        axes, zipped, fixed = (self.mapping(root, key) for key in ("axes", "zip", "fixed"))
        self.check_once(axes, zipped, fixed)
        self.apply_settings(self.seen_from_here(settings, Path.cwd()), axes, zipped, fixed)
        presets, faults = read_presets(root.value.get("presets"), self.folder)
        self.faults += faults
        for preset in presets:
            self.read_fixed(self.seen_from_here(preset.parameters, preset.folder), preset.name)
        self.read_fixed(fixed, "")
        dimensions = [*self.plain_axes(axes), *self.zipped_axes(zipped)]
        sections = [key for key in root.value if key in ("axes", "zip")]
        if sections[:1] == ["zip"]:  # dimensions come in the order of the file
            dimensions.sort(key=lambda axis: axis.name not in zipped)
        for axis in dimensions:
            for member in axis.members:
                self.fixed.pop(member, None)
        known = set(self.registry.outputs)
        return Grid(
            name=self.name,
            title=title,
            outputs=tuple(name for name in names if name in known),
            statuses=tuple(name.removesuffix("_status") for name in names if name not in known),
            axes=tuple(dimensions),
            fixed=self.fixed,
            presets={preset.name: preset.digest for preset in presets},
            places=self.places,
            given_by=self.given_by,
            registry=self.registry,
        )

    def fault(self, item: Located, what: str) -> None:
        self.faults.append(Fault(item.where, what))

    def title(self, root: Located) -> str:
        item = root.value.get("title")
        if item is None:
            return shown(Path(self.name))
        if not isinstance(item.value, str):
            self.fault(item, "the title is a text; put it in quotes")
            return self.name
        return item.value

    def mapping(self, root: Located, key: str) -> dict[str, Located]:
        """A section of the grid as a dict of its own."""
        item = root.value.get(key)
        if item is None or item.value is None:
            return {}
        if not isinstance(item.value, dict):
            self.fault(item, f"{key} is a mapping of {'dimensions' if key == 'zip' else 'parameters'} to values")
            return {}
        return dict(item.value)

    def output_list(self, root: Located) -> Sequence[Located]:
        item = root.value.get("outputs")
        if item is None or not isinstance(item.value, list) or not item.value:
            self.fault(item or root, "a grid names its outputs in a list, such as outputs: [collective_latency]")
            return ()
        return item.value

    def outputs(self, items: Sequence[Located]) -> list[str]:
        names: list[str] = []
        for item in items:
            if isinstance(item.value, (dict, list)) or item.value is None:
                self.fault(item, "an output is one word")
                continue
            name = item.value.text if isinstance(item.value, Number) else str(item.value)
            self.check_output(name, item, names)
            names.append(name)
            self.places[name] = item.where
        return names

    def check_output(self, name: str, item: Located, earlier: list[str]) -> None:
        """A name is an output, or `<output>_status` for one of the outputs named before it."""
        known = self.registry.outputs
        base = name.removesuffix("_status")
        if name in earlier:
            self.fault(item, f"the output {name!r} stands here twice")
        elif name in self.registry.parameters:
            self.fault(item, f"{name!r} is a parameter, not an output")
        elif not name:
            self.fault(item, "the name of an output is missing")
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

    def reading(self, parameter: Parameter) -> Reading:
        """How one value of a parameter is read."""
        if parameter.is_file:
            return lambda item: read_file(item, parameter, self.folder)
        labels = self.registry.labels(parameter, self.fixed)
        return lambda item: read_value(item, parameter, labels)

    def seen_from_here(self, values: Mapping[str, Located], folder: Path) -> dict[str, Located]:
        """Values with the names of files as the grid's folder has them, not the folder in which they were written."""
        parameters = self.registry.parameters
        return {
            name: moved(item, folder, self.folder) if name in parameters and parameters[name].is_file else item
            for name, item in values.items()
        }

    def check_once(
        self, axes: Mapping[str, Located], zipped: Mapping[str, Located], fixed: Mapping[str, Located]
    ) -> None:
        """A name stands in one of axes, zip and fixed."""
        seen: dict[str, str] = {}
        groups = [("axes", axes), ("fixed", fixed)]
        groups += [(f"zip {dim}", item.value) for dim, item in zipped.items() if isinstance(item.value, dict)]
        for group, names in groups:
            for name, item in names.items():
                if name == "label":
                    continue
                if name in seen:
                    self.faults.append(Fault(item.key, f"{name!r} already stands in {seen[name]}"))
                seen[name] = group

    def apply_settings(
        self,
        settings: Mapping[str, Located],
        axes: dict[str, Located],
        zipped: Mapping[str, Located],
        fixed: dict[str, Located],
    ) -> None:
        """Put what was set from outside in the place of what the grid says."""
        for name, item in settings.items():
            members = [dim for dim, group in zipped.items() if isinstance(group.value, dict) and name in group.value]
            if members:
                self.fault(item, f"{name} moves along {members[0]!r} in this grid; it cannot be set alone")
                continue
            is_form = isinstance(item.value, dict) and not self.is_table(name)
            if isinstance(item.value, list) or is_form:
                axes[name] = item
                fixed.pop(name, None)
            else:
                fixed[name] = item
                axes.pop(name, None)

    def plain_axes(self, axes: Mapping[str, Located]) -> Iterator[Axis]:
        for name, item in axes.items():
            parameter = self.parameter(name, item)
            if parameter is None:
                continue
            self.places[name] = item.key
            try:
                yield Axis(name, {name: read_axis(item, parameter, self.reading(parameter))})
            except RejectedError as rejected:
                self.faults += rejected.faults

    def zipped_axes(self, zipped: Mapping[str, Located]) -> Iterator[Axis]:
        for dim, item in zipped.items():
            if not isinstance(item.value, dict) or not item.value:
                self.fault(item, f"zip {dim} is a mapping of parameters to lists of one length")
                continue
            taken = dim in self.registry or is_reserved(dim) or dim in self.extra_dims()
            if taken or not (dim.isidentifier() and dim.isascii()):
                what = f"the dimension {dim!r} needs a name of its own, made of letters, digits and _"
                self.faults.append(Fault(item.key, what))
            self.places[dim] = item.key
            axis = self.zipped_axis(dim, item)
            if axis is not None:
                yield axis

    def zipped_axis(self, dim: str, item: Located) -> Axis | None:
        """The dimension of some lists of one length, with names of its positions if there is a `label`."""
        members: dict[str, Any] = {}
        lengths: dict[str, int] = {}
        faults = len(self.faults)
        labels = self.zip_labels(item.value["label"]) if "label" in item.value else ()
        if labels:
            lengths["label"] = len(labels)
        for name, values in item.value.items():
            parameter = self.parameter(name, values) if name != "label" else None
            if parameter is None:
                continue
            try:
                members[name] = self.zipped_values(values, parameter)
            except RejectedError as rejected:
                self.faults += rejected.faults
                continue
            lengths[name] = len(members[name])
        if len(set(lengths.values())) > 1:
            self.fault(item, f"zip {dim} has lists of different lengths: {lengths}")
        elif not members and len(self.faults) == faults:
            self.fault(item, f"zip {dim} has no parameter")
        return Axis(dim, members, labels) if members and len(self.faults) == faults else None

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
            return read_axis(item, parameter, self.reading(parameter))
        return read_list(item, parameter, self.reading(parameter), repeats=True)

    def is_table(self, name: str) -> bool:
        return name in self.registry.parameters and self.registry.parameters[name].is_table

    def read_fixed(self, values: Mapping[str, Located], given_by: str) -> None:
        """Read fixed values, tables first, because they bring labels."""
        for name, item in sorted(values.items(), key=lambda pair: not self.is_table(pair[0])):
            parameter = self.parameter(name, item)
            if parameter is None:
                continue
            if item.value is None and parameter.default is None:  # unset again
                self.fixed.pop(name, None)
                continue
            try:
                self.fixed[name] = self.fixed_value(item, parameter)
            except RejectedError as rejected:
                self.faults += rejected.faults
                continue
            self.places[name] = item.where
            self.given_by[name] = given_by

    def fixed_value(self, item: Located, parameter: Parameter) -> Any:
        """One value, or a table with the rows that are known so far."""
        if parameter.is_table:
            return {**self.fixed.get(parameter.name, parameter.default), **read_table(item, parameter)}
        if isinstance(item.value, list):
            what = f"{parameter.name} has one value here; a list belongs under axes"
            raise RejectedError(Fault(item.where, what))
        if isinstance(item.value, dict) and set(item.value) <= set(SPACED):
            what = f"{parameter.name} has one value here; a range of them belongs under axes"
            raise RejectedError(Fault(item.where, what))
        return self.reading(parameter)(item)
