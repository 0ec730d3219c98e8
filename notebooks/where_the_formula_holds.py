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
# # Is the formula right here, or must the point be simulated?
#
# `grids/validate_collectives.yaml` has fifteen collectives on five networks, with many credits and with few, in both
# profiles of formulas, and in the exact one with credits carried from step to step. Each point is computed by its
# formula and simulated frame by frame.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sweep

ROOT = Path.cwd() if (Path.cwd() / "grids").exists() else Path.cwd().parent
found = sweep.validate(ROOT / "grids" / "validate_collectives.yaml")
error = found.collective_latency_error  # of the formula, in percent of the simulation
dict(error.sizes)

# %% [markdown]
# ## Where it holds
#
# The largest error over all chip counts and message sizes, with 512 credits. Nothing but rounding is left where the
# network has the links that a formula asks for.

# %%
exact = error.sel(profile="exact", credit_limit=512)
worst = abs(exact).max(["chip_count", "message_size"])
worst.to_pandas().where(lambda percent: percent > 1e-6, 0).round(1)

# %%
fig, panels = plt.subplots(1, 2, figsize=(10, 5), sharey=True, layout="constrained")
for panel, profile in zip(panels, ("exact", "design_note"), strict=True):
    percent = abs(error.sel(profile=profile, credit_limit=512)).max(["chip_count", "message_size"])
    image = panel.imshow(np.log10(np.maximum(percent, 0.1)), cmap="cividis", vmin=-1, vmax=3, aspect="auto")
    for (row, column), value in np.ndenumerate(percent.values):
        color = "white" if value < 30 else "black"
        panel.text(column, row, f"{value:.0f}" if value > 1e-6 else "0", ha="center", va="center", color=color)
    panel.set_xticks(range(percent.sizes["network"]), percent.network.values, rotation=35, ha="right")
    panel.set_yticks(range(percent.sizes["schedule"]), percent.schedule.values)
    panel.set_title(f"profile {profile}")
bar = fig.colorbar(image, ax=panels, label="largest error (%)")
bar.set_ticks([-1, 0, 1, 2, 3], labels=["0.1", "1", "10", "100", "1000"])
fig.suptitle("How far formulas can be off, 2 to 16 chips, 64 B to 1 MiB, 512 credits")
fig.savefig(ROOT / "results" / "worst_errors.png", dpi=110)

# %% [markdown]
# Three things are not in the formulas:
#
# - links that others use: all_to_all on a ring, trees through one port;
# - links that are not there to be waited for: direct algorithms on a full mesh are as many times faster as a chip has
#   links;
# - paths of different lengths: in the fat tree some neighbours share a leaf. A ring is then paced by the mean of its
#   links, not by the longest, since a chip that has waited less is not held up by the others.
#
# ## Few credits
#
# With 16 credits of 256 B two frames fill the window. A ring sends each step over the same link, where credits of the
# step before are still out: `credit_scope` step does not see that, carried does. Pairs of chips have credits of their
# own, which are all back.

# %%
few = error.sel(credit_limit=16, network="one switch", chip_count=8)
for program in ("ring all_reduce", "pairwise all_to_all", "binomial all_reduce"):
    for profile in ("exact", "exact, credits carried", "design_note"):
        part = few.sel(schedule=program, profile=profile)
        if part.notnull().any():
            print(f"{program:<20} {profile:<23} {float(part.min()):+7.1f} .. {float(part.max()):+7.1f} %")

# %% [markdown]
# ## Estimates
#
# Trees of one port per chip are estimates: the pipeline is filled with 16 pieces here, which cost headers in small
# messages and latency in large ones, and two chips can send up and down at the same time.

# %%
trees = error.sel(profile="exact", credit_limit=512, network="one switch", schedule="double_binary all_reduce")
trees.to_pandas().round(1)

# %% [markdown]
# ## Decision
#
# | collective | formula is exact on | simulate |
# |---|---|---|
# | ring, halving_doubling, binomial tree | any network where each step has links of its own | a fat tree |
# | pairwise, blocking | the same | a physical ring |
# | direct, streaming | one port per chip, through switches | a full mesh, a physical ring |
# | pipelined tree | a full mesh | one port per chip |
# | single and double binary trees | - | always where 20 % matter; two and three chips |
#
# With few credits: `credit_scope` carried for rings, step for pairs, and a simulation for the rest.
