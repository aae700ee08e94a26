from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from host import Host
from segno_client import (
    AsyncClient,
    AsyncExecution,
    ConflictError,
    ExecutionFailedError,
    ExecutionHaltedError,
    InvalidArgumentError,
    InvalidRequestError,
    NotFoundError,
    WaitTimeoutError,
)

pytestmark = pytest.mark.anyio
ONE_TURN = {"steps": 0, "turns": 1}


@pytest.fixture
async def client(host: Host) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name}/{uuid4().hex}"


async def removed(execution: AsyncExecution) -> str:
    """Removes it, as soon as the messages about its end are delivered."""
    for _ in range(100):
        try:
            return (await execution.remove())["id"]
        except ConflictError as error:
            assert error.code == "not-removable"
            await asyncio.sleep(0.05)
    raise AssertionError("it was not removed")


async def test_a_call_waits_for_the_output(client: AsyncClient) -> None:
    assert await client.call("parts/chain", {"children": 4}) == 6


async def test_a_start_answers_at_once_and_its_handle_waits(client: AsyncClient) -> None:
    id = new("start")
    started = await client.start("parts/chain", {"children": 3}, id=id, labels={"team": "docs"})
    assert (started.id, started.created) == (id, True)
    assert await started.result() == 3
    status = await client.execution(id).status()
    assert (status["state"], status["labels"], status.get("output")) == ("resolved", {"team": "docs"}, 3)


async def test_the_same_id_again_is_the_same_execution(client: AsyncClient) -> None:
    id = new("same")
    await client.call("parts/leaf", 7, id=id)
    again = await client.start("parts/leaf", 7, id=id)
    assert again.created is False
    assert await again.result() == 7
    with pytest.raises(ConflictError) as caught:
        await client.start("parts/leaf", 8, id=id)
    assert (caught.value.code, caught.value.status) == ("key-reused", 409)


async def test_a_start_without_an_id_has_one_of_the_client(client: AsyncClient) -> None:
    started = await client.start("parts/leaf", 1)
    assert started.id.startswith("leaf-") and len(started.id) == 41
    assert started.created is True


async def test_a_wait_ends_after_its_time(client: AsyncClient) -> None:
    waiting = await client.start("parts/turns", ONE_TURN, id=new("waiting"))
    assert (await waiting.wait(wait_ms=50))["state"] == "suspended"
    with pytest.raises(WaitTimeoutError) as caught:
        await waiting.result(wait_ms=50)
    assert (caught.value.code, caught.value.id, caught.value.state) == ("wait-timeout", waiting.id, "suspended")
    assert isinstance(caught.value, TimeoutError)
    await waiting.promise("turn-0").resolve()
    assert await waiting.result() == 1


async def test_a_failure_has_its_code_its_message_and_its_details(client: AsyncClient) -> None:
    failing = await client.start("herald/relay", 0, id=new("failing"))
    await failing.promise("done").reject(402, "no money", {"cents_short": 7})
    with pytest.raises(ExecutionFailedError) as caught:
        await failing.result()
    assert str(caught.value) == f"`{failing.id}` failed: no money (code 402)"
    assert caught.value.state == "rejected"
    assert caught.value.failure.get("details") == {"cents_short": 7}


async def test_cancel_kill_and_time_limits_end_an_execution(client: AsyncClient) -> None:
    cancelled = await client.start("parts/turns", ONE_TURN)
    assert (await cancelled.cancel())["changed"]
    with pytest.raises(ExecutionFailedError, match="was cancelled"):
        await cancelled.result()
    killed = await client.start("parts/turns", ONE_TURN)
    await killed.kill()
    with pytest.raises(ExecutionFailedError, match="was killed"):
        await killed.result()
    late = await client.start("parts/turns", ONE_TURN, timeout_ms=20)
    with pytest.raises(ExecutionFailedError, match="timed out"):
        await late.result()


async def test_a_halted_execution_ends_the_wait_and_goes_on(client: AsyncClient) -> None:
    halted = await client.start("parts/turns", ONE_TURN)
    await halted.wait(wait_ms=50)
    assert (await halted.halt())["changed"]
    began = time.monotonic()
    with pytest.raises(ExecutionHaltedError):
        await halted.result(wait_ms=20_000)
    assert time.monotonic() - began < 10
    assert (await halted.resume())["changed"]
    await halted.promise("turn-0").resolve()
    assert await halted.result() == 1


async def test_a_restart_is_a_new_execution_and_a_removal_leaves_nothing(client: AsyncClient) -> None:
    old = await client.start("parts/leaf", 5)
    await old.result()
    again = await old.restart(id=new("again"))
    assert await again.result() == 5
    assert await removed(again) == again.id
    with pytest.raises(NotFoundError) as caught:
        await again.status()
    assert caught.value.code == "unknown-invocation"


async def test_a_budget_is_given_at_the_start_spent_read_and_raised(client: AsyncClient) -> None:
    spent = await client.start(
        "parts/chain", {"children": 2}, id=new("spent"), budget={"calls": 0, "input_tokens": 0.5}
    )
    with pytest.raises(ExecutionFailedError) as caught:
        await spent.result()
    none = {"limit": 0, "spent": 0, "remaining": 0}
    assert caught.value.failure["code"] == 402
    assert caught.value.failure.get("details") == {"account": spent.id, "units": {"calls": none}}
    view = await spent.set_budget({"calls": 3})
    units = {
        "calls": {"limit": 3, "spent": 0, "remaining": 3},
        "input_tokens": {"limit": 0.5, "spent": 0, "remaining": 0.5},
    }
    assert view == {"accounts": [{"id": spent.id, "units": units}], "below": []}
    assert await spent.budget() == view
    enough = await client.start("parts/chain", {"children": 2}, budget={"calls": 3})
    await enough.result()
    assert (await enough.budget())["accounts"][0]["units"] == {"calls": {"limit": 3, "spent": 2, "remaining": 1}}
    for wrong in ({"calls": -1}, {"no unit": 1}):
        with pytest.raises(InvalidRequestError):
            await client.start("parts/leaf", 1, budget=wrong)
    budget = {"calls": 3.0, "input_tokens": 1.0}
    signalled = client.execution(new("signalled"))
    await signalled.signal("text", "one", start={"target": "herald/relay", "input": 2, "budget": budget})
    schedule = await client.create_schedule(new("budget"), "0 0 1 1 *", "parts/leaf", 1, budget=budget)
    assert (await schedule.status()).get("budget") == budget
    called = await client.object("parts/Tally", new("budget")).start("add", 1, budget=budget)
    for execution in (signalled, called, await schedule.trigger()):
        own = (await execution.budget())["accounts"][0]
        assert (own["id"], own["units"]["calls"]["limit"]) == (execution.id, 3)
    await schedule.delete()


async def test_a_start_in_the_future_waits_for_it(client: AsyncClient) -> None:
    later = await client.start("parts/leaf", 1, start_at=datetime.now(UTC) + timedelta(minutes=1))
    assert (await later.wait(wait_ms=20))["state"] == "pending"
    await later.remove(cancel=True, grace_ms=0)
    with pytest.raises(InvalidArgumentError, match="time zone"):
        await client.start("parts/leaf", 1, start_at=datetime(2030, 1, 1))


async def test_lists_have_filters_pages_and_counts(client: AsyncClient) -> None:
    prefix = new("list")
    for at in range(5):
        await client.call("parts/leaf", at, id=f"{prefix}/{at}", labels={"of": prefix})
    listing = client.list(label=f"of={prefix}", function="leaf", state="resolved", page_size=2)
    assert [item["id"] async for item in listing] == [f"{prefix}/{at}" for at in (4, 3, 2, 1, 0)]
    assert len(await client.list(prefix=prefix).take(2)) == 2
    assert await client.counts(prefix=prefix) == {"states": {"resolved": 5}, "newest_only": False}
    assert await client.list(prefix=prefix, until=1).take(10) == []
    assert [len(page["items"]) async for page in client.list(prefix=prefix, page_size=4).pages()] == [4, 1]


async def test_log_lines_are_listed(client: AsyncClient) -> None:
    logged = await client.start("herald/announce", [2, 0])
    await logged.result()
    lines = [(line["level"], line["message"]) async for line in logged.logs()]
    assert lines == [("info", "announcing 0"), ("info", "announcing 1")]


async def test_a_wait_survives_a_host_that_dies_and_comes_back(host: Host) -> None:
    async with AsyncClient(host.server, "") as client:
        turns = await client.start("parts/turns", ONE_TURN)
        await turns.wait(wait_ms=50)
        words = await client.start("parts/collects")
        await words.halt()
        update = await words.send_update("add_word", "one")
        host.kill()
        await asyncio.sleep(0.2)
        host.up()
        assert await client.call("parts/leaf", 6) == 6
        await words.resume()
        assert await update.result() == 1
        await turns.promise("turn-0").resolve()
        assert await turns.result() == 1
