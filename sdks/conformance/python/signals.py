"""Signals: in order, unread, in races, and between workflows."""

import asyncio

from segno_sdk import Context, Failure, workflow


@workflow(name="named-signal-timeout", signals={"go": int})
async def named_signal_timeout(ctx: Context) -> list[int | str]:
    try:
        first: int | str = await ctx.signal("go", int, timeout="100ms")
    except TimeoutError:
        first = "late"
    return [first, await ctx.signal("go", int)]


@workflow(name="signal-race-loser", signals={"note": str, "stop": None})
async def signal_race_loser(ctx: Context) -> list[str]:
    async def note() -> str:
        return await ctx.signal("note", str)

    racers = [asyncio.create_task(note()), asyncio.create_task(asyncio.sleep(0.1, "nothing"))]
    done, pending = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
    for loser in pending:
        loser.cancel()
    await ctx.signal("stop")
    return [done.pop().result(), await ctx.signal("note", str)]


@workflow(name="signal-order", signals={"number": int})
async def signal_order(ctx: Context) -> list[int]:
    return [await ctx.signal("number", int) for _ in range(3)]


@workflow(name="signal-unread", signals={"read": int, "other": int})
async def signal_unread(ctx: Context) -> int:
    return await ctx.signal("read", int)


@workflow(name="signal-any", signals={"comment": str, "stop": None})
async def signal_any(ctx: Context) -> list[str]:
    comments: list[str] = []
    async for signal in ctx.signals():
        if signal.name == "stop":
            break
        comments.append(signal.value)
    return comments


@workflow(signals={"hello": str})
async def receiver(ctx: Context) -> str:
    return await ctx.signal("hello", str)


@workflow(name="signal-sent")
async def signal_sent(ctx: Context) -> str:
    waiting = ctx.call(receiver)
    await ctx.sleep("300ms")
    await ctx.send_signal(waiting.id, "hello", "from above")
    return await waiting


@workflow(name="signal-unknown")
async def signal_unknown(ctx: Context) -> int:
    try:
        await ctx.send_signal("nobody", "hello")
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="signal-undeclared")
async def signal_undeclared(ctx: Context) -> list[int | str]:
    waiting = ctx.call(receiver)
    await ctx.sleep("300ms")
    code = 0
    try:
        await ctx.send_signal(waiting.id, "bye")
    except Failure as failure:
        code = failure.code
    await ctx.send_signal(waiting.id, "hello", "from above")
    return [code, await waiting]


@workflow(name="signal-start", signals={"add": int})
async def signal_start(number: int, ctx: Context) -> int:
    return number + await ctx.signal("add", int)
