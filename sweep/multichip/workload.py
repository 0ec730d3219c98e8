"""What programs that are made for any number of chips are made from: a transformer's sizes, and how it is cut up.

A program's file may set any of these, and the number of chips; a grid comes before it. Sizes of values and models are
those of one layer. Sources: Shoeybi et al., Megatron-LM, 2019 (tensor parallel); Huang et al., GPipe, 2019 (pipelines);
Lepikhin et al., GShard, 2020 (experts); Li et al., PyTorch Distributed, 2020 (buckets of gradients).
"""

from __future__ import annotations

from sweep.registry import parameter

phase = parameter(
    choices=("prefill", "decode"),
    default="prefill",
    doc="Whether a layer takes all tokens of its sequences at once, or one new token of each",
)
batch_size = parameter(default=1, integer=True, minimum=1, maximum=2**20, doc="Sequences that go through a layer")
sequence_length = parameter(
    default=2048, integer=True, minimum=1, maximum=2**24, doc="Tokens of a sequence: its prompt, or what is before it"
)
hidden_size = parameter(default=8192, integer=True, minimum=1, maximum=2**20, doc="Values of a token between layers")
ffn_size = parameter(
    default=28672, integer=True, minimum=1, maximum=2**22, doc="Values of a token inside a feed-forward block"
)
kv_share = parameter(
    default=0.125, above=0.0, maximum=1.0, doc="Heads of keys and of values, as a share of the heads of queries"
)
value_size = parameter(unit="B", default=2.0, above=0.0, maximum=64.0, doc="Bytes of a value, weight or gradient")
layer_count = parameter(default=1, integer=True, minimum=1, maximum=4096, doc="Layers that a program goes through")
layer_pieces = parameter(
    default=1,
    integer=True,
    minimum=1,
    maximum=1024,
    doc="Pieces into which a layer's tokens are cut, so that one is sent while the next is computed",
)
expert_count = parameter(
    default=64, integer=True, minimum=1, maximum=2**16, doc="Experts of a layer, spread evenly over the chips"
)
active_experts = parameter(default=8, integer=True, minimum=1, maximum=2**16, doc="Experts that each token goes to")
micro_batches = parameter(
    default=8, integer=True, minimum=1, maximum=2**16, doc="Parts of a batch that follow each other through a pipeline"
)
gradient_buckets = parameter(
    default=4,
    integer=True,
    minimum=1,
    maximum=4096,
    doc="Parts in which the gradients of a layer are added up across chips",
)
