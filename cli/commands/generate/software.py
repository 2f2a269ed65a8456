"""What software needs to drive an engine: the texts about its registers, the driver, and the model for UVM."""

from __future__ import annotations

from cdma.hdl.deliver.registers import register_texts, uvm_file, uvm_model
from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.engine.driver.driver import c_driver

__all__ = ["software_files"]


def software_files(config: EngineConfig, name: str) -> dict[str, str]:
    """The files of an engine with registers, by name."""
    texts = {**register_texts(config, name), f"{name}.h": c_driver(name)}
    model = uvm_model(texts[f"{name}_regs.rdl"], name)
    return texts if model is None else {**texts, uvm_file(name): model}
