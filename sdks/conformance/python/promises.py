"""Promises: named and unnamed ones, with and without a time limit."""

import asyncio

from segno_sdk import Context, Failure, workflow


@workflow(name="promise-timeout", promises={"never": bool, "answer": bool})
async def promise_timeout(ctx: Context) -> list[int | bool]:
    try:
        await ctx.promise("never", timeout="100ms")
    except Failure as failure:
        code = failure.code
    return [code, await ctx.promise("answer", bool, timeout="1h")]


@workflow(name="promise-rejected", promises={"answer": bool})
async def promise_rejected(ctx: Context) -> list[int | str]:
    try:
        await ctx.promise("answer", bool)
    except Failure as failure:
        return [failure.code, failure.message]
    return []


@workflow(name="promise-early", promises={"early": str}, signals={"go": None})
async def promise_early(ctx: Context) -> str:
    await ctx.signal("go")
    return await ctx.promise("early", str)


@workflow
async def settler(promise: str, ctx: Context) -> int:
    await ctx.resolve(promise, "all is well")
    try:
        await ctx.resolve(promise, "too late")
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="promise-given-away")
async def promise_given_away(ctx: Context) -> list[str | int]:
    report = ctx.promise(type=str)
    late = await ctx.call(settler, report.id)
    return [await report, late]


@workflow(name="promise-unknown")
async def promise_unknown(ctx: Context) -> int:
    try:
        await ctx.resolve("nobody/p/nothing", 1)
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="promise-cancelled", promises={"never": bool})
async def promise_cancelled(ctx: Context) -> int:
    promise = ctx.promise("never", bool)
    await ctx.cancel(promise)
    try:
        await promise
    except Failure as failure:
        return failure.code
    return 0


@workflow(name="promise-twice", promises={"answer": str})
async def promise_twice(ctx: Context) -> list[str]:
    return await asyncio.gather(ctx.promise("answer", str), ctx.promise("answer", str))
