# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What do these links do to a tensor-parallel layer?
#
# `grids/tp_layer.yaml` follows a transformer layer on 2 to 32 chips behind one switch: products, loads of weights, and
# two all-reduces, command by command and frame by frame. Communication is *exposed* while a chip does nothing else.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sweep

ROOT = Path.cwd() if (Path.cwd() / "grids").exists() else Path.cwd().parent
found = sweep.run(ROOT / "grids" / "tp_layer.yaml")
dict(found.sizes)

# %% [markdown]
# ## How much of the time is communication that nothing hides?
#
# In prefill a chip has much to compute for each byte that it sends, less with each doubling of chips. In decode weights
# are loaded for a few tokens only: what is sent is small, and its latency counts.

# %%
share = 100 * found.exposed_share.sel(packet_format="standard", link_bandwidth=100)
share.sel(layer_pieces=4).to_pandas().round(1)

# %%
fig, panels = plt.subplots(2, 2, figsize=(10, 6), sharex=True, sharey=True, layout="constrained")
for row, phase in zip(panels, found.phase.values, strict=True):
    for panel, pieces in zip(row, found.layer_pieces.values, strict=True):
        time = found.exposed_communication.sel(phase=phase, layer_pieces=pieces, link_bandwidth=100) / 1000
        cells = time.transpose("packet_format", "chip_count")
        image = panel.imshow(np.log10(cells), cmap="cividis", vmin=0, vmax=3, aspect="auto", origin="lower")
        for (y, x), value in np.ndenumerate(cells.values):
            panel.text(x, y, f"{value:.3g}", ha="center", va="center", color="white" if value < 50 else "black")
        panel.set_xticks(range(cells.sizes["chip_count"]), cells.chip_count.values)
        panel.set_yticks(range(cells.sizes["packet_format"]), cells.packet_format.values)
        panel.set_title(f"{phase}, {'one piece' if pieces == 1 else f'{pieces} pieces'}")
for panel in panels[-1]:
    panel.set_xlabel("chip count")
bar = fig.colorbar(image, ax=panels, label="exposed communication (µs)")
bar.set_ticks([0, 1, 2, 3], labels=["1", "10", "100", "1000"])
fig.suptitle("A tensor-parallel layer: time in which a chip only communicates, links of 100 GB/s")
fig.savefig(ROOT / "results" / "tp_layer.png", dpi=110)

# %% [markdown]
# ## What buys more: a shorter header, more pieces, or a faster link?
#
# Of the time of the whole layer, against packets with all headers, one piece, and 100 GB/s.

# %%
base = {"packet_format": "standard", "layer_pieces": 1, "link_bandwidth": 100}
changes = {"packet_format": "afh_lite", "layer_pieces": 4, "link_bandwidth": 200}
for phase in found.phase.values:
    for chips in (2, 8, 32):
        time = found.makespan.sel(phase=phase, chip_count=chips)
        before = float(time.sel(base))
        saved = {name: 100 * (1 - float(time.sel(base | {name: value})) / before) for name, value in changes.items()}
        shown = ", ".join(f"{name} {changes[name]} {percent:+5.1f} %" for name, percent in saved.items())
        print(f"{phase:<8} {chips:>2} chips: {shown}")

# %% [markdown]
# In prefill on few chips, pieces buy most: while one is added up, the next is computed. On many chips each piece pays
# the latency of 2(n - 1) steps anew, and a layer in one piece is faster; there a faster link buys most. A shorter
# header saves up to 2 %. In decode nothing helps but fewer messages and shorter latencies: not links, headers or
# pieces.
#
# `sweep trace grids/tp_layer.yaml --at chip_count=8,layer_pieces=4 --picture gantt.png` shows where the time goes, and
# writes a file that Perfetto opens.
