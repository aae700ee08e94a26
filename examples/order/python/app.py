"""An order from stock to shipment, with compensation when a step fails.

It shows activities for side effects; a durable HTTP request, whose `Idempotency-Key` lets the
payment service charge once however often it is sent; a promise that a person settles, with a time
limit; steps in parallel; and compensation, which is ordinary code in `except`.
"""

import asyncio
from dataclasses import dataclass

from segno_sdk import ActivityContext, Context, Failure, Retry, activity, workflow
from segno_sdk.http import Response


@dataclass
class Item:
    sku: str
    quantity: int
    price_cents: int


@dataclass
class Order:
    id: str
    items: list[Item]
    payments: str
    """The address of the payment service, such as `http://127.0.0.1:9000`."""
    approve_within_s: int = 3 * 24 * 60 * 60

    @property
    def amount_cents(self) -> int:
        return sum(item.quantity * item.price_cents for item in self.items)


@dataclass
class Reservation:
    name: str
    items: list[Item]


@dataclass
class Receipt:
    order: str
    charge: str
    amount_cents: int
    shipments: list[str]


@dataclass
class Charge:
    """The payment service's response to a charge."""

    charge: str
    accepted: bool


@workflow(promises={"approval": bool})
async def order(order: Order, ctx: Context) -> Receipt:
    """Reserves the stock, charges, waits for an approval, and ships. If a later step fails, the
    earlier ones are undone.

    The approval is the promise `{invocation}/p/approval`: true approves; false, a rejection or a
    timeout does not.
    """
    # The name is known before the reservation is made, so a reservation that was in flight when the
    # order was cancelled can be released by it.
    reservation = Reservation(f"reservation-{ctx.id}", order.items)
    try:
        await ctx.call(reserve, reservation)
    except asyncio.CancelledError:
        await ctx.call(release, reservation.name)
        raise

    try:
        paid = await charge(order, ctx)
    except asyncio.CancelledError:
        await give_back(order, ctx)
        await ctx.call(release, reservation.name)
        raise
    except Failure:
        await ctx.call(release, reservation.name)
        raise

    try:
        await approved(order, ctx)
        shipments = await asyncio.gather(*(ctx.call(ship, item) for item in order.items))
    except (Failure, asyncio.CancelledError) as error:
        # Any other exception is a defect, after which mended code continues the execution: nothing
        # is undone.
        ctx.log(f"order {order.id} is undone: {error!r}", "warn")
        await asyncio.gather(refund(order, paid, ctx), ctx.call(release, reservation.name))
        raise
    ctx.log(f"order {order.id} shipped in {len(shipments)} parcels")
    return Receipt(order.id, paid.charge, order.amount_cents, shipments)


async def approved(order: Order, ctx: Context) -> None:
    try:
        is_approved = await ctx.promise("approval", bool, timeout=order.approve_within_s)
    except TimeoutError:
        raise Failure(408, f"nobody approved order {order.id} in time") from None
    if not is_approved:
        raise Failure(409, f"order {order.id} was not approved")


async def charge(order: Order, ctx: Context) -> Charge:
    """Charges the order, under a key that stays the same when the charge is sent again."""
    body = {"order": order.id, "amount_cents": order.amount_cents}
    answer = await post(order, ctx, "charges", body, {"idempotency-key": f"{ctx.id}/charge"})
    charge = answer.json(Charge)
    if not charge.accepted:
        raise Failure(402, f"the payment of order {order.id} was declined")
    return charge


async def give_back(order: Order, ctx: Context) -> None:
    """Refunds a payment that was in flight when the order was cancelled and may have been made.

    Sent again under the same key, it is made at most once, and returns a number for the refund.
    """
    try:
        await refund(order, await charge(order, ctx), ctx)
    except Failure as failure:
        if failure.code != 402:
            raise


async def refund(order: Order, paid: Charge, ctx: Context) -> None:
    await post(order, ctx, "refunds", {"charge": paid.charge})


async def post(
    order: Order, ctx: Context, path: str, json: object, headers: dict[str, str] | None = None
) -> Response:
    """Sends the payment service a request, which the host retries until there is a response."""
    retry = Retry(initial="200ms", max="30s")
    url = f"{order.payments}/{path}"
    answer = await ctx.http(
        "POST", url, json=json, headers=headers, retry=retry, labels={"order": order.id}
    )
    return answer.raise_for_status()


@activity(timeout="1m", retry=Retry(initial="100ms", max_attempts=10))
async def reserve(reservation: Reservation, ctx: ActivityContext) -> None:
    """Reserves the items in the warehouse.

    It stands for a request to the warehouse's own system. The name of the reservation would let a
    second attempt find the reservation of the first.
    """
    if not reservation.items:
        raise Failure(422, "an order without items")
    if any(item.sku == "sold-out" for item in reservation.items):
        raise Failure(409, "`sold-out` is sold out")
    ctx.log(f"{reservation.name}: {len(reservation.items)} lines")


@activity
async def release(reservation: str, ctx: ActivityContext) -> None:
    """Releases a reservation, which may not exist."""
    ctx.log(f"{reservation} released")


@activity(timeout="1h")
async def ship(item: Item, ctx: ActivityContext) -> str:
    """Hands one item to the carrier and returns its tracking number."""
    ctx.log(f"{item.quantity} of `{item.sku}` handed over")
    return f"parcel-{ctx.idempotency_key}"
