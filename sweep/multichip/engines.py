"""The engines of a chip's core, and how long each takes for a command.

| engine | does | command says | time |
|---|---|---|---|
| TIU | matrix and vector arithmetic | operations | operations / `tiu_throughput` |
| DMA | moves between memory and the core | data_bytes | bytes / `dma_bandwidth` |
| SDMA | moves between cores, and within memory | data_bytes | bytes / `sdma_bandwidth` |
| HAU | sorts, selects and scatters | operations | operations / `hau_throughput` |
| CDMA | sends to other chips | data_bytes | see `chips` |

Any command of the first four may say its time, or cycles of its engine's clock, instead. Times in ns. Source: design
note, sections "CoreSubsys" and "CDMA".
"""

from __future__ import annotations

from sweep.registry import parameter

ENGINES = ("TIU", "DMA", "SDMA", "HAU", "CDMA")
CDMA = ENGINES.index("CDMA")

tiu_clock = parameter(unit="GHz", default=1.0, above=0.0, doc="Clock of a core's TIU", source="")
dma_clock = parameter(unit="GHz", default=1.0, above=0.0, doc="Clock of a core's DMA engine", source="")
sdma_clock = parameter(unit="GHz", default=1.0, above=0.0, doc="Clock of a core's SDMA engine", source="")
hau_clock = parameter(unit="GHz", default=1.0, above=0.0, doc="Clock of a core's HAU", source="")
tiu_throughput = parameter(
    unit="TFLOP/s", default=256.0, above=0.0, doc="Arithmetic of a core's TIU, a multiplication or an addition each one"
)
dma_bandwidth = parameter(
    unit="GB/s", default=1000.0, above=0.0, doc="Rate at which a core's DMA engine moves data from and to memory"
)
sdma_bandwidth = parameter(
    unit="GB/s", default=500.0, above=0.0, doc="Rate at which a core's SDMA engine moves data between cores"
)
hau_throughput = parameter(
    unit="Gop/s", default=64.0, above=0.0, doc="Elements that a core's HAU sorts, selects or scatters"
)
