"""What of a model comes and goes together: blocks that are repeated, and modules outside of these. Tensors in one block
of memory, which one copy moves, and how their elements are made of it. The account of a stream of weights, states, or
keys and values: what stays, what comes, and what was waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from cdma.door import fit
from cdma.gpu.layout import Packed
from cdma.hdl.spec.format import Format
from cdma.torch.coded import Codec, Expected, looked_at, lossless_format, pays, word_count
from cdma.torch.memory import is_plain, layout_of

#: Modules that nobody calls: what is in them is read by who has them.
_NEVER_CALLED = (nn.ParameterList, nn.ParameterDict)


@dataclass(eq=False)
class Unit:
    """Weights that are there while one of the modules runs.

    ``modules``: Several where weights are tied.
    ``repeated``: Whether it is one of a list of blocks.
    """

    name: str
    modules: list[nn.Module]
    weights: list[nn.Parameter]
    repeated: bool = False


def units_of(model: nn.Module) -> list[Unit]:
    """The units of a model, in the order in which it has them. Weights that are in none stay where modules can read them.

    A unit is a child of an ``nn.ModuleList``, or else a module with weights of its own and all that is in it. No unit has
    the weights of a module that has such a list or is the model itself, nor what is no plain tensor, nor what shares memory
    with another weight and is not the same.
    """
    owners: dict[int, set[int]] = {}
    for weight in model.parameters():
        owners.setdefault(weight.untyped_storage().data_ptr() if is_plain(weight) else 0, set()).add(
            id(weight)
        )
    units: list[Unit] = []
    unit_of: dict[int, Unit] = {}
    for name, module, repeated in _found(model, "", root=True, seen=set()):
        weights = [
            weight
            for weight in module.parameters()
            if is_plain(weight) and len(owners[weight.untyped_storage().data_ptr()]) == 1
        ]
        if not weights:
            continue
        unit = next((unit_of[id(weight)] for weight in weights if id(weight) in unit_of), None)
        if unit is None:
            unit = Unit(name, [], [], repeated)
            units.append(unit)
        unit.modules.append(module)
        for weight in weights:
            other = unit_of.get(id(weight))
            if other is None:
                unit.weights.append(weight)
                unit_of[id(weight)] = unit
            elif other is not unit:
                units.remove(other)
                unit.modules += other.modules
                unit.weights += other.weights
                unit_of |= dict.fromkeys(map(id, other.weights), unit)
    return units


def holders(unit: Unit) -> Iterator[nn.Module]:
    """The modules whose calls need the unit: its own, and those in them that have weights, which may be called alone."""
    seen: set[nn.Module] = set()
    for top in unit.modules:
        for module in top.modules():
            if module not in seen and (module is top or any(True for _ in module.parameters(recurse=False))):
                seen.add(module)
                yield module


def _found(
    module: nn.Module, name: str, *, root: bool, seen: set[nn.Module]
) -> Iterator[tuple[str, nn.Module, bool]]:
    """The modules of the units, by their names, and whether each is one of a list."""
    for own, child in module.named_children():
        if child in seen or isinstance(child, _NEVER_CALLED):
            continue
        seen.add(child)
        path = f"{name}.{own}" if name else own
        if isinstance(module, nn.ModuleList) and not isinstance(child, (nn.ModuleList, nn.ModuleDict)):
            yield path, child, True
        elif _is_whole(child):
            yield path, child, False
        else:
            yield from _found(child, path, root=False, seen=seen)
    if root and not any(True for _ in module.children()):
        yield "model", module, False


def _is_whole(module: nn.Module) -> bool:
    """Whether a module has weights of its own, and no list of blocks in it."""
    return any(True for _ in module.parameters(recurse=False)) and not any(
        isinstance(inner, nn.ModuleList) for inner in module.modules()
    )


#: What is in a block begins at multiples of so many bytes, as memory of a GPU does.
_ALIGN = 256
#: Weights of fewer bytes go as they are: their kernel would take longer than their copy.
_LEAST_BYTES = 1 << 14
#: Formats that are fitted to weights of a type, beside the one of zeros.
_BF16 = Format.preset("bf16")
_FP32 = replace(_BF16, word_bits=32, window=32)
_FIELDS = {
    torch.bfloat16: (_BF16, replace(_BF16, zero=False)),
    torch.float32: (_FP32, replace(_FP32, zero=False)),
}


def elements_of(tensor: Tensor) -> Tensor:
    """The elements of a tensor, in one dimension."""
    return layout_of(tensor.detach())[0]()


def fitted(codec: Codec, flat: Tensor, format: Format | None) -> Expected:
    """What is expected of the shortest stream of elements, or of one in a format; none pays for what is small."""
    formats = [] if format is None else [format]
    if format is None:
        formats = [lossless_format(flat.dtype), *(fit(flat, each) for each in _FIELDS.get(flat.dtype, ()))]
    formats = [each for each in formats if flat.element_size() * 8 % each.word_bits == 0]
    best = Expected(None, flat.nbytes, flat.nbytes)
    if flat.nbytes < _LEAST_BYTES or not formats:
        return best
    found, _ = looked_at(flat, formats)
    if found.format is None:
        return best
    beside = codec.beside(word_count(flat.nbytes, found.format), found.format)
    return found if pays(found.length + beside, flat.nbytes) else best


@dataclass(frozen=True)
class Piece:
    """One tensor of a block.

    ``expected``: Its stream; without a format elements lie in the block as they are.
    ``at``: Where its elements are in memory for those of all.
    ``place``, ``space``: Where in the block its stream begins, and the bytes for it.
    ``beside``, ``more``: Where what stands beside the stream begins, and the bytes of that.
    """

    dtype: torch.dtype
    size: torch.Size
    stride: tuple[int, ...]
    expected: Expected
    format: Format | None
    at: int
    place: int
    space: int
    beside: int
    more: int

    def packed(self, block: Tensor) -> Packed | None:
        """Its stream in a block; None if its elements are there as they are."""
        if self.format is None:
            return None
        beside = block[self.beside : self.beside + self.more]
        return Packed(
            block[self.place : self.place + self.space],
            beside[:8].view(torch.int64)[0],
            word_count(self.expected.raw, self.format),
            self.format,
            beside[16:].view(torch.int64).view(-1, _INDEX),
        )


#: Numbers of a row of an index.
_INDEX = 9


@dataclass(frozen=True)
class Bundle:
    """How tensors lie in a block.

    ``held``: Bytes of the block.
    ``expanded``, ``scratch``: Bytes of the elements where they must be made of the block, and what the device needs for
        that; 0 where all tensors lie in the block as they are.
    """

    pieces: tuple[Piece, ...]
    raw: int
    held: int
    expanded: int
    scratch: int

    @property
    def is_packed(self) -> bool:
        """Whether the elements must be made of the block."""
        return self.expanded > 0

    def pack(self, flats: Iterable[Tensor], codec: Codec, block: Tensor) -> list[Tensor]:
        """Makes the block of the elements of each tensor; returns the lengths of the streams."""
        lengths = []
        for piece, elements in zip(self.pieces, flats, strict=True):
            part = piece.packed(block)
            if part is None:
                block[piece.place : piece.place + piece.expected.raw].copy_(elements.view(torch.uint8))
            else:
                made = codec.pack(elements, part.format, part.data)
                part.index.copy_(made.index)
                part.length.copy_(made.length)
                lengths.append(part.length)
        return lengths

    def expand(self, codec: Codec, block: Tensor, target: Tensor) -> None:
        """Makes the elements of all tensors of a block that has arrived."""
        for piece in self.pieces:
            elements = target[piece.at : piece.at + piece.expected.raw]
            part = piece.packed(block)
            if part is None:
                elements.copy_(block[piece.place : piece.place + piece.expected.raw])
            else:
                codec.unpack(part, elements)

    def check(self, codec: Codec, block: Tensor) -> None:
        """Raises :class:`.CorruptStream` if a stream of a block on the device is not whole."""
        for piece in self.pieces:
            if (part := piece.packed(block)) is not None:
                codec.check(part)

    def tensors(self, memory: Tensor) -> list[Tensor]:
        """The tensors in memory for their elements, which is the block where they lie in it as they are."""
        begins = [piece.at if self.is_packed else piece.place for piece in self.pieces]
        return self.over(
            [memory[at : at + piece.expected.raw] for at, piece in zip(begins, self.pieces, strict=True)]
        )

    def over(self, flats: Iterable[Tensor]) -> list[Tensor]:
        """The tensors over the bytes, or the elements, of each."""
        return [
            flat.view(piece.dtype).as_strided(piece.size, piece.stride)
            for flat, piece in zip(flats, self.pieces, strict=True)
        ]


def bundled(tensors: Sequence[Tensor], expected: Sequence[Expected], codec: Codec, *, exact: bool) -> Bundle:
    """Lays tensors out in a block, with space for streams that are as long as is expected: ``exact``, or about."""
    pieces: list[Piece] = []
    at = place = scratch = 0
    for tensor, each in zip(tensors, expected, strict=True):
        _, size, stride = layout_of(tensor.detach())
        space, more = each.raw, 0
        if each.format is not None:
            space = each.length if exact else each.space
            more = codec.beside(word_count(each.raw, each.format), each.format)
            scratch = max(scratch, codec.scratch(each.raw, each.format))
        beside = place + _aligned(space)
        pieces.append(Piece(tensor.dtype, size, stride, each, each.format, at, place, space, beside, more))
        at += _aligned(each.raw)
        place = beside + _aligned(more)
    packed = any(piece.format is not None for piece in pieces)
    return Bundle(tuple(pieces), sum(each.raw for each in expected), place, at if packed else 0, scratch)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGN) * _ALIGN


@dataclass
class Streamed:
    """A unit, or all of them.

    ``raw``, ``held``: Bytes of its weights, and the bytes in which they are held: on the host, or on the device where
        it is ``hot``.
    ``wait``: Seconds that computing waited for it.
    """

    raw: int
    held: int
    hot: bool
    wait: float = 0.0

    @property
    def ratio(self) -> float:
        """Bytes of weights for each byte in which they are held."""
        return self.raw / self.held if self.held else 1.0


@dataclass
class StreamReport:
    """All of a stream of weights; of an optimiser's states, or of keys and values, the same.

    ``raw``, ``hot``, ``cold``: Bytes of all weights, of those that stay on the device, and of those that come.
    ``held``: Bytes in which those that come are held on the host.
    ``moved``, ``fetches``: Bytes that came until now, and how many units these were.
    ``left``: Bytes that left for the host until now: states, or keys and values, which change.
    ``again``: Blocks with a stream that was longer than expected, and that went to the host once more.
    ``late``, ``beyond``: Units that nobody had foreseen, so that they came only when they were needed; and those for
        which there was no place, so that they took memory beyond ``device_bytes``.
    ``passes``, ``wait``: Calls of the model, or steps, and the seconds that computing waited in these for what came.
    ``device``: Bytes of the device: weights that stay, buffers, and memory for those that come.
    """

    raw: int = 0
    hot: int = 0
    cold: int = 0
    held: int = 0
    moved: int = 0
    fetches: int = 0
    left: int = 0
    again: int = 0
    late: int = 0
    beyond: int = 0
    passes: int = 0
    wait: float = 0.0
    device: int = 0
    rows: dict[str, Streamed] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Bytes of weights that come for each byte that moves."""
        return self.cold / self.held if self.held else 1.0

    def as_dict(self) -> dict[str, Any]:
        """The report, for JSON."""
        found = asdict(self) | {"ratio": self.ratio}
        for name, row in self.rows.items():
            found["rows"][name]["ratio"] = row.ratio
        return found

    def __str__(self) -> str:
        width = max([4, *(len(name) for name in self.rows)])
        lines = [f"{'unit':{width}}  {'MB':>9}  {'held':>9}  ratio  {'wait ms':>8}"]
        for name, row in self.rows.items():
            where = "  stays" if row.hot else ""
            lines.append(
                f"{name:{width}}  {row.raw / 1e6:9.3f}  {row.held / 1e6:9.3f}  {row.ratio:5.2f}  "
                f"{row.wait * 1e3:8.2f}{where}"
            )
        lines.append(
            f"{self.hot / 1e6:,.3f} MB stay, {self.cold / 1e6:,.3f} MB come as {self.held / 1e6:,.3f} MB (ratio "
            f"{self.ratio:.2f}); {self.device / 1e6:,.3f} MB of the device"
        )
        lines.append(
            f"{self.passes} passes, {self.fetches} copies of {self.moved / 1e6:,.3f} MB, {self.left / 1e6:,.3f} MB went, "
            f"{self.late} not foreseen, {self.beyond} beyond device_bytes; {self.wait * 1e3:,.2f} ms of waiting"
        )
        return "\n".join(lines)
