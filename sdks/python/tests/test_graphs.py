"""Graphs in code: their plans, and their runs by the rules of a host."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from segno_sdk import (
    Context,
    Failure,
    GraphBuilder,
    Output,
    Place,
    Retry,
    activity,
    graph,
    workflow,
)
from segno_sdk.core.graph.template import part_of
from segno_sdk.testing import TestHost
from segno_sdk.testing.graph.plan import read_plan
from segno_sdk.testing.graph.progress import holds


@dataclass
class Sources:
    north: str
    south: str


@dataclass
class Rows:
    rows: int


@activity
def fetch_rows(source: str) -> Rows:
    return Rows(len(source))


@activity
def merge(both: tuple[Rows, Rows]) -> Rows:
    return Rows(both[0].rows + both[1].rows)


@activity
def report(rows: Rows) -> str:
    return f"{rows.rows} rows"


@graph
def prices(g: GraphBuilder, sources: Place[Sources]) -> Output[str | None]:
    """Fetches two lists."""
    north = g.call("north", fetch_rows, sources.at("north"))
    south = g.call("south", fetch_rows, sources.at("south"), retry=Retry(max_attempts=3, initial="1s"), timeout="1m")
    merged = g.call("merge", merge, (north, south))
    return g.call("report", report, merged, when=merged.at("rows").above(2))


def test_a_graph_is_a_plan_of_its_nodes() -> None:
    assert (prices.kind, prices.summary, prices.name) == ("workflow", "Fetches two lists.", "prices")
    retry = {"initial": "1000ms", "factor": 2.0, "max": "60000ms", "max_attempts": 3}
    assert prices.plan() == {
        "name": "prices",
        "outputs": ["report"],
        "nodes": {
            "north": {"call": "fetch_rows", "input": {"$from": "input", "at": "/north"}},
            "south": {
                "call": "fetch_rows",
                "input": {"$from": "input", "at": "/south"},
                "timeout": "60000ms",
                "retry": retry,
            },
            "merge": {"call": "merge", "input": [{"$from": "north"}, {"$from": "south"}], "needs": ["north", "south"]},
            "report": {
                "call": "report",
                "input": {"$from": "merge"},
                "when": {"from": "merge", "at": "/rows", "above": 2},
                "needs": ["merge"],
            },
        },
    }


def test_a_graph_runs_in_virtual_time_and_a_skipped_node_gives_none() -> None:
    host = TestHost()
    assert host.run(prices, Sources("a", "bb")) == "3 rows"
    assert host.calls(merge) == [(Rows(1), Rows(2))]
    assert host.journal("test/0") == []
    assert [record["kind"] for record in host.journal()] == ["started", "command", "notified", "finished"]
    assert TestHost().run(prices, Sources("", "b")) is None


@activity
def draft(topic: str) -> str:
    if topic == "":
        raise Failure(422, "there is no topic")
    return f"all about {topic}"


@activity
def publish(text: str) -> int:
    return len(text)


@graph
def article(g: GraphBuilder, topic: Place[str]) -> tuple[Output[bool], Output[int | None]]:
    text = g.call("draft", draft, topic)
    approved = g.promise("approve", bool, shows={"text": text}, timeout="7d")
    release = g.signal("release", signal="released")
    return approved, g.call("publish", publish, text, after=release, when=approved.is_(True))


def test_people_and_signals_take_part_by_the_name_of_the_node_or_by_id() -> None:
    host = TestHost()
    host.promise("approve").after("1d").resolve(True)
    host.promise("sig/released").after("2d").resolve(None)
    assert host.run(article, "hats") == (True, 14)
    assert host.elapsed == timedelta(days=2)
    host = TestHost()
    host.promise("test/0/n/approve/0").resolve(False)
    host.promise("test/0/sig/released").resolve(None)
    assert host.run(article, "hats") == (False, None)
    with pytest.raises(AssertionError, match=r"`article` \(test/0\): command 0, promise `sig/released`"):
        TestHost().run(article, "hats")


def test_a_failure_closes_the_nodes_that_need_it() -> None:
    host = TestHost()
    host.promise("sig/released").resolve(None)
    with pytest.raises(Failure) as failed:
        host.run(article, "")
    assert (failed.value.code, failed.value.message) == (500, "node `draft` failed: there is no topic")
    detail = {"code": 422, "message": "there is no topic"}
    assert failed.value.details == {"failed": {"draft": detail}, "not_run": ["approve", "publish"]}
    late = TestHost()
    late.promise("sig/released").resolve(None)
    with pytest.raises(Failure, match="node `approve` failed: timed out"):
        late.run(article, "hats")
    assert late.elapsed == timedelta(days=7)


@pytest.mark.parametrize(("fail_fast", "seconds"), [(True, 0), (False, 60)])
def test_a_failure_ends_the_run_at_once_or_lets_the_others_finish(fail_fast: bool, seconds: int) -> None:
    @graph(fail_fast=fail_fast)
    def both(g: GraphBuilder) -> list[Output[Any]]:
        return [g.call("a", draft, ""), g.sleep("b", "1m")]

    host = TestHost()
    with pytest.raises(Failure, match="node `a` failed"):
        host.run(both)
    assert host.elapsed == timedelta(seconds=seconds)


def test_at_most_so_many_nodes_run_at_the_same_time() -> None:
    @graph(max_parallel=2)
    def four(g: GraphBuilder) -> list[Output[None]]:
        return [g.sleep(name, "1h") for name in "abcd"]

    host = TestHost()
    assert host.run(four) == [None] * 4
    assert host.elapsed == timedelta(hours=2)


def test_workflows_are_attempted_again_as_new_executions_and_graphs_call_graphs() -> None:
    @workflow
    async def flaky(ctx: Context) -> str:
        await ctx.sleep("1s")
        if not ctx.id.endswith("/2"):
            raise Failure(500, "again")
        return ctx.id

    @graph
    def inner(g: GraphBuilder) -> Output[str]:
        return g.call("flaky", flaky, retry=Retry(initial="10s", max_attempts=3))

    @graph
    def outer(g: GraphBuilder) -> dict[str, Output[str]]:
        return {"one": g.call("one", inner)}

    host = TestHost()
    assert host.run(outer) == {"one": "test/0/n/one/0/0/n/flaky/2"}
    assert host.elapsed == timedelta(seconds=33)

    @graph
    def twice(g: GraphBuilder) -> Output[str]:
        return g.call("flaky", flaky, retry=Retry(initial="10s", max_attempts=2))

    host = TestHost()
    with pytest.raises(Failure, match="node `flaky` failed: again"):
        host.run(twice)
    assert host.elapsed == timedelta(seconds=12)


@graph
def asks(g: GraphBuilder, url: Place[Any]) -> Output[str]:
    asked = g.http("ask", "post", url, headers={"x-a": "b"}, json={"url": url})
    return g.call("report", draft, asked.at("body"))


def test_requests_are_nodes() -> None:
    host = TestHost()
    host.on_http("POST", "https://example.com", {"a": 1})
    assert host.run(asks, "https://example.com/a") == 'all about {"a":1}'
    [request] = host.requests
    assert request.json() == {"url": "https://example.com/a"}
    assert request.header("idempotency-key") == "test/0/n/ask/0"
    with pytest.raises(Failure, match="node `ask` failed: the url of the request is no text: 7"):
        TestHost().run(asks, 7)


def test_a_cancelled_workflow_ends_with_its_graph() -> None:
    @graph
    def waits(g: GraphBuilder) -> Output[None]:
        return g.sleep("wait", "1d")

    host = TestHost()
    host.cancel_after("1h")
    with pytest.raises(Failure) as failed:
        host.run(waits)
    assert failed.value.code == 499
    assert host.elapsed == timedelta(hours=1)


def _other() -> Output[Any]:
    return GraphBuilder().call("x", publish, "a")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda g: [g.call("a", publish, "a"), g.call("a", publish, "a")], "there are two nodes `a`"),
        (lambda g: g.call("a b", publish, "a"), "'a b' is no name of a node"),
        (lambda g: g.call("input", publish, "a"), "'input' is no name of a node"),
        (lambda g: g.call("a", publish, "a", retries=1), "unexpected keyword argument 'retries'"),
        (lambda g: g.call("a", publish, "a", retry=Retry(jitter=1)), "`retry` of the node `a` has no `jitter`"),
        (lambda g: g.call("a", publish, "a", retry=Retry(), once=True), "what begins once is not repeated"),
        (lambda g: g.call("a", publish, _other()), "the output of `x` belongs to another graph"),
        (lambda g: g.call("a", publish, "a", when=True), "`when` of the node `a` takes a condition"),
        (lambda g: g.call("a", publish, "a", after=["b"]), "`after` of the node `a` takes outputs"),
        (lambda g: g.call("a", publish, 7), "the input of the node `a` is 7, a int: its annotation says str"),
        (lambda g: g.call("a", "f", {"$from": "b"}), r"a field '\$from'"),
        (lambda g: g.call("a", lambda: 1), "is a plain function: put @activity"),
        (lambda g: g.sleep("a", "soon"), "the length of the node `a` is 'soon'"),
        (lambda g: 1 if g.call("a", publish, "a") else 2, "is known only when the graph runs"),
        (lambda g: g.call("a", publish, "a", when=g.sleep("s", 1).is_(1) and None), "join conditions with `&`"),
        (lambda g: 1, "returns no output of a node"),
    ],
)
def test_a_graph_that_makes_no_sense_is_refused_at_its_line(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"test_graphs.py:\d+: the graph `wrong`: .*{message}"):
        graph(name="wrong")(build).built()


def test_declarations_that_make_no_sense_are_refused() -> None:
    async def waits(g: GraphBuilder) -> None: ...

    def three(g: GraphBuilder, a: int, b: int) -> None: ...

    with pytest.raises(TypeError, match=r"test_graphs.py:\d+: the graph `waits` has to be a `def`"):
        graph(waits)
    with pytest.raises(TypeError, match="the graph `three` takes a `GraphBuilder` and at most one input"):
        graph(three)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_parallel is 0"):
        graph(max_parallel=0)


def test_a_worker_is_called_by_its_address_and_a_dataclass_may_have_outputs() -> None:
    @graph
    def calls(g: GraphBuilder) -> Output[Any]:
        rows: Any = g.call("rows", fetch_rows, "abc").at("rows")
        merged = g.call("merge", merge, (Rows(rows), {"rows": 1}))
        return g.call("charge", "poll://any@group#charge", [merged])

    nodes = calls.plan()["nodes"]
    charge = {"call": "poll://any@group", "function": "charge", "input": [{"$from": "merge"}], "needs": ["merge"]}
    assert nodes["charge"] == charge
    assert nodes["merge"]["input"] == [{"rows": {"$from": "rows", "at": "/rows"}}, {"rows": 1}]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"nodes": {}}, "^nodes: a plan has at least one node"),
        ({"nodes": {"a": {"call": "f", "needs": ["b"]}}}, "^nodes.a.needs: there is no node `b`: add it, or remove it here"),
        ({"nodes": {"a": {}}}, "the node does nothing: write exactly one of `call`"),
        ({"nodes": {"a": {"call": "f", "sleep": "1s"}}}, "the node has `call`, `sleep`: keep exactly one"),
        ({"nodes": {"a": {"sleep": "1s", "retry": {}}}}, "`retry` is only for `call`, `http`: remove it"),
        ({"nodes": {"a": {"call": "f", "input": {"$from": "b"}}, "b": {"call": "f"}}}, "`b` is not among the `needs`"),
        ({"nodes": {"a": {"call": "f", "needs": ["b"]}, "b": {"call": "f", "needs": ["a"]}}}, "has a cycle, `a` → `b` → `a`"),
        ({"nodes": {"a": {"call": "f", "timeout": "soon"}}, "max_parallel": 0, "x": 1}, "(?s)no field `x`.*max_parallel.*nodes.a.timeout"),
        ({"nodes": {"a": {"call": "f"}}, "on_failure": "stop"}, "`stop` is no policy"),
    ],
)  # fmt: skip
def test_a_plan_is_read_as_a_host_reads_it(plan: Any, message: str) -> None:
    with pytest.raises(Failure, match=message) as failed:
        read_plan(plan)
    assert failed.value.code == 422

    @workflow
    async def runs(ctx: Context) -> None:
        await ctx.graph(plan)

    with pytest.raises(Failure, match=message):
        TestHost().run(runs)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"from": "a", "at": "/n", "above": 1}, True),
        ({"from": "a", "at": "/n", "at_least": 2}, True),
        ({"from": "a", "at": "/n", "below": 2}, False),
        ({"from": "a", "at": "/t", "at_most": 9}, False),
        ({"from": "a", "at": "/b", "at_least": 0}, False),
        ({"from": "a", "at": "/l", "is": [{"b": 1}]}, True),
        ({"from": "a", "at": "/l", "is_not": [{"b": 2}]}, True),
        ({"from": "a", "at": "/b", "is": 1}, False),
        ({"from": "a", "at": "/none", "is": None}, True),
        ({"from": "a", "at": "/null", "exists": True}, True),
        ({"from": "a", "at": "/none", "exists": False}, True),
        ({"from": "a", "at": "/x~1y", "is": 1}, True),
        ({"all": [{"from": "a", "at": "/n", "is": 2}, {"not": {"from": "a", "at": "/t", "is": "x"}}]}, False),
        ({"any": [{"from": "a", "at": "/n", "is": 3}, {"from": "a", "at": "/t", "is": "x"}]}, True),
    ],
)
def test_conditions_compare_values_of_the_same_type(condition: Any, expected: bool) -> None:
    values = json.loads('{"n": 2, "t": "x", "b": true, "l": [{"b": 1}], "null": null, "x/y": 1}')
    assert holds(condition, lambda origin, at: part_of(values, at)) is expected
