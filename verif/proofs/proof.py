"""What a proof is: a claim about a block in one configuration, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path

from amaranth.hdl import Elaboratable

from .bench import Bench
from .design import Config, any_design

__all__ = ["METHODS", "OWN", "PROPERTIES", "REDUCED", "VERILOG", "Claim", "Proof"]

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
    """What is claimed, of which designs it says something, and for how long it is looked at.

    ``name``, ``config``
        What is proven, and of which configuration of the block. Proofs with one name make the same claim.
    ``claim``
        The claim, in a sentence.
    ``blocks``
        The blocks that it is about. It says something of designs that have all of these.
    ``built_so``
        Whether a design of this configuration builds the blocks as they are proven.
    ``method``
        One of :data:`METHODS`.
    ``depth``
        Cycles from the reset that a bounded proof looks at; for induction, the cycles that a step of it assumes.
    ``quick``
        Belongs to the short set, whose proofs take a few seconds each.
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
        """The name and the configuration as one word, for files."""
        return f"{self.name}-{self.config.replace(', ', '-').replace(' ', '_')}"

    def is_about(self, config: Config, blocks: Set[type]) -> bool:
        """Whether it says something of a design, which is made of ``blocks``."""
        return blocks >= frozenset(self.blocks) and self.built_so(config)


@dataclass(frozen=True, kw_only=True)
class Proof(Claim):
    """A claim that SymbiYosys shows.

    ``bench``
        Makes the block with its assumptions, assertions and covers around it.
    ``cover``
        Cycles within which every cover statement must be reached.
    ``rules``
        Files of :data:`PROPERTIES` that the bench instantiates.
    ``verilog``
        Makes Verilog of which the bench instantiates a module.
    ``prepare``
        Commands for ABC before ``pdr``, which make some circuits much smaller.
    """

    bench: Callable[[], Bench]
    cover: int = 20
    rules: tuple[str, ...] = ()
    verilog: Callable[[], str] | None = None
    prepare: tuple[str, ...] = ()
