"""A program with errors of types: mypy and pyright find one in each line that ends in `# error`."""

from dataclasses import dataclass

from segno_sdk import (
    ActivityContext,
    Context,
    GraphBuilder,
    Object,
    Output,
    Place,
    State,
    Undo,
    activity,
    exclusive,
    graph,
    workflow,
)
from segno_sdk.testing import TestHost


@dataclass
class Order:
    id: str


@activity
async def charge(order: Order, ctx: ActivityContext) -> str:
    ctx.stream("tokens").close()  # error
    ctx.cost("tokens", "812")  # error
    ctx.cost("tokens")  # error
    return order.id


@activity
def ping() -> bool:
    return True


@activity
async def refund(undo: Undo[int, int]) -> None: ...


class Cart(Object):
    total: State[int]

    @exclusive
    async def add(self, name: str) -> int:
        self.total.set(name)  # error
        return 1


@workflow
async def order(order: Order, ctx: Context) -> str:
    await ctx.call(charge, "o-1")  # error
    number: int = await ctx.call(charge, order)  # error
    await ctx.call(charge, order, timeuot="1m")  # error
    await ctx.call(ping, 1)  # error
    await ctx.call(charge, order, budget={"calls": "1"})  # error
    left: int = (await ctx.budget())["calls"]  # error
    await ctx.object(Cart, "ada").add(3)  # error
    await ctx.saga("a").call(charge, order, compensate=refund)  # error
    answer: str = await ctx.signal("go", bool)  # error
    ctx.stream("log", type="text/plain")  # error
    ctx.stream("tokens").kept()  # error
    numbers = ctx.read_stream("count-1", "numbers", int)
    numbers.append(1)  # error
    numbers.position = 0  # error
    ctx.read_stream("count-1")  # error
    ctx.read_stream("count-1", "numbers", start="1")  # error
    async for item in numbers:
        text: str = item  # error
    return number, answer, left, text  # error


@graph
def charges(g: GraphBuilder, order: Place[Order]) -> Output[int]:
    g.call("options", charge, order, retries=1)  # error
    g.call("when", charge, order, when=True)  # error
    return g.call("charge", charge, order)  # error


def test() -> None:
    TestHost().run(charges, "o-1")  # error
    TestHost().run(order, "o-1")  # error
    TestHost().run(order, Order("a"), budget={"calls": "1"})  # error
    TestHost().on(charge, 5)  # error
