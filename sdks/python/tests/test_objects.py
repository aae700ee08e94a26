"""Objects, their state and promises; queries and updates; sagas; requests."""

import asyncio
from dataclasses import dataclass, field

import pytest

from segno_sdk import (
    ActivityContext,
    Context,
    Defect,
    Failure,
    Object,
    ObjectPromise,
    Retry,
    State,
    StateMap,
    TimedOut,
    Undo,
    activity,
    exclusive,
    http,
    once,
    shared,
    workflow,
)
from segno_sdk.testing import SeenRequest, TestHost


@dataclass
class Line:
    name: str
    count: int


class Cart(Object):
    total: State[int]
    lines: StateMap[Line]

    @exclusive
    async def add(self, name: str, ctx: Context) -> int:
        """Adds one."""
        line = await self.lines.get(name) or Line(name, 0)
        self.lines.set(name, Line(name, line.count + 1))
        await ctx.sleep(1)
        self.total.set(await self.total.get_or(0) + 1)
        return await self.total.get_or(0)

    @shared
    async def names(self) -> list[str]:
        return await self.lines.keys()

    @exclusive(name="remove-all")
    async def remove_all(self) -> list[str]:
        names = await self.state_names()
        self.clear_state()
        return names

    @shared
    async def wrong(self) -> None:
        self.total.set(1)


class Signup(Object):
    confirmed: ObjectPromise[bool]

    @once
    async def run(self, mail: str) -> bool:
        return await self.confirmed.wait()

    @shared
    async def confirm(self, value: bool) -> None:
        await self.confirmed.resolve(value)

    @shared
    async def status(self) -> bool | None:
        return await self.confirmed.peek()


@workflow
async def shop(names: list[str], ctx: Context) -> list[str]:
    cart = ctx.object(Cart, "ada")
    await asyncio.gather(*(cart.add(name) for name in names))
    return await cart.names()


def test_calls_of_one_key_take_turns(segno_host: TestHost) -> None:
    segno_host.state("Cart@ada", "total", 7)
    assert segno_host.run(shop, ["hat", "coat", "hat"]) == ["coat", "hat"]
    assert segno_host.elapsed.total_seconds() == 3
    assert segno_host.state_of("Cart@ada", "total") == 10
    assert segno_host.state_of("Cart@ada", "lines/hat") == {"name": "hat", "count": 2}
    assert segno_host.run_object(Cart.remove_all, "ada") == ["lines/coat", "lines/hat", "total"]
    assert segno_host.calls(Cart.add) == []


def test_a_shared_function_that_writes_is_refused(segno_host: TestHost) -> None:
    with pytest.raises(Defect, match=r"test_objects.py:\d+: `Cart/wrong` is shared and writes 'total'"):
        segno_host.run_object(Cart.wrong, "ada")


def test_state_of_another_object_is_refused(segno_host: TestHost) -> None:
    @workflow
    async def peeps(ctx: Context) -> None:
        await ctx.object(Cart, "ada").total.get()

    with pytest.raises(Defect, match="only its own functions read and write it"):
        segno_host.run(peeps)


def test_an_object_runs_once_and_its_promise_is_settled(segno_host: TestHost) -> None:
    @workflow
    async def signs_up(ctx: Context) -> list[object]:
        signup = ctx.object(Signup, "ada")
        run = signup.run("a@example.org")
        await ctx.sleep(1)
        before = await signup.status()
        await signup.confirm(True)
        try:
            await signup.run("again")
        except Failure as failure:
            return [before, await run, failure.code, await signup.status()]
        return []

    assert segno_host.run(signs_up) == [None, True, 409, True]


def test_the_promise_of_an_object_is_settled_from_outside(segno_host: TestHost) -> None:
    segno_host.object_promise("Signup@bob", "confirmed").after("1h").resolve(False)
    assert segno_host.run_object(Signup.run, "bob", "b@example.org") is False


def test_a_kind_that_runs_once_has_no_other_writer() -> None:
    with pytest.raises(TypeError, match="have to be @shared"):

        class Twice(Object):
            @once
            async def run(self) -> None: ...

            @exclusive
            async def add(self) -> None: ...


# Queries and updates.


@dataclass
class Auction:
    least: int
    bids: list[int] = field(default_factory=list)
    is_closed: bool = False


@workflow
async def auction(least: int, ctx: Context) -> list[int]:
    shared = ctx.share(Auction(least))
    await ctx.until(lambda: shared.is_closed)
    await ctx.updates_done()
    return shared.bids


@auction.query
def leader(auction: Auction) -> int | None:
    return max(auction.bids, default=None)


def is_higher(auction: Auction, bid: int) -> None:
    if bid <= max(auction.bids, default=auction.least):
        raise Failure(422, "too low")


@auction.update(validate=is_higher)
async def bid(auction: Auction, bid: int, ctx: Context) -> int:
    await ctx.sleep(1)
    auction.bids.append(bid)
    return len(auction.bids)


@auction.update
async def close(auction: Auction) -> None:
    auction.is_closed = True


def test_queries_and_updates(segno_host: TestHost) -> None:
    first, low = segno_host.update(bid, 5, after=1), segno_host.update(bid, 3, after=3)
    seen = segno_host.ask(leader, after=4)
    last = segno_host.update(bid, 9, after=9.5)
    segno_host.update(close, after=10)
    assert segno_host.run(auction, 1) == [5, 9]
    assert (first.value, seen.value, last.value) == (1, 5, 2)
    with pytest.raises(Failure, match="too low"):
        assert low.value
    assert segno_host.query(leader) == 9


def test_a_query_before_anything_is_shared_says_so(segno_host: TestHost) -> None:
    @workflow
    async def late(ctx: Context) -> None:
        await ctx.sleep(10)
        ctx.share(1)

    @late.query
    def value(shared: int) -> int:
        return shared

    asked = segno_host.ask(value, after=1)
    segno_host.run(late)
    with pytest.raises(Failure, match="has not shared anything yet"):
        assert asked.value
    assert segno_host.query(value) == 1


# Sagas.

undone: list[Undo[str, str]] = []


@activity
def book(what: str) -> str:
    if what == "nothing":
        raise Failure(404, "there is none")
    return f"{what}!"


@activity
def cancel(undo: Undo[str, str]) -> None:
    undone.append(undo)


@workflow
async def trip(last: str, ctx: Context) -> str:
    saga = ctx.saga("trip")
    await saga.call(book, "flight", compensate=cancel)
    await saga.call(book, "hotel", compensate=cancel)
    return await saga.call(book, last, compensate=cancel)


def test_a_failure_undoes_the_steps_of_a_saga(segno_host: TestHost) -> None:
    undone.clear()
    with pytest.raises(Failure) as failed:
        segno_host.run(trip, "nothing")
    assert failed.value.message == "there is none; saga `trip`: `book`, `book` undone"
    assert undone == [Undo("hotel", "hotel!"), Undo("flight", "flight!")]
    assert TestHost().run(trip, "car") == "car!"


def test_a_step_of_unknown_effect_is_asked_for(segno_host: TestHost) -> None:
    @workflow
    async def pays(on_unknown: str, ctx: Context) -> None:
        async with ctx.saga("pay") as saga:
            await saga.call(slow, "a", compensate=cancel, timeout="1m", on_unknown=on_unknown)  # type: ignore[arg-type]

    @workflow
    async def slow(what: str, ctx: Context) -> str:
        await ctx.sleep("1d")
        return what

    undone.clear()
    segno_host.promise("test/u/pay/0").after("1h").resolve()
    with pytest.raises(TimedOut, match="`slow` undone"):
        segno_host.run(pays, "ask")
    assert undone == [Undo("a", None)] and ("warn", "settle `test/u/pay/0`") in [
        (level, text[-21:]) for level, text in segno_host.logs
    ]
    with pytest.raises(TimedOut, match="`slow` undone"):
        TestHost().run(pays, "compensate")


def test_a_cancelled_workflow_undoes_its_saga(segno_host: TestHost) -> None:
    @workflow
    async def sleeps(ctx: Context) -> None:
        async with ctx.saga("one") as saga:
            await saga.call(book, "flight", compensate=cancel)
            await ctx.sleep("1d")

    segno_host.cancel_after(5)
    with pytest.raises(Failure, match="`book` undone") as failed:
        segno_host.run(sleeps)
    assert failed.value.is_cancelled


def test_a_time_limit_around_a_saga_undoes_it_and_is_a_timeout(segno_host: TestHost) -> None:
    @workflow
    async def limited(ctx: Context) -> str:
        try:
            async with asyncio.timeout(60), ctx.saga("one") as saga:
                await saga.call(book, "flight", compensate=cancel)
                await ctx.sleep("1d")
        except TimeoutError:
            return "late"
        return ""

    undone.clear()
    assert segno_host.run(limited) == "late" and len(undone) == 1


def test_a_cancellation_does_not_stop_the_undoing(segno_host: TestHost) -> None:
    @workflow
    async def slow_cancel(undo: Undo[str, str], ctx: Context) -> None:
        await ctx.sleep("1h")

    @workflow
    async def books(ctx: Context) -> None:
        async with ctx.saga("one") as saga:
            await saga.call(book, "flight", compensate=slow_cancel)
            raise Failure(409, "no")

    segno_host.cancel_after("30m")
    with pytest.raises(Failure, match="no; saga `one`: `book` undone"):
        segno_host.run(books)
    assert segno_host.elapsed.total_seconds() == 3600


# Requests.


@activity
def posts(url: str) -> str:
    return http.post(url, json={"a": 1}, headers={"x-a": "b"}).raise_for_status().json(str)


@activity
async def posts_by_context(url: str, ctx: ActivityContext) -> int:
    return (await ctx.http("POST", url, data={"a": "b c"})).status_code


@workflow
async def requests(ctx: Context) -> list[object]:
    answer = await ctx.http("GET", "https://example.org/x", params={"q": "ü"}, retry=Retry(initial="1s"))
    return [
        answer.status_code,
        answer.headers["Content-Type"],
        await ctx.call(posts, "https://example.org/ok"),
        await ctx.call(posts_by_context, "https://example.org/form"),
    ]


def test_requests(segno_host: TestHost) -> None:
    statuses = iter([503, 200])

    def answer(request: SeenRequest) -> object:
        assert request.url == "https://example.org/x?q=%C3%BC"
        return next(statuses), {"ok": True}

    segno_host.on_http("GET", "https://example.org/", answer)
    segno_host.on_http(
        "POST", "https://example.org/ok", lambda request: (200, f"{request.json()} {request.header('X-A')}")
    )
    segno_host.on_http("POST", "https://example.org/form", 404)
    assert segno_host.run(requests) == [200, "application/json", "{'a': 1} b", 404]
    assert segno_host.elapsed.total_seconds() == 1
    assert segno_host.requests[0].header("idempotency-key") == "test/0"
    assert segno_host.requests[-1].body == b"a=b+c"


def test_a_status_that_is_no_success_raises(segno_host: TestHost) -> None:
    @workflow
    async def fetches(ctx: Context) -> None:
        await ctx.call(posts, "https://example.org/ok", retry=Retry.never())

    segno_host.on_http("POST", "https://example.org/", 402)
    with pytest.raises(Failure, match="https://example.org/ok answered 402"):
        segno_host.run(fetches)


def test_a_request_without_an_answer_names_the_line_to_add(segno_host: TestHost) -> None:
    with pytest.raises(Failure, match=r"add host.on_http\('GET', 'https://example.org/x\?q="):
        segno_host.run(requests)
