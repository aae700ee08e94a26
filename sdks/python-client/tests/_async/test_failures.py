from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from answering import Answer, answering
from host import Host
from segno_client import (
    AsyncClient,
    ConflictError,
    ForbiddenError,
    HostError,
    InvalidArgumentError,
    InvalidRequestError,
    NotFoundError,
    RefusedError,
    RequestTimeoutError,
    Retry,
    UnauthorizedError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
)

pytestmark = pytest.mark.anyio
STARTED = {
    "id": "x",
    "created": False,
    "invocation": {"id": "x", "state": "resolved", "output": 1, "target": "", "attempt": 0, "created_at_ms": 0},
}
HEALTH = {"status": "ok", "version": "1"}


def impatient(server: str, **options: Any) -> AsyncClient:
    return AsyncClient(server, "", retry=Retry(for_ms=3_000, initial_ms=5), **options)


async def refused(attempt: Callable[[], Awaitable[Any]], family: type[RefusedError], code: str) -> None:
    with pytest.raises(family) as caught:
        await attempt()
    assert caught.value.code == code


async def test_each_family_of_codes_has_its_class(host: Host) -> None:
    async with AsyncClient(host.server, "") as client:
        ended = await client.start("parts/leaf", 1)
        await ended.result()
        waiting = await client.start("parts/turns", {"steps": 0, "turns": 1})
        await refused(lambda: client.start("nowhere/leaf"), NotFoundError, "unknown-module")
        await refused(lambda: client.start("parts/leaf", "text"), InvalidRequestError, "invalid-input")
        await refused(lambda: client.start("leaf", 1), InvalidRequestError, "invalid-target")
        await refused(lambda: client.start("parts/leaf", 1, id=".."), InvalidRequestError, "invalid-id")
        await refused(lambda: client.list(label="x").take(1), InvalidRequestError, "invalid-field")
        await refused(lambda: client.deploy(b"\x01\x02"), InvalidRequestError, "not-wasm")
        await refused(lambda: client.request("GET", "/v1/nothing"), NotFoundError, "unknown-route")
        await refused(lambda: ended.resume(), ConflictError, "wrong-state")
        await refused(lambda: client.promise(waiting.id).resolve(1), ConflictError, "is-an-invocation")
        await waiting.kill()
        # The last one: the host may close the connection, because it does not read this body.
        await refused(lambda: client.request("PUT", "/v1/events", {}), InvalidRequestError, "method-not-allowed")
    async with AsyncClient(host.server, "", headers={"origin": "http://evil.example"}) as foreign:
        await refused(lambda: foreign.modules(), ForbiddenError, "foreign-origin")


async def test_an_input_that_does_not_fit_names_each_place(host: Host) -> None:
    async with AsyncClient(host.server, "") as client:
        with pytest.raises(InvalidRequestError) as caught:
            await client.start("parts/chain", {"children": "three"})
        assert [one["path"] for one in caught.value.details["errors"]] == ["/children"]


async def test_a_host_with_a_token_refuses_others() -> None:
    host = Host("--token", "right")
    try:
        for token in ("", "wrong"):
            async with AsyncClient(host.server, token) as client:
                await refused(lambda client=client: client.modules(), UnauthorizedError, "unauthorized")  # type: ignore[misc]
        async with AsyncClient(host.server, "right") as client:
            assert (await client.modules())["modules"] == []
    finally:
        host.close()


async def test_503_and_429_are_tried_again_after_their_time() -> None:
    def answer(number: int, request: Answer) -> None:
        if number == 1:
            request.problem(503, "overloaded", retry_after="1")
        elif number == 2:
            request.problem(429, "too-many", retry_after="0")
        else:
            request.json(HEALTH)

    with answering(answer) as (server, seen):
        async with impatient(server) as client:
            began = time.monotonic()
            await client.health()
            assert len(seen) == 3
            assert time.monotonic() - began >= 0.9


async def test_what_stays_unavailable_is_an_error_with_all_that_is_known() -> None:
    with answering(lambda _, request: request.problem(503, "overloaded", retry_after="9", x_request_id="r-1")) as (
        server,
        _,
    ):
        async with impatient(server) as client:
            with pytest.raises(UnavailableError) as caught:
                await client.health()
    error = caught.value
    assert (error.code, error.request_id, error.retry_after_ms, error.details) == (
        "overloaded",
        "r-1",
        9_000,
        {"more": [1]},
    )


async def test_a_read_that_took_too_long_is_not_tried_again() -> None:
    with answering(lambda _, request: request.problem(503, "read-too-long")) as (server, seen):
        async with impatient(server) as client:
            await refused(lambda: client.list().take(1), UnavailableError, "read-too-long")
        assert len(seen) == 1


async def test_a_lost_answer_is_asked_for_again_where_the_same_request_is_the_same() -> None:
    def answer(number: int, request: Answer) -> None:
        if number == 1:
            request.lose()
        else:
            request.json(STARTED)

    with answering(answer) as (server, seen):
        async with impatient(server) as client:
            started = await client.start("m/f", 1)
            assert (len(seen), started.created) == (2, True)
    with answering(answer) as (server, seen):
        async with impatient(server) as client:
            with pytest.raises(UnreachableError) as caught:
                await client.object("m/O", "k").call("f")
            assert (len(seen), caught.value.was_sent) == (1, True)
    with answering(answer) as (server, _):
        async with impatient(server) as client:
            assert await client.object("m/O", "k").call("f", 1, id="x") == 1


async def test_an_unknown_outcome_is_tried_again_only_where_the_same_request_is_the_same() -> None:
    def answer(number: int, request: Answer) -> None:
        if number == 1:
            request.problem(503, "unknown-outcome")
        else:
            request.json({"id": "x", "changed": True})

    with answering(answer) as (server, _):
        async with impatient(server) as client:
            assert (await client.execution("x").kill())["changed"]
    with answering(answer) as (server, _):
        async with impatient(server) as client:
            await refused(lambda: client.execution("x").resume(), UnavailableError, "unknown-outcome")


async def test_a_silent_host_is_an_error_and_so_is_what_does_not_speak_the_api() -> None:
    with answering(lambda _, __: time.sleep(0.3)) as (server, _):
        async with AsyncClient(server, "", request_timeout_ms=50, retry=Retry(for_ms=0)) as client:
            with pytest.raises(RequestTimeoutError):
                await client.health()
    with answering(lambda _, request: request.problem(500, "internal")) as (server, _):
        async with impatient(server) as client:
            await refused(lambda: client.health(), HostError, "internal")
    with answering(lambda _, request: request.json(b"<html>")) as (server, _):
        async with impatient(server) as client:
            with pytest.raises(UnexpectedAnswerError):
                await client.health()

    def proxy(number: int, request: Answer) -> None:
        if number == 1:
            request.json(b"bad gateway", 502, "text/plain")
        else:
            request.json(HEALTH)

    with answering(proxy) as (server, _):
        async with impatient(server) as client:
            assert (await client.health())["status"] == "ok"


async def test_an_address_at_which_nothing_is_fails_soon_and_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{taken.getsockname()[1]}"
        began = time.monotonic()
        async with AsyncClient(server) as client:
            with pytest.raises(UnreachableError, match="start one with `segno serve`") as caught:
                await client.health()
    assert not caught.value.was_sent
    assert time.monotonic() - began < 4
    for wrong in ("127.0.0.1:7766", "ftp://x", "http://"):
        with pytest.raises(InvalidArgumentError):
            AsyncClient(wrong)
    with pytest.raises(InvalidArgumentError):
        AsyncClient(request_timeout_ms=float("nan"))


async def test_a_reader_of_events_goes_on_after_a_host_that_dies(host: Host) -> None:
    async with impatient(host.server) as client:
        async with aclosing(client.events("news.*", until_empty=True)) as events:
            async for _ in events:
                pass
        await client.call("herald/announce", [2, 0])
        seen = []
        async with aclosing(client.events("news.*", page_size=1)) as events:
            async for event in events:
                seen.append(event.get("data"))
                if len(seen) == 2:
                    break
                host.kill()
                await asyncio.sleep(0.1)
                host.up()
        assert seen == [0, 1]
