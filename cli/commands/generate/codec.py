"""The characteristics of a compressor or a decompressor."""

from __future__ import annotations

from typing import Any

from cdma.hdl.spec.codec import CodecConfig

from .characteristics import Characteristics

__all__ = ["codec_characteristics"]


def codec_characteristics(block: str, config: CodecConfig) -> Characteristics:
    """Those of the codec ``block``."""
    form, bytes_per_cycle = config.format, config.data_bits / 8
    values = (
        f"{config.table_size} on the port values"
        if config.runtime_values
        else ", ".join(map(hex, form.values))
    )
    rows = {
        "words": f"{form.word_bits} bits, {config.lanes} per beat: {bytes_per_cycle:g} bytes per cycle",
        "window": f"{form.window} words, header of {form.window * form.code_bits} bits",
        "values": values,
        "clock": "pipelined" if config.pipelined else "not pipelined",
    }
    facts = {"raw data": f"{bytes_per_cycle:g} bytes per cycle", **_timing(block, config)}
    return Characteristics(f"streaming {block}", bytes_per_cycle, _parameters(config), facts, rows)


def _parameters(config: CodecConfig) -> dict[str, Any]:
    form = config.format
    rows = {"word_bits": form.word_bits, "lanes": config.lanes, **form.settings()}
    if "values" in rows and config.runtime_values:
        rows["values"] = None
    return {**rows, "table_size": config.table_size, "pipelined": config.pipelined}


def _timing(block: str, config: CodecConfig) -> dict[str, str]:
    from cdma.verif.stream.codec.codec_bench import limits_of

    if not config.work_conserving:
        return {"cycles of a packet": "exactly those of docs/verification.md, for this queue"}
    limits = limits_of(config, block)
    work = f"ceil(sum over its windows of the larger of raw and stream words / {config.lanes})"
    return {
        "cycles of a packet": f"first beat in to last beat out, at most {work} + {limits.constant}; "
        "docs/verification.md has the small print",
        "latency": f"first beat in to first beat out of a dense window, at most {limits.latency} cycles",
    }
