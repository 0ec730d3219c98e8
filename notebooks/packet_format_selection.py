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
# # Which packet format should this fabric use?
#
# Tensor-parallel all-reduces over 8 chips: four packet formats, directly wired or through switches, links of 25 to
# 200 GB/s. The grid is `grids/tp_allreduce.yaml`; `sweep run grids/tp_allreduce.yaml` has computed it.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

import sweep

ROOT = Path.cwd() if (Path.cwd() / "grids").exists() else Path.cwd().parent
result = sweep.open_result(ROOT / "results" / "tp_allreduce.nc")
result.sizes

# %% [markdown]
# ## What limits the collective?
#
# Before choosing a header, see whether headers matter: only where the wire limits, and credits do not.

# %%
limiter = result.limiter.sel(packet_format="standard", link_bandwidth=50, chip_count=8, credit_size=256)
limiter.isel(message_size=slice(0, None, 20)).to_pandas()

# %% [markdown]
# ## The best format, and what the second-best costs
#
# Without any requirement the shortest header wins, or ties: a frame is never shorter than 64 bytes.

# %%
best = sweep.select(result, over="packet_format", minimise="collective_latency")
names = best.winner.attrs["flag_meanings"].split()
here = {"link_bandwidth": 50, "chip_count": 8, "credit_size": 256, "switch_hops": 1}
cell = best.sel(here).sel(message_size=2**20, method="nearest")
print(names[int(cell.winner)], f"wins by {float(cell.margin):.2f} % over", names[int(cell.runner_up)])

# %%
fig, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
for hops, dashes in ((0, "-"), (1, "--"), (2, ":")):
    margin = best.margin.sel(here | {"switch_hops": hops})
    axes.plot(margin.message_size / 1024, margin, dashes, label=f"{hops} switches" if hops != 1 else "1 switch")
axes.set_xscale("log", base=4)
axes.set_xticks([4**power for power in range(0, 11, 2)], ["1 KiB", "16 KiB", "256 KiB", "4 MiB", "64 MiB", "1 GiB"])
axes.set(xlabel="message size", ylabel="margin to the runner-up (%)")
axes.set_title("What the second-best format costs: 8 chips, 50 GB/s, credits of 256 B")
axes.legend()
fig.savefig(ROOT / "results" / "second_best.png", dpi=130)

# %% [markdown]
# Below 16 KiB, a frame's worth for each of 8 chips, only one header counts; beyond it all do, until nothing else is
# left. Switches add latency, of which headers are a smaller part; with two of them credits limit from 1 MiB on, and
# the shorter frames help less.
# %% [markdown]
# ## Requirements of the fabric
#
# A fabric whose switches mark congestion needs IP headers; one that must not lose data needs retry.

# %%
for require in ([], ["retry"], ["ecn"], ["pfc_class"]):
    chosen = sweep.select(result, require=require)
    names = chosen.winner.attrs["flag_meanings"].split()
    shares = {name: float((chosen.winner == code).mean()) for code, name in enumerate(names)}
    print(", ".join(require) or "nothing", "->", {name: f"{share:.1%}" for name, share in shares.items() if share})

# %% [markdown]
# Pausing one traffic class needs a VLAN tag, which this grid has not: nothing can be chosen. What the tag costs, and
# what it takes to have congestion marks, in time of the collective:

# %%
given = {"message_size": 2**20, "chip_count": 8, "link_bandwidth": 50, "switch_hops": 1}
fastest = sweep.quantities.collective_latency(packet_format="afh_lite", **given)
for packet_format, vlan in (
    ("afh_lite", "off"),
    ("afh_gen1", "off"),
    ("afh_gen1", "on"),
    ("standard", "off"),
    ("standard", "on"),
):
    time = sweep.quantities.collective_latency(packet_format=packet_format, vlan=vlan, **given)
    can = [
        name
        for name in ("ecn", "pfc_class", "qos", "retry")
        if getattr(sweep.quantities, name)(packet_format=packet_format, vlan=vlan) == "yes"
    ]
    print(
        f"{packet_format:<10} vlan {vlan:<4} {time / 1000:7.2f} us  {time / fastest - 1:+6.2%}  {', '.join(can) or '-'}"
    )

# %% [markdown]
# ## Where the choice changes, and which knob buys more
#
# Formats tie until a frame outgrows the padding; the shortest header wins from there on. Other knobs buy more: one
# percent of link bandwidth is worth as much as the whole difference between two formats.

# %%
changes = sweep.crossovers(result.sel(link_bandwidth=[50], credit_size=[256], switch_hops=[1]), along="message_size")
changes.to_dataframe()[["chip_count", "value"]]

# %%
knobs = sweep.sensitivity(
    ROOT / "grids" / "tp_allreduce.yaml", at=given | {"packet_format": "standard", "credit_size": 256}
)
for effect in knobs.effects[:6]:
    print(f"{effect.name:<16} {effect.elasticity:+.3f}")

# %% [markdown]
# ## Decision
#
# | fabric | format | price against the fastest |
# |---|---|---|
# | directly wired, loss is dealt with above | afh_lite | - |
# | switched, no congestion marks | afh_gen1 or afh_gen2_16b (a tie), with a tag if classes are paused | about 1 % |
# | switched with congestion marks | standard, with a tag if classes are paused | about 3 % |
#
# The shortest header is worth what one to three percent more link bandwidth are worth.
