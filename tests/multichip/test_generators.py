"""Programs for any number of chips: work and bytes as counted by hand, and what they have to take at least."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sweep.multichip.engines import ENGINES
from sweep.multichip.prepare import WORKLOAD, queues_of
from sweep.multichip.program import OPS
from sweep.multichip.program_file import OF_PROGRAM, read_program
from tests.models import close, points

pytestmark = pytest.mark.plain

SMALL = {"hidden_size": 64.0, "ffn_size": 256.0, "kv_share": 0.25, "value_size": 2.0, "sequence_length": 32.0}


def made(generator: str, chips: int, **values: Any) -> dict[str, list[Any]]:
    """Commands of the last chip, by engine."""
    given = {name: OF_PROGRAM[name].default for name in WORKLOAD} | SMALL | values
    queues = queues_of(read_program(f"generator: {generator}", "p"), chips, tuple(given[name] for name in WORKLOAD))
    return {engine: list(queues.get((chips - 1, 0, number), ())) for number, engine in enumerate(ENGINES)}


def amounts(commands: list[Any]) -> list[float]:
    return [command.amount for command in commands if command.amount]


def test_a_tensor_parallel_layer_has_the_work_of_its_matrices():
    """h 64, f 256, k 1/4, 4 sequences of 32 tokens, 2 chips, 2 B a value."""
    found = made("tensor_parallel", 2, batch_size=4.0)
    attention_weights = (64 * 64 + 2 * 16 * 64 + 64 * 64) / 2  # queries, keys and values, output
    ffn_weights = 3 * 64 * 256 / 2
    scores = sum(2 * 64 * seen for seen in range(32)) * 2 * 4 / 2  # products with keys, and with values; tokens before
    attention, ffn = amounts(found["TIU"])
    assert attention == pytest.approx(2 * 128 * attention_weights + scores, rel=0.01)  # 31/2 tokens before, not 32/2
    assert ffn == 2 * 128 * ffn_weights
    assert amounts(found["DMA"]) == [attention_weights * 2, ffn_weights * 2]
    assert amounts(found["SDMA"]) == [128 * 2 * 16 * 2 / 2]  # keys and values of each token
    assert amounts(found["CDMA"]) == [128 * 64 * 2] * 2
    assert [OPS[command.op] for command in found["CDMA"]] == ["all_reduce"] * 2


def test_decode_takes_one_token_of_each_sequence_and_reads_what_is_before():
    found = made("tensor_parallel", 2, batch_size=4.0, phase="decode")
    weights = (64 * 64 * 2 + 2 * 16 * 64) / 2
    cache = 4 * 32 * 2 * 16 * 2 / 2
    assert amounts(found["TIU"])[0] == 2 * 4 * weights + 4 * 4 * 32 * 64 / 2
    assert amounts(found["DMA"])[0] == weights * 2 + cache
    assert amounts(found["CDMA"]) == [4 * 64 * 2] * 2


@pytest.mark.parametrize("generator", ["tensor_parallel", "expert_parallel"])
def test_pieces_and_layers_share_the_same_work_and_bytes(generator):
    whole = made(generator, 4, batch_size=8.0)
    cut = made(generator, 4, batch_size=8.0, layer_pieces=4.0)
    twice = made(generator, 4, batch_size=8.0, layer_count=2.0)
    for engine in ENGINES:
        assert sum(amounts(cut[engine])) == close(sum(amounts(whole[engine])))
        assert sum(amounts(twice[engine])) == close(2 * sum(amounts(whole[engine])))


def test_a_pipeline_passes_each_micro_batch_on():
    found = made("pipeline", 3, micro_batches=4.0, batch_size=4.0, layer_count=6.0)
    assert Counter(OPS[command.op] for command in found["CDMA"]) == {"recv": 4}
    assert amounts(found["CDMA"]) == [32 * 64 * 2] * 4
    weights = 64 * 64 * 2.5 + 3 * 64 * 256
    assert amounts(found["TIU"]) == [close(2 * (2 * 32 * weights + 4 * 32 * 16 * 64))] * 4  # two layers


def test_data_parallel_adds_up_all_gradients():
    found = made("data_parallel", 3, gradient_buckets=4.0, layer_count=2.0)
    weights = 64 * 64 * 2.5 + 3 * 64 * 256
    assert amounts(found["CDMA"]) == [weights * 2 / 4] * 8
    assert sum(amounts(found["TIU"])) == close(2 * 2 * (2 * 32 * weights + 4 * 32 * 16 * 64))


def test_experts_get_each_token_as_often_as_it_is_routed():
    found = made("expert_parallel", 4, batch_size=4.0, expert_count=8.0, active_experts=2.0)
    tokens = 4 * 32 / 4
    assert amounts(found["HAU"]) == [tokens * 8]
    assert amounts(found["CDMA"]) == [tokens * 2 * 64 * 2] * 2
    assert amounts(found["TIU"]) == [2 * tokens * 2 * 3 * 64 * 256]
    assert amounts(found["DMA"]) == [2 * 3 * 64 * 256 * 2]  # two experts


@pytest.mark.parametrize("generator", ["tensor_parallel", "pipeline", "data_parallel", "expert_parallel"])
@pytest.mark.parametrize("chips", [1, 2, 3])
def test_programs_end_and_take_at_least_the_time_of_their_work(generator, chips):
    """On one chip nothing is sent; the least is what each engine's commands take, one after the other."""
    tiu_throughput = 0.1  # slow, so that computing counts
    found = points(
        ("makespan", "engine_busy", "engine_exposed", "exposed_communication", "simulated_program_frames"),
        program=read_program(f"generator: {generator}", "p"),
        chip_count=chips,
        tiu_throughput=tiu_throughput,
        recv_credit="on",
        layer_pieces=2,
        micro_batches=2,
        **SMALL,
    )
    assert found["makespan"].status == "ok"
    work = sum(amounts(made(generator, chips, layer_pieces=2.0, micro_batches=2.0)["TIU"]))
    busy, exposed = found["engine_busy"].value, found["engine_exposed"].value
    assert found["makespan"].value >= work / (1000 * tiu_throughput) * (1 - 1e-9)
    assert busy[0] == pytest.approx(work / (1000 * tiu_throughput), rel=1e-6)
    assert (exposed <= busy * (1 + 1e-12)).all()
    assert sum(exposed) <= found["makespan"].value * (1 + 1e-12)
    assert (found["simulated_program_frames"].value == 0) == (chips == 1)
    assert (found["exposed_communication"].value == 0) == (chips == 1)


def test_what_is_sent_while_the_next_piece_is_computed_is_less_exposed():
    """Two pieces at most halve what is exposed of the first; more bytes of headers are all that it costs."""
    given = {
        "program": read_program("generator: tensor_parallel", "p"),
        "chip_count": 2,
        "tiu_throughput": 0.05,
        **SMALL,
    }
    whole, cut = (points(("makespan", "exposed_communication"), layer_pieces=pieces, **given) for pieces in (1, 4))
    assert cut["exposed_communication"].value < 0.5 * whole["exposed_communication"].value
    assert cut["makespan"].value < whole["makespan"].value
