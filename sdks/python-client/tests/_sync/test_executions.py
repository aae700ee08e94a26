# Written by `scripts/unasync.py` from `tests/_async/test_executions.py`. Do not edit.
from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from host import Host
from segno_client import (
    Client,
    Execution,
    ConflictError,
    ExecutionFailedError,
    ExecutionHaltedError,
    InvalidArgumentError,
    InvalidRequestError,
    NotFoundError,
    WaitTimeoutError,
)

ONE_TURN = {"steps": 0, "turns": 1}


@pytest.fixture
def client(host: Host) -> Iterator[Client]:
    with Client(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name}/{uuid4().hex}"


def removed(execution: Execution) -> str:
    """Removes it, as soon as the messages about its end are delivered."""
    for _ in range(100):
        try:
            return (execution.remove())["id"]
        except ConflictError as error:
            assert error.code == "not-removable"
            time.sleep(0.05)
    raise AssertionError("it was not removed")


def test_a_call_waits_for_the_output(client: Client) -> None:
    assert client.call("parts/chain", {"children": 4}) == 6


def test_a_start_answers_at_once_and_its_handle_waits(client: Client) -> None:
    id = new("start")
    started = client.start("parts/chain", {"children": 3}, id=id, labels={"team": "docs"})
    assert (started.id, started.created) == (id, True)
    assert started.result() == 3
    status = client.execution(id).status()
    assert (status["state"], status["labels"], status.get("output")) == ("resolved", {"team": "docs"}, 3)


def test_the_same_id_again_is_the_same_execution(client: Client) -> None:
    id = new("same")
    client.call("parts/leaf", 7, id=id)
    again = client.start("parts/leaf", 7, id=id)
    assert again.created is False
    assert again.result() == 7
    with pytest.raises(ConflictError) as caught:
        client.start("parts/leaf", 8, id=id)
    assert (caught.value.code, caught.value.status) == ("key-reused", 409)


def test_a_start_without_an_id_has_one_of_the_client(client: Client) -> None:
    started = client.start("parts/leaf", 1)
    assert started.id.startswith("leaf-") and len(started.id) == 41
    assert started.created is True


def test_a_wait_ends_after_its_time(client: Client) -> None:
    waiting = client.start("parts/turns", ONE_TURN, id=new("waiting"))
    assert (waiting.wait(wait_ms=50))["state"] == "suspended"
    with pytest.raises(WaitTimeoutError) as caught:
        waiting.result(wait_ms=50)
    assert (caught.value.code, caught.value.id, caught.value.state) == ("wait-timeout", waiting.id, "suspended")
    assert isinstance(caught.value, TimeoutError)
    waiting.promise("turn-0").resolve()
    assert waiting.result() == 1


def test_a_failure_has_its_code_its_message_and_its_details(client: Client) -> None:
    failing = client.start("herald/relay", 0, id=new("failing"))
    failing.promise("done").reject(402, "no money", {"cents_short": 7})
    with pytest.raises(ExecutionFailedError) as caught:
        failing.result()
    assert str(caught.value) == f"`{failing.id}` failed: no money (code 402)"
    assert caught.value.state == "rejected"
    assert caught.value.failure.get("details") == {"cents_short": 7}


def test_cancel_kill_and_time_limits_end_an_execution(client: Client) -> None:
    cancelled = client.start("parts/turns", ONE_TURN)
    assert (cancelled.cancel())["changed"]
    with pytest.raises(ExecutionFailedError, match="was cancelled"):
        cancelled.result()
    killed = client.start("parts/turns", ONE_TURN)
    killed.kill()
    with pytest.raises(ExecutionFailedError, match="was killed"):
        killed.result()
    late = client.start("parts/turns", ONE_TURN, timeout_ms=20)
    with pytest.raises(ExecutionFailedError, match="timed out"):
        late.result()


def test_a_halted_execution_ends_the_wait_and_goes_on(client: Client) -> None:
    halted = client.start("parts/turns", ONE_TURN)
    halted.wait(wait_ms=50)
    assert (halted.halt())["changed"]
    began = time.monotonic()
    with pytest.raises(ExecutionHaltedError):
        halted.result(wait_ms=20_000)
    assert time.monotonic() - began < 10
    assert (halted.resume())["changed"]
    halted.promise("turn-0").resolve()
    assert halted.result() == 1


def test_a_restart_is_a_new_execution_and_a_removal_leaves_nothing(client: Client) -> None:
    old = client.start("parts/leaf", 5)
    old.result()
    again = old.restart(id=new("again"))
    assert again.result() == 5
    assert removed(again) == again.id
    with pytest.raises(NotFoundError) as caught:
        again.status()
    assert caught.value.code == "unknown-invocation"


def test_a_budget_is_given_at_the_start_spent_read_and_raised(client: Client) -> None:
    spent = client.start(
        "parts/chain", {"children": 2}, id=new("spent"), budget={"calls": 0, "input_tokens": 0.5}
    )
    with pytest.raises(ExecutionFailedError) as caught:
        spent.result()
    none = {"limit": 0, "spent": 0, "remaining": 0}
    assert caught.value.failure["code"] == 402
    assert caught.value.failure.get("details") == {"account": spent.id, "units": {"calls": none}}
    view = spent.set_budget({"calls": 3})
    units = {
        "calls": {"limit": 3, "spent": 0, "remaining": 3},
        "input_tokens": {"limit": 0.5, "spent": 0, "remaining": 0.5},
    }
    assert view == {"accounts": [{"id": spent.id, "units": units}], "below": []}
    assert spent.budget() == view
    enough = client.start("parts/chain", {"children": 2}, budget={"calls": 3})
    enough.result()
    assert (enough.budget())["accounts"][0]["units"] == {"calls": {"limit": 3, "spent": 2, "remaining": 1}}
    for wrong in ({"calls": -1}, {"no unit": 1}):
        with pytest.raises(InvalidRequestError):
            client.start("parts/leaf", 1, budget=wrong)
    budget = {"calls": 3.0, "input_tokens": 1.0}
    signalled = client.execution(new("signalled"))
    signalled.signal("text", "one", start={"target": "herald/relay", "input": 2, "budget": budget})
    schedule = client.create_schedule(new("budget"), "0 0 1 1 *", "parts/leaf", 1, budget=budget)
    assert (schedule.status()).get("budget") == budget
    called = client.object("parts/Tally", new("budget")).start("add", 1, budget=budget)
    for execution in (signalled, called, schedule.trigger()):
        own = (execution.budget())["accounts"][0]
        assert (own["id"], own["units"]["calls"]["limit"]) == (execution.id, 3)
    schedule.delete()


def test_a_start_in_the_future_waits_for_it(client: Client) -> None:
    later = client.start("parts/leaf", 1, start_at=datetime.now(UTC) + timedelta(minutes=1))
    assert (later.wait(wait_ms=20))["state"] == "pending"
    later.remove(cancel=True, grace_ms=0)
    with pytest.raises(InvalidArgumentError, match="time zone"):
        client.start("parts/leaf", 1, start_at=datetime(2030, 1, 1))


def test_lists_have_filters_pages_and_counts(client: Client) -> None:
    prefix = new("list")
    for at in range(5):
        client.call("parts/leaf", at, id=f"{prefix}/{at}", labels={"of": prefix})
    listing = client.list(label=f"of={prefix}", function="leaf", state="resolved", page_size=2)
    assert [item["id"] for item in listing] == [f"{prefix}/{at}" for at in (4, 3, 2, 1, 0)]
    assert len(client.list(prefix=prefix).take(2)) == 2
    assert client.counts(prefix=prefix) == {"states": {"resolved": 5}, "newest_only": False}
    assert client.list(prefix=prefix, until=1).take(10) == []
    assert [len(page["items"]) for page in client.list(prefix=prefix, page_size=4).pages()] == [4, 1]


def test_log_lines_are_listed(client: Client) -> None:
    logged = client.start("herald/announce", [2, 0])
    logged.result()
    lines = [(line["level"], line["message"]) for line in logged.logs()]
    assert lines == [("info", "announcing 0"), ("info", "announcing 1")]


def test_a_wait_survives_a_host_that_dies_and_comes_back(host: Host) -> None:
    with Client(host.server, "") as client:
        turns = client.start("parts/turns", ONE_TURN)
        turns.wait(wait_ms=50)
        words = client.start("parts/collects")
        words.halt()
        update = words.send_update("add_word", "one")
        host.kill()
        time.sleep(0.2)
        host.up()
        assert client.call("parts/leaf", 6) == 6
        words.resume()
        assert update.result() == 1
        turns.promise("turn-0").resolve()
        assert turns.result() == 1
