from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from host import Host
from segno_client import (
    AsyncClient,
    ConflictError,
    ExecutionFailedError,
    InvalidArgumentError,
    NotFoundError,
)

pytestmark = pytest.mark.anyio
DAY_MS = 86_400_000


@pytest.fixture
async def client(host: Host) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name} {uuid4().hex}"


async def test_an_object_is_called_started_and_read(client: AsyncClient) -> None:
    tally = client.object("parts/Tally", new("a/b"))
    assert await tally.call("add", 3) == 3
    started = await tally.start("add", 4, id=new("object"))
    assert await started.result() == 7
    assert await tally.get("count") == 7
    assert await tally.get("nothing", 0) == 0
    assert (await tally.status())["state"]["count"] == 7
    assert await client.call(f"{tally.name}/add", 1) == 8


async def test_the_state_of_an_object_is_changed_from_outside(client: AsyncClient) -> None:
    tally = client.object("parts/Tally", new("outside"))
    await tally.set({"count": 40, "more": {"inner": 1}})
    assert await tally.call("add", 2) == 42
    assert "more" not in (await tally.clear(["more"]))["state"]
    assert (await tally.clear())["state"] == {}


async def test_objects_are_listed_by_name(client: AsyncClient) -> None:
    tally = client.object("parts/Tally", new("listed"))
    await tally.call("add", 1)
    items = await client.objects(prefix=tally.name, page_size=1).take(5)
    assert [item["object"] for item in items] == [tally.name]


async def test_a_run_by_key_waits_for_a_promise_of_its_object(client: AsyncClient) -> None:
    visit = client.object("keys/Visit", new("ada"))
    assert (await visit.promise("confirmed").status())["state"] == "pending"
    run = await visit.start("run", "ada")
    assert run.id == f"{visit.name}/run"
    assert (await visit.promise("confirmed").resolve(7)).get("changed") is True
    assert await run.result() == ["ada", 7]
    refused = client.object("keys/Visit", new("bob"))
    await refused.promise("confirmed").reject(403, "fully booked")
    with pytest.raises(ExecutionFailedError, match=r"fully booked \(code 403\)"):
        await refused.call("run", "bob")
    with pytest.raises(ConflictError) as caught:
        await visit.start("run", "x", id=new("another"))
    assert caught.value.code == "ran-already"


def test_a_kind_without_an_object_is_refused(host: Host) -> None:
    with pytest.raises(InvalidArgumentError, match="MODULE/OBJECT"):
        AsyncClient(host.server).object("Tally", "a")


async def test_a_schedule_is_made_paused_triggered_back_filled_and_removed(client: AsyncClient) -> None:
    id = new("nightly")
    schedule = await client.create_schedule(
        id, "0 3 * * *", "parts/leaf", 9, zone="Europe/Berlin", labels={"by": id}, overlap="allow"
    )
    assert schedule.created is True
    assert (
        await client.create_schedule(id, "0 3 * * *", "parts/leaf", 9, overlap="allow", zone="Europe/Berlin")
    ).created is False
    status = await schedule.status()
    assert (status.get("zone"), status["paused"], len(status.get("upcoming", []))) == ("Europe/Berlin", False, 10)
    assert (await schedule.pause())["paused"] is True
    assert (await schedule.resume())["paused"] is False
    started = await schedule.trigger(at=1_000)
    assert (await schedule.trigger(at=1_000)).id == started.id
    assert await started.result() == 9
    now = status["created_at_ms"]
    filled = await schedule.backfill(now - 2 * DAY_MS, now)
    assert filled["started"] + filled["existing"] == 2
    assert [one["id"] for one in await client.schedules(label=f"by={id}").take(5)] == [id]
    assert (await schedule.delete())["changed"] is True
    with pytest.raises(NotFoundError) as caught:
        await schedule.status()
    assert caught.value.code == "unknown-schedule"


async def test_modules_are_described_downloaded_deployed_again_and_taken_away(client: AsyncClient) -> None:
    module = await client.module("parts")
    chain = next(one for one in module["functions"] if one["name"] == "chain")
    assert chain["kind"] == "workflow" and "children" in str(chain.get("input_schema"))
    component = await client.component("parts")
    assert len(component) == module["size"]
    again = await client.deploy(component, alias="copy")
    assert (again["created"], again.get("alias")) == (False, "copy")
    assert (await client.undeploy("copy"))["alias"] == "copy"
    assert {alias for one in (await client.modules())["modules"] for alias in one["aliases"]} == {
        "parts",
        "keys",
        "herald",
    }
    with pytest.raises(NotFoundError) as caught:
        await client.start("copy/leaf", 1)
    assert caught.value.code == "unknown-module"


async def test_health_readiness_and_a_route_without_a_method(client: AsyncClient) -> None:
    assert (await client.health())["status"] == "ok"
    assert (await client.ready(wait_ms=5_000))["status"] == "ready"
    assert (await client.request("GET", "/v1/limits"))["items"][0]["limit"]
    rule = {"per_key": {"concurrency": 50}}
    assert (await client.request("PUT", "/v1/limits/parts/turns", rule, is_repeatable=True))[
        "source"
    ] == "operator"
    await client.request("DELETE", "/v1/limits/parts/turns")


async def test_address_and_token_come_from_the_environment(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGNO_SERVER", f"{host.server}/")
    monkeypatch.setenv("SEGNO_TOKEN", "from the environment")
    async with AsyncClient() as client:
        assert client.server == host.server
        assert (await client.health())["status"] == "ok"


async def test_whole_numbers_keep_every_digit(client: AsyncClient) -> None:
    digits = 123456789012345678901234567890
    promise = await client.create_promise(new("digits"), param={"of": digits, "text": "é\u0000"})
    assert (await promise.status()).get("param") == {"of": digits, "text": "é\u0000"}
