"""Workflows that read streams of other executions."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from segno_sdk import ActivityContext, Context, Defect, Failure, activity, workflow
from segno_sdk.testing import Stuck, TestHost

TEXT = "text/plain"


@dataclass
class Token:
    text: str


@workflow
async def count(to: int, ctx: Context) -> None:
    """Writes a number each second."""
    numbers = ctx.stream("numbers")
    for number in range(to):
        numbers.append(number)
        await ctx.sleep(1)


@workflow
async def silent(ctx: Context) -> None:
    await ctx.promise("never")


def positions(host: TestHost) -> list[int]:
    """The positions of the reads of the last run."""
    return [query["position"] for query in host.calls("segno:stream")]


def test_a_workflow_reads_the_stream_of_another_one_while_it_grows(segno_host: TestHost) -> None:
    @workflow
    async def adds(to: int, ctx: Context) -> list[Any]:
        numbers = ctx.read_stream(await ctx.send(count, to), "numbers", type=int)
        seen = []
        async for number in numbers:
            seen.append([number, numbers.position, (ctx.now() - ctx.started_at).total_seconds()])
        return [seen, numbers.position, numbers.name, numbers.invocation]

    assert segno_host.run(adds, 3) == [[[0, 1, 0], [1, 2, 1], [2, 3, 2]], 3, "numbers", "test/0"]
    assert segno_host.calls("segno:stream") == [
        {"invocation": "test/0", "stream": "numbers", "position": position} for position in range(4)
    ]


def test_a_reader_begins_at_a_position_and_another_loop_continues_where_one_was_left(segno_host: TestHost) -> None:
    @workflow
    async def reads(ctx: Context) -> list[Any]:
        counting = ctx.call(count, 5)
        await ctx.sleep(2.5)
        numbers = ctx.read_stream(counting.id, "numbers", int, start=1)
        seen: list[Any] = []
        async for number in numbers:
            seen.append(number)
            break
        seen.append(numbers.position)
        async for part in numbers.parts():
            seen.append(part)
        async for number in numbers:
            seen.append(number)
        await counting
        return [seen, numbers.position]

    assert segno_host.run(reads) == [[1, 2, [2], [3], [4]], 5]
    # The rest of a part is not asked for again.
    assert positions(segno_host) == [1, 3, 4, 5]


def test_a_loop_that_is_left_leaves_nothing_pending(segno_host: TestHost) -> None:
    @workflow
    async def first(ctx: Context) -> int | None:
        counting = await ctx.send(count, 1_000)
        async for number in ctx.read_stream(counting, "numbers", int):
            if number == 1:
                break
        async for part in ctx.read_stream(counting, "numbers", int).parts():
            return part[0]
        return None

    assert segno_host.run(first) == 0
    assert segno_host.elapsed == timedelta(seconds=1)
    assert positions(segno_host) == [0, 1, 0]


def test_a_read_that_was_given_up_is_continued_by_the_next_one(segno_host: TestHost) -> None:
    @workflow
    async def limited(ctx: Context) -> list[Any]:
        numbers = ctx.read_stream(await ctx.send(count, 2, delay=9), "numbers", int)
        seen: list[Any] = []
        while True:
            try:
                async with asyncio.timeout(4):
                    async for number in numbers:
                        seen.append(number)
                    return seen
            except TimeoutError:
                seen.append("late")

    assert segno_host.run(limited) == ["late", "late", 0, 1]
    assert positions(segno_host) == [0, 1, 2]


def test_tasks_share_the_messages_of_one_reader(segno_host: TestHost) -> None:
    @workflow
    async def shares(ctx: Context) -> list[int]:
        numbers = ctx.read_stream(await ctx.send(count, 6, delay=1), "numbers", int)

        async def read() -> list[int]:
            return [number async for number in numbers]

        seen = await asyncio.gather(read(), read(), read())
        return sorted(number for own in seen for number in own)

    assert segno_host.run(shares) == [0, 1, 2, 3, 4, 5]
    assert positions(segno_host) == [0, 1, 2, 3, 4, 5, 6]


def test_text_and_bytes_come_as_they_were_appended(segno_host: TestHost) -> None:
    @workflow
    async def writes(ctx: Context) -> None:
        log, sound = ctx.stream("log", content_type=TEXT), ctx.stream("sound", content_type="audio/ogg")
        log.append("grüß")
        sound.append(b"\0\xff")
        await ctx.sleep(1)
        log.append(" Gott")
        sound.append(b"\1")
        log.close()
        sound.close()
        # A stream that is closed needs no end of its writer.
        await ctx.sleep("30d")

    @workflow
    async def reads(ctx: Context) -> list[Any]:
        id = await ctx.send(writes)
        log, sound = ctx.read_stream(id, "log"), ctx.read_stream(id, "sound")
        seen: list[Any] = []
        async for text in log.text():
            seen.append([text, log.position])
        async for content in sound.bytes():
            seen.append([type(content).__name__, list(content), sound.position])
        return seen

    assert segno_host.run(reads) == [["grüß", 6], [" Gott", 11], ["bytes", [0, 255, 1], 3]]
    assert segno_host.elapsed == timedelta(seconds=1)


@activity
def tell(text: str, ctx: ActivityContext) -> None:
    ctx.stream("log").append(Token(text))


@workflow
async def generations(generation: int, ctx: Context) -> None:
    ctx.stream("log").append(Token(f"generation {generation}"))
    await ctx.call(tell, f"activity {generation}")
    if generation == 1:
        ctx.continue_as_new(2)
    ctx.stream("empty", content_type=TEXT).close()


def test_a_reader_sees_what_activities_append_through_all_generations_and_an_empty_stream(segno_host: TestHost) -> None:
    @workflow
    async def reads(ctx: Context) -> list[str]:
        id = await ctx.send(generations, 1, delay="1h")
        seen = [token.text async for token in ctx.read_stream(f"{id}/g/2", "log", Token)]
        return seen + [item async for item in ctx.read_stream(id, "empty")]

    assert segno_host.run(reads) == ["generation 1", "activity 1", "generation 2", "activity 2"]


def test_a_read_fails_with_what_is_missing_and_with_what_does_not_fit(segno_host: TestHost) -> None:
    @workflow
    async def writes(ctx: Context) -> None:
        ctx.stream("items").append(1)
        ctx.stream("items").append("two")
        ctx.stream("log", content_type=TEXT).append("a")
        ctx.stream("sound", content_type="audio/ogg").append("b")

    @workflow
    async def reads(ctx: Context) -> list[Any]:
        id = await ctx.send(writes)
        log, items = ctx.read_stream(id, "log"), ctx.read_stream(id, "items", int, start=1)
        seen: list[Any] = []
        for attempt in (
            ctx.read_stream("nobody", "log"),
            ctx.read_stream(id, "other"),
            log,
            ctx.read_stream(id, "items").text(),
            ctx.read_stream(id, "sound").parts(),
            ctx.read_stream(id, "log").bytes(),
            items,
            ctx.read_stream(id, "items", int).parts(),
        ):
            try:
                async for _ in attempt:
                    raise AssertionError("it has no items")
            except Failure as failure:
                seen.append(f"{failure.code} {failure.message}")
        # Nothing was read by the refused loop, and the message that does not fit was.
        seen += [log.position, items.position]
        seen += [text async for text in log.text()]
        try:
            await ctx.call("segno:stream", {"invocation": id})
        except Failure as failure:
            seen.append(f"{failure.code} {failure.message}")
        return seen

    unfit = "400 the message at position 1 of the stream 'items' is 'two', a text: it has to be a whole number"
    assert segno_host.run(reads) == [
        "404 there is no invocation `nobody`",
        "404 `test/0` has no stream 'other'",
        "422 the stream 'log' of `test/0` consists of text: use `text()`",
        "422 the stream 'items' of `test/0` consists of messages: write `async for item in reader`, or use `parts()`",
        "422 the stream 'sound' of `test/0` consists of bytes: use `bytes()`",
        "422 the stream 'log' of `test/0` consists of text: use `text()`",
        unfit,
        unfit,
        0,
        2,
        "a",
        '400 `segno:stream` takes {"invocation": ID, "stream": NAME, "position": NUMBER}',
    ]


FAULTS: list[tuple[Callable[[Context], Any], str]] = [
    (lambda ctx: ctx.read_stream("", "a"), "takes the id of an invocation and the name of a stream, and not the id ''"),
    (lambda ctx: ctx.read_stream(None, "a"), "and not the id None"),  # type: ignore[arg-type]
    (lambda ctx: ctx.read_stream("x", "a/b"), "the name of a stream is a text of 1 to 1024 bytes .*, and not 'a/b'"),
    (lambda ctx: ctx.read_stream("x", "a", start=-1), "start is -1: write a position"),
    (lambda ctx: ctx.read_stream("x", "a", start=True), "start is True: write a position"),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_arguments_that_a_host_would_refuse_are_defects_at_their_line(
    fault: Callable[[Context], Any], message: str, segno_host: TestHost
) -> None:
    @workflow
    async def defect(ctx: Context) -> None:
        fault(ctx)

    with pytest.raises(Defect, match=f"test_stream_reads.py:.*{message}"):
        segno_host.run(defect)


def test_a_read_that_nothing_answers_is_reported_can_be_cancelled_and_can_have_a_time_limit() -> None:
    @workflow
    async def waits(ctx: Context) -> None:
        async for _ in ctx.read_stream(await ctx.send(silent), "log"):
            break

    with pytest.raises(Stuck, match=r"(?s)never settles:.*command 1, .*segno:stream.*test_stream_reads.py:"):
        TestHost().run(waits)
    host = TestHost()
    host.cancel_after("1h")
    with pytest.raises(Failure) as cancelled:
        host.run(waits)
    assert cancelled.value.is_cancelled

    @workflow
    async def limited(ctx: Context) -> list[int]:
        query = {"invocation": await ctx.send(silent), "stream": "log", "position": 0}
        codes = []
        try:
            await ctx.call("segno:stream", query, timeout="1m")
        except Failure as failure:
            codes.append(failure.code)
        read = ctx.call("segno:stream", query)
        await ctx.cancel(read)
        try:
            await read
        except Failure as failure:
            codes.append(failure.code)
        return codes

    assert TestHost().run(limited) == [408, 499]


def test_a_stand_in_answers_in_place_of_the_streams(segno_host: TestHost) -> None:
    @workflow
    async def adds(ctx: Context) -> list[int]:
        numbers = ctx.read_stream("far", "numbers", int, start=7)
        total = sum([number async for number in numbers])
        return [total, numbers.position]

    def answer(query: dict[str, Any]) -> dict[str, Any]:
        if query["position"] == 7:
            return {"items": [1, 2], "next": 9, "closed": False}
        return {"items": [4], "next": 10, "closed": True}

    segno_host.on("segno:stream", answer)
    assert segno_host.run(adds) == [7, 10]
