"""Errors in the words of Python, with the author's line."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from segno_sdk import (
    ActivityContext,
    Context,
    Defect,
    Failure,
    Module,
    NotAvailable,
    NotJson,
    Object,
    Retry,
    activity,
    exclusive,
    workflow,
)
from segno_sdk.core.defect import report
from segno_sdk.testing import TestHost


def run_activity(function: Any) -> Failure:
    @activity
    def does() -> None:
        function()

    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.call(does, retry=None)

    with pytest.raises(Failure) as failed:
        TestHost().run(calls)
    return failed.value


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: socket.create_connection(("example.org", 80)),
            "there are no sockets here (`socket.create_connection`): send requests with `ctx.http` or `segno_sdk.http`",
        ),
        (lambda: urllib.request.urlopen("http://example.org"), "there are no sockets here"),
        (lambda: threading.Thread(target=print).start(), "there are no threads here (`threading.Thread`)"),
        (lambda: subprocess.run(["ls"]), "there are no processes here"),
    ],
)
def test_what_does_not_exist_names_its_replacement(use: Any, message: str) -> None:
    failure = run_activity(use)
    # Final, since another attempt would not help; with the author's line.
    assert failure.code == 422 and message in failure.message and "test_errors.py:" in failure.message


def test_requests_names_its_replacement() -> None:
    requests = pytest.importorskip("requests")
    failure = run_activity(lambda: requests.get("http://example.org"))
    assert failure.code == 422 and "segno_sdk.http" in failure.message


def test_a_blocking_sleep_in_a_workflow_is_refused() -> None:
    @workflow
    async def blocks(ctx: Context) -> None:
        time.sleep(1)

    with pytest.raises(NotAvailable, match="write `await asyncio.sleep"):
        TestHost().run(blocks)


def test_a_file_in_a_workflow_is_refused() -> None:
    @workflow
    async def reads(ctx: Context) -> str:
        return open("/etc/hostname").read()

    with pytest.raises(
        NotAvailable, match=r"reads and writes no files \(`open\('/etc/hostname'\)`\): do it in an activity"
    ):
        TestHost().run(reads)


def test_requests_of_activities_in_a_workflow_are_refused() -> None:
    from segno_sdk import http

    @workflow
    async def sends(ctx: Context) -> None:
        http.get("https://example.org")

    with pytest.raises(NotAvailable, match="a workflow writes `await ctx.http"):
        TestHost().run(sends)


def test_an_exception_of_an_activity_has_file_line_and_frames() -> None:
    def breaks() -> None:
        raise KeyError("price")

    @activity
    def does() -> None:
        breaks()

    @workflow
    async def calls(ctx: Context) -> None:
        from segno_sdk import Retry

        await ctx.call(does, retry=Retry.never())

    with pytest.raises(Failure) as failed:
        TestHost().run(calls)
    assert failed.value.code == 500
    lines = failed.value.message.splitlines()
    assert lines[0].split(":")[0].endswith("test_errors.py") and "KeyError: 'price'" in lines[0]
    assert "breaks" in lines[1] and "does" in lines[2] and len(lines) == 3


@dataclass
class Order:
    price: float


def test_a_result_that_is_not_json_names_its_path_and_the_function() -> None:
    @workflow
    async def returns(ctx: Context) -> list[Order]:
        return [Order(1.0), Order(float("nan"))]

    with pytest.raises(NotJson, match=r"result\[1\].price is nan, which JSON does not have") as refused:
        TestHost().run(returns)
    assert "test_errors.py" in report(refused.value)[0]


def test_an_input_that_is_not_json_is_the_error_of_the_call() -> None:
    @activity
    def takes(order: Order) -> None: ...

    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.call(takes, Order(float("inf")))

    with pytest.raises(NotJson, match=r"a call of `takes`: input.price is inf") as refused:
        TestHost().run(calls)
    assert "in calls" in report(refused.value)[1] or "calls (" in report(refused.value)[1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("goood", "calls `goood`, which neither its module nor this test defines: correct the name, or add host.on"),
        ("wasm://a/b", "add host.on"),
    ],
)
def test_a_function_that_does_not_exist_is_named(name: str, message: str) -> None:
    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.call(name)

    with pytest.raises(AssertionError, match=message):
        TestHost().run(calls)


def test_a_plain_function_is_no_activity() -> None:
    def plain() -> None: ...

    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.call(plain)  # type: ignore[call-overload]

    with pytest.raises(TypeError, match="`plain` is a plain function: put @activity or @workflow above it"):
        TestHost().run(calls)


def test_a_workflow_that_waits_for_nothing_is_told_where() -> None:
    import asyncio

    @workflow
    async def waits(ctx: Context) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Defect, match=r"test_errors.py:\d+: `waits` waits here for something that nothing settles"):
        TestHost().run(waits)


def test_a_wait_for_a_signal_that_is_not_declared_is_refused() -> None:
    @workflow
    async def waits(ctx: Context) -> None:
        await ctx.signal("go")

    with pytest.raises(Defect, match=r"`waits` waits for a signal and takes none: write `@workflow\(signals="):
        TestHost().run(waits)


def declare(*, workflow_: Any = None, activity_: Any = None) -> None:
    if workflow_ is not None:
        workflow(workflow_)
    else:
        activity(activity_)


def not_async(ctx: Context) -> None: ...


async def two_inputs(a: int, b: int, ctx: Context) -> None: ...


async def wrong_context(a: int, ctx: ActivityContext) -> None: ...


async def set_input(a: set[int], ctx: Context) -> None: ...


async def object_result(ctx: Context) -> threading.Thread: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (not_async, "the workflow `not_async` has to be an `async def`"),
        (two_inputs, "a workflow has one input, so make a dataclass or a tuple of them"),
        (wrong_context, "takes a ActivityContext: write Context"),
        (set_input, "the input of `set_input`: set.* JSON has no sets: write list"),
        (object_result, "the result of `object_result`: Thread is no type"),
    ],
)
def test_a_wrong_declaration_is_refused_at_its_line(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"test_errors.py:\d+: .*{message}"):
        workflow(function)


def test_two_functions_with_one_name_are_refused() -> None:
    @activity(name="same")
    def one() -> None: ...

    @activity(name="same")
    def other() -> None: ...

    with pytest.raises(ValueError, match="two functions have the name `same`"):
        Module.of([one, other])


def test_an_object_without_its_base_class_is_refused() -> None:
    with pytest.raises((TypeError, RuntimeError)):

        class Cart:
            @exclusive
            async def add(self) -> None: ...


def test_a_module_without_the_function_refuses_its_call() -> None:
    import types

    @activity
    def ship() -> None: ...

    @workflow
    async def order(ctx: Context) -> None:
        await ctx.call(ship)

    module = types.ModuleType("app")
    module.order = order  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="which is not in the module of this test: a host would answer 404"):
        TestHost(module).run(order)


def test_names_that_do_not_exist_are_refused_with_the_nearest() -> None:
    @activity
    def add(number: int) -> int:
        return number

    rows: list[tuple[Any, str]] = [
        (lambda ctx: ctx.cal(add, 1), "`ctx` has no `cal`; do you mean `call`?"),
        (lambda ctx: ctx.call(add, 1, retries=3), "the call of `add` has no option `retries`; do you mean `retry`?"),
        (lambda ctx: ctx.call(add, 1, delay="1s"), "the call of `add` has no option `delay`: it has timeout, "),
        (lambda ctx: ctx.send(add, 1, dely="1s"), "the call of `add` has no option `dely`; do you mean `delay`?"),
    ]
    for wrong, message in rows:

        @workflow
        async def calls(ctx: Context) -> Any:
            return await wrong(ctx)

        with pytest.raises((AttributeError, TypeError)) as refused:
            TestHost().run(calls)
        assert str(refused.value).startswith(message)
    failure = run_with_context(lambda ctx: ctx.heartbeet())
    assert "`ctx` has no `heartbeet`; do you mean `heartbeat`?" in failure.message


def run_with_context(does: Any) -> Failure:
    @activity
    def acts(ctx: ActivityContext) -> None:
        does(ctx)

    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.call(acts, retry=Retry.never())

    with pytest.raises(Failure) as failed:
        TestHost().run(calls)
    return failed.value


def test_everything_is_as_before_after_a_run() -> None:
    before = (time.sleep, open, socket.create_connection, threading.Thread.start, os.urandom, time.time, datetime.now())

    @workflow
    async def nothing(ctx: Context) -> None: ...

    TestHost().run(nothing)
    assert (time.sleep, open, socket.create_connection, threading.Thread.start, os.urandom, time.time) == before[:6]
    assert (datetime.now() - before[6]).total_seconds() < 60


def test_instances_of_object_need_a_key() -> None:
    class Cart(Object):
        @exclusive
        async def add(self) -> None: ...

    @workflow
    async def calls(ctx: Context) -> None:
        await ctx.object(Cart, "").add()

    with pytest.raises(ValueError, match="the key of a Cart is ''"):
        TestHost().run(calls)


@workflow(signals={"go": int}, promises={"answer": bool})
async def typed(ctx: Context) -> object:
    try:
        await ctx.send_signal(ctx.id, "go", "x")
    except Failure as refused:
        ctx.log(refused.message)
    try:
        return [await ctx.signal("go", int), await ctx.promise("answer", bool)]
    except Failure:
        return "a host would not have told the workflow"


def test_what_does_not_fit_is_refused_to_its_sender() -> None:
    host = TestHost()
    host.signal("go", "x")
    with pytest.raises(Failure, match="the value of the signal 'go' is 'x', a text: it has to be a whole number"):
        host.run(typed)
    host = TestHost()
    host.signal("go", 1)
    host.promise("answer").resolve("x")
    with pytest.raises(Failure, match="the value of the promise 'answer' is 'x', a text: it has to be true or false"):
        host.run(typed)
    host = TestHost()
    host.signal("go", 1)
    host.promise("answer").resolve(True)
    assert host.run(typed) == [1, True]
    assert "the signal 'go' is 'x', a text: it has to be a whole number" in [message for _, message in host.logs]


@activity
async def one() -> int:
    return 1


@workflow
async def adds_a_call(ctx: Context) -> int:
    return ctx.call(one) + 1  # type: ignore[operator]


@workflow
async def gives_a_call(ctx: Context) -> object:
    return ctx.call(one)


def test_a_command_that_is_not_awaited_is_named() -> None:
    with pytest.raises(TypeError) as unawaited:
        TestHost().run(adds_a_call)
    assert "a Call has its value when it is awaited: write `await` before it" in report(unawaited.value)[1]
    with pytest.raises(NotJson, match="result is <Call pending>, which is not awaited: write `await` before it"):
        TestHost().run(gives_a_call)


@workflow(signals={"paid": int})
async def misspelt(ctx: Context) -> int:
    return await ctx.signal("payed", int, timeout="1s")


def test_a_wait_for_a_signal_that_is_not_declared_is_refused_with_a_type_as_well() -> None:
    with pytest.raises(Defect, match="waits for the signal 'payed', which it does not declare; it declares 'paid'"):
        TestHost().run(misspelt)


FAILED_TEST = """
from segno_sdk import Context, activity, workflow


@workflow
async def price(ctx: Context) -> float:
    return float("nan")


@workflow
async def order(ctx: Context) -> str:
    return {}["receipt"]


@workflow
async def late(ctx: Context) -> int:
    return ctx.call(count)


@activity
async def count() -> int:
    return 1


def test_price(segno_host) -> None:
    segno_host.run(price)


def test_order(segno_host) -> None:
    segno_host.run(order)


def test_late(segno_host) -> None:
    segno_host.run(late)
"""


def test_a_failed_test_shows_the_lines_of_the_author_and_none_of_the_package(tmp_path: Path) -> None:
    file = tmp_path / "test_price.py"
    file.write_text(FAILED_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file.name]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "3 failed" in finished.stdout
    for line in (
        "E       segno_sdk.NotJson: result is nan, which JSON does not have: write None, or a text",
        "E       the result is that of `price`, at test_price.py:5",
        '>       return {}["receipt"]',
        "E       segno_sdk.NotJson: result is <Call pending>, which is not awaited: write `await` before it",
    ):
        assert line in finished.stdout, finished.stdout
    assert "segno_sdk/" not in finished.stdout
