"""Proofs: a claim about a block in one configuration, its result, and which of all proofs are about a design.

``choose`` finds proofs by name. Each module of this folder may have

``PROOFS``
    Its proofs.
``own_proofs``
    A function of the name of a design's block and of its configuration: the proofs of exactly this configuration.

A proof is about a design that has its blocks, built in the same way. Other sizes do not matter, but a proof without an
option does not cover what the option adds.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from amaranth.hdl import Elaboratable, Fragment

from cdma.base.errors import ParameterError
from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.codec.lossy import StageShell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import NO_OPTIONS, RecordOptions
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.shell import Shell

from . import __path__ as _folder
from .bench import Bench

#: What a design is made from.
Config = CodecConfig | StageConfig | EngineConfig


def codec_in(config: Config) -> CodecConfig | None:
    if isinstance(config, StageConfig):
        return None
    return config.codec if isinstance(config, EngineConfig) else config


def blocks_in(block: Elaboratable) -> frozenset[type]:
    """The classes of all blocks in a block, its own included."""
    found: set[type] = set()
    left = [Fragment.get(block, None)]
    while left:
        fragment = left.pop()
        found.update(map(type, fragment.origins or ()))
        left += [inner for inner, *_ in fragment.subfragments]
    return frozenset(found)


def shell_of(block: str, config: Config) -> Shell:
    """The module that a design is printed from."""
    if isinstance(config, EngineConfig):
        return engine_shell(config)
    if isinstance(config, StageConfig):
        return StageShell(block, config)
    return codec_shell(block, config)


def any_design(config: Config) -> bool:
    return True


def plain_codec(config: Config) -> bool:
    """The codec is not pipelined, has codes of whole words, one level, no padding, and the queue that loses no cycle."""
    codec = codec_in(config)
    return (
        codec is not None
        and isinstance(codec.format, Format)
        and not codec.pipelined
        and codec.work_conserving
        and not codec.format.field_bits
        and codec.format.align_words == codec.format.levels == 1
    )


def _without(options: RecordOptions, *, owners: bool) -> RecordOptions:
    return replace(options, stream_id_bits=0, substream_id_bits=0) if owners else options


def engine_with(
    *,
    options: bool = False,
    realign: bool = False,
    units: bool = False,
    owners: bool = False,
    tails: bool = True,
) -> Callable[[Config], bool]:
    """An engine that is not pipelined, with no other options than these; without ``tails`` raw data are whole words."""

    def built_so(config: Config) -> bool:
        return isinstance(config, EngineConfig) and (
            not config.pipelined
            and not config.coded_memories
            and (options or _without(config.records, owners=owners) == NO_OPTIONS)
            and (config.records.owner_bits > 0 or not owners)
            and (realign or not config.realign)
            and (units or config.units == 1)
            and (tails or not config.tail_bits)
        )

    return built_so


PROVEN = "proven"
BOUNDED = "bounded"
FAILED = "failed"
#: A cover statement was not reached: the assumptions may contradict each other, so the assertions say nothing.
VACUOUS = "vacuous"
#: Neither shown nor refuted in the time.
UNKNOWN = "unknown"
#: The statuses of a claim that holds; a bounded one holds for as many cycles as its depth says.
HOLDS = (PROVEN, BOUNDED)
#: Those of a claim that does not; one that was neither shown nor refuted is not among them.
FAILURES = (FAILED, VACUOUS)


@dataclass(frozen=True)
class Result:
    """The result of a proof.

    ``depth``: Cycles that the claim was shown for, or that a step of the induction assumes; None where the method needs
        none.
    ``seconds``: The time of the run, which may be an earlier one.
    ``covers``: Cover statements, all reached where the status is one of :data:`HOLDS`; of an equivalence, the bits
        compared.
    ``detail``: What failed, or was not reached.
    ``trace``: The waveform of the counterexample.
    """

    property: str
    config: str
    method: str
    depth: int | None
    status: str
    seconds: float
    covers: int
    claim: str
    detail: str = ""
    trace: str | None = None


#: How a claim is shown. The first two hold for runs of any length, the third one for runs of ``depth`` cycles. The last two
#: are equivalences (``equivalence.py``).
METHODS = ("pdr", "induction", "bmc", "scorr", "equiv")

#: Commands for ABC before ``pdr`` that join registers which are always equal and rewrite the logic. Where a bench repeats
#: what its block does, they decide whether it comes to an end.
REDUCED = ("scorr", "dc2", "dc2")

#: The rules in Verilog that a bench may instantiate.
PROPERTIES = Path(__file__).parents[1] / "properties"

#: The name of the file that a bench's Verilog is put into.
VERILOG = "printed.v"


#: Names the configuration of a design's own proofs.
OWN = "this configuration"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, and the designs that it is about.

    ``name``, ``config``: What is proven, and of which configuration of the block. Proofs with one name make the same
        claim.
    ``claim``: The claim, in a sentence.
    ``blocks``, ``built_so``: The claim is about designs that have all of these blocks, and build them as they are
        proven.
    ``method``: One of :data:`METHODS`.
    ``depth``: Cycles from the reset of a bounded proof; for induction, the cycles that a step of it assumes.
    ``quick``: Belongs to the short set, whose proofs take a few seconds each.
    """

    name: str
    config: str
    claim: str
    blocks: tuple[type[Elaboratable], ...] = ()
    built_so: Callable[[Config], bool] = any_design
    method: str = "pdr"
    depth: int = 0
    quick: bool = True

    @property
    def label(self) -> str:
        return f"{self.name}-{self.config.replace(', ', '-').replace(' ', '_')}"

    def is_about(self, config: Config, blocks: Set[type]) -> bool:
        return blocks >= frozenset(self.blocks) and self.built_so(config)


@dataclass(frozen=True, kw_only=True)
class Proof(Claim):
    """A claim that SymbiYosys shows.

    ``bench``: Makes the block with its assumptions, assertions and covers around it.
    ``cover``: Cycles within which every cover statement must be reached.
    ``rules``: Files of :data:`PROPERTIES` that the bench instantiates.
    ``verilog``: Makes Verilog of which the bench instantiates a module.
    ``prepare``: Commands for ABC before ``pdr``, which make some circuits much smaller.
    """

    bench: Callable[[], Bench]
    cover: int = 20
    rules: tuple[str, ...] = ()
    verilog: Callable[[], str] | None = None
    prepare: tuple[str, ...] = ()


def _modules() -> Iterator[ModuleType]:
    for found in iter_modules(_folder):
        yield import_module(f"{__package__}.{found.name}")


@cache
def all_proofs() -> Sequence[Claim]:
    """All proofs by name."""
    found = [proof for module in _modules() for proof in getattr(module, "PROOFS", ())]
    return sorted(found, key=lambda proof: proof.name)


def choose(names: Sequence[str], *, quick: bool = False) -> list[Claim]:
    """The proofs of these names, or all; a name may be the beginning of several. ``quick`` leaves out those that take
    long."""
    for name in names:
        if not any(_is_part(name, proof.name) for proof in all_proofs()):
            known = sorted({proof.name for proof in all_proofs()})
            near = difflib.get_close_matches(name, known, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else "cdma prove --list lists them"
            raise ParameterError(f"there is no proof {name!r}; {hint}")
    chosen = [
        proof for proof in all_proofs() if not names or any(_is_part(name, proof.name) for name in names)
    ]
    return [proof for proof in chosen if proof.quick or not quick]


def _is_part(name: str, whole: str) -> bool:
    return whole == name or whole.startswith(f"{name}_")


def exact_proofs(block: str, config: Config) -> list[Claim]:
    """The proofs of exactly this configuration."""
    makers = [module.own_proofs for module in _modules() if hasattr(module, "own_proofs")]
    return sorted((proof for make in makers for proof in make(block, config)), key=lambda proof: proof.name)


@cache
def _blocks_of(block: str, config: Config) -> frozenset[type]:
    return blocks_in(shell_of(block, config))


def smaller_proofs(block: str, config: Config) -> list[Claim]:
    """The proofs of the design's blocks in other configurations, mostly smaller ones."""
    blocks = _blocks_of(block, config)
    own = {(proof.name, proof.config) for proof in exact_proofs(block, config)}
    return [
        proof
        for proof in all_proofs()
        if (proof.name, proof.config) not in own and proof.is_about(config, blocks)
    ]
