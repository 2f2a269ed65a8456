"""The transfers of the first bench of an engine: a tensor to host memory and back, by the specification."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from cdma.hdl.deliver.bench.vectors import MemoryArea, Transfer, TransferVectors
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode
from cdma.sim.codec.packed import to_memory
from cdma.sim.codec.words import words_to_bytes
from cdma.sim.engine.transfer import DIRECTIONS, Outcome, TransferRules

from .golden_data import some_numbers, some_table, some_words

__all__ = ["transfer_vectors"]

#: Bytes of the tensor of an engine with one device port.
_TENSOR_BYTES = 2048
#: Where the memories begin, if addresses have so many bits.
_BASES = {"dev": 0x1000_0000, "host": 0x8000_0000}
#: Bytes around what lies in a memory, which nothing may touch, and of which memories consist.
_GAP, _PAGE = 64, 4096
#: The exponent of the step of numbers.
_EXPONENT = -3


def transfer_vectors(config: EngineConfig) -> TransferVectors:
    """An offload and a prefetch, and with an error-bounded stage both once more, of numbers."""
    words = _tensor_words(config)
    while not (script := _Script(config, words)).fits:
        words //= 2
    return script.vectors()


def _tensor_words(config: EngineConfig) -> int:
    """The words of the tensor: windows and a part of one; and where there are units, more than a stripe of each."""
    form = config.format
    least = config.units * config.stripe_bytes if config.units > 1 else _TENSOR_BYTES
    return -(-least // config.window_bytes) * form.window + form.window // 2 + 1


class _Memory:
    """One of the memories, in which one thing after the other gets its place."""

    def __init__(self, config: EngineConfig, port: str) -> None:
        bits = config.dev_address_bits if port == "dev" else config.host_address_bits
        base = _BASES[port]
        self.base = base if base < 1 << bits else 0
        self.most = (1 << bits) - self.base
        self.align = config.align(port)
        self.end = 0

    def place(self, size: int) -> int:
        """The address of so many bytes more: not that of a page, where the alignment allows that."""
        line = max(_GAP, self.align)
        start = -(-(self.end + _GAP) // line) * line + self.align % line
        self.end = start + size
        return self.base + start

    @property
    def area(self) -> MemoryArea:
        return MemoryArea(self.base, -(-(self.end + _GAP) // _PAGE) * _PAGE)


class _Script:
    """All transfers, with a tensor of so many ``words``."""

    def __init__(self, config: EngineConfig, words: int) -> None:
        self.config = config
        form = config.format
        self.memories = {port: _Memory(config, port) for port in _BASES}
        self.rules = {name: TransferRules(config, name) for name in DIRECTIONS}
        self.data: dict[str, bytes] = {}
        self.transfers: list[Transfer] = []
        size = config.codec.table_size
        self.table = some_table(config.codec) if size and form.values != (0,) else (0,) * size
        rng = np.random.default_rng(1)
        # An even number of them: words of 4 bits fill bytes.
        raw = to_memory(some_words(rng, form, words + words % 2), form.word_bits)
        self._there_and_back("tensor", "stream", "tensor", raw, "the tensor")
        if config.quantisation:
            step = config.quantisation.step(_EXPONENT)
            numbers = words_to_bytes(some_numbers(rng, config.quantisation, step, words))
            self._there_and_back("numbers", "integers", "restored", numbers, "numbers", step)

    @property
    def fits(self) -> bool:
        """Whether the memories have room for it."""
        return all(memory.area.size <= memory.most for memory in self.memories.values())

    def vectors(self) -> TransferVectors:
        """What the bench needs."""
        config = self.config
        return TransferVectors(
            device=self.memories["dev"].area,
            host=self.memories["host"].area,
            units=config.units,
            stripe_bytes=config.stripe_bytes,
            table=self.table if any(self.table) else (),
            data=self.data,
            transfers=self.transfers,
        )

    def _there_and_back(
        self, there: str, stream: str, back: str, raw: bytes, what: str, step: int = 0
    ) -> None:
        """An offload of ``raw`` and a prefetch of what became of it, and the names of the data before, between and after."""
        form = self.config.format
        device, host = self.memories["dev"], self.memories["host"]
        bits = (
            self.config.quantisation.number_type.bits if step and self.config.quantisation else form.word_bits
        )
        capacity = -(-form.bound(len(raw) * 8 // bits) * form.stream_bits // 8)
        common = {
            "length": len(raw),
            "mode": Mode.FVC if any(self.table) else Mode.ZVC,
            "step": step,
        }
        away = {
            **common,
            "source": device.place(len(raw)),
            "destination": host.place(capacity),
            "capacity": capacity,
            "tag": len(self.transfers) + 1,
        }
        self.data[there] = raw
        packed = self._add(f"{what} from device memory to host memory", "offload", away, there, stream)
        checked = {"check_crc": 1, "crc": packed.crc} if self.config.crc else {}
        home = {
            **common,
            **checked,
            "source": away["destination"],
            "destination": device.place(len(raw)),
            "capacity": len(raw),
            "compressed_length": packed.bytes_written,
            "tag": len(self.transfers) + 1,
        }
        self._add(f"{what} back, to another place", "prefetch", home, stream, back)

    def _add(
        self, what: str, channel: str, descriptor: Mapping[str, int], source: str, written: str
    ) -> Outcome:
        """Notes a transfer and what it writes."""
        outcome = self.rules[channel].outcome(defaultdict(int, descriptor), self.data[source], self.table)
        self.data[written] = outcome.written
        completion = {
            "tag": descriptor["tag"],
            "status": int(outcome.status),
            "bytes_read": outcome.bytes_read,
            "bytes_written": outcome.bytes_written,
            "literals": outcome.literals,
            "address": outcome.address,
        }
        if self.config.crc:
            completion["crc"] = outcome.crc
        fields = {name: int(value) for name, value in descriptor.items() if value}
        self.transfers.append(Transfer(what, channel, fields, source, written, completion))
        return outcome
