"""Files as values of parameters: a name for people and results, and what was read for the quantities that use it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class File(str):
    """A file that a grid names: as a text its path, from the grid's folder, by which results label it.

    `content` is what its parameter made of its text, `digest` that of its bytes.
    """

    content: Any
    digest: str

    def __new__(cls, name: str, content: Any, digest: str) -> File:
        """A file by its name, once it is read."""
        file = super().__new__(cls, name)
        file.content = content
        file.digest = digest
        return file

    def __getnewargs__(self) -> tuple[str, Any, str]:  # type: ignore[override]  # a plain text has but itself
        """What makes it again in another process."""
        return str(self), self.content, self.digest


def content_of(value: Any) -> Any:
    """A value as prepared quantities get it: of a file what it holds."""
    return value.content if isinstance(value, File) else value


def rows_of(table: NDArray[np.float64]) -> int:
    """Rows of a prepared table, without those of NaN that kernels see behind the end of a shorter one."""
    rows = 0
    while rows < table.shape[0] and not np.isnan(table[rows, 0]):
        rows += 1
    return rows
