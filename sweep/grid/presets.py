"""Presets: sets of parameter values, shipped with the package or files of the user beside the grid.

A preset is a mapping with the keys `title`, `presets` (others that apply before it) and `parameters`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sweep.errors import Fault, InputError, nearest
from sweep.located import Located, read_text, read_yaml

SHIPPED = Path(__file__).parent.parent / "presets"
KEYS = ("title", "presets", "parameters")
MAX_DEPTH = 50


@dataclass(frozen=True)
class Preset:
    """A set of values: its name (a file's is its path from the grid's folder), its file's digest and folder, what it
    says."""

    name: str
    digest: str
    folder: Path
    parameters: Mapping[str, Located]


def read_presets(item: Located | None, folder: Path) -> tuple[list[Preset], list[Fault]]:
    """The presets of a grid in the order in which they apply, included ones before those that include them.

    What several of them include applies once, before the first. `item` is the grid's list; files must lie in
    `folder`, the grid's, or below it.
    """
    reader = _Reader(folder)
    reader.follow(item, folder, {})
    return reader.found, reader.faults


class _Reader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.top = folder.resolve()
        self.shipped = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
        self.found: list[Preset] = []
        self.faults: list[Fault] = []
        self.seen: set[Path] = set()

    def fault(self, item: Located, what: str) -> None:
        self.faults.append(Fault(item.where, what))

    def follow(self, item: Located | None, folder: Path, above: Mapping[Path, str]) -> None:
        """Read the presets of a list; `above` are the files, and their names, that led here."""
        if item is None or item.value is None:
            return
        if not isinstance(item.value, list):
            self.fault(item, "presets is a list of names, or of files such as ./my_chip.yaml")
            return
        listed: set[Path] = set()
        for element in item.value:
            path = self.path(element, folder)
            if path is None:
                continue
            if path in listed:
                self.fault(element, f"the preset {element.value!r} stands here twice")
            elif path in above:
                circle = " -> ".join([*list(above.values())[list(above).index(path) :], above[path]])
                self.fault(element, f"the preset includes itself: {circle}")
            elif len(above) >= MAX_DEPTH:
                self.fault(element, f"presets include each other more than {MAX_DEPTH} deep")
            elif path not in self.seen or not above:
                self.seen.add(path)
                self.read(element, path, above)
            listed.add(path)

    def path(self, item: Located, folder: Path) -> Path | None:
        """The file that a name means."""
        name = item.value
        if not isinstance(name, str):
            self.fault(item, f"a preset is one of {', '.join(self.shipped)}, or a file such as ./my_chip.yaml")
            return None
        if name in self.shipped:
            return SHIPPED / f"{name}.yaml"
        if not name.endswith((".yaml", ".yml")):
            hint = nearest(name, self.shipped)
            self.fault(item, f"there is no preset {name!r}; there are {', '.join(self.shipped)}{hint}")
            return None
        try:
            path = (folder / name).resolve()
        except (OSError, RuntimeError):  # symbolic links in a circle
            self.fault(item, f"the preset {name!r} cannot be found")
            return None
        if not path.is_relative_to(self.top):
            self.fault(item, f"the preset {name!r} lies outside the folder of the grid")
            return None
        return path

    def read(self, item: Located, path: Path, above: Mapping[Path, str]) -> None:
        """Read one file, named by `item`, after those that it includes."""
        shipped = path.parent == SHIPPED
        name = path.stem if shipped else f"./{path.relative_to(self.top)}"
        shown = name if shipped else str(self.folder / name)
        if path.exists() and not path.is_file():
            self.fault(item, f"the preset {item.value!r} is not a file")
            return
        try:
            text = read_text(path, shown)
        except InputError as error:
            self.faults += [Fault(item.where, f"the preset {item.value!r} {fault.what}") for fault in error.faults]
            return
        try:
            document = read_yaml(text, shown)
        except InputError as error:
            self.faults += error.faults
            return
        self.faults += document.faults
        root = document.root
        if not isinstance(root.value, dict):
            self.fault(root, f"a preset is a mapping with the keys {', '.join(KEYS)}")
            return
        for key, item in root.value.items():
            if key not in KEYS:
                what = f"{key!r} is not a key of a preset; there are {', '.join(KEYS)}{nearest(key, KEYS)}"
                self.faults.append(Fault(item.key, what))
        self.follow(root.value.get("presets"), path.parent, {**above, path: name})
        declared = root.value.get("parameters")
        values = {} if declared is None or declared.value is None else declared.value
        if not isinstance(values, dict):
            self.fault(root.value["parameters"], "parameters is a mapping of parameters to values")
            return
        self.found.append(Preset(name, hashlib.sha256(text.encode()).hexdigest()[:16], path.parent, values))
