"""Numbers of a GPU as integers of 8 bits there: those of :func:`.quantised`, in a stream that stays on the GPU.

Tensors that stay on the GPU: their streams stand where they were, and nothing waits for the GPU but the first pass.

A stream needs space before its length is known, so the length of the last pass, and a little more, is taken for it. The
elements are there until the length has come: then they go, or the stream that did not fit is made again with its exact
size. How much may be there twice is bounded, by waiting for the oldest where the GPU is far behind.

Launching a kernel takes the host as long as the GPU has with some MiB. So tensors of one format that come soon after each
other are a group: they become streams in one launch, and come back in one.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError
from cdma.gpu.decoder import restored, restored_numbers
from cdma.gpu.encoder import compress, compress_numbers
from cdma.gpu.layout import Packed, current, words_in
from cdma.gpu.many import packed_many, restored_many
from cdma.hdl.spec.format import Format

from .coded import (
    REFRESH,
    Coded,
    Expected,
    Step,
    as_coded,
    copies,
    formats_of,
    integer_format,
    integers_of,
    looked_at,
)
from .keeping import Slot, Stays
from .ledger import MOST, Arriving, Entry, Ledger, Mail
from .memory import cuda_stream, on_stream

#: The kernels have words of whole bytes, so integers of 4 bits are not made on a GPU.
_BITS = 8


def quantised_there(flat: Tensor, sample: Tensor, step: Step, fault: Tensor) -> Coded | None:
    """Compresses the integers of numbers on their GPU; waits for the GPU once. None where 8 bits do not hold them.

    ``sample``: Those of the numbers, on the host, that decide the format: the same as :func:`.quantised` takes.
    ``fault``: Becomes 1 when a stream that is given back is no longer whole.
    """
    if _BITS not in step.bits or (some := integers_of(sample, replace(step, bits=(_BITS,)))) is None:
        return None
    format = integer_format(some.whole.view(torch.uint8).numpy(), flat.numel(), _BITS, step.code_bits)
    made = compress_numbers(flat, format, some.exponent, step.keep_nonzero)
    if made is None:
        return None
    found = replace(some, error=made.error, squares=made.squares, numbers=made.numbers)
    back = _IntegersThere(made.packed, some.exponent, flat.dtype, cuda_stream(flat.device), fault)
    return as_coded(held_by(made.packed), format, back, found)


@dataclass(frozen=True)
class _IntegersThere:
    """A stream of integers on a GPU, for a tensor of numbers."""

    packed: Packed
    exponent: int
    dtype: torch.dtype
    made: Any
    fault: Tensor

    def __call__(self) -> Tensor:
        order(self.made, self.packed.data, self.packed.index, self.packed.length)
        return restored_numbers(self.packed, self.exponent, self.dtype, self.fault)


#: The part of a pass's bytes that may be there twice.
_TWICE = 8
#: The part of a pass's bytes that may wait for others to become streams with.
_GATHERED = 32
#: Space for a stream beyond its last length: a part of it.
_MARGIN = 128
#: Sizes of that space from one power of two to the next. A block of memory that was freed is of the size that is asked for.
_SIZES, _LEAST_STEP = 16, 512
#: Passes in a row in which no stream pays, behind which the model is left alone until formats are looked for again.
ALONE = 3


class WrongStream(CdmaError):
    """A stream on the GPU is no longer what was made there."""


class KeptOnCard:
    """A tensor that autograd keeps: its elements, its stream, or both for a while.

    ``group``: Those with which it becomes a stream, until it is given back.
    ``stream``: The CUDA stream that made what is there.
    """

    __slots__ = (
        *("__weakref__", "_card", "dtype", "elements", "entry"),
        *("group", "learnt", "packed", "slot", "stream"),
    )

    entry: Entry
    learnt: Expected

    def __init__(self, card: Card, slot: Slot, flat: Tensor) -> None:
        self.slot, self.dtype = slot, flat.dtype
        self.elements: Tensor | None = flat
        self.packed: Packed | None = None
        self.group: _Group | None = None
        self.stream: Any = None
        self._card = card

    def restored(self) -> Tensor:
        """The elements, in one dimension. From now on they stay, for as long as autograd would have kept them."""
        return self._card.restored(self)


@dataclass(slots=True)
class _Group:
    """Tensors that become streams together, in the order in which they were kept, and the lengths of these."""

    format: Format
    members: list[weakref.ref[KeptOnCard]] = field(default_factory=list)
    raw: int = 0
    lengths: Arriving | None = None

    @property
    def have_come(self) -> bool:
        """Whether the host knows the lengths."""
        return self.lengths is not None and self.lengths.query()


class Card:
    """What :class:`.Saved` has of the tensors on GPUs.

    ``least_bytes``: Tensors of fewer bytes are kept as they are.
    ``dense``: Whether numbers of 16 bits become streams of their exponents, and time is no matter.
    """

    def __init__(self, ledger: Ledger, least_bytes: int, dense: bool) -> None:
        self._ledger, self._least, self._dense = ledger, least_bytes, dense
        self._learnt: dict[tuple[Slot, int, torch.dtype], Expected] = {}
        # Groups that are not streams yet, by format, GPU and CUDA stream, and those whose lengths have not come.
        self._open: dict[tuple[Format, torch.device, Any], _Group] = {}
        self._waiting: deque[_Group] = deque()
        self._last = self._seen = self._pass = self._in_doubt = self._gathered = self._idle = 0
        # Whether a stream paid in the pass.
        self._paid = False
        self._spare: defaultdict[torch.device, list[Mail]] = defaultdict(list)
        self._faults: dict[torch.device, Tensor] = {}
        self._verdicts: list[Arriving] = []
        self._lock = threading.RLock()

    def begin_pass(self) -> bool:
        """A forward pass begins; this looks at the verdicts on the streams of the last but one.

        Returns whether the pass is left alone, as nothing paid in the last ones.
        """
        with self._lock:
            verdicts, self._verdicts = (
                self._verdicts,
                [self._arriving(each) for each in self._faults.values()],
            )
            if any(verdict.wait() != [0] for verdict in verdicts):
                raise WrongStream("a stream on the GPU is no longer what was made there")
            self._pass += 1
            self._idle = 0 if self._paid else self._idle + 1
            self._paid = False
            self._last, self._seen = self._seen, 0
            if self._idle >= ALONE + REFRESH:
                self._idle = 0
            return self._idle >= ALONE

    def stay(self, tensor: Tensor, slot: Slot) -> Stays | None:
        """What stands for a tensor that is known not to pay."""
        with self._lock:
            learnt = self._learnt.get((slot, tensor.numel(), tensor.dtype))
            if learnt is None or learnt.format is not None or self._pass - learnt.since >= REFRESH:
                return None
            kept, raw = Stays(slot), tensor.nbytes
            self._seen += raw
            kept.entry = self._ledger.keep(kept, slot[0], raw, raw)
        return kept

    def hold(self, flat: Tensor, slot: Slot) -> KeptOnCard:
        """Takes elements in one dimension."""
        kept, raw = KeptOnCard(self, slot, flat), flat.nbytes
        with self._lock:
            self._look()
            self._seen += raw
            kept.entry = self._ledger.keep(kept, slot[0], raw, raw)
            learnt = self._known(flat, slot) if raw >= self._least else None
            if learnt is not None and learnt.format is not None:
                kept.learnt, self._paid = learnt, True
                self._join(kept, learnt.format, flat.device)
        return kept

    def settle(self) -> None:
        """Has all become streams, and waits for all lengths, so that nothing is there twice."""
        with self._lock:
            self._pack_open()
            while self._waiting:
                self._settle(self._waiting.popleft())

    def restored(self, kept: KeptOnCard) -> Tensor:
        """The elements of a tensor, for the current CUDA stream."""
        with self._lock:
            self._look()
            if kept.elements is None:
                self._expand(kept)
            elif kept.stream is not None:
                order(kept.stream, kept.elements)
            kept.group = kept.packed = None
            assert kept.elements is not None
            self._ledger.there(kept.entry, kept.entry.raw)
            return kept.elements

    def fault(self, device: torch.device) -> Tensor:
        """A number of a GPU that becomes 1 where a stream is no longer what was made there."""
        if device not in self._faults:
            self._faults[device] = torch.zeros(1, dtype=torch.int32, device=device)
        return self._faults[device]

    def _known(self, flat: Tensor, slot: Slot) -> Expected:
        """What is known of a tensor; of a new one, and of all from time to time, all of it is looked at."""
        key = slot, flat.numel(), flat.dtype
        learnt = self._learnt.get(key)
        if learnt is None or self._pass - learnt.since >= REFRESH:
            formats = formats_of(flat, self._dense and flat.itemsize == 2)
            learnt, _ = looked_at(
                flat, formats, self._pass, lambda format: 0.0 if self._dense else copies(format, flat.device)
            )
            self._learnt[key] = learnt
        return learnt

    def _arriving(self, numbers: Tensor) -> Arriving:
        return Arriving(numbers, self._spare[numbers.device])

    def _join(self, kept: KeptOnCard, format: Format, device: torch.device) -> None:
        """Has a tensor become a stream with others, as soon as there are enough."""
        kept.stream = cuda_stream(device)
        key = format, device, kept.stream
        kept.group = self._open.get(key)
        if kept.group is None:
            kept.group = self._open[key] = _Group(format)
        kept.group.members.append(weakref.ref(kept))
        self._gathered += kept.entry.raw
        if self._gathered > self._last // _GATHERED or len(kept.group.members) == MOST:
            self._pack_open()

    def _pack_open(self) -> None:
        """Has all groups become streams; waits for lengths where too much is there twice."""
        for (_, device, stream), group in self._open.items():
            # Those that are gone, or were given back, become none.
            those = [kept for each in group.members if (kept := each()) is not None and kept.group is group]
            if those:
                group.members = [weakref.ref(kept) for kept in those]
                group.raw = sum(kept.entry.raw for kept in those)
                with on_stream(stream), current(device):
                    self._pack(group, those)
                self._waiting.append(group)
                self._in_doubt += group.raw
        self._open.clear()
        self._gathered = 0
        while self._waiting and self._in_doubt - self._waiting[-1].raw > self._last // _TWICE:
            self._settle(self._waiting.popleft())

    def _pack(self, group: _Group, those: list[KeptOnCard]) -> None:
        word = group.format.word_bits // 8
        words = [words_in(kept.elements, word) for kept in those if kept.elements is not None]
        spaces = [_space(kept.learnt.length + kept.learnt.length // _MARGIN) for kept in those]
        if len(words) == 1:
            packed = [compress(words[0], group.format, capacity=spaces[0])]
            lengths = packed[0].length
        else:
            packed, lengths = packed_many(words, group.format, spaces)
        group.lengths = self._arriving(lengths)
        for kept, each in zip(those, packed, strict=True):
            kept.packed = each
            if kept.stream is not None and kept.elements is not None:
                # The elements may be of another CUDA stream, and go before they are read.
                kept.elements.record_stream(kept.stream)
            self._ledger.there(kept.entry, kept.entry.raw + held_by(each))

    def _look(self) -> None:
        """Settles what has come."""
        while self._waiting and self._waiting[0].have_come:
            self._settle(self._waiting.popleft())

    def _settle(self, group: _Group) -> None:
        """Frees the elements of tensors whose streams are whole, and makes those that are not again."""
        assert group.lengths is not None
        self._in_doubt -= group.raw
        for member, length in zip(group.members, group.lengths.wait(), strict=True):
            if (kept := member()) is not None:
                self._settle_one(kept, length)

    def _settle_one(self, kept: KeptOnCard, length: int) -> None:
        learnt, raw = kept.learnt, kept.entry.raw
        learnt.was(length)
        if kept.packed is None:
            return
        assert kept.elements is not None
        if length > kept.packed.data.numel():
            format, kept.packed = kept.packed.format, None
            if learnt.format is None:
                self._ledger.size(kept.entry, raw)
                return
            device = kept.elements.device
            with current(device):
                order(kept.stream, kept.elements)
                kept.packed = compress(kept.elements, format, capacity=_space(length))
                kept.stream = cuda_stream(device)
        kept.elements = None
        self._ledger.size(kept.entry, held_by(kept.packed))

    def _expand(self, kept: KeptOnCard) -> None:
        """The elements of a tensor, and of those of its group that were kept before it, which are asked for next."""
        assert kept.group is not None
        packed, those = [], []
        for member in kept.group.members:
            each = member()
            if each is not None and each.packed is not None and each.elements is None:
                packed.append(each.packed)
                those.append(each)
            if each is kept:
                break
        device = packed[0].data.device
        with current(device):
            for each, own in zip(those, packed, strict=True):
                order(each.stream, own.data, own.index, own.length)
            fault = self.fault(device)
            if len(packed) == 1:
                words = [restored(packed[0], fault)]
            else:
                words = restored_many(packed, fault)
            stream = cuda_stream(device)
        for each, own in zip(those, words, strict=True):
            each.elements, each.packed, each.stream = own.view(torch.uint8).view(each.dtype), None, stream
            self._ledger.there(each.entry, each.entry.raw)


def _space(length: int) -> int:
    """Bytes for a stream of that length: the next of a few sizes."""
    step = max((1 << length.bit_length()) // (2 * _SIZES), _LEAST_STEP)
    return -(-length // step) * step


def held_by(packed: Packed) -> int:
    """The bytes of a stream and of what stands beside it."""
    return packed.data.nbytes + packed.index.nbytes + packed.length.nbytes


def order(made: Any, *tensors: Tensor) -> None:
    """Has the current CUDA stream wait for the one that made the tensors, which it reads."""
    if made is None or made == (reading := cuda_stream(tensors[0].device)):
        return
    reading.wait_stream(made)
    for tensor in tensors:
        tensor.record_stream(reading)
