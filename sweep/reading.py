"""What readers of files that parameters name share: they collect faults, and say all of them at once."""

from __future__ import annotations

from collections.abc import Mapping

from sweep.errors import Fault, InputError, nearest
from sweep.located import Located, read_yaml


class Reader:
    """Collects what is wrong with one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []

    def fault(self, where: str, what: str) -> None:
        """Keep a fault."""
        self.faults.append(Fault(where, what))

    def finish(self) -> None:
        """Raise InputError if there are faults."""
        if self.faults:
            raise InputError(self.faults)

    def root(self, text: str, keys: tuple[str, ...], what: str) -> Mapping[str, Located]:
        """The blocks of a YAML text."""
        document = read_yaml(text, self.name)
        self.faults += document.faults
        return self.mapping(document.root, keys, what)

    def mapping(self, item: Located | None, keys: tuple[str, ...], what: str) -> Mapping[str, Located]:
        """A block with some of the known keys; empty where it is none."""
        if item is None:
            return {}
        if not isinstance(item.value, dict):
            self.fault(item.where, f"{what} is a mapping with the keys {', '.join(keys)}")
            return {}
        for key, value in item.value.items():
            if key not in keys:
                hint = nearest(key, keys)
                self.fault(value.key, f"{key!r} is not a key of {what}; there are {', '.join(keys)}{hint}")
        return item.value
