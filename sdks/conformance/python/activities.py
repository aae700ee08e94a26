"""What an activity knows and may use."""

from typing import Any

from segno_sdk import ActivityContext, Context, Retry, activity, workflow


@activity
def facts(ctx: ActivityContext) -> list[Any]:
    return [ctx.id == ctx.idempotency_key, ctx.attempt, ctx.fence_token > 0]


@workflow(name="activity-facts")
async def activity_facts(ctx: Context) -> list[Any]:
    return await ctx.call(facts)


@activity
def settings(ctx: ActivityContext) -> list[Any]:
    return [ctx.env("REGION"), len(ctx.secret("PAY")), ctx.files.read_text("/in/greeting.txt")]


@workflow(name="activity-settings")
async def activity_settings(ctx: Context) -> list[Any]:
    return await ctx.call(settings)


@activity(retry=Retry(initial="10ms", jitter=0, max_attempts=3))
def stepwise(ctx: ActivityContext) -> int:
    before = ctx.last_progress(int) or 0
    ctx.heartbeat(before + 1)
    if before < 2:
        raise ValueError("not there yet")
    return before


@workflow(name="activity-progress")
async def activity_progress(ctx: Context) -> int:
    return await ctx.call(stepwise)


@workflow(name="publish-log")
async def publish_log(ctx: Context) -> str:
    ctx.log("begun")
    await ctx.publish("order.paid", {"cents": 1200})
    ctx.log("ended", "warn")
    return "published"
