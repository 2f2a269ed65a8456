"""Levels of the butterfly between the registers of a pipeline, and the registers that hold their settings."""

from collections.abc import Iterable, Mapping

from amaranth.hdl import Cat, Module, Signal, Value

from cdma.hdl.spec.codec import CodecConfig

from .butterfly import Exchange, Routes

__all__ = ["Settings", "exchange", "keep", "kept_settings", "settings_of"]

#: What sets each level: ``swap`` and ``straight`` of its :class:`Exchange`.
Settings = Mapping[int, tuple[Value, Value]]


def settings_of(routes: Routes) -> Settings:
    """The settings of all levels, as ``routes`` finds them."""
    return {level: (routes.swap[level], ~routes.swap[level]) for level in range(routes.levels)}


def kept_settings(config: CodecConfig, levels: Iterable[int], name: str) -> Settings:
    """Registers for the settings of ``levels``; ``name`` has a pair of braces for ``swap`` or ``straight``."""
    pairs = config.units // 2
    return {
        level: (
            Signal(pairs, name=f"{name.format('swap')}_{level}", reset_less=True),
            Signal(pairs, name=f"{name.format('straight')}_{level}", reset_less=True),
        )
        for level in levels
    }


def keep(m: Module, kept: Settings, settings: Settings) -> None:
    """Loads the registers ``kept`` with the ``settings`` of their levels."""
    m.d.sync += [Cat(registers).eq(Cat(settings[level])) for level, registers in kept.items()]


def exchange(
    m: Module, config: CodecConfig, words: Value, levels: Iterable[int], settings: Settings
) -> Value:
    """Passes ``words`` through ``levels``, in that order, within a cycle."""
    for level in levels:
        m.submodules[f"exchange_{level}"] = stage = Exchange(config.format.stream_bits, config.units, level)
        m.d.comb += [
            stage.input.eq(words),
            stage.swap.eq(settings[level][0]),
            stage.straight.eq(settings[level][1]),
        ]
        words = stage.output
    return words
