"""Sleeps, deadlines and races with them."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

from segno_sdk import Context, Failure, Retry, activity, workflow


@workflow(name="race-sleep")
async def race_sleep(ctx: Context) -> str:
    async def after(length: float, name: str) -> str:
        await asyncio.sleep(length)
        return name

    racers = [asyncio.create_task(after(0.1, "short")), asyncio.create_task(after(3600, "long"))]
    done, pending = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
    for loser in pending:
        loser.cancel()
    return done.pop().result()


@workflow(name="sleep-zero")
async def sleep_zero(ctx: Context) -> str:
    await ctx.sleep(0)
    return "slept"


@workflow(name="sleep-until")
async def sleep_until(ctx: Context) -> bool:
    due = ctx.started_at + timedelta(milliseconds=200)
    await ctx.sleep_until(due)
    return time.time() >= due.timestamp()


@workflow(name="sleep-past")
async def sleep_past(ctx: Context) -> str:
    await ctx.sleep_until(datetime.fromtimestamp(1, UTC))
    return "slept"


@workflow(name="sleep-together")
async def sleep_together(ctx: Context) -> str:
    long = ctx.sleep("400ms")
    short = ctx.sleep("100ms")
    await long
    await short
    return "slept"


@workflow
async def sleepy(ctx: Context) -> str:
    await ctx.sleep("1h")
    return "awake"


@workflow(name="deadline-of-call")
async def deadline_of_call(ctx: Context) -> int:
    try:
        await ctx.call(sleepy, timeout="200ms")
    except Failure as failure:
        return failure.code
    return 0


@activity(retry=Retry(initial="1h", jitter=0))
def never() -> None:
    raise ValueError("never")


@workflow(name="deadline-of-retries")
async def deadline_of_retries(ctx: Context) -> int:
    try:
        await ctx.call(never, timeout="200ms")
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="interleaving")
async def interleaving(ctx: Context) -> list[str]:
    order: list[str] = []

    async def part(name: str, pause: int) -> None:
        await ctx.run(f"{name} begins", lambda: name)
        await ctx.sleep(f"{pause}ms")
        await ctx.publish(name, pause)
        order.append(name)
        await ctx.sleep(f"{pause}ms")
        order.append(await ctx.run(f"{name} ends", lambda: name))

    await asyncio.gather(part("a", 900), part("b", 300), part("c", 1500))
    return order
