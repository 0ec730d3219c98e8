"""Figures: panels on pages, and pages in files.

Widths are chosen so that a page that is shown 800 pixels wide can be read.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweep.errors import Fault, InputError
from sweep.store.atomic import replacing
from sweep.store.target import check_new
from sweep.views.cut import Cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#999999", "#0072B2", "#F0E442", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#E69F00")
"""Colours of Okabe and Ito, apart for the colour-blind; the first of them in grey too."""
NUMBERS = "cividis"
"""Colour map of numbers: keeps their order in grey and for the colour-blind."""
PANELS = 12
"""Panels on a page."""
MAX_PAGES = 20
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CHARACTER_WIDTH = 0.075
"""Inches of a character of a label, roughly."""
LEGEND_WIDTH = 1.9
"""Inches beside the panels."""
COLUMN_WIDTH = {1: 7.5, 2: 4.2, 3: 2.9}
"""Inches of a panel at the most, by the number of columns."""


@contextmanager
def drawing() -> Iterator[None]:
    """The settings of all pictures: a title or label is text, whatever signs it has.

    Figures are made without pyplot, so that a notebook keeps its own.
    """
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 10, "svg.hashsalt": "sweep", "hatch.linewidth": 0.6, "text.parse_math": False}):
        yield


def power_ticks() -> Any:
    """Tick labels of logarithmic scales."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: power_text(value))


def power_text(value: float) -> str:
    """A power of ten as such, any other number as it is."""
    if not value:
        return "0"
    power = round(math.log10(abs(value)))
    if not math.isclose(abs(value), 10.0**power, rel_tol=1e-9) or abs(power) < 3:
        return f"{value:g}"
    return ("\u2212" if value < 0 else "") + "10" + str(power).translate(SUPERSCRIPTS)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def columns_of(facets: int) -> int:
    """Columns of panels on a page."""
    return {1: 1, 2: 2, 4: 2}.get(facets, 3)


def draw_pages(
    path: Path, cut: Cut, panel: tuple[float, float], draw: Callable[[Figure, list[Axes], range, int], None]
) -> list[Path]:
    """Draw the panels of a cut, `panel` inches wide and high, on as many pages as it takes, and write them.

    `draw` fills the panels of one page: figure, axes, the indices of its panels, and the number of columns. Returns the
    files: one for a PDF, else one for each page. Raises InputError for too many panels, and where nothing can be
    written.
    """
    pages = -(-cut.facets // PANELS)
    if pages > MAX_PAGES:
        most = MAX_PAGES * PANELS
        what = f"--facet {cut.layout.facet} has {cut.facets} values; at most {most} fit on {MAX_PAGES} pages"
        raise InputError([Fault("plot", what)])
    columns = columns_of(cut.facets)
    rows = -(-min(cut.facets, PANELS) // columns)
    size = (LEGEND_WIDTH + panel[0] * columns, 1.5 + (panel[1] + 0.75) * rows)
    with drawing():
        figures = []
        for page in range(pages):
            here = range(page * PANELS, min((page + 1) * PANELS, cut.facets))
            figure = new_figure(*size)
            axes = figure.subplots(rows, columns, squeeze=False)
            for unused in axes.flat[len(here) :]:
                unused.axis("off")
            draw(figure, list(axes.flat[: len(here)]), here, columns)
            lines = cut.heading.split("\n") + ([f"page {page + 1} of {pages}"] if pages > 1 else [])
            filled = [textwrap.fill(line, int(size[0] / CHARACTER_WIDTH)) for line in lines]
            figure.suptitle("\n".join(filled), fontsize=11)
            figures.append(figure)
        return save_figures(figures, path)


def save_figures(figures: Sequence[Figure], path: Path) -> list[Path]:
    """Write figures: to one PDF, or to a file each, numbered if there are several.

    The same figures give the same bytes. A file is whole or as it was before. Raises InputError where it cannot be
    written.
    """
    for name in [path] if path.suffix == ".pdf" else page_paths(path, len(figures)):
        check_new(name, overwrite=True)
    if path.suffix == ".pdf":
        paths, contents = [path], [as_pdf(figures)]
    else:
        paths, contents = page_paths(path, len(figures)), [as_picture(figure, path.suffix) for figure in figures]
    for name, content in zip(paths, contents, strict=True):
        write_whole(name, content)
    return paths


def page_paths(path: Path, pages: int) -> list[Path]:
    """The files of pages: the path itself, or `map-1.png`, `map-2.png` and so on."""
    return [path] if pages == 1 else [path.with_stem(f"{path.stem}-{page + 1}") for page in range(pages)]


def as_picture(figure: Figure, suffix: str) -> bytes:
    """A figure as PNG or SVG."""
    content = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if suffix == ".svg" else {}
    figure.savefig(content, dpi=130, format=suffix[1:], metadata=metadata)
    return content.getvalue()


def as_pdf(figures: Sequence[Figure]) -> bytes:
    """Figures as pages of one PDF."""
    from matplotlib.backends.backend_pdf import PdfPages

    content = io.BytesIO()
    with PdfPages(content, metadata={"CreationDate": None}) as pages:
        for figure in figures:
            pages.savefig(figure)
    return content.getvalue()


def write_whole(path: Path, content: bytes, overwrite: bool = True) -> None:
    """Put bytes into a file that is whole or as it was before. Raises InputError where that cannot be."""
    try:
        with replacing(path, overwrite) as file:
            file.write(content)
    except OSError as error:
        raise InputError([Fault(str(path), f"cannot be written: {error.strerror}")]) from None
