"""The tools of the agent. The policy of this module allows the shop, and nothing else."""

from dataclasses import asdict, dataclass
from typing import Any

from segno_sdk import ActivityContext, Failure, Retry, activity
from segno_sdk.http import Response

RETRY = Retry(max_attempts=5)


@dataclass
class Order:
    order: str


@activity(timeout="1h", retry=RETRY)
async def order_status(input: Order, ctx: ActivityContext) -> str:
    return str((await shop(ctx, "GET", f"/orders/{input.order}"))["text"])


@dataclass
class Refund:
    order: str
    cents: int


@activity(timeout="1h", retry=RETRY)
async def refund(input: Refund, ctx: ActivityContext) -> str:
    return str((await shop(ctx, "POST", "/refunds", asdict(input)))["text"])


@dataclass
class Audit:
    orders: int


@activity(timeout="1h", retry=RETRY)
async def audit(input: Audit, ctx: ActivityContext) -> str:
    """Begins an audit and follows it. It stops the audit when the call is cancelled."""
    # The shop knows the key: another attempt follows the same audit.
    await shop(ctx, "POST", "/audits", asdict(input))
    while True:
        state = await shop(ctx, "GET", "/audit")
        if state["done"]:
            return f"{state['checked']} orders checked"
        if ctx.heartbeat({"checked": state["checked"]}):
            await shop(ctx, "DELETE", "/audit")
            raise Failure(499, "the audit was cancelled")


@dataclass
class Page:
    url: str


@activity(timeout="1h", retry=RETRY)
async def read_page(input: Page, ctx: ActivityContext) -> str:
    return (await sent(ctx, "GET", input.url)).text


async def shop(ctx: ActivityContext, method: str, path: str, json: object = None) -> dict[str, Any]:
    answer: dict[str, Any] = (await sent(ctx, method, f"{ctx.env('SHOP_URL')}{path}", json)).json()
    return answer


async def sent(ctx: ActivityContext, method: str, url: str, json: object = None) -> Response:
    """Sends a request. The same key in every attempt lets the shop act once."""
    headers = {"idempotency-key": ctx.idempotency_key}
    response = await ctx.http(method, url, headers=headers, json=json)
    return response.raise_for_status()
