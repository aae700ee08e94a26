"""Calls and sends of functions, and their options."""

import asyncio
from datetime import timedelta
from typing import Any

from segno_sdk import Context, Failure, Limit, activity, workflow


@activity
def double(number: int) -> int:
    return 2 * number


@activity
def part(number: int) -> str:
    return f"part {number}"


@workflow
async def child(number: int, ctx: Context) -> int:
    await ctx.sleep("20ms")
    return number + 1


@workflow
async def middle(number: int, ctx: Context) -> int:
    return await ctx.call(double, await ctx.call(double, number))


@workflow
async def declined() -> None:
    raise Failure(402, "declined", {"limit": 5})


@workflow
async def sequence(number: int, ctx: Context) -> list[int]:
    once = await ctx.call(double, number)
    await ctx.sleep("1s")
    twice = await ctx.call(double, once)
    return [number, once, twice]


@workflow(name="fan-out-all")
async def fan_out_all(count: int, ctx: Context) -> list[str]:
    return await asyncio.gather(*(ctx.call(part, number) for number in range(count)))


@workflow(name="call-nested")
async def call_nested(number: int, ctx: Context) -> int:
    return await ctx.call(middle, number)


@workflow(name="call-failed")
async def call_failed(ctx: Context) -> list[Any]:
    try:
        await ctx.call(declined)
    except Failure as failure:
        return [failure.code, failure.message, failure.details]
    return []


@workflow(name="call-missing")
async def call_missing(ctx: Context) -> int:
    try:
        await ctx.call("wasm://conformance-none/nothing", 1)
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="call-wrong-input")
async def call_wrong_input(ctx: Context) -> int:
    try:
        await ctx.call("double", "four")
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="child-send")
async def child_send(number: int, ctx: Context) -> list[int | str]:
    sent = await ctx.send(child, number, delay="1h", labels={"kind": "later"})
    return [await ctx.call(child, number), sent]


@workflow(name="send-at")
async def send_at(ctx: Context) -> str:
    return await ctx.send(child, 1, start_at=ctx.started_at + timedelta(hours=1))


@activity(limit=Limit(rate="100/s", burst=10))
def limited(name: str) -> str:
    return name


@workflow(name="limits-labels", limit=Limit(key="customer", concurrency=5, total_concurrency=50), timeout="1h")
async def limits_labels(order: dict[str, str], ctx: Context) -> str:
    return await ctx.call(
        limited, order["customer"], labels={"customer": order["customer"]}, timeout="1m", attempt_timeout="30s"
    )


@workflow(name="fan-out-failures")
async def fan_out_failures(ctx: Context) -> list[Any]:
    calls = (ctx.call(double, 4), ctx.call(declined), ctx.call(double, 5))
    settled = await asyncio.gather(*calls, return_exceptions=True)
    return [one.code if isinstance(one, Failure) else one for one in settled]
