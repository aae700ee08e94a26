"""A workflow calls another one, and sends a third that outlives it."""

from segno_sdk import Context, workflow


@workflow
async def child(number: int, ctx: Context) -> int:
    await ctx.sleep("20ms")
    return number + 1


@workflow(name="child-send")
async def child_send(number: int, ctx: Context) -> list[int | str]:
    sent = await ctx.send(child, number, delay="1h")
    return [await ctx.call(child, number), sent]
