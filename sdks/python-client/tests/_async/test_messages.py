from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import pytest

from host import Host
from segno_client import (
    AsyncClient,
    InvalidArgumentError,
    NotFoundError,
    PromiseFailedError,
    UpdateFailedError,
    WaitTimeoutError,
    WorkflowRefusedError,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(host: Host) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name}/{uuid4().hex}"


async def test_a_signal_starts_the_execution_it_is_for_once(client: AsyncClient) -> None:
    relay = client.execution(new("relay"))
    first = await relay.signal("text", "one", key="k1", start={"target": "herald/relay", "input": 2})
    assert (first["signal"], first.get("started")) == (0, True)
    again = await relay.signal("text", "one", key="k1", start={"target": "herald/relay", "input": 2})
    assert (again["signal"], again.get("started")) == (0, None)
    assert (await relay.signal("text", "two"))["signal"] == 1
    await relay.promise("done").resolve(1)
    assert await relay.result() == ["one", "two"]


async def test_queries_and_updates_get_answers(client: AsyncClient) -> None:
    words = await client.start("parts/collects")
    assert await words.update("add_word", "one", key="first") == 1
    assert await words.update("add_word", "one", key="first") == 1
    assert await words.query("words") == ["one"]
    answer = await words.query_answer("words")
    assert answer["records"] == answer["journal_len"]
    accepted = await words.send_update("add_word", "two")
    assert accepted.promise.startswith(f"{words.id}/a/")
    assert await accepted.result() == 2
    await words.update("add_word", "three")
    assert await words.result() == ["one", "two", "three"]


class Named:
    """A reference to a message, as ``segno types`` writes it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def segno_query(self, input: Any, /) -> list[str]:
        raise NotImplementedError

    def segno_update(self, input: str, /) -> int:
        raise NotImplementedError


class Collects:
    """A reference to a function, as ``segno types`` writes it."""

    address = "wasm://parts/collects"

    def segno_function(self, input: None, /) -> list[str]:
        raise NotImplementedError


async def test_references_stand_in_place_of_names(client: AsyncClient) -> None:
    words = await client.start(Collects(), id=new("references"))
    for count, word in enumerate(["one", "two", "three"], 1):
        assert await words.update(Named("add_word"), word) == count
    assert await words.query(Named("words"), None) == ["one", "two", "three"]
    assert await client.execution(words.id, Collects()).result() == ["one", "two", "three"]
    assert words.promise("a").id == f"{words.id}/p/a"
    with pytest.raises(InvalidArgumentError, match="or a reference of `segno types`"):
        await client.start(7, None)  # type: ignore[call-overload]
    with pytest.raises(InvalidArgumentError, match="is not a message: pass its name"):
        await words.query(7)  # type: ignore[call-overload]


async def test_an_update_starts_the_execution_it_is_for(client: AsyncClient) -> None:
    words = client.execution(new("with-start"))
    assert await words.update("add_word", "x", start={"target": "parts/collects"}) == 1


async def test_the_refusal_of_a_workflow_has_its_failure(client: AsyncClient) -> None:
    words = await client.start("parts/collects")
    await words.update("add_word", "one")
    with pytest.raises(WorkflowRefusedError) as caught:
        await words.update("add_word", "one")
    assert caught.value.code == "update-refused"
    assert caught.value.failure == {"code": 409, "message": "`one` is there already"}


async def test_an_unknown_query_names_those_that_there_are(client: AsyncClient) -> None:
    words = await client.start("parts/collects")
    with pytest.raises(NotFoundError) as caught:
        await words.query("wrods")
    assert (caught.value.code, caught.value.details["known"]) == ("unknown-query", ["words"])


async def test_an_update_ends_with_its_workflow(client: AsyncClient) -> None:
    words = await client.start("parts/collects")
    await words.halt()
    accepted = await words.send_update("add_word", "x")
    with pytest.raises(WaitTimeoutError):
        await accepted.result(wait_ms=100)
    await words.kill()
    with pytest.raises(UpdateFailedError) as caught:
        await accepted.result(wait_ms=10_000)
    assert caught.value.failure["code"] == 499


async def test_promises_are_made_listed_and_settled(client: AsyncClient) -> None:
    id = new("approval")
    approval = await client.create_promise(id, param={"sum": 12}, tags={"for": id}, timeout_ms=60_000)
    view = await approval.status()
    assert (view["state"], view.get("param")) == ("pending", {"sum": 12})
    listed = await client.promises(tags={"for": id}, state="pending", external=True).take(5)
    assert [item["id"] for item in listed] == [id]
    assert (await approval.resolve(True)).get("changed") is True
    assert (await approval.resolve(False)).get("changed") is False
    assert await approval.result(wait_ms=1_000) is True


async def test_a_promise_that_is_rejected_cancelled_or_late_raises(client: AsyncClient) -> None:
    rejected = await client.create_promise(new("p"))
    await rejected.reject(402, "no money")
    with pytest.raises(PromiseFailedError, match="failed: no money"):
        await rejected.result()
    cancelled = await client.create_promise(new("p"))
    await cancelled.cancel()
    with pytest.raises(PromiseFailedError, match="was cancelled"):
        await cancelled.result()
    late = await client.create_promise(new("p"), timeout_ms=20)
    with pytest.raises(PromiseFailedError, match="timed out"):
        await late.result(wait_ms=20_000)
    with pytest.raises(WaitTimeoutError):
        await (await client.create_promise(new("p"))).result(wait_ms=10)


async def read(client: AsyncClient, fail_at: Any = None, **options: Any) -> list[Any]:
    seen: list[Any] = []
    async with aclosing(client.events("news.*", until_empty=True, **options)) as events:
        async for event in events:
            if event.get("data") == fail_at:
                raise LookupError("not handled")
            seen.append(event.get("data"))
            assert len(seen) < 100, "it reads the same events for ever"
    return seen


async def test_an_event_whose_handling_raises_comes_again(client: AsyncClient) -> None:
    await read(client, fail_at="none")
    await client.call("herald/announce", [3, 0])
    with pytest.raises(LookupError):
        await read(client, fail_at=1)
    assert await read(client, fail_at="none") == [1, 2]
    assert await read(client, fail_at="none") == []


async def test_without_acknowledgements_a_reader_goes_on_behind_what_it_has_shown(client: AsyncClient) -> None:
    await read(client, fail_at="none")
    await client.call("herald/announce", [2, 0])
    assert await read(client, "none", acknowledging=False, page_size=1) == [0, 1]
    assert await read(client, "none", acknowledging=False, page_size=1) == [0, 1]


async def test_a_reader_waits_for_events(client: AsyncClient) -> None:
    topic = client.events("relayed")
    relay = await client.start("herald/relay", 2)
    await relay.signal("text", "hello")
    async for event in topic:
        if event["subject"] == relay.id:
            assert (event["type"], event.get("data")) == ("relayed", "hello")
            assert await client.acknowledge([event["id"]]) == 1
            break
    await topic.aclose()
    await relay.kill()
