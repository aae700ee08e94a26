"""Functions with limits, and a call with labels and time limits."""

from segno_sdk import Context, Limit, activity, workflow


@activity(limit=Limit(rate="100/s", burst=10))
def limited(name: str) -> str:
    return name


@workflow(name="limits-labels", limit=Limit(key="customer", concurrency=5, total_concurrency=50), timeout="1h")
async def limits_labels(order: dict[str, str], ctx: Context) -> str:
    return await ctx.call(
        limited, order["customer"], labels={"customer": order["customer"]}, timeout="1m", attempt_timeout="30s"
    )
