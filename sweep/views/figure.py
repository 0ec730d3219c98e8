"""Putting a drawn figure into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sweep.errors import Fault, InputError


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure and close it; the same figure gives the same bytes. Raises InputError where that cannot be."""
    import matplotlib.pyplot as plt

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise InputError([Fault(str(path), f"cannot be written: {error.strerror}")]) from None
    finally:
        plt.close(figure)
