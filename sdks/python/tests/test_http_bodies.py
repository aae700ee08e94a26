"""Responses whose bodies are read in pieces."""

from collections.abc import Iterator
from typing import Any

import pytest

from segno_sdk import ActivityContext, Context, Failure, NotAvailable, Retry, ServerEvent, activity, http, workflow
from segno_sdk.core.lines import events_of, lines_of
from segno_sdk.http import HTTPError, Response
from segno_sdk.testing import TestHost

URL = "http://model.example/chat"


def result(host: TestHost, run: Any, pieces: Any, status: int = 200) -> Any:
    """The result of an activity whose requests get these pieces."""
    reads = activity(name="reads", retry=Retry(max_attempts=3))(run)

    @workflow(name="main")
    async def main(ctx: Context) -> Any:
        return await ctx.call(reads)

    host.on_http("GET", URL, lambda request: Response.in_pieces(status, pieces() if callable(pieces) else pieces))
    return host.run(main)


def cuts(text: str) -> Iterator[list[bytes]]:
    """All ways to cut a text into three pieces of bytes."""
    whole = text.encode()
    for first in range(len(whole) + 1):
        for second in range(first, len(whole) + 1):
            yield [piece for piece in (whole[:first], whole[first:second], whole[second:]) if piece]


def test_each_piece_is_there_before_the_next_one_is_made(segno_host: TestHost) -> None:
    made: list[str] = []

    def pieces() -> Iterator[str]:
        for piece in "abc":
            made.append(piece)
            yield piece

    def reads(ctx: ActivityContext) -> list[Any]:
        with ctx.http_open("GET", URL) as response:
            return [[piece.decode(), len(made)] for piece in response]

    assert result(segno_host, reads, pieces) == [["a", 1], ["b", 2], ["c", 3]]


def test_lines_and_events_are_the_same_wherever_the_body_is_cut() -> None:
    for pieces in cuts("één\r\n\r\ntwo\rthree\n\n€"):
        assert list(lines_of(pieces)) == ["één", "", "two", "three", "", "€"], pieces
    text = "\ufeff: c\nid: 7\nevent: token\ndata: é\ndata:  b\n\nretry: 5\n\ndata\n\ndata: cut off"
    for pieces in cuts(text):
        events = list(events_of(lines_of(pieces)))
        assert events == [ServerEvent("token", "é\n b", "7"), ServerEvent("message", "", "7")], pieces


def test_an_async_activity_reads_pieces_lines_and_the_rest(segno_host: TestHost) -> None:
    async def reads(ctx: ActivityContext) -> list[Any]:
        async with await ctx.http_open("GET", URL) as response:
            lines = [line async for line in response.lines()]
        response = ctx.http_open("GET", URL)
        first = [piece async for piece in response][0]
        rest = http.stream("GET", URL).read()
        return [lines, first.decode(), rest.text, rest.ok, response.status, response.read().text]

    assert result(segno_host, reads, ["a\nb", b"c"], 201) == [["a", "bc"], "a\nb", "a\nbc", True, 201, ""]


def test_a_status_that_is_no_success_has_the_whole_response(segno_host: TestHost) -> None:
    def reads(ctx: ActivityContext) -> str:
        with pytest.raises(HTTPError) as failed:
            http.stream("GET", URL).raise_for_status()
        return f"{failed.value.code} {failed.value.response.text}"

    assert result(segno_host, reads, ["no ", "money"], 402) == "402 no money"


def test_a_body_that_breaks_off_fails_the_attempt_and_the_next_one_goes_on(segno_host: TestHost) -> None:
    attempts: list[int] = []

    def pieces() -> Iterator[str]:
        attempts.append(1)
        yield "data: a\n\ndata: b\n"
        yield "\n"
        if len(attempts) == 1:
            raise Failure(502, "the connection broke")
        yield "data: c\n\n"

    def reads(ctx: ActivityContext) -> int:
        tokens = ctx.stream("tokens")
        kept = tokens.kept()
        with ctx.http_open("GET", URL) as response:
            for number, event in enumerate(response.events()):
                if number >= kept:
                    tokens.append(event.data)
        return ctx.attempt

    assert result(segno_host, reads, pieces) == 2
    assert segno_host.stream("tokens") == ["a", "b", "c"]


def test_an_attempt_has_at_most_16_open_responses(segno_host: TestHost) -> None:
    def reads(ctx: ActivityContext) -> str:
        responses = [ctx.http_open("GET", URL) for _ in range(16)]
        with pytest.raises(Failure, match="16 open responses") as refused:
            ctx.http_open("GET", URL)
        responses[0].close()
        assert responses[1].read().text == "ab"
        assert [ctx.http_open("GET", URL).status_code for _ in range(2)] == [200, 200]
        return str(refused.value.code)

    assert result(segno_host, reads, ["a", "b"]) == "400"


def test_a_whole_response_and_a_durable_one_have_all_pieces(segno_host: TestHost) -> None:
    @workflow
    async def asks(ctx: Context) -> str:
        with pytest.raises(NotAvailable, match="await ctx.http"):
            http.stream("GET", URL)
        return (await ctx.http("GET", URL)).text

    segno_host.on_http("GET", URL, Response.in_pieces(200, ["a", b"b"]))
    assert segno_host.run(asks) == "ab"
    assert result(segno_host, lambda: http.get(URL).text, ["c", "d"]) == "cd"
