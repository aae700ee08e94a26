"""Workflows that continue as new."""

from segno_sdk import Context, workflow


@workflow(signals={"add": int})
async def generation(total: int, ctx: Context) -> int:
    total += await ctx.signal("add", int)
    # The second signal comes meanwhile.
    await ctx.sleep("1s")
    if total < 10:
        ctx.continue_as_new(total)
    return total


@workflow(name="generation-count")
async def generation_count(number: int, ctx: Context) -> int:
    await ctx.sleep("50ms")
    if number < 3:
        ctx.continue_as_new(number + 1, same_code=True)
    return number
