"""A program as bars over time: a row for each engine of a chip that has commands."""

from __future__ import annotations

from pathlib import Path

from sweep.multichip.engines import ENGINES
from sweep.views.figure import PALETTE, drawing, new_figure, save_figures
from sweep.views.trace import Trace, queues_in

MOST_ROWS = 64
"""Rows of a picture."""
COLOURS = dict(zip(ENGINES, (PALETTE[1], PALETTE[7], PALETTE[4], PALETTE[6], PALETTE[5]), strict=True))
HATCHES = {"CDMA": "////"}
"""So that communication is told from computing in grey, too."""
SCALES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def draw_gantt(trace: Trace, path: Path) -> list[Path]:
    """Draw the commands of a program, of as many chips as there is room for. Returns the files."""
    rows: list[tuple[str, str, list[tuple[float, float]]]] = []
    chips: list[int] = []
    several_cores = any(record.core for record in trace.records)
    factor, unit = next((scale for scale in SCALES if trace.makespan >= scale[0]), SCALES[-1])
    all_chips = sorted({record.chip for record in trace.records})
    for numbers, _ in queues_in(trace):
        first = trace.records[numbers[0]]
        if first.chip not in chips:
            more = len({(record.core, record.engine) for record in trace.records if record.chip == first.chip})
            if len(rows) + more > MOST_ROWS and rows:
                break
            chips.append(first.chip)
        core = f" core {first.core}" if several_cores else ""
        times = [(trace.records[number].begin, trace.records[number].end) for number in numbers]
        bars = [(begin / factor, (end - begin) / factor) for begin, end in times]
        rows.append((f"chip {first.chip}{core} {first.engine}", first.engine, [bar for bar in bars if bar[1] > 0]))
    with drawing():
        figure = new_figure(10.0, 1.4 + 0.26 * len(rows))
        axes = figure.subplots()
        for row, (_, engine, bars) in enumerate(rows):
            axes.broken_barh(
                bars,
                (row - 0.4, 0.8),
                facecolors=COLOURS[engine],
                edgecolor="black",
                linewidth=0.4,
                hatch=HATCHES.get(engine),
            )
        previous = ""
        for row, (name, _, _) in enumerate(rows):
            chip = name.split()[1]
            if previous not in ("", chip):
                axes.axhline(row - 0.5, color="#999999", linewidth=0.6)
            previous = chip
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=8)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, trace.makespan / factor if trace.makespan > 0 else 1)
        axes.set_xlabel(f"time ({unit})")
        shown = "" if len(chips) == len(all_chips) else f"\nchips {chips[0]} to {chips[-1]} of {len(all_chips)}"
        figure.suptitle(trace.title + shown, fontsize=11)
        return save_figures([figure], path)
