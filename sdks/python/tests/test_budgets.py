"""Budgets of executions, and costs of activities."""

import decimal
import pickle
from decimal import Decimal
from typing import Any

import pytest

from segno_sdk import (
    ActivityContext,
    BudgetSpent,
    BudgetUnit,
    Context,
    Failure,
    Object,
    Retry,
    activity,
    exclusive,
    workflow,
)
from segno_sdk.core.budget import limits_text, millionths
from segno_sdk.core.options import call_options
from segno_sdk.testing import TestHost

Costs = list[tuple[str, float]]


def unit(limit: float, spent: float) -> BudgetUnit:
    return BudgetUnit(limit, spent, max(0, limit - spent))


def sixteen(more: int = 0) -> dict[str, int]:
    return {f"u{number}": 1 for number in range(16 + more)}


@activity(retry=Retry(initial="1s", max_attempts=3))
def use(costs: Costs, ctx: ActivityContext) -> int:
    for name, amount in costs:
        ctx.cost(name, amount)
    return ctx.attempt


@workflow
async def uses(costs: Costs, ctx: Context) -> int:
    return await ctx.call(use, costs)


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        ({"usd": 1.5, "tokens": 20_000}, "tokens=20000,usd=1.5"),
        ({"a": 0, "b.C_d-1": 0.000001}, "a=0,b.C_d-1=0.000001"),
        ({"a": 1e-7, "b": 0.0000006, "c": 0.1 + 0.2, "d": 100}, "a=0,b=0.000001,c=0.3,d=100"),
        ({"a": Decimal("1E+3"), "b": Decimal("0.0000005"), "c": -0.0}, "a=1000,b=0.000001,c=0"),
        ({"a": 9_223_372_036_854}, "a=9223372036854"),
        ({}, None),
    ],
)
def test_limits_are_a_label_in_plain_decimals_and_sorted_by_unit(budget: dict[str, Any], text: str | None) -> None:
    labels = call_options(0, attempt_timeout=5, labels={"a": "b"}, budget=budget).labels
    expected = () if text is None else (("segno:budget", text),)
    assert labels == (("a", "b"), ("segno:attempt-timeout-ms", "5000"), *expected)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"a": -1}, "the amount of 'a' is -1: write a number from 0 to 9223372036854"),
        ({"a": float("nan")}, "the amount of 'a' is nan"),
        ({"a": float("inf")}, "the amount of 'a' is inf"),
        ({"a": Decimal("NaN")}, "the amount of 'a' is Decimal"),
        ({"a": 1e13}, "the amount of 'a' is 1"),
        ({"a": 10**400}, "the amount of 'a' is 1"),
        ({"a": "1"}, "the amount of 'a' is '1'"),
        ({"a": True}, "the amount of 'a' is True"),
        ({"a": None}, "the amount of 'a' is None"),
        ({"a b": 1}, "'a b' is no unit: its name has 1 to 64 letters"),
        ({"x" * 65: 1}, "is no unit"),
        ({"a\n": 1}, "is no unit"),
        ({1: 1}, "1 is no unit"),
        (sixteen(1), "budget has 17 units: at most 16 are possible"),
        (7, "budget is 7: write limits by unit"),
    ],
)
def test_limits_that_a_host_would_refuse_are_refused_by_their_unit(budget: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        limits_text(budget)


def test_an_amount_is_rounded_to_millionths_in_any_context() -> None:
    amounts = [1234, 0.0042, 4e-7, 6e-7, Decimal("0.0000025"), 9_223_372_036_854]
    with decimal.localcontext(prec=3, rounding=decimal.ROUND_DOWN):
        exact = [millionths("usd", amount) for amount in amounts]
    assert exact == [1_234_000_000, 4_200, 0, 1, 3, 9_223_372_036_854_000_000]


def test_attempts_are_counted_before_they_begin_and_costs_are_charged_with_their_end() -> None:
    seen: list[dict[str, BudgetUnit]] = []

    @workflow
    async def agent(ctx: Context) -> list[Any]:
        seen.append(await ctx.budget())
        await ctx.call(use, [("tokens", 700), ("usd", 0.1), ("other", 5)])
        seen.append(await ctx.budget())
        await ctx.call(use, [("tokens", 200), ("tokens", 200), ("usd", 0.2)])
        with pytest.raises(BudgetSpent) as spent:
            await ctx.call(use, [("tokens", 1)])
        seen.append(await ctx.budget())
        return [
            spent.value.code,
            spent.value.account,
            spent.value.is_final,
            spent.value.units == {"tokens": unit(1_000, 1_100)},
        ]

    host = TestHost(id="agent-1", replays=False)
    assert host.run(agent, budget={"tokens": 1_000, "usd": 1.5, "calls": 10}) == [402, "agent-1", True, True]
    spent = {"calls": unit(10, 2), "tokens": unit(1_000, 1_100), "usd": BudgetUnit(1.5, 0.3, 1.2)}
    assert seen == [
        {"calls": unit(10, 0), "tokens": unit(1_000, 0), "usd": unit(1.5, 0)},
        {"calls": unit(10, 1), "tokens": unit(1_000, 700), "usd": unit(1.5, 0.1)},
        spent,
    ]
    assert (host.budget(), host.elapsed.total_seconds()) == (spent, 0)
    first = next(one for one in host.journal() if one.get("name") == "segno:budget")
    assert (first["command"], first["request"]) == ("call", {"input": None})
    TestHost().run(agent, budget={"tokens": 1_000})


def test_without_a_budget_nothing_is_charged_and_nothing_is_left_to_say(segno_host: TestHost) -> None:
    @workflow
    async def asks(ctx: Context) -> int:
        assert await ctx.budget() == {}
        return await ctx.call(use, [("tokens", 7)])

    assert segno_host.run(asks) == 1
    with pytest.raises(LookupError, match="`test` has no budget of its own; these have one: none"):
        segno_host.budget()


def test_retries_are_charged_also_if_they_fail_and_a_spent_budget_ends_them(segno_host: TestHost) -> None:
    @activity(retry=Retry(initial="1s"))
    def fails(ctx: ActivityContext) -> None:
        ctx.cost("usd", Decimal("0.5"))
        raise ConnectionError("busy")

    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.call(fails)

    def ends(budget: dict[str, float]) -> BudgetSpent:
        with pytest.raises(BudgetSpent) as spent:
            segno_host.run(calls, budget=budget)
        return spent.value

    assert ends({"calls": 3}).units == {"calls": unit(3, 3)}
    assert segno_host.elapsed.total_seconds() == 7
    usd = ends({"usd": 0.75})
    assert (usd.account, usd.units) == ("test", {"usd": unit(0.75, 1)})
    assert usd.message == (
        "the budget of `test` is spent: 1 of 0.75 usd are used; `segno budget set test usd=…` raises it"
    )
    assert ends({"calls": 0}).units == {"calls": unit(0, 0)}


def test_a_call_with_a_budget_spends_those_above_it_as_well(segno_host: TestHost) -> None:
    seen: list[dict[str, BudgetUnit]] = []

    @workflow
    async def child(costs: Costs, ctx: Context) -> None:
        for cost in costs:
            await ctx.call(use, [cost])
        seen.append(await ctx.budget())

    @workflow
    async def parent(ctx: Context) -> list[str]:
        accounts = []
        await ctx.call(child, [("tokens", 30)], budget={"tokens": 40, "calls": 9})
        try:
            await ctx.call(child, [("tokens", 50), ("tokens", 1)], budget={"tokens": 40})
        except BudgetSpent as spent:
            accounts.append(spent.account)
        sent = await ctx.send(use, [("usd", 1)], budget={"usd": 1})
        await ctx.sleep("1s")
        try:
            await ctx.call(child, [("tokens", 20), ("tokens", 1)])
        except BudgetSpent as spent:
            accounts.append(spent.account)
        return [*accounts, sent]

    assert segno_host.run(parent, budget={"tokens": 100, "calls": 5}) == ["test/1", "test", "test/2"]
    assert seen[0] == {"calls": unit(5, 1), "tokens": unit(40, 30)}
    assert segno_host.budget() == {"calls": unit(5, 4), "tokens": unit(100, 100)}
    assert segno_host.budget("test/0") == {"calls": unit(9, 1), "tokens": unit(40, 30)}
    assert segno_host.budget("test/1") == {"tokens": unit(40, 50)}
    assert segno_host.budget("test/2") == {"usd": unit(1, 1)}
    with pytest.raises(LookupError, match="`test/7` has no budget of its own; these have one: `test`, `test/0`"):
        segno_host.budget("test/7")


@activity
def undo(step: Any) -> None: ...


class Box(Object):
    @exclusive
    async def put(self, ctx: Context) -> int:
        return await ctx.call(use, [])


def test_requests_graphs_objects_and_generations_draw_on_the_budget_and_compensations_do_not(
    segno_host: TestHost,
) -> None:
    request = {"http": {"url": "https://a.example/"}, "needs": ["a"]}
    plan = {"nodes": {"a": {"call": "use", "input": []}, "b": request}, "outputs": ["b"]}

    @workflow
    async def all(number: int, ctx: Context) -> None:
        if number == 1:
            await ctx.http("GET", "https://a.example/", budget={"calls": 1})
            await ctx.object(Box, "ada").put(budget={"calls": 1})
            await ctx.graph(plan, budget={"calls": 2})
            ctx.continue_as_new(2)
        async with ctx.saga("trip") as saga:
            await saga.call(use, [], compensate="undo", budget={"calls": 1})
            await saga.http("GET", "https://a.example/", compensate="undo", budget={"calls": 1})
            raise Failure(422, "no")

    segno_host.on(use, 1)
    segno_host.on_http("GET", "https://a.example/", 200)
    with pytest.raises(Failure) as failed:
        segno_host.run(all, 1, budget={"calls": 100})
    assert (failed.value.code, segno_host.budget()) == (422, {"calls": unit(100, 6)})
    for id in ("test/0", "test/1", "test/g/2/0", "test/g/2/1"):
        assert segno_host.budget(id) == {"calls": unit(1, 1)}
    assert segno_host.budget("test/2") == {"calls": unit(2, 2)}


def test_a_spent_budget_is_recognised_also_in_the_report_of_a_saga(segno_host: TestHost) -> None:
    @workflow
    async def trip(ctx: Context) -> None:
        async with ctx.saga("trip") as saga:
            await saga.call(use, [], compensate="undo")
            # The compensation succeeds although nothing is left.
            await ctx.call(use, [])

    @workflow
    async def parent(ctx: Context) -> list[object]:
        try:
            await ctx.call(trip, budget={"calls": 1})
        except BudgetSpent as spent:
            return [spent.account, len(spent.details["sagas"])]
        return []

    assert segno_host.run(parent) == ["test/0", 1]


def test_any_other_402_is_a_plain_failure() -> None:
    other: list[Any] = [
        None,
        {"account": 7},
        {"account": "a"},
        {"account": "a", "units": {"kg": 3}},
        {"account": "a", "units": {"kg": {"limit": 1}}},
        {"sagas": []},
        "a",
    ]
    for details in other:
        assert type(Failure(402, "declined", details)) is Failure
    details = {"account": "a", "units": {"calls": {"limit": 1, "spent": 1, "remaining": 0}}}
    assert type(Failure(422, "no", details)) is Failure
    spent = pickle.loads(pickle.dumps(Failure(402, "spent", details)))
    assert isinstance(spent, BudgetSpent)
    assert (spent.account, spent.units) == ("a", {"calls": unit(1, 1)})
    assert repr(spent.units["calls"]) == "BudgetUnit(limit=1.0, spent=1.0, remaining=0.0)"


def test_a_stand_in_reports_costs_and_one_of_a_workflow_is_no_attempt(segno_host: TestHost) -> None:
    @workflow
    async def inner() -> int:
        return 1

    @workflow
    async def outer(ctx: Context) -> list[int]:
        await ctx.send(use, [])
        await ctx.sleep("1s")
        return [await ctx.call(use, []), await ctx.call(inner), await ctx.call("wasm://other/f", result=int)]

    segno_host.on(use, 7, costs={"usd": 0.25})
    segno_host.on(inner, 2)
    segno_host.on("wasm://other/f", 3)
    assert segno_host.run(outer, budget={"calls": 9, "usd": 9}) == [7, 2, 3]
    assert segno_host.budget() == {"calls": unit(9, 3), "usd": unit(9, 0.5)}


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([("calls", 1)], "the cost of 'calls' is refused: 'calls' is counted by the host"),
        ([*sixteen().items()], "the cost of 'u15' is refused: there are more than 16 units"),
        ([("a b", 1)], "the cost is refused: 'a b' is no unit"),
        ([("a", -1)], "the cost is refused: the amount of 'a' is -1"),
    ],
)
def test_an_attempt_fails_with_the_refusal_of_a_host_and_what_it_reported_is_charged(
    segno_host: TestHost, costs: Costs, message: str
) -> None:
    with pytest.raises(Failure, match=message) as failed:
        segno_host.run(uses, [("usd", 1), *costs], budget={"usd": 10})
    assert (failed.value.code, segno_host.budget()) == (400, {"usd": unit(10, 1)})


def test_a_limit_is_raised_during_the_run(segno_host: TestHost) -> None:
    @workflow
    async def patient(ctx: Context) -> list[int]:
        results = []
        for _ in range(3):
            try:
                results.append(await ctx.call(use, []))
            except BudgetSpent as spent:
                results.append(spent.code)
            await ctx.sleep("1h")
        return results

    segno_host.set_budget({"calls": 2, "usd": 1}, after="90m")
    assert segno_host.run(patient, budget={"calls": 1}) == [1, 402, 1]
    assert segno_host.budget() == {"calls": unit(2, 2), "usd": unit(1, 0)}
    segno_host.set_budget({"calls": 1}, id="other")
    with pytest.raises(LookupError, match="`other` has no budget of its own"):
        segno_host.run(patient)


@workflow
async def nest(depth: int, ctx: Context) -> int:
    return 0 if depth == 0 else await ctx.call("nest", depth - 1, result=int, budget={"calls": 1})


def test_a_ninth_budget_is_refused(segno_host: TestHost) -> None:
    assert segno_host.run(nest, 7, budget={"calls": 1}) == 0
    with pytest.raises(Failure, match="is refused: it has 8 budgets above it already") as failed:
        segno_host.run(nest, 8, budget={"calls": 1})
    assert failed.value.code == 400


def test_a_run_of_an_object_has_a_budget(segno_host: TestHost) -> None:
    assert segno_host.run_object(Box.put, "ada", budget={"calls": 1}) == 1
    assert segno_host.budget() == {"calls": unit(1, 1)}
