"""An engine."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from cdma.base.install import install_command
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.settings import settings_of
from cdma.options import engine_config_from

from .made import Made
from .uvm import uvm_model

__all__ = ["MadeEngine"]


@dataclass(frozen=True)
class MadeEngine(Made):
    """An engine of ``config``."""

    config: EngineConfig

    title = "compressing DMA engine with AXI4 ports"

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> MadeEngine:
        """The engine that the arguments ask for."""
        return cls(arguments, engine_config_from(arguments))

    @property
    def pipelined(self) -> bool:
        return self.config.pipelined

    @property
    def bytes_per_cycle(self) -> float:
        return min(self.config.codec.data_bits, self.config.dev_data_bits) // 8

    def waste(self) -> tuple[str, ...]:
        return self.config.waste()

    def registers(self) -> RegisterMap | None:
        return register_map(self.config) if self.config.registers else None

    def texts(self) -> dict[str, str]:
        from cdma.hdl.deliver.register_texts import register_texts
        from cdma.sim.engine.driver.c_driver import c_driver

        if not self.config.registers:
            return {}
        name = self.arguments.name
        texts = {**register_texts(self.config, name), f"{name}.h": c_driver(name)}
        model = uvm_model(texts[f"{name}_regs.rdl"], name)
        return texts if model is None else {**texts, f"{name}_uvm.sv": model}

    def missing(self) -> str:
        name = f"{self.arguments.name}_uvm.sv"
        if not self.config.registers or name in self.block.texts:
            return ""
        return f"{name}, the register model for UVM, which PeakRDL makes: {install_command('verif')}"

    def parameters(self) -> dict[str, Any]:
        config, form = self.config, self.config.format
        unsaid = {setting.name for setting in settings_of(type(form)) if not setting.engine}
        settings = {name: value for name, value in config.settings().items() if name not in unsaid}
        return {
            "word_bits": form.word_bits,
            "lanes": config.lanes,
            **settings,
            # Where 0 stands for a size that follows from others, the size itself.
            "read_buffer_beats": config.read_buffer,
            "write_buffer_beats": config.write_buffer,
            "ring_reads": config.ring_reads,
            "ring_writes": config.ring_writes,
        }

    def facts(self) -> dict[str, str]:
        config = self.config
        return {
            "raw data": f"{self.bytes_per_cycle:g} bytes per cycle and unit, {config.units} of them, each way",
            **self._numbers(),
            "host port": f"{config.host_data_bits // 8} bytes per cycle, each way",
            "bursts": f"up to {config.burst_beats} beats, {config.outstanding} of data in flight at each port each way",
            "hidden latency of memory": f"{config.read_buffer} beats",
            "descriptors in flight": f"{config.descriptors} per channel",
        }

    def _numbers(self) -> dict[str, str]:
        """The rate of transfers with a step: a number is a word of the codec."""
        config, form = self.config, self.config.quantisation
        if form is None:
            return {}
        rate = min(config.lanes * form.number_type.bits, config.dev_data_bits) // 8
        return {"numbers": f"{rate} bytes per cycle where a descriptor has a step, each way"}

    def rows(self) -> dict[str, str]:
        config = self.config
        several = f"{config.units} device ports of" if config.units > 1 else "device port"
        rows = {
            "ports": f"{several} {config.dev_data_bits} bits, host port {config.host_data_bits} bits",
            "codec": f"{config.lanes} x {config.format.word_bits} bits: {self.bytes_per_cycle} bytes per cycle",
        }
        for port, bits in (("dev", config.dev_data_bits), ("host", config.host_data_bits)):
            beat, beats, latency = bits // 8, config.read_buffer, config.latency
            rows[f"{port} buffer"] = (
                f"{beats} beats = {beat * beats:,} bytes; the rule asks for {beat} bytes per cycle x {latency} cycles of "
                f"latency = {beat * latency:,} bytes"
            )
        return rows
