"""Graphs: runs that end well, and a run of which a node fails."""

from typing import Any

from segno_sdk import Context, Failure, GraphBuilder, Output, Place, Retry, activity, graph, workflow


@activity
def weigh(text: str) -> int:
    return len(text)


@activity
def join(both: tuple[int, int]) -> int:
    return both[0] + both[1]


@workflow(name="second-try")
async def second_try(weight: int, ctx: Context) -> int:
    doubled = await ctx.run("double", lambda: weight * 2)
    if ctx.id.endswith("/0"):
        raise Failure(503, "not at once")
    return doubled


@graph
def weights(g: GraphBuilder, text: Place[str]) -> Output[int]:
    return g.call("join", join, (g.call("left", weigh, text), 1))


@graph(name="graph-run", max_parallel=4)
def graph_run(g: GraphBuilder, text: Place[str]) -> tuple[Output[int], Output[int | None], Output[int | None]]:
    joined = g.call("join", join, (g.call("first", weights, text), g.call("second", weigh, text)))
    tried = g.call("try", second_try, joined, retry=Retry(initial="50ms", max_attempts=3))
    approved = g.promise("approve", bool, shows=joined)
    released = g.signal("release", str, timeout="1h")
    rested = g.sleep("rest", "20ms", after=released)
    light = g.call("light", weigh, "light", when=joined.below(3) | approved.is_(False))
    heavy = g.call("heavy", weigh, "heavy", when=joined.at_least(3) & approved.is_(True), after=rested)
    return tried, light, heavy


@activity
def refuse(drink: str) -> str:
    raise Failure(409, f"no {drink}", {"drink": drink})


@activity
def accept(drink: str) -> str:
    return drink


@graph
def breaks(g: GraphBuilder) -> tuple[Output[str], Output[str]]:
    fine = g.call("fine", accept, "tea")
    after = g.call("after", accept, g.call("wrong", refuse, "milk"))
    return after, g.call("end", accept, "sugar", after=[after, g.sleep("rest", "50ms", after=fine)])


@workflow(name="graph-failure")
async def graph_failure(ctx: Context) -> list[Any]:
    slow = {"nodes": {"slow": {"sleep": "1d"}, "wrong": {"call": "refuse", "input": "salt"}}, "on_failure": "fail-fast"}
    failures: list[Any] = []
    for call in (
        lambda: ctx.call(breaks),
        lambda: ctx.graph({"nodes": {"a": {"call": "accept", "needs": ["b"]}}}),
        lambda: ctx.graph(slow),
    ):
        try:
            await call()
        except Failure as failure:
            failures.append([failure.code, failure.message, failure.details])
    return failures
