"""A program whose types are right: mypy and pyright find nothing. The comments of `assert_type` are what they infer."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_type

from segno_sdk import (
    ActivityContext,
    ActivityStream,
    BudgetSpent,
    BudgetUnit,
    Call,
    Context,
    GraphBuilder,
    Object,
    ObjectPromise,
    Output,
    Place,
    Retry,
    ServerEvent,
    State,
    StreamReader,
    Undo,
    WorkflowStream,
    activity,
    exclusive,
    graph,
    shared,
    workflow,
)
from segno_sdk.testing import TestHost


@dataclass
class Order:
    id: str


@activity(retry=Retry(max_attempts=5))
async def charge(order: Order, ctx: ActivityContext) -> str:
    assert_type(ctx.stream("tokens"), ActivityStream)
    assert_type(ctx.stream("log", content_type="text/plain").kept(), int)
    ctx.cost("tokens", 812)
    ctx.cost("usd", 0.0042)
    ctx.cost("usd", Decimal("0.0042"))
    with ctx.http_open("GET", "http://localhost/") as response:
        assert_type([event for event in response.events()], list[ServerEvent])
        assert_type(list(response.lines()), list[str])
    return order.id


@activity
def plain(order: Order) -> int:
    return 1


@activity
def ping() -> bool:
    return True


@activity
async def refund(undo: Undo[Order, str]) -> None: ...


@workflow(signals={"approved": bool})
async def order(order: Order, ctx: Context) -> str:
    assert_type(await ctx.signal("approved", bool, timeout="2d"), bool)
    assert_type(await ctx.call(charge, order, timeout="1m"), str)
    assert_type(ctx.call(plain, order), Call[int])
    assert_type(await ctx.call(ping), bool)
    assert_type(await ctx.call("other", 1, result=int), int)
    assert_type(await ctx.call("other", 1), Any)
    assert_type(await ctx.promise("answer", int), int)
    assert_type(await ctx.run("draw", lambda: 1), int)
    assert_type(await ctx.budget(), dict[str, BudgetUnit])
    try:
        assert_type(await ctx.call(charge, order, budget={"tokens": 20_000, "usd": Decimal("1.5")}), str)
    except BudgetSpent as spent:
        assert_type(spent.account, str)
        assert_type(spent.units["usd"].remaining, float)
    await ctx.send(plain, order, budget={"calls": 1}, delay="1d")
    await ctx.http("GET", "https://example.org", budget={"calls": 1})
    assert_type(ctx.stream("tokens"), WorkflowStream)
    ctx.stream("log", content_type="text/plain").append(order.id)
    numbers = ctx.read_stream("count-1", "numbers", type=int, start=1)
    assert_type(numbers, StreamReader[int])
    async for number in numbers:
        assert_type(number, int)
    async for part in numbers.parts():
        assert_type(part, list[int])
    async for text in ctx.read_stream("count-1", "log").text():
        assert_type(text, str)
    async for content in ctx.read_stream("count-1", "sound").bytes():
        assert_type(content, bytes)
    assert_type([item async for item in ctx.read_stream("count-1", "any")], list[Any])
    assert_type(numbers.position, int)
    async with ctx.saga("pay") as saga:
        assert_type(await saga.call(charge, order, compensate=refund, budget={"calls": 1}), str)
    assert_type(await ctx.object(Cart, "ada").add("hat", budget={"calls": 1}), int)
    assert_type(await ctx.object(Cart, "ada").read(), list[str])
    return await ctx.send(order_again, order)


@workflow
async def order_again(order: Order, ctx: Context) -> None: ...


@graph
def charges(g: GraphBuilder, order: Place[Order]) -> tuple[Output[str], Output[str | None]]:
    first = g.call("first", charge, order)
    assert_type(first, Output[str])
    then = g.call("then", charge, order, when=first.is_("a") & order.at("id").exists(), timeout="1m", after=[first])
    assert_type(then, Output[str | None])
    assert_type(g.promise("approve", bool, shows=first), Output[bool])
    return first, then


@graph(max_parallel=2)
def one(g: GraphBuilder) -> Output[str]:
    return g.call("first", charge, Order("a"))


@workflow
async def runs_graphs(ctx: Context) -> str:
    first, then = await ctx.call(charges, Order("a"))
    assert_type(then, str | None)
    return first + await ctx.call(one)


class Cart(Object):
    total: State[int]
    done: ObjectPromise[str]

    @exclusive
    async def add(self, name: str, ctx: Context) -> int:
        assert_type(await self.total.get(), int | None)
        assert_type(await self.done.wait(), str)
        return await self.total.get_or(0)

    @shared
    async def read(self) -> list[str]:
        return []


def test() -> None:
    host = TestHost()
    host.on(charge, lambda order: order.id)
    host.on(charge, "receipt")
    host.on("other", 1, costs={"usd": 0.1})
    assert_type(host.calls(charge), list[Order])
    assert_type(host.run(order, Order("a")), str)
    assert_type(host.run(order, Order("a"), budget={"calls": 3}), str)
    host.set_budget({"calls": 9}, after="1h")
    assert_type(host.budget()["calls"].limit, float)
    assert_type(host.run(charges, Order("a")), tuple[str, str | None])
    assert_type(host.run_object(Cart.add, "ada", "hat"), int)
