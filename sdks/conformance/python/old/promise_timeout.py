"""A promise with a time limit that passes, and one that somebody settles."""

from segno_sdk import Context, Failure, workflow


@workflow(name="promise-timeout", promises={"answer": bool})
async def promise_timeout(ctx: Context) -> list[int | bool]:
    try:
        await ctx.promise("never", timeout="100ms")
    except Failure as failure:
        code = failure.code
    return [code, await ctx.promise("answer", bool, timeout="1h")]
