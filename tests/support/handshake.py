"""One payload over a stream in Amaranth's own simulator."""

from __future__ import annotations

from typing import Any

__all__ = ["send", "take"]


async def send(ctx: Any, stream: Any, payload: Any) -> None:
    """Offers one payload until it is taken."""
    ctx.set(stream.payload, payload)
    ctx.set(stream.valid, 1)
    await ctx.tick().until(stream.ready)
    ctx.set(stream.valid, 0)


async def take(ctx: Any, stream: Any) -> Any:
    """Takes one payload."""
    ctx.set(stream.ready, 1)
    (payload,) = await ctx.tick().sample(stream.payload).until(stream.valid)
    ctx.set(stream.ready, 0)
    return payload
