"""The rules of one transfer: refusals in their order, bytes, and the promises of the documents. Whose a transfer is, in
the model of the engine and in both drivers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, MAX_BYTES
from cdma.hdl.spec.stage import NUMBERS
from cdma.sim.codec.container import crc32c
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Owner, Status
from cdma.sim.engine.memory import AddressSpace, Completion, pack, stray_owner, unpack
from cdma.sim.engine.transfer import DIRECTIONS, Outcome, TransferRules
from tests.support.c_driver_library import BAD_ARGUMENT, REFUSED
from tests.support.stream_bench import DEV, OUT, ModelBench

CONFIG = EngineConfig(
    format=Format(word_bits=16), lanes=4, dev_data_bits=64, host_data_bits=128, alignment="word"
)
EVERYWHERE = AddressSpace(64)
GOOD = {"source": 0x1000, "destination": 0x2000, "length": 64, "capacity": 64}


def descriptor(**fields: int) -> dict[str, int]:
    return unpack(DESCRIPTOR, pack(DESCRIPTOR, GOOD | fields))


def refusal(direction: str, config: EngineConfig = CONFIG, **fields: int) -> Outcome | None:
    return TransferRules(config, direction).refusal(descriptor(**fields), EVERYWHERE, EVERYWHERE)


def test_completions_survive_memory() -> None:
    done = Completion(0xFFFFFFFF, Status.ABORTED, 1 << 33, 3, 4, 5, 1 << 63)
    for phase in (0, 1):
        raw = done.pack(phase)
        assert raw[63] >> 7 == phase
        assert Completion.unpack(raw) == done


@pytest.mark.parametrize(
    ("fields", "status", "address"),
    [
        ({"owner": 1, "length": 0}, Status.RESERVED, 0),
        ({"mode": 3, "length": 0}, Status.RESERVED, 0),
        ({"length": 0, "capacity": 0}, Status.ZERO_LENGTH, 0),
        ({"length": 63, "capacity": 0}, Status.LENGTH, 0),
        ({"length": MAX_BYTES + 2}, Status.LENGTH, 0),
        ({"compressed_length": 2}, Status.LENGTH, 0),
        ({"length": 66, "source": 1}, Status.CAPACITY, 0x2040),
        ({"capacity": 0, "mode": Mode.ZVC}, Status.CAPACITY, 0x2000),
        ({"source": 0x1001, "destination": 0x2001}, Status.ALIGNMENT, 0x1001),
        ({"destination": 0x2001}, Status.ALIGNMENT, 0x2001),
    ],
)
def test_the_first_objection_counts(fields: dict[str, int], status: Status, address: int) -> None:
    assert refusal("offload", **fields) == Outcome(status, address=address)


def test_valid_transfers_have_no_objection() -> None:
    assert refusal("offload") is None
    assert refusal("offload", mode=Mode.ZVC, capacity=2) is None
    assert refusal("offload", length=MAX_BYTES, capacity=MAX_BYTES) is None
    assert refusal("prefetch", mode=Mode.ZVC, compressed_length=2) is None


def test_a_prefetch_needs_the_length_of_its_stream() -> None:
    assert refusal("prefetch", mode=Mode.ZVC) == Outcome(Status.ZERO_LENGTH)
    assert refusal("prefetch", mode=Mode.ZVC, compressed_length=3) == Outcome(Status.LENGTH)
    assert refusal("prefetch", mode=Mode.ZVC, compressed_length=1 << 33) == Outcome(Status.LENGTH)


def test_windows_hold_both_ends() -> None:
    rules = TransferRules(CONFIG, "offload")
    window = AddressSpace(32, 0x1000, 0x2FFF)
    assert rules.refusal(descriptor(), window, window) is None
    for fields, address in (
        ({"source": 0xFFE}, 0xFFE),
        ({"source": 0x2FC2}, 0x2FC2),
        ({"destination": 0x2FC2}, 0x2FC2),
        ({"destination": 1 << 32}, 1 << 32),
    ):
        assert rules.refusal(descriptor(**fields), window, window) == Outcome(Status.WINDOW, address=address)


def test_data_that_do_not_fit_are_written_in_whole_beats() -> None:
    """A beat of the host port has 16 bytes; the stream of 16 literals has 36 bytes."""
    rules = TransferRules(CONFIG, "offload")
    data = np.arange(1, 17, dtype="<u2").tobytes()
    whole = rules.outcome(descriptor(mode=Mode.ZVC, length=32), data, (0,))
    assert (whole.status, whole.bytes_written, whole.literals, whole.address) == (Status.OK, 36, 16, 0)
    for start, capacity, written in (
        (0x2000, 36, 36),
        (0x2000, 35, 32),
        (0x2000, 15, 0),
        (0x2004, 34, 28),
        (0x200E, 1, 0),
        (0x200E, 2, 2),
    ):
        fields = descriptor(mode=Mode.ZVC, length=32, destination=start, capacity=capacity)
        found = rules.outcome(fields, data, (0,))
        assert found.written == whole.written[:written], (start, capacity)
        if written < 36:
            assert (found.status, found.address) == (Status.CAPACITY, start + written)


def test_corrupt_streams_end_with_their_kind() -> None:
    rules = TransferRules(CONFIG, "prefetch")
    fields = descriptor(mode=Mode.ZVC, length=64, compressed_length=4)
    assert rules.outcome(fields, b"\x01\x00\x00\x00", (0,)).status is Status.STREAM_TRUNCATED
    assert rules.outcome(fields, bytes(6), (0,)).status is Status.STREAM_TRAILING
    # A packet of one word, whose codes after it must be 0; what is written is what came before the fault.
    lone = descriptor(mode=Mode.ZVC, length=2, compressed_length=6)
    assert rules.outcome(lone, b"\1\0\0\x80\7\0", (0,)).status is Status.STREAM_CODE


HALVES = EngineConfig(format=Format(4, align=2), alignment="word", lossy="bf16", crc=True)


@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_an_odd_number_of_integers_of_half_a_byte(mode: Mode) -> None:
    """Three numbers, 1, 2 and -1, with steps of 1: a zero is in the last half byte, and the CRC is of two bytes."""
    numbers = np.array([0x3F80, 0x4000, 0xBF80], "<u2").tobytes()
    out = TransferRules(HALVES, "offload").outcome(descriptor(length=6, mode=mode, step=127), numbers, (0,))
    integers = bytes([0x21, 0x0F])
    assert out.written == integers if mode is Mode.RAW else bytes([7, 0, 0, 0]) + integers
    assert (out.status, out.crc) == (Status.OK, crc32c(integers))
    rules = TransferRules(HALVES, "prefetch")
    for length, wanted in ((len(out.written), None), (len(out.written) - 1, Status.LENGTH)):
        back = descriptor(length=6, mode=mode, step=127, compressed_length=length)
        refused = rules.refusal(back, EVERYWHERE, EVERYWHERE)
        if length == len(out.written):
            assert refused is None
            assert rules.words(back) == 3
            found = rules.outcome(back, out.written, (0,))
            assert (found.written, found.crc, found.bytes_read) == (numbers, out.crc, len(out.written))
        elif mode is Mode.RAW:
            assert refused == Outcome(wanted)


def test_lengths_of_words_of_half_a_byte() -> None:
    """Any number of bytes, which are twice as many words; these are counted with 32 bits."""
    assert refusal("offload", HALVES, length=7) is None
    assert TransferRules(HALVES, "offload").words(descriptor(length=7)) == 14
    longest = (1 << 31) - 1
    assert refusal("offload", HALVES, length=longest, capacity=longest) is None
    assert refusal("offload", HALVES, length=longest + 1, capacity=longest + 1) == Outcome(Status.LENGTH)


#: Of any number of bytes, with numbers where there is a step.
BYTES = EngineConfig(format=Format(word_bits=16), alignment="byte", lossy="fp32", crc=True)


def test_lengths_of_any_number_of_bytes() -> None:
    """The last word counts as one, and its bytes that are not meant are neither read nor written. Numbers are whole."""
    assert refusal("offload", BYTES, length=63) is None
    assert refusal("offload", BYTES, length=MAX_BYTES - 1, capacity=MAX_BYTES) is None
    assert refusal("offload", BYTES, length=63, step=127) == Outcome(Status.LENGTH)
    assert refusal("prefetch", BYTES, length=63, mode=Mode.ZVC, compressed_length=5) == Outcome(Status.LENGTH)
    rules = {direction: TransferRules(BYTES, direction) for direction in DIRECTIONS}
    data = bytes(range(1, 6))
    out = rules["offload"].outcome(descriptor(mode=Mode.ZVC, length=5), data, (0,))
    assert (out.written, out.bytes_read, out.crc) == (bytes([7, 0, 0, 0]) + data + b"\0", 5, crc32c(data))
    fields = descriptor(mode=Mode.ZVC, length=5, capacity=5, compressed_length=10)
    assert rules["prefetch"].words(fields) == 3
    # What fills the last word is not looked at.
    back = rules["prefetch"].outcome(fields, out.written[:-1] + b"\xff", (0,))
    assert (back.status, back.written, back.crc) == (Status.OK, data, out.crc)
    short = rules["prefetch"].outcome(fields, out.written[:-2], (0,))
    assert short.status is Status.STREAM_TRUNCATED
    for direction in DIRECTIONS:
        copied = rules[direction].outcome(descriptor(length=5, capacity=5), data, (0,))
        assert (copied.written, copied.crc) == (data, out.crc)


_NOTHING_TRANSFERRED = (Status.RESERVED, Status.ZERO_LENGTH, Status.LENGTH, Status.ALIGNMENT, Status.WINDOW)
_STREAM_ERRORS = (Status.STREAM_TRUNCATED, Status.STREAM_TRAILING, Status.STREAM_CODE, Status.STREAM_PADDING)


def _check_promises(
    config: EngineConfig, channel: str, descriptor: dict[str, int], completion: dict[str, int]
) -> None:
    """What ``docs/engine.md`` promises to the software that reads a completion; it uses nothing of the specification."""
    status, read, written = (completion[name] for name in ("status", "bytes_read", "bytes_written"))
    length, capacity, step = (descriptor[name] for name in ("length", "capacity", "step"))
    raw, word_bits = descriptor["mode"] == Mode.RAW, config.format.word_bits
    words = -(-length * 8 // (NUMBERS[config.lossy].bits if step else word_bits))
    end = descriptor["destination"] + written
    beat = config.data_bits("host" if channel == "offload" else "dev") // 8

    def promise(kept: bool, sentence: str) -> None:
        assert kept, f"{sentence}: {descriptor} completed with {completion}"

    promise(completion["tag"] == descriptor["tag"], "a completion has the tag of its descriptor")
    promise(written <= capacity, "nothing is written past the capacity")
    promise(not raw or not completion["literals"], "a raw copy has no literals")
    if status in _NOTHING_TRANSFERRED:
        nothing = read == written == completion["literals"] == 0
        promise(nothing, "of a refused descriptor nothing is transferred")
    if status == Status.CAPACITY and (channel == "prefetch" or (raw and not step)):
        promise(read == written == 0, "a raw copy or a prefetch that cannot fit is refused at once")
        behind = descriptor["destination"] + capacity
        promise(completion["address"] == behind, "the address is past the capacity")
    elif status == Status.CAPACITY:
        promise(completion["address"] == end, "the address is the first byte that was not written")
        promise(not written or end % beat == 0, "whole beats are written up to the capacity")
        promise(capacity - written < beat, "every whole beat within the capacity is written")
    count, first = completion["range_count"], completion["range_first"]
    promise(not count or bool(step and channel == "offload"), "only a quantiser counts numbers")
    promise(first < words if count else not first, "the first number that is counted is one of the tensor's")
    promise(status != Status.OK or not count, "numbers that are not within the bound are never silent")
    promise(status != Status.LOSSY_RANGE or bool(count), "a range that is reported has a number")
    if status in (Status.OK, Status.LOSSY_RANGE):
        promise(completion["address"] == 0, "a success has no address")
        if raw and not step:
            promise((read, written) == (length, length), "a raw copy moves its length")
        elif channel == "prefetch":
            promise(read == descriptor["compressed_length"], "a prefetch reads the compressed length")
            promise(written == length, "a prefetch writes the raw length")
        else:
            promise(read == length, "an offload reads the raw length")
            most = -(-words * word_bits // 8) if raw else config.format.bound_bytes(words)
            promise(0 < written <= most, "a stream is within its bound")
    if status in _STREAM_ERRORS:
        promise(channel == "prefetch" and not raw, "only a decompressor finds errors in a stream")
        promise(written <= length, "no more words are written than the descriptor asks for")


@given(st.data())
def test_outcomes_keep_the_promises_of_the_documents(data: Any) -> None:
    config = data.draw(st.sampled_from([CONFIG, BYTES]))
    direction = data.draw(st.sampled_from(DIRECTIONS))
    mode = data.draw(st.sampled_from(Mode))
    step = data.draw(st.sampled_from([0, 120, 127])) if config is BYTES else 0
    values = [0.0, 0.0, 1.0, -3.25, 1e30] if step else [0, 0, 7, 9]
    words = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=90))
    raw = np.array(words, "<f4" if step else "<u2").tobytes()
    rules = TransferRules(config, direction)
    source = raw
    decompresses = direction == "prefetch" and bool(mode != Mode.RAW or step)
    if decompresses:
        whole = descriptor(mode=mode, length=len(raw), capacity=1 << 20, step=step)
        packed = TransferRules(config, "offload").outcome(whole, raw, (7,))
        cut = mode != Mode.RAW and data.draw(st.integers(0, packed.bytes_written // 2 - 1))
        source = packed.written[: packed.bytes_written - 2 * cut]
    fields = descriptor(
        mode=mode,
        length=len(raw),
        capacity=data.draw(st.integers(0, 400)),
        destination=0x2000 + 2 * data.draw(st.integers(0, 9)),
        compressed_length=len(source) if decompresses else 0,
        tag=5,
        step=step,
    )
    found = rules.refusal(fields, EVERYWHERE, EVERYWHERE) or rules.outcome(fields, source, (7,))
    names = ("status", "bytes_read", "bytes_written", "literals", "address", "range_count", "range_first")
    completion = {"tag": 5, **{name: int(getattr(found, name)) for name in names}}
    _check_promises(config, direction, fields, unpack(COMPLETION, pack(COMPLETION, completion)))


OWNED_CONFIG = EngineConfig(ring_entries=16, crc=True, stream_id_bits=4, substream_id_bits=8)
MINE = Owner(3, 0x25)


def _job(owner: Owner | None) -> Descriptor:
    return Descriptor(DEV, OUT, 64, 64, Mode.RAW, owner=owner)


@pytest.mark.parametrize("driver", ["python", "c"])
@pytest.mark.parametrize("pushed", [False, True], ids=["ring", "push"])
def test_a_channel_carries_out_the_transfers_of_those_that_it_may(pushed: bool, driver: str) -> None:
    bench = ModelBench(OWNED_CONFIG, driver)
    channel = bench.driver.offload
    if pushed:
        channel.start_direct()
    else:
        bench.start()

    def ends(owner: Owner | None) -> Status:
        if pushed:
            channel.push(_job(owner))
        else:
            channel.submit(_job(owner))
        return channel.wait()[0].status

    assert [ends(owner) for owner in (None, Owner(), MINE)] == [Status.OK, Status.OK, Status.OWNER]
    channel.set_owners(MINE, ring=Owner(1))
    assert [ends(owner) for owner in (None, MINE, Owner(3), Owner(3, 0x24), Owner(2, 0x25))] == [
        Status.OWNER,
        Status.OK,
        Status.OWNER,
        Status.OWNER,
        Status.OWNER,
    ]
    # Any substream of one stream.
    channel.set_owners(MINE, mask=0xFFF0_0000)
    assert [ends(owner) for owner in (Owner(3, 0x24), Owner(3), Owner(2, 0x24))] == [
        Status.OK,
        Status.OWNER,
        Status.OWNER,
    ]


@pytest.mark.parametrize("driver", ["python", "c"])
def test_owners_that_are_locked_stay(driver: str) -> None:
    bench = ModelBench(OWNED_CONFIG, driver)
    channel = bench.driver.offload
    channel.set_owners(MINE, lock=True)
    with pytest.raises(DriverError if driver == "python" else Exception, match="locked|" + str(REFUSED)):
        channel.set_owners(Owner(2))
    bench.driver.soft_reset()
    bench.start()
    channel.submit(_job(MINE), _job(Owner(2)))
    assert [done.status for done in channel.wait(2)] == [Status.OK, Status.OWNER]
    bench.driver.prefetch.set_owners(Owner(2))


def test_an_owner_that_is_none_is_reserved() -> None:
    fields = OWNED_CONFIG.records.owner_fields
    for owned, owner in ((0, 1 << 20), (1, 1 << 24), (1, 0x8000_0100), (1, 0x25)):
        assert stray_owner({"owned": owned, "owner": owner}, fields), hex(owner)
    for owned, owner in ((0, 0), (1, 0), (1, MINE.word)):
        assert not stray_owner({"owned": owned, "owner": owner}, fields), hex(owner)
    assert stray_owner({"owned": 1, "owner": 0}, {})


@pytest.mark.parametrize("driver", ["python", "c"])
def test_drivers_refuse_owners_that_the_engine_does_not_have(driver: str) -> None:
    for config, owner in (
        (OWNED_CONFIG, Owner(16)),
        (OWNED_CONFIG, Owner(1, 256)),
        (EngineConfig(ring_entries=16), Owner(1)),
    ):
        bench = ModelBench(config, driver)
        bench.start()
        error = DriverError if driver == "python" else Exception
        text = "owner" if driver == "python" else str(BAD_ARGUMENT)
        with pytest.raises(error, match=text):
            bench.driver.offload.submit(_job(owner))
        with pytest.raises(error, match=text):
            bench.driver.offload.set_owners(owner)


def test_an_owner_has_as_many_bits_as_a_descriptor() -> None:
    assert (Owner().word, Owner(1).word, Owner(0, 0).word, Owner(2047, 0xFFFFF).word) == (
        0,
        1 << 20,
        1 << 31,
        0xFFFF_FFFF,
    )
    for wrong in ({"stream": 2048}, {"substream": 1 << 20}, {"stream": -1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Owner(**wrong)
