"""Failures, retries and defects."""

from collections.abc import Awaitable
from typing import Any

from waits import never

from segno_sdk import ActivityContext, Context, Failure, Retry, activity, workflow


async def noted(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except Failure as failure:
        return [failure.code, failure.message]


@activity(retry=Retry(initial="10ms", max="20ms", jitter=0, max_attempts=3))
def flaky(ctx: ActivityContext) -> None:
    raise Failure(503, f"attempt {ctx.attempt}", {"attempt": ctx.attempt})


@workflow(name="retry-then-fail")
async def retry_then_fail(ctx: Context) -> list[Any]:
    first = await noted(ctx.call(flaky))
    return [first, await noted(ctx.call(flaky, retry=Retry(initial="10ms", max_attempts=1)))]


@activity(retry=Retry(initial="10ms", jitter=0, max_attempts=5))
def third(ctx: ActivityContext) -> str:
    if ctx.attempt < 3:
        raise Failure(503, "not yet")
    return f"attempt {ctx.attempt}"


@workflow(name="retry-then-success")
async def retry_then_success(ctx: Context) -> str:
    return await ctx.call(third)


@activity(retry=Retry(initial="10ms", max_attempts=5, non_retryable=[503]))
def picky(code: int, ctx: ActivityContext) -> None:
    raise Failure(code, f"attempt {ctx.attempt}")


@workflow(name="retry-never")
async def retry_never(ctx: Context) -> list[Any]:
    return [await noted(ctx.call(picky, 503)), await noted(ctx.call(picky, 402))]


@workflow(name="failure-details")
async def failure_details() -> None:
    raise Failure(422, "nö: “quoted” \n line 2", {"items": [1, None, {"deep": True}]})


@workflow(name="failure-of-call")
async def failure_of_call(ctx: Context) -> None:
    await ctx.call(picky, 402)


@workflow(name="unhandled-defect")
async def unhandled_defect(number: int, ctx: Context) -> float:
    await ctx.sleep("20ms")
    return 1 / number


@workflow(name="host-failures")
async def host_failures(url: str, ctx: Context) -> list[Any]:
    deadline = await noted(ctx.call(never, timeout="200ms"))
    sleep = ctx.sleep("1h")
    await ctx.cancel(sleep)
    slept = await noted(sleep)
    promise = ctx.promise("unknown")
    await ctx.cancel(promise)
    return [
        deadline,
        slept,
        await noted(promise),
        await noted(ctx.http("GET", f"{url}/broken", retry=Retry(initial="10ms", max_attempts=2))),
        await noted(ctx.resolve("nobody/p/nothing", 1)),
        await noted(ctx.send_signal("nobody", "hello")),
    ]
