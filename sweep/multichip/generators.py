"""Programs for any number of chips: layers of a transformer, tensor parallel, in a pipeline, data parallel, of experts.

Sizes, with h `hidden_size`, f `ffn_size`, k `kv_share`, v `value_size`, T tokens of a layer (batch times sequence, in
decode the batch alone), s the sequence, n chips; a multiplication and an addition are two operations:

| part of a layer | weights | operations | bytes of keys and values |
|---|---|---|---|
| attention | (2 + 2k) h^2 | 2 T weights + 4 T s h, in prefill half: a token sees those before | 2 k h v a token |
| feed-forward, gated | 3 h f | 2 T weights | none |

Weights and, in decode, keys and values come from memory by DMA, in order, as early as the engine can. What is added up
in a reduction takes no time. `layer_pieces` p cuts the tokens into p parts: one is sent while the next is computed.

| generator | a chip has | sends |
|---|---|---|
| tensor_parallel | 1/n of the weights | all_reduce of T h v after attention, and after feed-forward |
| pipeline | `layer_count`/n layers, at least one | T h v of each of `micro_batches` to the next chip |
| data_parallel | all layers, a batch of its own, backward | all_reduce of gradients, by `gradient_buckets` of a layer |
| expert_parallel | 1/n of the experts, and of the tokens | all_to_all to experts (dispatch) and back (combine) |

Sources: as in `workload`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweep.multichip.program import Generator, Maker

Values = Mapping[str, Any]


class Layer:
    """Work of one layer of a transformer, of one chip of `share` that divide its weights, for some of its tokens."""

    def __init__(self, values: Values, share: float = 1.0, pieces: float = 1.0) -> None:
        hidden, ffn, kv = values["hidden_size"], values["ffn_size"], values["kv_share"]
        decodes = values["phase"] == "decode"
        seen = values["sequence_length"] if decodes else values["sequence_length"] / 2
        self.tokens = values["batch_size"] * (1.0 if decodes else values["sequence_length"]) / pieces
        self.attention_weights = (2 + 2 * kv) * hidden * hidden / share
        self.ffn_weights = 3.0 * hidden * ffn / share
        self.attention = 2 * self.tokens * self.attention_weights + 4 * self.tokens * seen * hidden / share
        self.ffn = 2 * self.tokens * self.ffn_weights
        self.kv_bytes = 2 * kv * hidden * values["value_size"] / share  # of one token
        self.cache_bytes = values["batch_size"] * seen * self.kv_bytes if decodes else 0.0
        self.value_size = values["value_size"]
        self.message = float(int(-(-self.tokens * hidden * self.value_size // 1)))


def tensor_parallel(maker: Maker, values: Values) -> None:
    """Each layer: attention, all_reduce, feed-forward, all_reduce, piece by piece."""
    pieces = int(values["layer_pieces"])
    layer = Layer(values, maker.chips, pieces)
    parts = (
        ("attention", layer.attention, layer.attention_weights * layer.value_size + layer.cache_bytes),
        ("feed-forward", layer.ffn, layer.ffn_weights * layer.value_size),
    )
    for chip in range(maker.chips):
        summed = [0] * pieces  # of each piece the command that added it up last
        for number in range(int(values["layer_count"])):
            for name, operations, loaded in parts:
                label = f"layer {number} {name}"
                weights = maker.add(chip, "DMA", loaded, "data_bytes", name=f"{label} weights")
                maker.wait(chip, "TIU", ("DMA", weights), f"{label} weights are there")
                for piece in range(pieces):
                    after = ("CDMA", summed[piece]) if summed[piece] else None
                    done = maker.add(chip, "TIU", operations, "operations", after, name=f"{label} {piece}")
                    if name == "attention":
                        kept = layer.tokens * layer.kv_bytes
                        maker.add(chip, "SDMA", kept, "data_bytes", ("TIU", done), name=f"{label} {piece} keys")
                    summed[piece] = maker.collective(
                        chip, "all_reduce", layer.message, ("TIU", done), f"{label} {piece}"
                    )


def pipeline(maker: Maker, values: Values) -> None:
    """Micro-batches through the chips, each of which has some of the layers."""
    batches = int(values["micro_batches"])
    layer = Layer(values, pieces=batches)
    layers = max(values["layer_count"] / maker.chips, 1.0)
    last = maker.chips - 1
    for chip in range(maker.chips):
        weights = (layer.attention_weights + layer.ffn_weights) * layer.value_size * layers
        loaded = maker.add(chip, "DMA", weights + layers * layer.cache_bytes, "data_bytes", name="weights")
        maker.wait(chip, "TIU", ("DMA", loaded), "weights are there")
        got = [maker.receive(chip, chip - 1, layer.message, name="micro-batch 0")] if chip > 0 else []
        for batch in range(batches):
            label = f"micro-batch {batch}"
            after = ("CDMA", got[batch]) if got else None
            if got and batch + 1 < batches:
                got.append(maker.receive(chip, chip - 1, layer.message, name=f"micro-batch {batch + 1}"))
            work = layers * (layer.attention + layer.ffn)
            done = maker.add(chip, "TIU", work, "operations", after, name=label)
            if chip < last:
                maker.send(chip, chip + 1, layer.message, ("TIU", done), label)


def data_parallel(maker: Maker, values: Values) -> None:
    """The backward pass, twice the work of the forward one; gradients are added up while it goes on."""
    buckets = int(values["gradient_buckets"])
    layer = Layer(values)
    weights = layer.attention_weights + layer.ffn_weights
    gradients = float(int(-(-weights * layer.value_size // buckets)))
    for chip in range(maker.chips):
        for number in reversed(range(int(values["layer_count"]))):
            loaded = maker.add(chip, "DMA", weights * layer.value_size, "data_bytes", name=f"layer {number} weights")
            maker.wait(chip, "TIU", ("DMA", loaded), f"layer {number} weights are there")
            for bucket in range(buckets):
                label = f"layer {number} bucket {bucket}"
                work = 2 * (layer.attention + layer.ffn) / buckets
                done = maker.add(chip, "TIU", work, "operations", name=label)
                maker.collective(chip, "all_reduce", gradients, ("TIU", done), label)


def expert_parallel(maker: Maker, values: Values) -> None:
    """Tokens to the experts that each is routed to, and back, piece by piece."""
    pieces = int(values["layer_pieces"])
    layer = Layer(values, maker.chips, pieces)  # as many tokens in all; a chip has its share of them
    experts, active = values["expert_count"], values["active_experts"]
    tokens = layer.tokens / maker.chips
    copies = tokens * active
    size = float(int(-(-copies * values["hidden_size"] * layer.value_size // 1)))
    loaded = experts / maker.chips * 3 * values["hidden_size"] * values["ffn_size"] * layer.value_size
    work = 2.0 * copies * 3 * values["hidden_size"] * values["ffn_size"]
    for chip in range(maker.chips):
        added = [0] * pieces  # of each piece the command that ends a layer
        for number in range(int(values["layer_count"])):
            weights = maker.add(chip, "DMA", loaded, "data_bytes", name=f"layer {number} experts' weights")
            sent = []
            for piece in range(pieces):
                label = f"layer {number} {piece}"
                after = ("SDMA", added[piece]) if added[piece] else None
                routed = maker.add(chip, "HAU", tokens * experts, "operations", after, name=f"{label} routing")
                moved = maker.add(chip, "SDMA", size, "data_bytes", ("HAU", routed), name=f"{label} permuting")
                sent.append(maker.collective(chip, "all_to_all", size, ("SDMA", moved), f"{label} dispatch"))
            maker.wait(chip, "TIU", ("DMA", weights), f"layer {number} weights are there")
            for piece in range(pieces):
                label = f"layer {number} {piece}"
                done = maker.add(chip, "TIU", work, "operations", ("CDMA", sent[piece]), name=f"{label} experts")
                back = maker.collective(chip, "all_to_all", size, ("TIU", done), f"{label} combine")
                added[piece] = maker.add(chip, "SDMA", size, "data_bytes", ("CDMA", back), name=f"{label} adding up")


GENERATORS: dict[str, Generator] = {
    "tensor_parallel": tensor_parallel,
    "pipeline": pipeline,
    "data_parallel": data_parallel,
    "expert_parallel": expert_parallel,
}
"""Generators by the names that files give them."""
