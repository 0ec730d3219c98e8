"""A topology for people: a table of its tiers, and a picture of its places and of what lies between each two chips."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sweep.errors import Fault, InputError
from sweep.models.packet import packet_formats
from sweep.models.route import values_of
from sweep.models.topology import TIERS, Route, Tier, Topology
from sweep.views.figure import NUMBERS, PALETTE, drawing, new_figure, save_figures
from sweep.views.tables import in_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACES = {"c2c": "board", "b2b": "rack", "r2r": "pod", "p2p": "system"}
"""The place in which two chips of a tier meet."""
MOST_DRAWN = 512
"""Chips of a picture."""
EDGES = (PALETTE[1], PALETTE[5], PALETTE[3], PALETTE[6])
"""Colours of tiers."""
NO_COLOUR = "#FFFFFF"


def topology_lines(topology: Topology, chip: Mapping[str, Any] | None) -> list[str]:
    """What places there are, and for each tier what is between two of its members."""
    counts = {"pod": topology.pods, "rack": topology.racks, "board": topology.boards, "chip": topology.chips}
    many = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items())
    rows = [tier_row(topology, name, chip) for name in TIERS if has_pairs(topology, name)]
    header = ("tier", "in a", "chips", "between two", "link", "latency", "packets")
    return [topology.title, "", many, "", *in_columns([header, *rows], "<")]


def has_pairs(topology: Topology, tier: str) -> bool:
    """Whether two chips can meet in a tier: not where the place holds no more than the one inside it."""
    before = dict(zip(TIERS[1:], TIERS, strict=False)).get(tier)
    return topology.members[tier] > (topology.members[before] if before else 1)


def tier_row(topology: Topology, name: str, chip: Mapping[str, Any] | None) -> tuple[str, ...]:
    """One line of the table."""
    tier = topology.tiers[name]
    start = (name, PLACES[name], str(topology.members[name]))
    if tier is None:
        return (*start, "no route", "", "", "")
    values = values_of(Route(tier, len(tier.switches[:1])), chip)
    has = packet_formats.default[values["packet_format"]]
    tags = [word for word, column in (("vlan", "vlan_tag"), ("icrc", "icrc")) if values[word] == "on" and has[column]]
    packets = " + ".join([values["packet_format"], *tags])
    return (*start, between(tier), f"{values['link_bandwidth']:g} GB/s", f"{values['base_latency']:g} ns", packets)


def between(tier: Tier) -> str:
    """What lies between two members, in words."""
    if tier.shape == "direct":
        return "a link"
    names = " and ".join(dict.fromkeys(f"{x.name} {x.fixed:g} ns" for x in tier.switches))
    if tier.shape == "switches":
        return names if len(tier.switches) == 1 else f"{len(tier.switches)} switches: {names}"
    if tier.shape == "fat_tree":
        pods = "" if np.isinf(tier.pod) else f", pods of {tier.pod:g}"
        return f"fat tree, leaves of {tier.leaf:g}{pods}: {names}"
    sides = f" {' x '.join(map(str, tier.sides))}" if tier.sides else ""
    return f"{tier.shape}{sides}, chips between: {names}"


def draw_topology(topology: Topology, path: Path) -> list[Path]:
    """Draw the places of a topology as boxes in boxes, and for each two chips the tier and the switches between them.

    Returns the files. Raises InputError for more chips than can be drawn, and where nothing can be written.
    """
    if topology.chips > MOST_DRAWN:
        raise InputError([Fault("--picture", f"{topology.chips} chips; at most {MOST_DRAWN} can be drawn")])
    with drawing():
        figure = new_figure(11.0, 5.6)
        places, matrix = figure.subplots(1, 2, width_ratios=(1, 1.15))
        draw_places(topology, figure, places)
        draw_pairs(topology, matrix)
        figure.suptitle(topology.title, fontsize=11)
        return save_figures([figure], path)


def draw_places(topology: Topology, figure: Figure, axes: Axes) -> None:
    """Boxes in boxes, chips as squares with their numbers."""
    from matplotlib.patches import Rectangle

    def box(x: float, y: float, side_x: float, side_y: float, level: int, first: int) -> None:
        name = TIERS[level] if level >= 0 else "chip"
        inner = topology.members[TIERS[level - 1]] if level > 0 else 1
        if level < 0:
            axes.add_patch(Rectangle((x, y), side_x, side_y, facecolor="#D9D9D9", edgecolor="white"))
            if topology.chips <= 64:
                axes.text(x + side_x / 2, y + side_y / 2, str(first), ha="center", va="center", fontsize=7)
            return
        visible = has_pairs(topology, name)
        if visible:
            axes.add_patch(Rectangle((x, y), side_x, side_y, fill=False, edgecolor=EDGES[level], linewidth=1.6))
        count = topology.members[name] // inner
        ideal = np.sqrt(count * side_x / side_y)
        even = min((n for n in range(1, count + 1) if count % n == 0), key=lambda n: abs(np.log(n / ideal)))
        columns = even if 0.6 < even / ideal < 1.7 else min(int(np.ceil(ideal)), count)
        rows = -(-count // columns)
        margin = 0.06 * min(side_x, side_y) if visible else 0.0
        wide, high = (side_x - margin) / columns, (side_y - margin) / rows
        for number in range(count):
            row, column = divmod(number, columns)
            left, top = x + margin + column * wide, y + margin + row * high
            box(left, top, wide - margin, high - margin, level - 1, first + number * inner)

    box(0.0, 0.0, 1.0, 1.0, len(TIERS) - 1, 0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(1.02, -0.02)
    axes.set_aspect("equal")
    axes.axis("off")
    lines = []
    for level, name in enumerate(TIERS):
        tier = topology.tiers[name]
        if has_pairs(topology, name):
            what = "no route" if tier is None else between(tier)
            lines.append(Rectangle((0, 0), 1, 1, fill=False, edgecolor=EDGES[level], label=f"{name}: {what}"))
    figure.legend(handles=lines, loc="outside lower left", frameon=False, fontsize=8)


def draw_pairs(topology: Topology, axes: Axes) -> None:
    """The number of switches between each two chips."""
    import matplotlib as mpl

    chips = range(topology.chips)
    routes = [[topology.route(one, other) for other in chips] for one in chips]
    hops = np.array([[np.nan if x is None else x.hops for x in row] for row in routes], float)
    most = int(np.nanmax(hops)) if np.isfinite(hops).any() else 0
    colours = mpl.colormaps[NUMBERS].resampled(most + 1).with_extremes(bad=NO_COLOUR)
    image = axes.imshow(hops, cmap=colours, vmin=-0.5, vmax=most + 0.5, interpolation="nearest")
    axes.set_xlabel("to chip")
    axes.set_ylabel("from chip")
    axes.set_title("switches between two chips (white: no route)", fontsize=9)
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8)
    step = max(1, most // 8)
    bar.set_ticks(list(range(0, most + 1, step)))
