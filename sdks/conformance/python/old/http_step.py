"""Durable requests: a transient status is repeated, any other is a response; one as a step of a saga."""

from segno_sdk import Context, Failure, Retry, activity, workflow


@activity
def refund(undo: object) -> None:
    pass


@workflow(name="http-step")
async def http_step(url: str, ctx: Context) -> list[int | str]:
    answer = await ctx.http("POST", f"{url}/charges", json={"cents": 5}, retry=Retry(initial="10ms", max_attempts=3))
    missing = await ctx.http("GET", f"{url}/missing")
    try:
        async with ctx.saga("pay") as saga:
            await saga.http("POST", f"{url}/pay", compensate=refund)
            raise Failure(409, "changed my mind")
    except Failure as failure:
        return [answer.status_code, answer.json()["id"], missing.status_code, failure.message]
