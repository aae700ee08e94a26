"""An offer for a basket of goods: prices asked for in parallel, a number drawn once, a pause in which the host may well be
killed, and a total. While it is made, the offer can be asked for its step, and told to be cheaper. And baskets, which are
objects: each customer's is kept between calls."""

# `Commits`, `Exposures`, `Functions`, `Handlers`, `Limits`, `Messages`, `Objects` and `Runs` are what the host calls.
from segno import (  # noqa: F401
    Commits,
    Exposures,
    Failure,
    Functions,
    Handlers,
    Limits,
    Messages,
    Objects,
    Runs,
    activity,
    exclusive,
    gather,
    limit,
    once,
    query,
    retry,
    shared,
    update,
    workflow,
)

PRICES = {"apple": 30, "bread": 250, "cheese": 800}
GOODS = {"type": "array", "items": {"type": "string"}}
OFFER = {
    "type": "object",
    "properties": {"goods": GOODS, "pause_ms": {"type": "integer", "minimum": 0}},
    "required": ["goods"],
}


async def price_or_none(good, segno):
    try:
        return await segno.call("price", {"good": good})
    except Failure as error:
        if error.code != 404:
            raise
        return None


@workflow(input=OFFER)
async def offer(order, segno):
    """Offers a basket of goods."""
    goods = order["goods"]
    segno.log(f"an offer for {len(goods)} goods")
    progress = segno.share({"step": "asks for prices", "discount": 0})
    number = await segno.run("number", lambda: segno.random.randrange(1_000_000))
    prices = await gather(*(price_or_none(good, segno) for good in goods))
    progress["step"] = "waits"
    await segno.sleep(order.get("pause_ms", 0))
    await segno.updates_done()
    progress["step"] = "is made"
    return {
        "number": number,
        "total": sum(price or 0 for price in prices) - progress["discount"],
        "missing": [good for good, price in zip(goods, prices) if price is None],
        "made_at": segno.now(),
    }


@query(offer, output={"type": "string"})
def step(progress, _):
    """Which step it is at."""
    return progress["step"]


def affordable(progress, cents):
    """Asked before an update is accepted; one that is refused leaves no trace."""
    if progress["discount"] + cents > 100:
        raise Failure(422, f"{progress['discount']} off is enough")


@update(offer, input={"type": "integer", "minimum": 1}, output={"type": "integer"}, validate=affordable)
async def discount(cents, segno, progress):
    """Makes it cheaper, and says how much cheaper it is in all."""
    # An update is a part of the offer, which runs beside it.
    await segno.sleep(100)
    progress["discount"] += cents
    return progress["discount"]


@exclusive("Basket", input={"type": "string"})
async def add(good, segno):
    """Puts a good into the basket."""
    if good not in PRICES:
        raise Failure(404, f"there is no {good}")
    # One execution of a basket at a time: none is lost between reading and writing.
    goods = [*(await segno.state.get("goods") or []), good]
    segno.state.set("goods", goods)
    return len(goods)


@shared("Basket")
async def total(_, segno):
    """What the basket costs."""
    goods = await segno.state.get("goods") or []
    return {"of": segno.key, "total": sum(PRICES[good] for good in goods)}


@once("Delivery", input={"type": "string"})
async def deliver(to, segno):
    """Delivers a basket, once."""
    segno.state.set("to", to)
    # Who takes it signs for it, whether this waits for that yet or not.
    return {"to": to, "by": await segno.promise_of("signed").wait()}


@shared("Delivery", input={"type": "string"})
async def sign(by, segno):
    """Signs for it."""
    await segno.promise_of("signed").resolve(by)


@shared("Delivery")
async def status(_, segno):
    """Where it is to go, and who signed."""
    return {"to": await segno.state.get("to"), "by": await segno.promise_of("signed").peek()}


@activity(
    retry=retry(initial_ms=50, max_attempts=5),
    # The counter serves so many at a time.
    limit=limit(key="good", concurrency=10, rate="50/s", total_concurrency=40),
)
def price(asked, attempt):
    """What one good costs."""
    good = asked["good"]
    if good == "cheese" and attempt.attempt == 1:
        raise RuntimeError("the cheese counter does not answer yet")
    if good not in PRICES:
        raise Failure(404, f"there is no {good}")
    return PRICES[good]
