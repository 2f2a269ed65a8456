"""A block as ``cdma generate`` writes it: what is built, simulated and measured."""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, TypeVar

from cdma.base.cache import content_key, kept_text
from cdma.hdl.deliver.designs import block_design, block_ports
from cdma.hdl.spec.codecs import BLOCKS, codec_of
from cdma.hdl.spec.settings import settings_of
from cdma.hdl.verilog.generator_key import generator_key
from cdma.hdl.verilog.ports import Port

__all__ = ["Design"]

D = TypeVar("D", bound="Design")


class Design(ABC):
    """One block with its parameters: a dataclass, whose ``config`` has a default. It travels to the simulation process as
    JSON.

    ``block``
        Is ``compressor``, ``decompressor``, ``quantiser``, ``dequantiser`` or ``engine``.
    ``config``
        Has the parameters: a :class:`.CodecConfig`, a :class:`.StageConfig` or an :class:`.EngineConfig`.
    ``init``
        Says whether the Verilog has initial values.
    """

    block: str
    config: Any
    init: bool

    @property
    def top(self) -> str:
        """The name of the module."""
        return f"cdma_{self.block}"

    @property
    def ports(self) -> tuple[Port, ...]:
        """The ports, all of which a bench reads or drives."""
        return block_ports(self.block, self.config)

    @property
    def port_names(self) -> tuple[str, ...]:
        """The names of the ports."""
        return tuple(port.name for port in self.ports)

    @property
    @abstractmethod
    def summary(self) -> str:
        """The parameters in a few words."""

    def generate(self) -> str:
        """Makes the Verilog."""
        return block_design(self.block, self.config, name=self.top, init=self.init).text

    @classmethod
    def from_json(cls: type[D], text: str) -> D:
        """The design that :meth:`to_json` wrote."""
        fields = json.loads(text)
        fields["config"] = type(cls.config).from_settings(fields["config"])
        make: Any = cls
        design: D = make(**fields)
        return design

    def to_json(self) -> str:
        """The design as JSON text."""
        return json.dumps({"block": self.block, "config": self.config.settings(), "init": self.init})

    def verilog(self) -> str:
        """The text that a user gets; kept by what it is made from, because making it takes a while."""
        key = content_key(generator_key(), *self._codec_sources(), self.to_json())
        return kept_text("verilog", key, ".v", self.generate)

    def watched(self, verilog: str) -> str:
        """A text of the design, and what watches its ports in a simulation."""
        return verilog

    def options(self) -> str:
        """The options of the command line that ask for this design, without those that are at their defaults."""
        defaults = type(self.config)().settings()
        words = []
        for name, value in self.config.settings().items():
            if name in self._unsaid() or value == defaults.get(name):
                continue
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                values = map(hex, value) if isinstance(value, list) else [str(value)]
                words.append(" ".join([f"--{option}", *values]))
        return " ".join(words if self.init else [*words, "--no-init"])

    def __str__(self) -> str:
        start = "" if self.init else ", no initial values"
        return f"{self.block} {self.summary}{start}"

    def _unsaid(self) -> list[str]:
        """The parameters that the command line of this block has no option for."""
        if self.block in BLOCKS:
            return []
        return [setting.name for setting in settings_of(type(self.config.format)) if not setting.engine]

    def _codec_sources(self) -> list[bytes]:
        """The sources beside those of the codec's hardware, which need not lie with the generator's."""
        home = inspect.getfile(codec_of(self.config.format).load("compressor"))
        return [path.read_bytes() for path in sorted(Path(home).parent.glob("*.py"))]
