"""Cancellation, from outside and of a command."""

import asyncio

from segno_sdk import Context, Failure, activity, workflow


@activity
def release(room: int) -> int:
    return room


@workflow(name="cancel-cleanup")
async def cancel_cleanup(room: int, ctx: Context) -> None:
    try:
        await ctx.sleep("1h")
    finally:
        await ctx.call(release, room)


@workflow(name="cancel-answered")
async def cancel_answered(ctx: Context) -> list[str | bool]:
    try:
        await ctx.sleep("1h")
    except asyncio.CancelledError:
        return ["stopped", ctx.is_cancelled]
    return []


@workflow(name="cancel-sleep")
async def cancel_sleep(ctx: Context) -> int:
    sleep = ctx.sleep("1h")
    await ctx.cancel(sleep)
    try:
        await sleep
    except Failure as failure:
        return failure.code
    return 0


@workflow
async def search(ctx: Context) -> str:
    try:
        await ctx.sleep("1h")
    except asyncio.CancelledError:
        return "found nothing so far"
    return "found"


@workflow(name="cancel-call")
async def cancel_call(ctx: Context) -> str:
    searching = ctx.call(search)
    await ctx.sleep("300ms")
    await ctx.cancel(searching)
    return await searching


@workflow
async def manager(ctx: Context) -> int | str:
    try:
        return await ctx.call(search)
    except asyncio.CancelledError:
        return 499


@workflow(name="cancel-tree", signals={"stop": None})
async def cancel_tree(ctx: Context) -> int | str:
    managing = ctx.call(manager)
    await ctx.signal("stop")
    await ctx.cancel(managing)
    answer = await managing
    await ctx.sleep("500ms")
    return answer
