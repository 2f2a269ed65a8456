"""An outsider's check of completions, from the sentences of ``docs/engine.md`` alone.

The bench expects what the specification in :mod:`cdma.sim.engine.transfer` computes. A mistake in the specification
would show in no comparison with it, so this check uses nothing of it and nothing of the codec's model.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.quantisation import NUMBERS
from cdma.hdl.spec.records import Mode, Status

__all__ = ["check_promises"]

_NOTHING_TRANSFERRED = (
    Status.RESERVED,
    Status.ZERO_LENGTH,
    Status.LENGTH,
    Status.ALIGNMENT,
    Status.WINDOW,
    Status.SHAPE,
)
_STREAM_ERRORS = (Status.STREAM_TRUNCATED, Status.STREAM_TRAILING, Status.STREAM_CODE, Status.STREAM_PADDING)


def check_promises(
    config: EngineConfig,
    channel: str,
    descriptor: Mapping[str, int],
    completion: Mapping[str, int],
    moved: int | None = None,
) -> None:
    """Raises :class:`AssertionError` where a completion breaks a promise to the software that reads it.

    ``moved``
        Bytes that a shape has in device memory; None without a shape.
    """
    status, read, written = (completion[name] for name in ("status", "bytes_read", "bytes_written"))
    length, capacity = descriptor["length"], descriptor["capacity"]
    device = length if moved is None else moved
    raw = descriptor["mode"] == Mode.RAW
    word_bits = config.format.word_bits
    counted = config.quantisation and descriptor["step"]
    words = -(-length * 8 // (NUMBERS[config.lossy].bits if counted else word_bits))
    end = descriptor["destination"] + written
    beat = (config.host_data_bits if channel == "offload" else config.dev_data_bits) // 8

    def promise(kept: bool, sentence: str) -> None:
        assert kept, f"{sentence}: {dict(descriptor)} completed with {dict(completion)}"

    promise(completion["tag"] == descriptor["tag"], "a completion has the tag of its descriptor")
    promise(written <= capacity, "nothing is written past the capacity")
    promise(not raw or not completion["literals"], "a raw copy has no literals")
    if status in _NOTHING_TRANSFERRED:
        promise(
            read == written == completion["literals"] == 0, "of a refused descriptor nothing is transferred"
        )
    if status == Status.CAPACITY and (channel == "prefetch" or (raw and not descriptor["step"])):
        promise(read == written == 0, "a raw copy or a prefetch that cannot fit is refused at once")
        promise(
            moved is not None or completion["address"] == descriptor["destination"] + capacity,
            "the address is past the capacity",
        )
    elif status == Status.CAPACITY:
        listed = bool(descriptor.get("pages_low") or descriptor.get("pages_high"))
        promise(listed or completion["address"] == end, "the address is the first byte that was not written")
        promise(not written or end % beat == 0, "whole beats are written up to the capacity")
        promise(capacity - written < beat, "every whole beat within the capacity is written")
    count, first = completion["range_count"], completion["range_first"]
    promise(not count or bool(descriptor["step"] and channel == "offload"), "only a quantiser counts numbers")
    promise(first < words if count else not first, "the first number that is counted is one of the tensor's")
    promise(status != Status.OK or not count, "numbers that are not within the bound are never silent")
    promise(status != Status.LOSSY_RANGE or bool(count), "a range that is reported has a number")
    if status in (Status.OK, Status.LOSSY_RANGE):
        promise(completion["address"] == 0, "a success has no address")
        if raw and not descriptor["step"]:
            in_device, in_host = (read, written) if channel == "offload" else (written, read)
            promise((in_device, in_host) == (device, length), "a raw copy moves its length")
        elif channel == "prefetch":
            promise(read == descriptor["compressed_length"], "a prefetch reads the compressed length")
            promise(written == device, "a prefetch writes the raw length")
        else:
            promise(read == device, "an offload reads the raw length")
            most = -(-words * word_bits // 8) if raw else config.format.bound_bytes(words)
            promise(0 < written <= most, "a stream is within its bound")
    if status in _STREAM_ERRORS:
        promise(channel == "prefetch" and not raw, "only a decompressor finds errors in a stream")
        promise(written <= length, "no more words are written than the descriptor asks for")
