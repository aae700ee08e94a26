# Written by `scripts/unasync.py` from `tests/_async/test_things.py`. Do not edit.
from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from host import Host
from segno_client import (
    Client,
    ConflictError,
    ExecutionFailedError,
    InvalidArgumentError,
    NotFoundError,
)

DAY_MS = 86_400_000


@pytest.fixture
def client(host: Host) -> Iterator[Client]:
    with Client(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name} {uuid4().hex}"


def test_an_object_is_called_started_and_read(client: Client) -> None:
    tally = client.object("parts/Tally", new("a/b"))
    assert tally.call("add", 3) == 3
    started = tally.start("add", 4, id=new("object"))
    assert started.result() == 7
    assert tally.get("count") == 7
    assert tally.get("nothing", 0) == 0
    assert (tally.status())["state"]["count"] == 7
    assert client.call(f"{tally.name}/add", 1) == 8


def test_the_state_of_an_object_is_changed_from_outside(client: Client) -> None:
    tally = client.object("parts/Tally", new("outside"))
    tally.set({"count": 40, "more": {"inner": 1}})
    assert tally.call("add", 2) == 42
    assert "more" not in (tally.clear(["more"]))["state"]
    assert (tally.clear())["state"] == {}


def test_objects_are_listed_by_name(client: Client) -> None:
    tally = client.object("parts/Tally", new("listed"))
    tally.call("add", 1)
    items = client.objects(prefix=tally.name, page_size=1).take(5)
    assert [item["object"] for item in items] == [tally.name]


def test_a_run_by_key_waits_for_a_promise_of_its_object(client: Client) -> None:
    visit = client.object("keys/Visit", new("ada"))
    assert (visit.promise("confirmed").status())["state"] == "pending"
    run = visit.start("run", "ada")
    assert run.id == f"{visit.name}/run"
    assert (visit.promise("confirmed").resolve(7)).get("changed") is True
    assert run.result() == ["ada", 7]
    refused = client.object("keys/Visit", new("bob"))
    refused.promise("confirmed").reject(403, "fully booked")
    with pytest.raises(ExecutionFailedError, match=r"fully booked \(code 403\)"):
        refused.call("run", "bob")
    with pytest.raises(ConflictError) as caught:
        visit.start("run", "x", id=new("another"))
    assert caught.value.code == "ran-already"


def test_a_kind_without_an_object_is_refused(host: Host) -> None:
    with pytest.raises(InvalidArgumentError, match="MODULE/OBJECT"):
        Client(host.server).object("Tally", "a")


def test_a_schedule_is_made_paused_triggered_back_filled_and_removed(client: Client) -> None:
    id = new("nightly")
    schedule = client.create_schedule(
        id, "0 3 * * *", "parts/leaf", 9, zone="Europe/Berlin", labels={"by": id}, overlap="allow"
    )
    assert schedule.created is True
    assert (
        client.create_schedule(id, "0 3 * * *", "parts/leaf", 9, overlap="allow", zone="Europe/Berlin")
    ).created is False
    status = schedule.status()
    assert (status.get("zone"), status["paused"], len(status.get("upcoming", []))) == ("Europe/Berlin", False, 10)
    assert (schedule.pause())["paused"] is True
    assert (schedule.resume())["paused"] is False
    started = schedule.trigger(at=1_000)
    assert (schedule.trigger(at=1_000)).id == started.id
    assert started.result() == 9
    now = status["created_at_ms"]
    filled = schedule.backfill(now - 2 * DAY_MS, now)
    assert filled["started"] + filled["existing"] == 2
    assert [one["id"] for one in client.schedules(label=f"by={id}").take(5)] == [id]
    assert (schedule.delete())["changed"] is True
    with pytest.raises(NotFoundError) as caught:
        schedule.status()
    assert caught.value.code == "unknown-schedule"


def test_modules_are_described_downloaded_deployed_again_and_taken_away(client: Client) -> None:
    module = client.module("parts")
    chain = next(one for one in module["functions"] if one["name"] == "chain")
    assert chain["kind"] == "workflow" and "children" in str(chain.get("input_schema"))
    component = client.component("parts")
    assert len(component) == module["size"]
    again = client.deploy(component, alias="copy")
    assert (again["created"], again.get("alias")) == (False, "copy")
    assert (client.undeploy("copy"))["alias"] == "copy"
    assert {alias for one in (client.modules())["modules"] for alias in one["aliases"]} == {
        "parts",
        "keys",
        "herald",
    }
    with pytest.raises(NotFoundError) as caught:
        client.start("copy/leaf", 1)
    assert caught.value.code == "unknown-module"


def test_health_readiness_and_a_route_without_a_method(client: Client) -> None:
    assert (client.health())["status"] == "ok"
    assert (client.ready(wait_ms=5_000))["status"] == "ready"
    assert (client.request("GET", "/v1/limits"))["items"][0]["limit"]
    rule = {"per_key": {"concurrency": 50}}
    assert (client.request("PUT", "/v1/limits/parts/turns", rule, is_repeatable=True))[
        "source"
    ] == "operator"
    client.request("DELETE", "/v1/limits/parts/turns")


def test_address_and_token_come_from_the_environment(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGNO_SERVER", f"{host.server}/")
    monkeypatch.setenv("SEGNO_TOKEN", "from the environment")
    with Client() as client:
        assert client.server == host.server
        assert (client.health())["status"] == "ok"


def test_whole_numbers_keep_every_digit(client: Client) -> None:
    digits = 123456789012345678901234567890
    promise = client.create_promise(new("digits"), param={"of": digits, "text": "é\u0000"})
    assert (promise.status()).get("param") == {"of": digits, "text": "é\u0000"}
