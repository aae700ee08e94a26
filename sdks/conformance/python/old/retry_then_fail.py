"""An activity that fails in every attempt: the last failure is that of the call."""

from segno_sdk import ActivityContext, Context, Failure, Retry, activity, workflow


@activity(retry=Retry(initial="10ms", max="20ms", jitter=0, max_attempts=3))
def flaky(ctx: ActivityContext) -> None:
    raise Failure(503, f"attempt {ctx.attempt}", {"attempt": ctx.attempt})


@workflow(name="retry-then-fail")
async def retry_then_fail(ctx: Context) -> list[str]:
    try:
        await ctx.call(flaky)
    except Failure as failure:
        again = ctx.call(flaky, retry=Retry(initial="10ms", max_attempts=1))
        try:
            await again
        except Failure as other:
            return [failure.message, other.message]
    return []
