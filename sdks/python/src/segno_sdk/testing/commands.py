"""The commands of executions in a test, as a host would execute them."""

import json
from typing import TYPE_CHECKING

from ..codec import decoded, plain
from ..core.budget import BUDGET_FUNCTION, BUDGET_LABEL
from ..core.engine import CancelRequested, Completed, FailureRecord, Outcome, Success
from ..core.failure import CANCELLED, TIMED_OUT, Failure
from ..core.function import Activity, Workflow
from ..core.options import Retry
from ..core.stream import OF_OBJECT
from ..core.stream_reader import STREAM_FUNCTION
from .attempts import PlannedAttempt, http_attempt
from .graph.plan import read_plan
from .graph.run import GRAPH, GraphRun
from .invocation import Invocation
from .journal import Request
from .objects import NULL, ObjectCall, TestObject

if TYPE_CHECKING:
    from .world import World


def perform(world: "World", invocation: Invocation, request: Request) -> None:
    """Executes a command."""
    id, index = invocation.id, request.index
    child = f"{invocation.facts.invocation}/{index}"
    if request.kind in ("call", "send", "http"):
        limits = dict(request.options.labels).get(BUDGET_LABEL)
        refused = world.budgets.open(request.promise or child, limits, id)
        if refused is not None:
            return world.answer(world.now_ms, id, index, refused)
    match request.kind:
        case "call":
            call(world, invocation, request, request.promise or child)
        case "send":
            send(world, invocation, request, child)
        case "sleep":
            world.answer(max(world.now_ms, request.number), id, index, NULL)
        case "promise":
            make_promise(world, invocation, request)
        case "settle":
            world.answer(world.now_ms, id, index, world.settle(request.name, outcome_of(request)))
        case "http":
            assert request.http is not None
            child = request.promise or child
            subject = http_attempt(world.doubles, request.http, child)
            attempt_until_done(
                world,
                invocation,
                request,
                PlannedAttempt(request.name, subject, "null", id, child, request.options.retry or Retry(), False),
            )
            overdue(world, invocation, request, request.options.timeout_ms)
        case "cancel":
            cancel(world, invocation, request)
        case "send-signal":
            world.answer(world.now_ms, id, index, world.send_signal(request))
        case "publish":
            world.answer(world.now_ms, id, index, NULL)
        case "append-stream" | "close-stream":
            write_stream(world, invocation, request)
        case "run" | "unread" | "continue-as-new":
            pass
        case _:
            on_object(world, invocation, request)


def call(world: "World", invocation: Invocation, request: Request, child: str) -> None:
    """Calls a function: a stand-in, an activity, or a workflow as an execution of its own."""
    if request.name == BUDGET_FUNCTION and BUDGET_FUNCTION not in world.doubles.functions:
        return tell_budget(world, invocation, request, child)
    if request.name == STREAM_FUNCTION and STREAM_FUNCTION not in world.doubles.functions:
        world.reads.add(invocation, request.index, request.payload or "null")
        return overdue(world, invocation, request, request.options.timeout_ms)
    if request.name == GRAPH and GRAPH not in world.doubles.functions:
        return run_graph(world, invocation, request, child)
    called = ObjectCall.parse(request.name)
    name = called.name if called else request.name
    function = world.functions.get(name)
    double = world.doubles.functions.get(request.name) or world.doubles.functions.get(name)
    if double is None:
        check_listed(world, invocation, "calls", request, name)
    timeout_ms = (
        request.options.timeout_ms if request.options.timeout_ms is not None else getattr(function, "timeout_ms", None)
    )
    if double is None and isinstance(function, Workflow):
        if function.once and called is not None:
            refused = world.objects.setdefault(called.path, TestObject()).accept_run(child, called.path)
            if refused is not None:
                return world.answer(world.now_ms, invocation.id, request.index, refused)
        overdue(world, invocation, request, timeout_ms)
        parent = (invocation.id, request.index)
        world.expected.add(child)
        return world.decide(
            world.now_ms, lambda: world.begin(child, function, request.payload or "null", parent, called)
        )
    if double is None and function is None:
        missing = (
            "this test does not define: "
            if ":" in name
            else "neither its module nor this test defines: correct the name, or "
        )
        raise AssertionError(
            f"{request.at}: `{invocation.function.name}` calls `{request.name}`, which {missing}"
            f"add host.on({request.name!r}, lambda input: …)"
        )
    retry = request.options.retry or getattr(function, "retry", None) or Retry()
    is_final = isinstance(function, Workflow) or name == GRAPH
    attempt_until_done(
        world,
        invocation,
        request,
        PlannedAttempt(name, double or function, request.payload or "null", invocation.id, child, retry, is_final),
    )
    overdue(world, invocation, request, timeout_ms)


def tell_budget(world: "World", invocation: Invocation, request: Request, child: str) -> None:
    """Answers what is left."""

    def tell() -> None:
        world.answer(world.now_ms, invocation.id, request.index, Success(world.budgets.least(child)))

    world.decide(world.now_ms, tell)


def run_graph(world: "World", invocation: Invocation, request: Request, child: str) -> None:
    """Starts a run of a plan."""
    given = plain(request.payload or "null")
    try:
        run = GraphRun(world, child, read_plan(given["plan"]), given.get("input"))
    except Failure as failure:
        return world.answer(world.now_ms, invocation.id, request.index, FailureRecord(failure.code, failure.message))
    overdue(world, invocation, request, request.options.timeout_ms)
    parent = (invocation.id, request.index)
    world.expected.add(child)
    world.decide(world.now_ms, lambda: world.begin(child, run.workflow, "null", parent, None, is_graph=True))


def check_listed(world: "World", invocation: Invocation, does: str, request: Request, name: str) -> None:
    """Refuses functions that the module lacks: a host would answer 404."""
    if world.listed is None or name in world.listed or request.name.startswith("wasm://") or ":" in name:
        return
    raise AssertionError(
        f"{request.at}: `{invocation.function.name}` {does} `{name}`, which is not in the module of this test: a host would answer 404. "
        "Import it in app.py"
    )


def send(world: "World", invocation: Invocation, request: Request, child: str) -> None:
    """Starts a function that nobody waits for."""
    called = ObjectCall.parse(request.name)
    name = called.name if called else request.name
    function, double = world.functions.get(name), world.doubles.functions.get(name)
    check_listed(world, invocation, "sends", request, name)
    world.answer(world.now_ms, invocation.id, request.index, Success(json.dumps(child)))
    at_ms = max(world.now_ms, request.options.start_at_ms or 0)
    payload = request.payload or "null"
    if double is None and isinstance(function, Workflow):
        world.expected.add(child)
        world.decide(at_ms, lambda: world.begin(child, function, payload, None, called))
    elif double is not None or isinstance(function, Activity):
        planned = PlannedAttempt(name, double or function, payload, invocation.id, child, Retry.never(), True)
        world.decide(at_ms, lambda: planned.next(world))


def attempt_until_done(world: "World", invocation: Invocation, request: Request, planned: PlannedAttempt) -> None:
    """Makes attempts until one succeeds or none is left."""

    def attempt() -> None:
        if world.invocations.get(invocation.id) is not invocation or (invocation.id, request.index) not in world.open:
            return
        outcome = planned.next(world)
        if isinstance(outcome, int):
            world.decide(world.now_ms + outcome, attempt)
        else:
            world.complete(invocation.id, request.index, outcome)

    world.decide(world.now_ms, attempt)


def overdue(world: "World", invocation: Invocation, request: Request, timeout_ms: int | None) -> None:
    """Fails a command at its deadline, unless it was answered."""
    if timeout_ms is None:
        return

    def late() -> None:
        if world.invocations.get(invocation.id) is invocation and (invocation.id, request.index) in world.open:
            child = world.invocations.get(request.promise or f"{invocation.facts.invocation}/{request.index}")
            if child is not None and child.outcome is None:
                child.outcome = FailureRecord(TIMED_OUT, "its deadline passed")
                child.execution.abandon()
            world.complete(invocation.id, request.index, FailureRecord(TIMED_OUT, "timed out"))

    world.decide(world.now_ms + timeout_ms, late)


def make_promise(world: "World", invocation: Invocation, request: Request) -> None:
    """Makes a promise, which is settled as the test has planned."""
    world.promises.setdefault(request.promise, []).append((invocation.id, request.index))
    settled = world.settlements.get(request.promise)
    if settled is not None:
        world.answer(world.now_ms, invocation.id, request.index, settled)
    plan = next((plan for plan in world.planned if plan.name in (request.promise, request.name) and plan.name), None)
    if plan is not None:
        world.planned.remove(plan)
        codec = invocation.function.promises.get(request.name)
        if codec is not None and isinstance(plan.outcome, Success):
            # A host refuses the value to its sender.
            decoded(codec, plan.outcome.value, f"the value of the promise {request.name!r}")
        world.decide(world.now_ms + plan.after_ms, lambda: world.settle(request.promise, plan.outcome))
    overdue(world, invocation, request, request.timeout_ms)


def cancel(world: "World", invocation: Invocation, request: Request) -> None:
    """Cancels an earlier command."""
    child = world.invocations.get(f"{invocation.facts.invocation}/{request.number}")
    if child is not None:
        world.decide(world.now_ms, lambda: world.tell(child.id, CancelRequested()))
    else:
        world.answer(world.now_ms, invocation.id, request.number, FailureRecord(CANCELLED, "cancelled"))
    world.answer(world.now_ms, invocation.id, request.index, NULL)


def write_stream(world: "World", invocation: Invocation, request: Request) -> None:
    """Appends to a stream of the invocation, or closes it."""
    id, name = invocation.id, request.name.removeprefix(OF_OBJECT)
    owner, streams = id, world.streams
    if name != request.name:
        if invocation.path is None or invocation.function.access == "shared":
            raise AssertionError(
                f"{request.at}: a host would halt `{invocation.function.name}`: a function that is shared, or belongs to no "
                "object, writes a stream of an object"
            )
        owner = invocation.path
        streams = world.objects.setdefault(owner, TestObject()).streams
    try:
        if request.kind == "append-stream":
            streams.append(owner, name, request.content_type, request.payload or "", id)
        else:
            streams.close(owner, name, request.content_type)
    except Failure as refused:
        raise AssertionError(
            f"{request.at}: a host would halt `{invocation.function.name}`: {refused.message}"
        ) from None


def on_object(world: "World", invocation: Invocation, request: Request) -> None:
    """Reads or writes the state or the promises of the object."""
    if invocation.path is None:
        raise AssertionError(f"{request.at}: `{invocation.function.name}` is no function of an object: it has no state")
    place = world.objects.setdefault(invocation.path, TestObject())
    match request.kind:
        case "get-state":
            invocation.reads.append(Completed(request.index, Success(place.state.get(request.name, "null"))))
        case "state-keys":
            invocation.reads.append(Completed(request.index, place.names()))
        case "peek-object-promise":
            invocation.reads.append(Completed(request.index, place.peek(request.name)))
        case "set-state":
            place.state[request.name] = request.payload or "null"
        case "clear-state":
            place.state.pop(request.name, None)
        case "clear-all-state":
            place.state.clear()
        case "wait-object-promise":
            outcome = place.settled.get(request.name)
            if outcome is None:
                place.waiting.setdefault(request.name, []).append((invocation.id, request.index))
            else:
                world.answer(world.now_ms, invocation.id, request.index, outcome)
        case "settle-object-promise":
            answer = world.settle_of_object(invocation.path, request.name, outcome_of(request))
            world.answer(world.now_ms, invocation.id, request.index, answer)


def outcome_of(request: Request) -> Outcome:
    """The outcome with which a command settles something."""
    assert request.outcome is not None
    return request.outcome
