"""Durable requests, and requests of an activity."""

from typing import Any

from segno_sdk import ActivityContext, Context, Failure, Retry, activity, workflow


@workflow(name="http-step")
async def http_step(url: str, ctx: Context) -> list[int | str]:
    answer = await ctx.http("POST", f"{url}/charges", json={"cents": 5}, retry=Retry(initial="10ms", max_attempts=3))
    return [answer.status_code, answer.json()["id"]]


@workflow(name="http-missing")
async def http_missing(url: str, ctx: Context) -> list[int | bool]:
    answer = await ctx.http("GET", f"{url}/missing")
    return [answer.status_code, answer.ok]


@workflow(name="http-broken")
async def http_broken(url: str, ctx: Context) -> int:
    try:
        await ctx.http("GET", f"{url}/broken", retry=Retry(initial="10ms", max_attempts=2))
    except Failure as failure:
        return failure.code
    return 0


@activity
async def ask(url: str, ctx: ActivityContext) -> list[Any]:
    answer = await ctx.http("POST", f"{url}/ask", headers={"idempotency-key": ctx.idempotency_key})
    return [answer.status_code, answer.json()]


@workflow(name="http-activity")
async def http_activity(url: str, ctx: Context) -> list[Any]:
    return await ctx.call(ask, url)


@activity
async def listen(url: str, ctx: ActivityContext) -> list[list[str]]:
    with ctx.http_open("GET", f"{url}/events") as response:
        events = [f"{one.event}: {one.data} ({one.id})" for one in response.events()]
    with ctx.http_open("GET", f"{url}/lines") as response:
        return [events, list(response.lines())]


@workflow(name="http-pieces")
async def http_pieces(url: str, ctx: Context) -> list[list[str]]:
    return await ctx.call(listen, url)


@workflow(name="http-headers")
async def http_headers(url: str, ctx: Context) -> str:
    answer = await ctx.http("POST", f"{url}/note", headers={"x-shop": "north"}, data="ü", timeout="1m")
    return answer.text


@workflow(name="http-refused")
async def http_refused(url: str, ctx: Context) -> list[int | str]:
    try:
        await ctx.http("GET", f"{url}/prices")
    except Failure as failure:
        return [failure.code, failure.message]
    return []
