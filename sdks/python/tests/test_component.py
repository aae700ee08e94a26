"""The exports of a component, over modules in the place of those that the build makes."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import segno_sdk
from segno_sdk import (
    ActivityContext,
    Context,
    Failure,
    Limit,
    Object,
    Retry,
    State,
    activity,
    exclusive,
    http,
    once,
    workflow,
)
from segno_sdk.core import guards, logs

from . import fake_component


@activity(retry=Retry(max_attempts=3), limit=Limit(rate="10/s", singleton=None, concurrency=2), expose="mcp")
def fetch(url: str, ctx: ActivityContext) -> str:
    """Fetches.

    More about it.
    """
    if url == "env":
        return ctx.env("REGION")
    ctx.heartbeat({"at": 1})
    return http.get(url).text + str(ctx.last_progress())


@workflow(signals={"go": int}, promises={"answer": bool}, timeout="1h", commit="each", expose="mcp")
async def order(number: int, ctx: Context) -> list[object]:
    got = await ctx.signal("go", int)
    return [number, got, await ctx.call(fetch, "https://example.org", timeout="1m")]


@order.query
def status(shared: str) -> str:
    return shared


@activity
def speak(text: str, ctx: ActivityContext) -> int:
    stream = ctx.stream("log", content_type="text/plain")
    stream.append(text)
    stream.append(b"\n")
    ctx.cost("tokens", len(text) / 2)
    return stream.kept()


@workflow
async def tells(ctx: Context) -> None:
    ctx.stream("tokens").append({"a": 1})
    ctx.stream("tokens").close()


@activity
def listen(url: str, ctx: ActivityContext) -> str:
    with ctx.http_open("GET", url) as response:
        for event in response.events():
            if url == "first":
                return event.data
    return "end"


@workflow
async def breaks(ctx: Context) -> None:
    raise ValueError("broken")


class Cart(Object):
    total: State[int]

    @exclusive
    async def add(self, number: int) -> int:
        self.total.set(number)
        return await self.total.get() or 0


class Run(Object):
    @once(commit="each", expose="mcp")
    async def run(self) -> str:
        return self.key


class Host:
    """Answers what the component asks, and keeps it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.commands = 0
        self.types: Any = None

    def ask(self, interface: str, function: str, given: tuple[Any, ...]) -> Any:
        if function == "now":
            return 1_000
        self.asked.append((function, *given))
        if function == "key":
            return "ada"
        if (interface, function) == ("activity", "http"):
            return self.types.HttpResponse(200, [("a", "b")], b"body")
        if interface == "http_bodies":
            return self.body(function, *given)
        if interface == "activity_streams" and getattr(given[-1], "value", None) == '"refused"':
            raise fake_component.Refused(self.types.Failure(413, "too large", None))
        if (interface, *given) == ("costs", "tokens", 2_000_000):
            raise fake_component.Refused(self.types.Failure(400, "too much", None))
        if function == "kept":
            return 7
        if function == "env":
            raise fake_component.Refused(self.types.Failure(403, "`REGION` is not set", None))
        if function in ("log", "finish", "forget", "heartbeat", "unread"):
            return None
        self.commands += 1
        return self.commands - 1

    def body(self, function: str, *given: Any) -> Any:
        if function == "open":
            return self.types.ResponseHead(4, 200, [("a", "b")])
        if function == "close":
            return None
        self.pieces = getattr(self, "pieces", [b"data: \xc3", b"\xa9\n\n"])
        if not self.pieces:
            raise fake_component.Refused(self.types.Failure(502, "it broke", None))
        return self.pieces.pop(0)

    def last(self, function: str) -> tuple[Any, ...]:
        return [one for one in self.asked if one[0] == function][-1]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    known = set(sys.modules)
    host = Host()
    host.types = fake_component.install(host.ask)
    yield host
    for name in set(sys.modules) - known:
        if name.startswith(("wit_world", "componentize", "segno_sdk.component")):
            del sys.modules[name]
    segno_sdk.__dict__.pop("component", None)
    guards.uninstall()
    logs.uninstall()


@pytest.fixture
def exports(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    import random

    from segno_sdk import component
    from segno_sdk.core import defect

    state, urandom = random.getstate(), os.urandom
    monkeypatch.setattr(defect, "author_folder", None)

    def stop() -> None:
        raise SystemExit("aborted")

    monkeypatch.setattr(os, "abort", stop)
    app = ModuleType("app")
    app.__file__ = __file__
    app.__dict__.update(
        fetch=fetch, order=order, speak=speak, listen=listen, tells=tells, breaks=breaks, Cart=Cart, Run=Run
    )
    yield {one.__name__: one() for one in component.export(app)}
    random.setstate(state)
    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]


def context(host: Host) -> Any:
    return host.types.Context("o-1", None, 1_000, list(range(32)))


def json_of(host: Host, value: Any) -> Any:
    return host.types.Payload_Json(json.dumps(value))


def test_the_module_is_described(host: Host, exports: dict[str, Any]) -> None:
    described = {one.name: one for one in exports["Functions"].describe()}
    assert list(described) == ["fetch", "order", "speak", "listen", "tells", "breaks", "Cart/add", "Run/run"]
    assert (described["fetch"].summary, described["fetch"].retry.max_attempts) == ("Fetches.", 3)
    assert json.loads(described["order"].input_schema) == {"type": "integer"}
    assert (described["order"].signals, described["order"].timeout_ms, described["breaks"].signals) == (
        True,
        3_600_000,
        False,
    )
    messages = exports["Messages"].describe_messages()
    assert [(one.function, one.kind.name, one.name) for one in messages] == [
        ("order", "SIGNAL", "go"),
        ("order", "PROMISE", "answer"),
    ]
    assert [(one.function, one.access.name) for one in exports["Objects"].describe_objects()] == [
        ("Cart/add", "EXCLUSIVE"),
        ("Run/run", "EXCLUSIVE"),
    ]
    assert exports["Runs"].describe_runs() == ["Run/run"]
    assert [one.name for one in exports["Handlers"].describe_handlers()] == ["status"]
    assert exports["Commits"].describe_commits() == ["order", "Run/run"]
    offers = exports["Exposures"].describe_exposures()
    assert [(one.function, one.protocol) for one in offers] == [("fetch", "mcp"), ("order", "mcp"), ("Run/run", "mcp")]
    (limit,) = exports["Limits"].describe_limits()
    assert (limit.function, limit.per_key.concurrency, limit.per_key.rate.period_ms) == ("fetch", 2, 1_000)


def test_a_workflow_is_started_and_told(host: Host, exports: dict[str, Any]) -> None:
    functions, types = exports["Functions"], host.types
    functions.start("order", json_of(host, 7), context(host))
    assert host.commands == 0
    functions.resume(types.Event_Signal(types.Signal("go", json_of(host, 3))))
    call = host.last("call")
    assert (call[1], call[2].value, call[3].timeout_ms) == ("fetch", '"https://example.org"', 60_000)
    functions.resume(types.Event_Completed(types.Completion(0, types.Outcome_Success(json_of(host, "done")))))
    assert host.last("finish")[1].value.value == '[7,3,"done"]'


def test_a_failure_of_a_call_is_told(host: Host, exports: dict[str, Any]) -> None:
    functions, types = exports["Functions"], host.types
    functions.start("order", json_of(host, 7), context(host))
    functions.resume(types.Event_Signal(types.Signal("go", json_of(host, 3))))
    failure = types.Outcome_Failure(types.Failure(402, "declined", json_of(host, {"a": 1})))
    functions.resume(types.Event_Completed(types.Completion(0, failure)))
    ended = host.last("finish")[1].value
    assert (ended.code, ended.message, ended.details.value) == (402, "declined", '{"a":1}')


def test_a_defect_is_reported_with_its_place(host: Host, exports: dict[str, Any]) -> None:
    with pytest.raises(SystemExit):
        exports["Functions"].start("breaks", json_of(host, None), context(host))
    first, second = host.last("log")[2].split("\n")[:2]
    assert first.startswith("panicked at ") and "test_component.py:" in first and second == "ValueError: broken"


def test_the_host_is_told_where_the_author_asked_for_a_command_at_which_it_stops(
    host: Host, exports: dict[str, Any]
) -> None:
    host.commands = 0xFFFF_FFFE
    exports["Functions"].start("Cart/add", json_of(host, 7), context(host))
    lead, first, *_ = host.last("log")[2].split("\n")
    place = re.fullmatch(r"    at Cart.add \((?:tests/)?test_component.py:(\d+)\)", first)
    assert lead == "asked at" and place is not None, first
    line = Path(__file__).read_text().splitlines()[int(place[1]) - 1]
    assert "self.total.set(number)" in line


def test_an_activity_is_performed(host: Host, exports: dict[str, Any]) -> None:
    facts = host.types.ActivityContext("o-1/0", "key", 3, 1, json_of(host, 5), 1_000, None)
    outcome = exports["Functions"].perform("fetch", json_of(host, "https://example.org"), facts)
    assert outcome.value.value == '"body5"'
    assert host.last("heartbeat")[1].value == '{"at":1}'
    refused = exports["Functions"].perform("fetch", json_of(host, "env"), facts).value
    assert (refused.code, refused.message) == (403, "`REGION` is not set")


def test_the_state_of_an_object_is_asked_for(host: Host, exports: dict[str, Any]) -> None:
    exports["Functions"].start("Cart/add", json_of(host, 7), context(host))
    assert [(one[0], one[1]) for one in host.asked if one[0] in ("set", "get")] == [("set", "total"), ("get", "total")]


def test_streams_are_written(host: Host, exports: dict[str, Any]) -> None:
    exports["Functions"].start("tells", json_of(host, None), context(host))
    (append, close) = (host.last("append"), host.last("close"))
    assert (append[1:3], append[3].value) == (("tokens", "application/json"), '{"a":1}')
    assert close[1:] == ("tokens", "application/json")
    host.commands = 0xFFFF_FFFE
    exports["Functions"].start("tells", json_of(host, None), context(host))
    assert [one[2].split("\n")[0] for one in host.asked if one[0] == "log"] == ["asked at"]
    facts = host.types.ActivityContext("o-1/0", "key", 3, 1, None, 1_000, None)
    assert exports["Functions"].perform("speak", json_of(host, "a"), facts).value.value == "7"
    text, data = [one for one in host.asked if one[0] == "append"][-2:]
    assert (text[1:3], text[3].value) == (("log", "text/plain"), '"a"')
    assert (type(data[3]).__name__, data[3].value) == ("Payload_Bytes", b"\n")
    assert host.last("report") == ("report", "tokens", 500_000)
    refused = exports["Functions"].perform("speak", json_of(host, "four"), facts).value
    assert (refused.code, refused.message) == (400, "too much")
    refused = exports["Functions"].perform("speak", json_of(host, "refused"), facts).value
    assert (refused.code, refused.message) == (413, "too large")


def test_a_body_is_read_in_pieces(host: Host, exports: dict[str, Any]) -> None:
    facts = host.types.ActivityContext("o-1/0", "key", 3, 1, None, 1_000, None)
    assert exports["Functions"].perform("listen", json_of(host, "first"), facts).value.value == '"é"'
    assert [one[0] for one in host.asked[-4:]] == ["open", "read", "read", "close"]
    assert host.asked[-2:] == [("read", 4, 65_536), ("close", 4)]
    broken = exports["Functions"].perform("listen", json_of(host, "all"), facts).value
    assert (broken.code, broken.message) == (502, "it broke")
    assert host.asked[-1][0] == "read", "a body that failed is closed"


def test_a_query_is_answered(host: Host, exports: dict[str, Any]) -> None:
    exports["Functions"].start("order", json_of(host, 7), context(host))
    told = exports["Handlers"].query("status", json_of(host, None))
    assert (told.value.code, "has not shared anything yet" in told.value.message) == (425, True)
    assert exports["Handlers"].validate("other", json_of(host, None)).code == 404


def test_a_module_without_functions_is_refused(host: Host) -> None:
    from segno_sdk import component

    with pytest.raises(TypeError, match="app.py has no functions"):
        component.export(ModuleType("app"))


def test_a_failure_keeps_its_code() -> None:
    assert Failure(402, "x").code == 402


def test_a_rehearsal_comes_to_its_end_and_leaves_nothing_behind(host: Host) -> None:
    import random

    from segno_sdk.component.rehearsal import ROUNDS, rehearse
    from segno_sdk.core import current
    from segno_sdk.core.engine import Success

    def seen() -> list[object]:
        return [random.getstate(), os.urandom, current.running, sys.get_coroutine_origin_tracking_depth()]

    before = seen()
    assert rehearse() == [Success("[2,3,4]"), Success("2")] * ROUNDS
    assert seen() == before
    assert host.asked == []


def test_a_module_that_replaced_what_a_rehearsal_needs_is_loaded(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    from segno_sdk.component.rehearsal import rehearse
    from segno_sdk.core import execution

    monkeypatch.setattr(execution, "decoded", None)
    assert rehearse() == []
