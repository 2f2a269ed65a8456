"""Plans of kernels, in the interpreter: which one is in force when it is timed and when its bytes are compared. Run
lengths and sparse rows on a card: the streams of the golden models both ways, and no word outside of a tensor.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from cdma import CdmaError, CorruptStream, Format, ParameterError
from cdma.gpu import plans
from cdma.gpu.peers import csr, csr_card, rl, rl_card
from cdma.gpu.peers.card_bench import coders
from cdma.gpu.peers.card_stream import CardStream
from cdma.gpu.peers.csr import CsrFormat
from cdma.gpu.peers.kernel_bench import drawn as numbers
from cdma.gpu.peers.rl import RunFormat
from cdma.gpu.plans import Plan
from cdma.sim.codec.words import word_dtype, words_from_bytes, words_to_bytes
from cdma.study.compare import card_launches
from cdma.study.compare.card_launches import Workload
from tests.extras.pytorch.interpreted import torch
from tests.support.paths import ROOT

# isort: split

PLAN = Plan(1, 64)


@pytest.fixture(autouse=True)
def _the_interpreter_is_the_card(monkeypatch):
    def seconds_of(call, rounds):
        call()
        return [0.5] * rounds

    monkeypatch.setattr(card_launches, "require_cuda", lambda: None)
    words = (torch.arange(600, dtype=torch.int32) % 3).view(torch.uint32)
    monkeypatch.setattr(card_launches, "numbers", lambda *_: words)
    monkeypatch.setattr(card_launches, "seconds_of", seconds_of)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")


@pytest.mark.parametrize(("kernel", "call"), [("pack", "compress"), ("unpack", "restored")])
def test_bytes_are_those_of_the_plan_that_was_tried(kernel, call, monkeypatch):
    workload, made, tried = Workload(kernel, Format(), 1, 0.5), getattr(card_launches, call), []
    monkeypatch.setattr(
        card_launches, call, lambda *all, **named: tried.append(dict(plans._tried)) or made(*all, **named)
    )
    found = workload.timed(PLAN)
    assert found.seconds == 0.5
    assert found.took > 0
    assert tried == 2 * [{kernel: PLAN}]
    assert workload.expert == plans.DEFAULT

    def wrong(*arguments, **named):
        result = made(*arguments, **named)
        (result.stream if kernel == "pack" else result.view(torch.uint8))[-1] += 1
        return result

    monkeypatch.setattr(card_launches, call, wrong)
    with pytest.raises(CdmaError, match="did not give back what it was given"):
        workload.timed(PLAN)


def test_a_plan_without_room_took_its_time_too(monkeypatch):
    def fails(call, rounds):
        raise RuntimeError("out of resources")

    monkeypatch.setattr(card_launches, "seconds_of", fails)
    found = Workload("pack", Format(), 1, 0.5).timed(PLAN)
    assert found.seconds is None
    assert found.took > 0


# isort: split

CODECS = {
    "run lengths of 8 bits": (rl, rl_card, RunFormat(8)),
    "run lengths of 32 bits": (rl, rl_card, RunFormat(32)),
    "rows of 256": (csr, csr_card, CsrFormat()),
    "rows of 100, bytes": (csr, csr_card, CsrFormat(8, 100, 16)),
    "rows of 48, halves": (csr, csr_card, CsrFormat(16, 48, 8)),
}
COUNTS = (0, 1, 255, 1500)


def drawn(count: int, density: float, format, seed: int) -> np.ndarray:
    source = np.random.default_rng(seed)
    words = source.integers(1, 1 << format.word_bits, count, dtype=np.uint64)
    # Zeros in runs, for single ones are all that a density of its own would give.
    kept = np.repeat(source.random(count // 7 + 1) < density, 7)[:count] ^ (source.random(count) < 0.05)
    return np.where(kept, words, 0).astype(word_dtype(format))


@pytest.mark.parametrize("name", CODECS)
def test_streams_are_those_of_the_golden_model_and_come_back(name, monkeypatch):
    model, card, format = CODECS[name]
    for count in COUNTS:
        for density in (0, 0.5, 1):
            words = drawn(count, density, format, count)
            expected = words_to_bytes(model.compress_words(words, format))
            packed = card.compress(torch.from_numpy(words), format)
            assert packed.stream.numpy().tobytes() == expected
            if count:
                # The way back must not need the model.
                monkeypatch.setattr(model, "decompress_words", None)
            assert card.decompress(packed, format).numpy().tobytes() == words.tobytes()
            monkeypatch.undo()


@pytest.mark.parametrize("name", ["run lengths of 8 bits", "rows of 256"])
def test_a_stream_without_room_is_not_written_beyond_it(name):
    _, card, format = CODECS[name]
    words = torch.from_numpy(drawn(600, 0.5, format, 1))
    whole = card.compress(words, format)
    packed = card.compress(words, format, out=torch.empty(64, dtype=torch.uint8))
    assert int(packed.length) == int(whole.length)


def verdict_of(decompress, *given) -> tuple[str, str | bytes]:
    """The kind and the text of an error, or the words."""
    try:
        return "whole", np.asarray(decompress(*given)).tobytes()
    except CorruptStream as error:
        return error.kind, str(error)


@pytest.mark.parametrize("name", ["run lengths of 8 bits", "run lengths of 32 bits", "rows of 100, bytes"])
def test_a_stream_that_is_not_whole_has_the_verdict_of_the_golden_model(name):
    model, card, format = CODECS[name]
    words, source = drawn(1200, 0.4, format, 3), np.random.default_rng(4)
    stream = words_to_bytes(model.compress_words(words, format))
    verdicts = set()
    for _ in range(8):
        damaged = bytearray(stream[: source.integers(1, len(stream) + 1)])
        for place in source.integers(0, len(damaged), 2):
            damaged[place] = source.choice([0, 1, 255])
        damaged = damaged[: len(damaged) // (format.word_bits // 8) * (format.word_bits // 8)]
        data = torch.tensor(list(damaged) + [0] * (-len(damaged) % 4), dtype=torch.uint8)
        packed = CardStream(data, torch.tensor(len(damaged)), len(words))
        stored = words_from_bytes(bytes(damaged), format)
        expected = verdict_of(model.decompress_words, stored, len(words), format)
        assert verdict_of(card.decompress, packed, format) == expected
        verdicts.add(expected[0])
    assert len(verdicts) >= 2


def test_the_bench_has_room_for_every_stream():
    words = torch.from_numpy(numbers(700, 0.4, 1))
    for name, (there, back, most) in coders(700).items():
        fault = torch.zeros(1, dtype=torch.int32)
        stream = there(words, torch.empty(-(-most // 4) * 4, dtype=torch.uint8))
        assert torch.equal(back(stream, fault).view(torch.uint8), words.view(torch.uint8)), name
        assert not int(fault)


def test_rows_that_no_program_holds_are_refused():
    with pytest.raises(ParameterError, match="columns is 5000"):
        csr_card.compress(torch.zeros(9), CsrFormat(32, 5000, 16))


@pytest.mark.slow
@pytest.mark.thorough
def test_every_kernel_compiles_for_an_h100(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.extras.pytorch.compiled_codecs"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == 8
