"""A workflow that continues as new: the next generation has the signals that nobody read."""

from segno_sdk import Context, workflow


@workflow(signals={"add": int})
async def generation(total: int, ctx: Context) -> int:
    total += await ctx.signal("add", int)
    # The second signal comes meanwhile.
    await ctx.sleep("1s")
    if total < 10:
        ctx.continue_as_new(total)
    return total
