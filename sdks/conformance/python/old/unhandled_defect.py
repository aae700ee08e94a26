"""An exception that is no failure: the execution halts at the author's line, and what it had done stays."""

from segno_sdk import Context, workflow


def divide(number: int) -> float:
    return 1 / number


@workflow(name="unhandled-defect")
async def unhandled_defect(number: int, ctx: Context) -> float:
    await ctx.sleep("20ms")
    return divide(number)
