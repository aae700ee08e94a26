"""What a workflow may ask for, in virtual time."""

import asyncio
import logging
import random
import secrets
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from segno_sdk import ActivityContext, Context, Failure, Limit, NotJson, Retry, TimedOut, activity, workflow
from segno_sdk.testing import Stuck, TestHost


@dataclass
class Order:
    id: str
    cents: int


@dataclass
class Receipt:
    order: str
    number: int


@activity(retry=Retry(initial="1s", max_attempts=3))
async def charge(order: Order, ctx: ActivityContext) -> Receipt:
    if order.cents < 0:
        raise Failure(402, "declined", {"limit": 0})
    if ctx.attempt < order.cents:
        raise Failure(503, f"attempt {ctx.attempt}")
    return Receipt(order.id, ctx.attempt)


@activity
def ping() -> str:
    return "pong"


@workflow
async def buy(order: Order, ctx: Context) -> Receipt:
    """Buys something."""
    return await ctx.call(charge, order, timeout="1m")


def test_values_are_of_the_annotated_types(segno_host: TestHost) -> None:
    assert segno_host.run(buy, Order("o", 1)) == Receipt("o", 1)
    assert segno_host.calls(charge) == [Order("o", 1)]
    assert buy.summary == "Buys something."


def test_failures_are_repeated_with_back_off(segno_host: TestHost) -> None:
    assert segno_host.run(buy, Order("o", 3)).number == 3
    assert segno_host.elapsed == timedelta(seconds=1 + 2)
    with pytest.raises(Failure) as failed:
        segno_host.run(buy, Order("o", 9))
    assert (failed.value.code, failed.value.message) == (503, "attempt 3")


def test_a_final_failure_has_code_message_and_details(segno_host: TestHost) -> None:
    with pytest.raises(Failure) as failed:
        segno_host.run(buy, Order("o", -1))
    assert (failed.value.code, failed.value.message, failed.value.details) == (402, "declined", {"limit": 0})


def test_a_stand_in_takes_the_place_of_a_function(segno_host: TestHost) -> None:
    segno_host.on(charge, lambda order: Receipt(order.id, 42))
    assert segno_host.run(buy, Order("o", 9)) == Receipt("o", 42)
    segno_host.on(charge, Receipt("other", 1))
    assert segno_host.run(buy, Order("o", 9)).order == "other"


class Elsewhere:
    """A reference to a function of another module, as `segno types` writes it."""

    address = "wasm://shop/order"

    def segno_function(self, input: str, /) -> str:
        raise NotImplementedError


def test_a_generated_reference_is_called_by_its_address(segno_host: TestHost) -> None:
    @workflow
    async def caller(ctx: Context) -> list[str]:
        return [await ctx.call(Elsewhere(), "o-1"), await ctx.send(Elsewhere(), "o-2")]

    @workflow
    async def wrong(ctx: Context) -> None:
        await ctx.call(7)  # type: ignore[call-overload]

    segno_host.on(Elsewhere(), lambda order: f"receipt for {order}")
    receipt, id = segno_host.run(caller)
    assert receipt == "receipt for o-1"
    assert id.startswith("test")
    assert segno_host.calls(Elsewhere()) == ["o-1"]
    assert segno_host.calls("wasm://shop/order") == ["o-1"]
    with pytest.raises(TypeError, match="a reference of `segno types`, or a name"):
        segno_host.run(wrong)


def test_an_input_that_does_not_fit_is_a_failure(segno_host: TestHost) -> None:
    with pytest.raises(Failure, match="input has no 'cents'") as failed:
        segno_host.run_json(buy, '{"id":"a"}')
    assert failed.value.code == 400


@workflow
async def deadline(ctx: Context) -> str:
    @activity
    async def slow() -> None: ...

    try:
        await ctx.promise("never", timeout="2d")
    except TimedOut as late:
        return late.message
    return ""


def test_a_time_limit_is_a_timeout_error_too(segno_host: TestHost) -> None:
    assert segno_host.run(deadline) == "timed out"
    assert segno_host.elapsed == timedelta(days=2)


@workflow(signals={"approved": bool, "note": str}, promises={"approval": bool})
async def approval(ctx: Context) -> list[object]:
    got: list[object] = []
    try:
        await ctx.signal("approved", bool, timeout="1h")
    except TimeoutError as late:
        got.append(str(late))
    async for signal in ctx.signals():
        got.append([signal.name, signal.value])
        if signal.name == "approved":
            break
    got.append(await ctx.promise("approval", bool))
    return got


def test_signals_and_promises(segno_host: TestHost) -> None:
    segno_host.signal("note", "hello", after="2h")
    segno_host.signal("approved", True, after="3h")
    segno_host.promise("approval").after("1d").resolve(False)
    late, note, approved, settled = segno_host.run(approval)
    assert late == "the signal 'approved' did not come within 1h (code 408)"
    assert (note, approved, settled) == (["note", "hello"], ["approved", True], False)
    assert segno_host.elapsed == timedelta(hours=27)


def test_a_signal_that_is_not_declared_is_refused(segno_host: TestHost) -> None:
    segno_host.signal("aproved", True)
    with pytest.raises(AssertionError, match="declares the signals 'approved', 'note', and is sent 'aproved'"):
        segno_host.run(approval)


def test_a_rejected_promise_raises(segno_host: TestHost) -> None:
    segno_host.signal("approved", True, after="2h")
    segno_host.promise("approval").reject(Failure(403, "not you"))
    with pytest.raises(Failure, match="not you"):
        segno_host.run(approval)


@workflow(signals={"x": int})
async def unread(ctx: Context) -> int:
    await ctx.sleep("1h")
    return await ctx.signal("x", int)


def test_signals_that_nobody_read_are_reported(segno_host: TestHost) -> None:
    for number in (1, 2, 3):
        segno_host.signal("x", number)
    assert segno_host.run(unread) == 1
    commands = [record for record in segno_host.journal() if record["kind"] == "command"]
    assert commands[-1]["command"] == "unread" and commands[-1]["request"] == {"signals": [1, 2]}


def test_what_nobody_gives_is_named(segno_host: TestHost) -> None:
    with pytest.raises(Stuck, match="add host.signal"):
        segno_host.run(unread)

    @workflow
    async def waits(ctx: Context) -> None:
        await ctx.promise("answer")

    with pytest.raises(Stuck, match=r"promise `answer` \(.*test_workflows.py:\d+\)"):
        TestHost().run(waits)


@workflow
async def clocks(ctx: Context) -> list[object]:
    before = ctx.now()
    await asyncio.sleep(86_400)
    return [
        (ctx.now() - before).total_seconds(),
        (datetime.now(UTC) - before).total_seconds(),
        time.time() - before.timestamp(),
        datetime.now().tzinfo is None,
        ctx.started_at == before,
    ]


def test_time_is_virtual(segno_host: TestHost) -> None:
    real = time.time()
    assert segno_host.run(clocks) == [86_400, 86_400, 86_400, True, True]
    assert abs(time.time() - real) < 60 and datetime.now().year >= 2025


@workflow
async def draws(ctx: Context) -> list[str]:
    kept = await ctx.run("kept", lambda: random.random())
    return [
        str(random.random()),
        str(uuid.uuid4()),
        secrets.token_hex(4),
        str(ctx.random.random()),
        str(ctx.uuid4()),
        str(kept),
    ]


def test_random_numbers_are_those_of_the_seed() -> None:
    first, again, other = TestHost(seed=1).run(draws), TestHost(seed=1).run(draws), TestHost(seed=2).run(draws)
    assert first == again and not set(first) & set(other)


@workflow
async def sends(ctx: Context) -> str:
    await ctx.publish("paid", {"order": "o"})
    with pytest.raises(Failure) as refused:
        await ctx.send_signal("other", "go", 1)
    assert refused.value.code == 404
    return await ctx.send(buy, Order("later", 1), delay="7d", labels={"kind": "later"})


def test_sends_events_and_signals_are_seen(segno_host: TestHost) -> None:
    assert segno_host.run(sends) == "test/2"
    assert segno_host.sent(buy) == [(Order("later", 1), datetime(2025, 6, 22, 12, tzinfo=UTC))]
    assert segno_host.published == [("paid", {"order": "o"})]
    assert segno_host.signals_sent == [("other", "go", 1)]


@workflow
async def cleans_up(ctx: Context) -> None:
    try:
        await ctx.sleep("1d")
    except asyncio.CancelledError:
        assert ctx.is_cancelled
        await ctx.call(ping)
        raise


def test_a_cancelled_workflow_cleans_up(segno_host: TestHost) -> None:
    segno_host.cancel_after("1h")
    with pytest.raises(Failure) as failed:
        segno_host.run(cleans_up)
    assert failed.value.is_cancelled and segno_host.calls(ping) == [None]


@workflow
async def cancels(ctx: Context) -> list[str]:
    sleep, child = ctx.sleep("1d"), ctx.call(cleans_up)
    await ctx.sleep("1s")
    await ctx.cancel(sleep)
    await ctx.cancel(child)
    ends = await asyncio.gather(sleep, child, return_exceptions=True)
    return [str(getattr(end, "code", end)) for end in ends]


def test_a_workflow_cancels_what_it_began(segno_host: TestHost) -> None:
    assert segno_host.run(cancels) == ["499", "499"]


@workflow
async def counts(total: int, ctx: Context) -> int:
    await ctx.sleep("1h")
    if total < 3:
        ctx.continue_as_new(total + 1)
    return total


def test_generations(segno_host: TestHost) -> None:
    assert segno_host.run(counts, 0) == 3
    assert segno_host.elapsed == timedelta(hours=4)
    assert segno_host.journal("test/g/1")[-2]["command"] == "continue-as-new"
    assert [segno_host.journal(f"test/g/{number}")[0]["request"] for number in (1, 2, 3, 4)] == [0, 1, 2, 3]


@workflow
async def computes(ctx: Context) -> list[object]:
    calls.append(1)
    order = await ctx.run("order", lambda: Order("a", len(calls)), result=Order)
    try:
        await ctx.run("fails", fails)
    except Failure as failure:
        return [order.id, failure.code]
    return []


calls: list[int] = []


def fails() -> int:
    raise Failure(422, "no")


def test_run_keeps_values_and_failures(segno_host: TestHost) -> None:
    assert segno_host.run(computes) == ["a", 422]
    assert len(calls) > 1  # The replays ran the workflow, and not the computation.


def test_run_refuses_a_result_that_would_not_come_back(segno_host: TestHost) -> None:
    @workflow
    async def loses(ctx: Context) -> None:
        await ctx.run("order", lambda: Order("a", 1))

    with pytest.raises(NotJson, match=r"the result of ctx.run\('order'\) is Order"):
        segno_host.run(loses)


@activity
async def progresses(ctx: ActivityContext) -> int:
    begun = ctx.last_progress(int) or 0
    if begun < 2:
        ctx.heartbeat(begun + 1)
        raise RuntimeError("again")
    ctx.files.write("/out/a.txt", ctx.env("REGION") + ctx.files.read_text("/in/a.txt"))
    assert ctx.secret("PAY") == "12345678"
    return begun


@workflow
async def uses_settings(ctx: Context) -> int:
    return await ctx.call(progresses)


def test_progress_settings_and_files(segno_host: TestHost) -> None:
    segno_host.env("REGION", "eu")
    segno_host.secret("PAY", "12345678")
    segno_host.file("/in/a.txt", "!")
    assert segno_host.run(uses_settings) == 2
    assert segno_host.heartbeats == [1, 2] and segno_host.file_content("/out/a.txt") == b"eu!"


@workflow
async def logs(ctx: Context) -> None:
    ctx.log("one", "warn")
    logging.getLogger("shop").info("two %d", 2)


def test_logs(segno_host: TestHost) -> None:
    segno_host.run(logs)
    assert segno_host.logs == [("warn", "one"), ("info", "two 2")]


@pytest.mark.parametrize(
    ("length", "message"),
    [
        ("5 parsecs", "write a length of time such as"),
        (-1, "not negative"),
        (True, "write a timedelta"),
        ("", "such as"),
    ],
)
def test_a_wrong_length_of_time_is_refused(length: object, message: str) -> None:
    @workflow
    async def sleeps(ctx: Context) -> None:
        await ctx.sleep(length)  # type: ignore[arg-type]

    with pytest.raises((ValueError, TypeError), match=message):
        TestHost().run(sleeps)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="limits nothing"):
        Limit(key="a")
    with pytest.raises(ValueError, match="write a number and a period"):
        Limit(rate="10 per second")
    with pytest.raises(ValueError, match=r"Retry\(jitter\)"):
        Retry(jitter=2)


@workflow
async def greets(name: str = "you", *, ctx: Context) -> str:
    return f"hello {name}"


def test_an_input_with_a_default_may_be_left_out(segno_host: TestHost) -> None:
    assert segno_host.run_json(greets, "null") == "hello you"
    assert segno_host.run_json(greets, '"Ada"') == "hello Ada"
