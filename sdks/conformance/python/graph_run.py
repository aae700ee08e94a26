"""A graph: nodes side by side, a person, a signal, a condition, a graph in a graph, and a workflow that is attempted twice."""

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
def graph_run(g: GraphBuilder, text: Place[str]) -> dict[str, Output[Any]]:
    joined = g.call("join", join, (g.call("first", weights, text), g.call("second", weigh, text)))
    tried = g.call("try", second_try, joined, retry=Retry(initial="50ms", max_attempts=3))
    approved = g.promise("approve", bool, shows={"joined": joined})
    released = g.signal("release", str, timeout="1h")
    rested = g.sleep("rest", "20ms", after=released)
    light = g.call("light", weigh, "light", when=joined.below(3) | approved.is_(False))
    heavy = g.call("heavy", weigh, "heavy", when=joined.at_least(3) & approved.is_(True), after=rested)
    return {"tried": tried, "approved": approved, "released": released, "light": light, "heavy": heavy}
