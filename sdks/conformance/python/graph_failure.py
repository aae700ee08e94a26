"""A node of a graph fails: those that need it do not run, the others finish, and a workflow reads the report."""

from typing import Any

from segno_sdk import Context, Failure, GraphBuilder, Output, activity, graph, workflow


@activity
def refuse(what: str) -> str:
    raise Failure(409, f"no {what}", {"what": what})


@activity
def accept(what: str) -> str:
    return what


@graph
def breaks(g: GraphBuilder) -> list[Output[str]]:
    fine = g.call("fine", accept, "tea")
    after = g.call("after", accept, g.call("wrong", refuse, "milk"))
    return [after, g.call("end", accept, "sugar", after=[after, g.sleep("rest", "50ms", after=fine)])]


@workflow(name="graph-failure")
async def graph_failure(ctx: Context) -> list[Any]:
    told: list[Any] = []
    fast = {"nodes": {"slow": {"sleep": "1d"}, "wrong": {"call": "refuse", "input": "salt"}}, "on_failure": "fail-fast"}
    for call in (
        lambda: ctx.call(breaks),
        lambda: ctx.graph({"nodes": {"a": {"call": "accept", "needs": ["b"]}}}),
        lambda: ctx.graph(fast),
    ):
        try:
            await call()
        except Failure as failure:
            told.append([failure.code, failure.message, failure.details])
    return told
