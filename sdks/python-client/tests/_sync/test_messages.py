# Written by `scripts/unasync.py` from `tests/_async/test_messages.py`. Do not edit.
from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest

from host import Host
from segno_client import (
    Client,
    InvalidArgumentError,
    NotFoundError,
    PromiseFailedError,
    UpdateFailedError,
    WaitTimeoutError,
    WorkflowRefusedError,
)


@pytest.fixture
def client(host: Host) -> Iterator[Client]:
    with Client(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name}/{uuid4().hex}"


def test_a_signal_starts_the_execution_it_is_for_once(client: Client) -> None:
    relay = client.execution(new("relay"))
    first = relay.signal("text", "one", key="k1", start={"target": "herald/relay", "input": 2})
    assert (first["signal"], first.get("started")) == (0, True)
    again = relay.signal("text", "one", key="k1", start={"target": "herald/relay", "input": 2})
    assert (again["signal"], again.get("started")) == (0, None)
    assert (relay.signal("text", "two"))["signal"] == 1
    relay.promise("done").resolve(1)
    assert relay.result() == ["one", "two"]


def test_queries_and_updates_get_answers(client: Client) -> None:
    words = client.start("parts/collects")
    assert words.update("add_word", "one", key="first") == 1
    assert words.update("add_word", "one", key="first") == 1
    assert words.query("words") == ["one"]
    answer = words.query_answer("words")
    assert answer["records"] == answer["journal_len"]
    accepted = words.send_update("add_word", "two")
    assert accepted.promise.startswith(f"{words.id}/a/")
    assert accepted.result() == 2
    words.update("add_word", "three")
    assert words.result() == ["one", "two", "three"]


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


def test_references_stand_in_place_of_names(client: Client) -> None:
    words = client.start(Collects(), id=new("references"))
    for count, word in enumerate(["one", "two", "three"], 1):
        assert words.update(Named("add_word"), word) == count
    assert words.query(Named("words"), None) == ["one", "two", "three"]
    assert client.execution(words.id, Collects()).result() == ["one", "two", "three"]
    assert words.promise("a").id == f"{words.id}/p/a"
    with pytest.raises(InvalidArgumentError, match="or a reference of `segno types`"):
        client.start(7, None)  # type: ignore[call-overload]
    with pytest.raises(InvalidArgumentError, match="is not a message: pass its name"):
        words.query(7)  # type: ignore[call-overload]


def test_an_update_starts_the_execution_it_is_for(client: Client) -> None:
    words = client.execution(new("with-start"))
    assert words.update("add_word", "x", start={"target": "parts/collects"}) == 1


def test_the_refusal_of_a_workflow_has_its_failure(client: Client) -> None:
    words = client.start("parts/collects")
    words.update("add_word", "one")
    with pytest.raises(WorkflowRefusedError) as caught:
        words.update("add_word", "one")
    assert caught.value.code == "update-refused"
    assert caught.value.failure == {"code": 409, "message": "`one` is there already"}


def test_an_unknown_query_names_those_that_there_are(client: Client) -> None:
    words = client.start("parts/collects")
    with pytest.raises(NotFoundError) as caught:
        words.query("wrods")
    assert (caught.value.code, caught.value.details["known"]) == ("unknown-query", ["words"])


def test_an_update_ends_with_its_workflow(client: Client) -> None:
    words = client.start("parts/collects")
    words.halt()
    accepted = words.send_update("add_word", "x")
    with pytest.raises(WaitTimeoutError):
        accepted.result(wait_ms=100)
    words.kill()
    with pytest.raises(UpdateFailedError) as caught:
        accepted.result(wait_ms=10_000)
    assert caught.value.failure["code"] == 499


def test_promises_are_made_listed_and_settled(client: Client) -> None:
    id = new("approval")
    approval = client.create_promise(id, param={"sum": 12}, tags={"for": id}, timeout_ms=60_000)
    view = approval.status()
    assert (view["state"], view.get("param")) == ("pending", {"sum": 12})
    listed = client.promises(tags={"for": id}, state="pending", external=True).take(5)
    assert [item["id"] for item in listed] == [id]
    assert (approval.resolve(True)).get("changed") is True
    assert (approval.resolve(False)).get("changed") is False
    assert approval.result(wait_ms=1_000) is True


def test_a_promise_that_is_rejected_cancelled_or_late_raises(client: Client) -> None:
    rejected = client.create_promise(new("p"))
    rejected.reject(402, "no money")
    with pytest.raises(PromiseFailedError, match="failed: no money"):
        rejected.result()
    cancelled = client.create_promise(new("p"))
    cancelled.cancel()
    with pytest.raises(PromiseFailedError, match="was cancelled"):
        cancelled.result()
    late = client.create_promise(new("p"), timeout_ms=20)
    with pytest.raises(PromiseFailedError, match="timed out"):
        late.result(wait_ms=20_000)
    with pytest.raises(WaitTimeoutError):
        (client.create_promise(new("p"))).result(wait_ms=10)


def read(client: Client, fail_at: Any = None, **options: Any) -> list[Any]:
    seen: list[Any] = []
    with closing(client.events("news.*", until_empty=True, **options)) as events:
        for event in events:
            if event.get("data") == fail_at:
                raise LookupError("not handled")
            seen.append(event.get("data"))
            assert len(seen) < 100, "it reads the same events for ever"
    return seen


def test_an_event_whose_handling_raises_comes_again(client: Client) -> None:
    read(client, fail_at="none")
    client.call("herald/announce", [3, 0])
    with pytest.raises(LookupError):
        read(client, fail_at=1)
    assert read(client, fail_at="none") == [1, 2]
    assert read(client, fail_at="none") == []


def test_without_acknowledgements_a_reader_goes_on_behind_what_it_has_shown(client: Client) -> None:
    read(client, fail_at="none")
    client.call("herald/announce", [2, 0])
    assert read(client, "none", acknowledging=False, page_size=1) == [0, 1]
    assert read(client, "none", acknowledging=False, page_size=1) == [0, 1]


def test_a_reader_waits_for_events(client: Client) -> None:
    topic = client.events("relayed")
    relay = client.start("herald/relay", 2)
    relay.signal("text", "hello")
    for event in topic:
        if event["subject"] == relay.id:
            assert (event["type"], event.get("data")) == ("relayed", "hello")
            assert client.acknowledge([event["id"]]) == 1
            break
    topic.close()
    relay.kill()
