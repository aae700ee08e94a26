"""The shim of Python over a host of a few lines. Usage: python3 python.py FOLDER"""

import dataclasses
import importlib
import math
import random
import sys
import types as modules
from types import SimpleNamespace

folder = sys.argv[1]


def module(name):
    sys.modules[name] = modules.ModuleType(name)
    return sys.modules[name]


module("componentize_py_types").Err = type("Err", (Exception,), {})
types = module("wit_types")
for name, fields in {
    "Payload_Json": "value",
    "Outcome_Success": "value",
    "Outcome_Failure": "value",
    "Failure": "code message details",
    "Completion": "command outcome",
    "Event_Completed": "value",
    "Event_Signal": "value",
    "Event_Cancelled": "",
    "Signal": "name payload",
    "RetryOptions": "initial_ms factor max_ms jitter max_attempts non_retryable",
    "CallOptions": "timeout_ms retry start_at_ms labels",
    "PromiseOptions": "timeout_ms",
    "HttpRequest": "method url headers body",
    "RunAnswer_Execute": "value",
    "RunAnswer_Recorded": "value",
}.items():
    setattr(types, name, dataclasses.make_dataclass(name, fields.split()))
types.Level = SimpleNamespace(ERROR="error", INFO="info")
types.FunctionKind = SimpleNamespace(WORKFLOW="workflow", ACTIVITY="activity")

said = []


def command(name):
    def ask(*given):
        said.append((name, *given))
        return sum(1 for what, *_ in said if what in ("call", "sleep", "promise", "http", "cancel")) - 1

    return ask


module("wit_world")
imports, exports = module("wit_world.imports"), module("wit_world.exports")
imports.types = types
imports.journal = SimpleNamespace(
    call=command("call"),
    sleep_until=command("sleep"),
    promise=lambda *given: (command("promise")(*given), "w/p/p"),
    http=command("http"),
    cancel=command("cancel"),
    now=lambda: 1_000,
    run=lambda name: getattr(types, f"RunAnswer_{name}")(0),
    run_done=lambda *_: None,
    forget=lambda _: None,
    log=lambda *_: None,
    finish=lambda outcome: said.append(("finish", getattr(outcome.value, "value", outcome.value))),
)
imports.signals = SimpleNamespace(unread=lambda numbers: said.append(("unread", numbers)))
imports.generations = SimpleNamespace(continue_as_new=lambda value, same: said.append(("next", value.value, same)))
for name in ["activity", "configuration", "files", "object_promises", "sagas", "state"]:
    setattr(imports, name, SimpleNamespace())
exports.messages = exports.objects = SimpleNamespace()
sys.path.insert(0, folder)
sys.dont_write_bytecode = True
segno = None


def run(workflow, *events):
    global segno
    said.clear()
    sys.modules.pop("segno", None)
    segno = importlib.import_module("segno")
    segno.workflow()(workflow)
    functions = segno.Functions()
    functions.start(workflow.__name__, types.Payload_Json("1"), SimpleNamespace(invocation="w", seed=list(range(32))))
    for event in events:
        functions.resume(event)
    return list(said)


def outcome(workflow, *events):
    return run(workflow, *events)[-1]


def signal(value):
    return types.Event_Signal(types.Signal("go", types.Payload_Json(str(value))))


def done(index):
    return types.Event_Completed(types.Completion(index, types.Outcome_Success(types.Payload_Json("null"))))


# A wait that lost a race takes nothing: the next one does, at once and later.
async def raced(_, ctx):
    await segno.race(ctx.signal(), ctx.sleep(5))
    return (await ctx.signal())[1]


assert outcome(raced, done(0), signal(7)) == ("finish", "7")


async def timed(_, ctx):
    try:
        await ctx.timeout(5, ctx.signal())
    except segno.Failure as late:
        assert late.code == 408
    await ctx.sleep(9)
    return (await ctx.signal())[1]


assert outcome(timed, done(0), signal(7), done(1)) == ("finish", "7")


# Also in a coroutine, in races of races, and in a race of the author's, which nobody sees.
async def nested(_, ctx):
    async def both():
        return await segno.gather(ctx.signal(), segno.race(ctx.signal(), ctx.call("f", 1)))

    await segno.race(both(), ctx.sleep(5))
    await ctx.sleep(6)
    return (await ctx.signal())[1]


assert outcome(nested, done(0), signal(7), done(2)) == ("finish", "7")


async def own(_, ctx):
    first = segno.Future()

    async def one(awaited):
        value = await awaited
        if not first._settled:
            first.settle(value)

    segno.spawn(one(ctx.signal()))
    segno.spawn(one(ctx.sleep(5)))
    await first
    return (await ctx.signal())[1]


assert outcome(own, done(0), signal(7)) == ("finish", "7")


# One that is kept goes on waiting where it is used again.
async def kept(_, ctx):
    following = ctx.signal()
    await segno.race(following, ctx.sleep(5))
    await ctx.sleep(7)
    return (await segno.race(following, ctx.sleep(5)))[1]


assert outcome(kept, done(0), signal(7), done(1)) == ("finish", "7")


# What was there and lost is there again.
async def there(_, ctx):
    await ctx.sleep(1)
    ready = segno.Future()
    ready.settle("now")
    return [await segno.race(ready, ctx.signal()), (await ctx.signal())[1]]


assert outcome(there, signal(7), done(0)) == ("finish", '["now",7]')


# Nobody is given the signal of another, and none twice.
async def two(_, ctx):
    return [value for _, value in await segno.gather(ctx.signal(), ctx.signal())]


assert outcome(two, signal(1), signal(2)) == ("finish", "[1,2]")


async def cancelled(_, ctx):
    try:
        await ctx.signal()
    except segno.Failure as failure:
        return failure.code


assert outcome(cancelled, types.Event_Cancelled()) == ("finish", "499")


# What nobody read is said at the end.
async def leaves(_, ctx):
    await ctx.signal()
    await ctx.sleep(1)


assert run(leaves, signal(1), signal(2), signal(3), done(0))[1:] == [("unread", [1, 2]), ("finish", "null")]


async def continues(_, ctx):
    await ctx.sleep(1)
    return ctx.continue_as_new({"n": 2}, same_code=True)


assert run(continues, signal(1), done(0))[1:] == [("unread", [0]), ("next", '{"n":2}', True)]


# A command is cancelled by its future, which fails.
def failed(index):
    return types.Event_Completed(types.Completion(index, types.Outcome_Failure(types.Failure(499, "cancelled", None))))


for name, asks in {
    "call": lambda ctx: ctx.call("f", 1),
    "sleep": lambda ctx: ctx.sleep(5),
    "promise": lambda ctx: ctx.promise("p")[1],
    "http": lambda ctx: ctx.http("GET", "http://a/"),
}.items():

    async def cancels(_, ctx):
        asked = asks(ctx)
        await ctx.sleep(1)
        await ctx.cancel(asked)
        try:
            await asked
        except segno.Failure as failure:
            return failure.code

    seen = run(cancels, done(1), failed(0), done(2))
    assert [what for what, *_ in seen] == [name, "sleep", "cancel", "finish"], seen
    assert seen[2:] == [("cancel", 0), ("finish", "499")], seen


# Options are named, with their values.
def refused(ask, part):
    async def asks(_, ctx):
        await ask(ctx)

    try:
        run(asks)
    except (ValueError, TypeError) as error:
        assert part in str(error), error
    else:
        raise AssertionError(part)


for value in ["5", math.nan, -5, math.inf, 1.5, None, True, 253_402_300_800_000]:
    refused(lambda ctx: ctx.sleep(value), f"`sleep` is {value!r}, and has to be")
for asked in [None, 7, object()]:
    refused(lambda ctx: ctx.cancel(asked), "`cancel` takes the future of a `call`")
for part, options in [
    ("`timeout_ms` is nan", lambda: {"timeout_ms": math.nan}),
    ("`timeout_ms` is 1.5", lambda: {"timeout_ms": 1.5}),
    ("`timeout_ms` is -1", lambda: {"timeout_ms": -1}),
    ("`start_at_ms` is '1'", lambda: {"start_at_ms": "1"}),
    ("`retry(max_attempts)` is -1", lambda: {"retry": segno.retry(max_attempts=-1)}),
    ("`retry(max_attempts)` is 1.5", lambda: {"retry": segno.retry(max_attempts=1.5)}),
    ("`retry(factor)` is inf", lambda: {"retry": segno.retry(factor=math.inf)}),
    ("`retry(jitter)` is 2", lambda: {"retry": segno.retry(jitter=2)}),
    ("`retry` is {}", lambda: {"retry": {}}),
    ("the label 'a' is 1", lambda: {"labels": {"a": 1}}),
]:
    refused(lambda ctx: ctx.call("f", 1, **options()), part)


# What a `run` draws does not move what is drawn after it: a replay does not compute it again.
def drawn(answer):
    async def draws(_, ctx):
        await ctx.run(answer, lambda: [ctx.random.random(), random.random()])
        return [ctx.random.random(), random.random()]

    return outcome(draws, done(0))


assert drawn("Execute") == drawn("Recorded")
print("fine")
