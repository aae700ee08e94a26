"""asyncio as it is, in workflows: deterministic, with durable timers."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from segno_sdk import Context, Defect, Failure, activity, workflow
from segno_sdk.testing import TestHost


@activity
async def double(number: int) -> int:
    if number < 0:
        raise Failure(422, f"{number} is negative")
    await asyncio.sleep(0)
    return 2 * number


@activity
async def several(numbers: list[int]) -> list[int]:
    async def one(number: int) -> int:
        await asyncio.sleep(0.01 * (3 - number))
        return number

    async with asyncio.timeout(5):
        return [await done for done in asyncio.as_completed([one(number) for number in numbers])]


@workflow
async def waits_for(ctx: Context) -> list[str]:
    got = []
    try:
        await asyncio.wait_for(ctx.promise("a"), 60)
    except TimeoutError:
        got.append("late")
    got.append(str(await asyncio.wait_for(ctx.call(double, 1), 60)))
    try:
        async with asyncio.timeout(3600):
            await asyncio.Event().wait()
    except TimeoutError:
        got.append("later")
    return got


@workflow
async def groups(ctx: Context) -> list[int]:
    numbers: list[int] = []

    async def one(number: int) -> None:
        await ctx.sleep(10 - number)
        numbers.append(await ctx.call(double, number))

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(one(number))
    return numbers


@workflow
async def group_fails(ctx: Context) -> list[str]:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await ctx.sleep("100d")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def fails() -> None:
        await ctx.call(double, -1)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(forever())
            group.create_task(fails())
    except* Failure as failures:
        ended.append(str(failures.exceptions[0]))
    return ended


@workflow
async def as_completed(ctx: Context) -> list[int]:
    async def after(length: int) -> int:
        await asyncio.sleep(length)
        return length

    return [await done for done in asyncio.as_completed([after(3), after(1), after(2)])]


@workflow
async def queues(ctx: Context) -> list[int]:
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
    lock, event, got = asyncio.Lock(), asyncio.Event(), []

    async def produces() -> None:
        for number in range(3):
            await asyncio.sleep(1)
            await queue.put(number)
        event.set()

    async def consumes() -> None:
        while True:
            number = await queue.get()
            async with lock:
                got.append(await ctx.call(double, number))
            queue.task_done()

    producer, consumer = asyncio.create_task(produces()), asyncio.create_task(consumes())
    await event.wait()
    await queue.join()
    consumer.cancel()
    await producer
    return got


@workflow
async def shields(ctx: Context) -> int:
    call = ctx.call(double, 4)
    try:
        await asyncio.wait_for(asyncio.shield(call), 0)
    except TimeoutError:
        pass
    return await call


@workflow
async def calls_several(ctx: Context) -> list[int]:
    return await ctx.call(several, [0, 1, 2])


@workflow
async def pools(ctx: Context) -> int:
    semaphore, most, now = asyncio.Semaphore(2), 0, 0

    async def one() -> None:
        nonlocal most, now
        async with semaphore:
            now += 1
            most = max(most, now)
            await ctx.sleep("1m")
            now -= 1

    await asyncio.gather(*(one() for _ in range(6)))
    return most


@pytest.mark.parametrize(
    ("function", "result", "seconds"),
    [
        (waits_for, ["late", "2", "later"], 3660),
        (groups, [4, 2, 0], 10),
        (group_fails, ["cancelled", "-1 is negative (code 422)"], 0),
        (as_completed, [1, 2, 3], 3),
        (queues, [0, 2, 4], 3),
        (shields, 8, 0),
        (pools, 2, 180),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_asyncio_works_in_virtual_time(function: Any, result: Any, seconds: int) -> None:
    host = TestHost()
    assert host.run(function) == result
    assert host.elapsed == timedelta(seconds=seconds)
    assert host.replayed > 0


def test_results_and_failures_are_gathered() -> None:
    @workflow
    async def outcome(ctx: Context) -> list[str]:
        results = await asyncio.gather(*(ctx.call(double, number) for number in (1, -2)), return_exceptions=True)
        return [str(result) for result in results]

    assert TestHost().run(outcome) == ["2", "-2 is negative (code 422)"]


def test_asyncio_works_in_activities() -> None:
    assert TestHost().run(calls_several) == [2, 1, 0]


def test_the_first_of_several() -> None:
    @workflow
    async def first(ctx: Context) -> list[object]:
        tasks = {asyncio.create_task(asyncio.sleep(number, number)) for number in (3, 1, 2)}
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        return [task.result() for task in done] + [len(pending)]

    host = TestHost()
    assert host.run(first) == [1, 2]
    assert len(host.forgotten) == 2


def test_a_failure_of_a_task_group_is_the_failure_of_the_workflow() -> None:
    @workflow
    async def fails(ctx: Context) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(refuses())

    async def refuses() -> None:
        raise Failure(409, "no")

    with pytest.raises(Failure, match="no"):
        TestHost().run(fails)


def test_a_task_that_fails_and_is_forgotten_is_a_defect() -> None:
    async def breaks() -> None:
        raise ValueError("forgotten")

    @workflow
    async def forgets(ctx: Context) -> None:
        asyncio.create_task(breaks())
        await ctx.sleep(1)

    with pytest.raises(ValueError, match="forgotten"):
        TestHost().run(forgets)


def test_a_task_that_fails_in_the_last_moment_is_a_defect() -> None:
    @workflow
    async def forgets(ctx: Context) -> None:
        async def breaks() -> None:
            await event.wait()
            raise ValueError("last moment")

        event = asyncio.Event()
        asyncio.create_task(breaks())
        await asyncio.sleep(1)
        event.set()
        await asyncio.sleep(0)

    with pytest.raises(ValueError, match="last moment"):
        TestHost().run(forgets)


def test_a_coroutine_that_nobody_awaits_is_a_defect() -> None:
    async def helper() -> None: ...

    @workflow
    async def forgets(ctx: Context) -> None:
        helper()  # type: ignore[unused-coroutine]
        await ctx.sleep(1)

    with pytest.raises(
        Defect, match=r"test_asyncio.py:\d+: `.*helper\(…\)` was called here and never awaited.*write `await"
    ):
        TestHost().run(forgets)


def test_background_tasks_are_cancelled_at_the_end() -> None:
    ended: list[str] = []

    @workflow
    async def leaves(ctx: Context) -> str:
        async def heart() -> None:
            try:
                while True:
                    await ctx.sleep("1m")
            finally:
                ended.append("cancelled")

        asyncio.create_task(heart())
        await ctx.sleep("150s")
        return "done"

    host = TestHost(replays=False)
    assert host.run(leaves) == "done" and ended == ["cancelled"]


def test_a_lost_wait_takes_no_signal() -> None:
    @workflow(signals={"a": int})
    async def loses(ctx: Context) -> list[object]:
        got: list[object] = []
        for _ in range(2):
            try:
                got.append(await asyncio.wait_for(ctx.signal("a", int), 1))
            except TimeoutError:
                got.append(None)
        return [*got, await ctx.signal("a", int), await ctx.signal("a", int)]

    host = TestHost()
    host.signal("a", 1, after=5)
    host.signal("a", 2, after=6)
    assert host.run(loses) == [None, None, 1, 2]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: asyncio.to_thread(print), "there are no threads here"),
        (lambda: asyncio.open_connection("example.org", 80), "send requests with `ctx.http`"),
        (lambda: asyncio.create_subprocess_exec("ls"), "there are no sockets|subprocess"),
    ],
)
def test_what_asyncio_cannot_do_here_is_said(use: Any, message: str) -> None:
    @workflow
    async def uses(ctx: Context) -> None:
        await use()

    with pytest.raises(RuntimeError, match=message):
        TestHost().run(uses)


@activity
async def refuse() -> None:
    raise Failure(402, "declined")


@activity
async def undo(_: Any) -> None: ...


@workflow
async def careless(ctx: Context) -> None:
    ctx.call(refuse)
    ctx.call(double, 1)
    await ctx.sleep(1)
    ctx.call(double, 2)
    ctx.sleep("1d")
    ctx.promise("approval")
    ctx.http("GET", "https://shop.test/")
    ctx.saga("trip").call(double, 3, compensate=undo)


def test_a_command_that_nobody_awaits_is_a_warning_at_the_end_if_it_is_open_or_has_failed(
    segno_host: TestHost,
) -> None:
    with pytest.warns(UserWarning) as warned:
        segno_host.run(careless)

    def open_command(name: str, command: int) -> str:
        return f"nobody awaited {name} (command {command}), and the workflow ends without it: write `await`"

    lines = [
        "nobody awaited the call of `refuse` (command 0), which failed: declined (code 402): write `await`",
        open_command("the call of `double`", 3),
        open_command("the sleep", 4),
        open_command("the promise 'approval'", 5),
        open_command("the request to https://shop.test/", 6),
        open_command("the step `double` of the saga `trip`", 7),
    ]
    assert segno_host.logs == [("warn", line) for line in lines]
    assert [str(one.message) for one in warned] == [f"`careless`: {line}" for line in lines]
    assert {one.filename for one in warned} == {__file__}


@workflow
async def careful(ctx: Context) -> int:
    first, second = ctx.call(double, 1), ctx.call(double, 2)
    await asyncio.wait([first, ctx.sleep("1d")], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait_for(second, 60)
    await asyncio.gather(ctx.call(refuse), return_exceptions=True)
    await ctx.cancel(ctx.sleep("1d"))
    ctx.sleep("1d").cancel()
    for call in [ctx.call(double, number) for number in (3, 4)]:
        await call
    await ctx.publish("sent", 1)
    ctx.publish("sent", 2)
    return await ctx.call(double, 5)


@workflow
async def failing(ctx: Context) -> None:
    ctx.call(double, 1)
    raise Failure(409, "not today")


@pytest.mark.filterwarnings("error")
def test_commands_that_somebody_looks_at_or_gives_up_are_no_warning(segno_host: TestHost) -> None:
    assert segno_host.run(careful) == 10
    with pytest.raises(Failure, match="not today"):
        segno_host.run(failing)
    assert segno_host.logs == []
