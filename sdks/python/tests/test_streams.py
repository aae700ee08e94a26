"""Streams of workflows and activities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from segno_sdk import (
    ActivityContext,
    Context,
    Defect,
    Failure,
    NotDeterministic,
    NotJson,
    Object,
    Retry,
    activity,
    exclusive,
    shared,
    workflow,
)
from segno_sdk.testing import TestHost

TEXT = "text/plain"


@dataclass
class Token:
    text: str


class Account(Object):
    @exclusive
    async def deposit(self, ctx: Context, amount: int) -> None:
        ctx.object_stream("history").append(amount)

    @exclusive
    async def close(self, ctx: Context) -> None:
        ctx.object_stream("history").close()

    @shared
    async def peek(self, ctx: Context) -> None:
        ctx.object_stream("history").append(0)


def written(host: TestHost, id: str | None = None) -> list[tuple[Any, ...]]:
    """The commands of a journal that concern streams."""
    return [
        (one["command"], one["name"], one["request"]) for one in host.journal(id) if "stream" in one.get("command", "")
    ]


def test_a_workflow_appends_messages_text_and_bytes_and_closes_a_stream(segno_host: TestHost) -> None:
    @workflow
    async def writes(ctx: Context) -> list[str]:
        tokens = ctx.stream("tokens")
        log = ctx.stream("log", content_type=TEXT)
        sound = ctx.stream("sound", content_type="audio/ogg")
        sound.append(b"\0\xff")
        sound.append(bytearray(b"\1"))
        sound.append(memoryview(b"\2"))
        tokens.append(Token("a"))
        log.append("grüß\n")
        await ctx.sleep("1s")
        log.append({"b": 1})
        tokens.append([1, None])
        tokens.append("text")
        log.close()
        log.close()
        ctx.stream("log", content_type="Text/Plain").close()
        return [tokens.name, tokens.content_type, log.content_type]

    assert segno_host.run(writes) == ["tokens", "application/json", TEXT]
    assert segno_host.stream("tokens") == [{"text": "a"}, [1, None], "text"]
    assert segno_host.stream("log") == 'grüß\n{"b":1}'
    assert segno_host.stream("sound") == b"\0\xff\1\2"
    assert segno_host.stream("other") is None
    assert written(segno_host) == [
        ("append-stream", "sound", {"content-type": "audio/ogg", "payload_bytes": {"base64": "AP8="}}),
        ("append-stream", "sound", {"content-type": "audio/ogg", "payload_bytes": {"base64": "AQ=="}}),
        ("append-stream", "sound", {"content-type": "audio/ogg", "payload_bytes": {"base64": "Ag=="}}),
        ("append-stream", "tokens", {"content-type": "application/json", "item": {"text": "a"}}),
        ("append-stream", "log", {"content-type": TEXT, "item": "grüß\n"}),
        ("append-stream", "log", {"content-type": TEXT, "item": {"b": 1}}),
        ("append-stream", "tokens", {"content-type": "application/json", "item": [1, None]}),
        ("append-stream", "tokens", {"content-type": "application/json", "item": "text"}),
        ("close-stream", "log", {"content-type": TEXT}),
    ]
    assert segno_host.elapsed.total_seconds() == 1


def test_nothing_is_appended_to_a_closed_stream_and_no_command_is_issued(segno_host: TestHost) -> None:
    @workflow
    async def late(ctx: Context) -> None:
        ctx.stream("log", content_type=TEXT).close()
        ctx.stream("log", content_type=TEXT).append("late")

    with pytest.raises(Failure, match="'log' is closed") as failed:
        segno_host.run(late)
    assert (failed.value.code, failed.value.is_final) == (409, True)
    assert [command for command, _, _ in written(segno_host)] == ["close-stream"]


def twice(ctx: Context) -> None:
    ctx.stream("a")
    ctx.stream("a", content_type=TEXT)


FAULTS: list[tuple[Callable[[Context], Any], type[Exception], str]] = [
    (lambda ctx: ctx.stream(""), Defect, "the name of a stream is a text of 1 to 1024 bytes without a slash, and not ''"),
    (lambda ctx: ctx.stream("a/b"), Defect, "and not 'a/b'"),
    (lambda ctx: ctx.stream("ä" * 513), Defect, "1 to 1024 bytes"),
    (lambda ctx: ctx.stream(7), Defect, "and not 7"),  # type: ignore[arg-type]
    (lambda ctx: ctx.stream("a", content_type="text"), Defect, "type of the stream 'a' is 'text': write one such as"),
    (lambda ctx: ctx.stream("a", content_type="/plain"), Defect, "is '/plain'"),
    (lambda ctx: ctx.stream("a", content_type="text/"), Defect, "is 'text/'"),
    (lambda ctx: ctx.stream("a", content_type="text/pl\nain"), Defect, "the content type of the stream 'a'"),
    (lambda ctx: ctx.stream("a", content_type="text/" + "x" * 252), Defect, "the content type of the stream 'a'"),
    (lambda ctx: ctx.stream("a", content_type=None), Defect, "is None"),  # type: ignore[arg-type]
    (twice, Defect, "'a' has the content type application/json, and is asked for with text/plain"),
    (lambda ctx: ctx.stream("a").append([float("nan")]), NotJson, r"the item of the stream 'a'\[0\] is nan"),
    (lambda ctx: ctx.stream("a", content_type="Application/JSON; x=1").append(b"a"), NotJson, "the item of the stream"),
    (lambda ctx: ctx.run("step", lambda: ctx.stream("a").append(1)), Defect, "an append to the stream 'a' inside `ctx.run"),
    (lambda ctx: ctx.run("step", lambda: ctx.stream("a").close()), Defect, "the end of the stream 'a' inside `ctx.run"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "kind", "message"), FAULTS)
def test_what_a_host_would_refuse_is_a_defect_at_its_line(
    fault: Callable[[Context], Any], kind: type[Exception], message: str, segno_host: TestHost
) -> None:
    @workflow
    async def defect(ctx: Context) -> None:
        fault(ctx)

    with pytest.raises(kind, match=message) as found:
        segno_host.run(defect)
    assert kind is NotJson or "test_streams.py:" in str(found.value)


def test_the_longest_name_is_accepted(segno_host: TestHost) -> None:
    @workflow
    async def longest(ctx: Context) -> None:
        ctx.stream("x" * 1_024, content_type="a b/c; d=e").append("")

    segno_host.run(longest)
    assert segno_host.stream("x" * 1_024) == b""


def test_an_activity_continues_after_what_earlier_attempts_have_stored(segno_host: TestHost) -> None:
    seen: list[tuple[int, int]] = []

    @activity(retry=Retry(initial="1s", max_attempts=3))
    def words(count: int, ctx: ActivityContext) -> list[Any]:
        stream, log = ctx.stream("words"), ctx.stream("log", content_type=TEXT)
        seen.append((stream.kept(), log.kept()))
        for word in range(stream.kept(), count):
            stream.append(f"word {word}")
            log.append("é")
            if word == 1:
                raise ValueError("lost")
        return [stream.name, stream.content_type, stream.kept(), log.kept()]

    @workflow
    async def both(ctx: Context) -> list[Any]:
        ctx.stream("words").append("begin")
        return [await ctx.call(words, 3), await ctx.call(words, 1)]

    assert segno_host.run(both) == [["words", "application/json", 3, 6], ["words", "application/json", 1, 2]]
    assert seen == [(0, 0), (2, 4), (0, 0)]
    assert segno_host.stream("words") == ["begin", "word 0", "word 1", "word 2", "word 0"]
    assert segno_host.stream("log") == "éééé"
    assert len(written(segno_host)) == 1


def test_an_activity_fails_with_the_refusal_of_a_host(segno_host: TestHost) -> None:
    @activity
    def tries(what: str, ctx: ActivityContext) -> None:
        match what:
            case "name":
                ctx.stream("a/b")
            case "type":
                ctx.stream("a", content_type="text")
            case "other":
                ctx.stream("log").append(1)
            case "closed":
                ctx.stream("over", content_type=TEXT).append("x")
            case "caught":
                for name in ("over", "log"):  # nothing is stored after a refusal
                    with pytest.raises(Failure, match="'over' is closed"):
                        ctx.stream(name, content_type=TEXT).append("x")

    @workflow
    async def all_of_them(ctx: Context) -> list[str]:
        ctx.stream("log", content_type=TEXT).append("x")
        ctx.stream("over", content_type=TEXT).close()
        failures = []
        for what in ("name", "type", "other", "closed", "caught"):
            try:
                await ctx.call(tries, what)
            except Failure as failure:
                failures.append(f"{failure.code} {failure.message}")
        return failures

    name, kind, other, closed, caught = segno_host.run(all_of_them)
    assert name.startswith("400 the name of a stream")
    assert kind.startswith("400 the content type of the stream 'a' is 'text'")
    assert (
        other.startswith("409 ") and "'log' has the content type text/plain, and the request has application" in other
    )
    assert closed.startswith("409 ") and "'over' is closed" in closed
    assert caught == closed
    assert segno_host.stream("log") == "x"


@activity
def tell(text: str, ctx: ActivityContext) -> None:
    ctx.stream("log", content_type=TEXT).append(f"{text} {ctx.secret('PAY')}\n")
    ctx.stream("log", content_type=TEXT).append(b".")


@workflow
async def child(ctx: Context) -> None:
    await ctx.call(tell, "child")


@workflow
async def parent(generation: int, ctx: Context) -> None:
    ctx.stream("log", content_type=TEXT).append(f"generation {generation}\n")
    await ctx.call(tell, "parent")
    if generation == 1:
        ctx.continue_as_new(2)
    await ctx.send(tell, "later")
    await ctx.sleep(1)
    await ctx.call(child)


def test_streams_belong_to_the_workflow_that_calls_through_all_its_generations(segno_host: TestHost) -> None:
    segno_host.secret("PAY", "hunter22")
    segno_host.run(parent, 1)
    told = [f"{name} {{secret:PAY}}\n." for name in ("parent", "parent", "later")]
    assert segno_host.stream("log") == f"generation 1\n{told[0]}generation 2\n{told[1]}{told[2]}"
    assert segno_host.stream("log", "test/g/2") == segno_host.stream("log")
    assert segno_host.stream("log", "test/g/2/4") == "child {secret:PAY}\n."


def test_a_write_that_a_host_would_refuse_to_a_workflow_fails_the_test(segno_host: TestHost) -> None:
    @activity
    def writes(ctx: ActivityContext) -> None:
        ctx.stream("log", content_type=TEXT).append("x")

    @workflow
    async def other(ctx: Context) -> None:
        await ctx.call(writes)
        ctx.stream("log").append("x")

    with pytest.raises(AssertionError, match="test_streams.py:.*a host would halt `other`: the stream 'log' has the"):
        segno_host.run(other)

    @workflow
    async def again(generation: int, ctx: Context) -> None:
        ctx.stream("log").close()
        if generation == 1:
            ctx.continue_as_new(2)

    with pytest.raises(AssertionError, match="a host would halt `again`: the stream 'log' is closed"):
        segno_host.run(again, 1)


def test_a_replay_compares_what_is_appended(segno_host: TestHost) -> None:
    runs: list[int] = []

    @workflow
    async def counts(ctx: Context) -> None:
        runs.append(1)
        ctx.stream("tokens").append(len(runs))

    with pytest.raises(NotDeterministic, match='append-stream `tokens`.*"item": 2'):
        segno_host.run(counts)


def test_the_executions_of_an_object_write_one_stream_which_stays(segno_host: TestHost) -> None:
    segno_host.run_object(Account.deposit, "4711", 5)
    appended = ("append-stream", "object/history", {"content-type": "application/json", "item": 5})
    assert written(segno_host) == [appended]
    segno_host.run_object(Account.deposit, "4711", -2)
    assert segno_host.object_stream("Account@4711", "history") == [5, -2]
    assert segno_host.stream("history") is None
    with pytest.raises(AssertionError, match="a function that is shared"):
        segno_host.run_object(Account.peek, "4711")
    segno_host.run_object(Account.close, "4711")
    with pytest.raises(AssertionError, match="is closed"):
        segno_host.run_object(Account.deposit, "4711", 1)
