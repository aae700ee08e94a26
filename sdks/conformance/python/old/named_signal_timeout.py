"""A wait for a signal with a time limit: one that passes, and one that does not."""

from segno_sdk import Context, workflow


@workflow(name="named-signal-timeout", signals={"go": int})
async def named_signal_timeout(ctx: Context) -> list[int | str]:
    try:
        await ctx.signal("go", int, timeout="100ms")
    except TimeoutError:
        pass
    return ["late", await ctx.signal("go", int, timeout="1h")]
