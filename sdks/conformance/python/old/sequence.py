"""Steps one after the other: each begins when the one before has ended."""

from segno_sdk import Context, activity, workflow


@activity
def double(number: int) -> int:
    return 2 * number


@workflow
async def sequence(number: int, ctx: Context) -> list[int]:
    once = await ctx.call(double, number)
    await ctx.sleep("50ms")
    twice = await ctx.call(double, once)
    return [number, once, twice]
