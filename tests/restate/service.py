# The services of service.mjs on the released Python SDK of this environment: `LEDGER=FILE PORT=0 python service.py`.
# Prints one line of JSON with its URL. What version 0.5.1 lacks is left out there.

import asyncio
import json
import os
import re
import socket
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import hypercorn.asyncio
import hypercorn.config
import restate
import restate.discovery
from restate.exceptions import TerminalError
from restate.serde import BytesSerde, Serde

LEDGER = os.environ.get("LEDGER")
MODERN = hasattr(restate, "RunOptions")


class Json(Serde):
    """JSON, with a null for nothing, as in the other languages."""

    def deserialize(self, buf):
        return json.loads(buf) if buf else None

    def serialize(self, obj):
        return json.dumps(obj).encode()


class Void(Serde):
    def deserialize(self, buf):
        return None

    def serialize(self, obj):
        return b""


JSON = Json()


# A line for each execution of a body, so that the suite can count them.
def note(line):
    if LEDGER:
        with open(LEDGER, "a") as ledger:
            ledger.write(line + "\n")


def noted(line):
    if not LEDGER or not os.path.exists(LEDGER):
        return 0
    with open(LEDGER) as ledger:
        return ledger.read().split("\n").count(line)


# How many times it was written, this time included.
def count(line):
    note(line)
    return noted(line)


def milliseconds(ms):
    return timedelta(milliseconds=ms)


def policy(**more):
    if not MODERN:
        return {}
    base = dict(initial_interval=milliseconds(20), max_interval=milliseconds(200), exponentiation_factor=2.0)
    return {"invocation_retry_policy": restate.InvocationRetryPolicy(**base, **more)}


def modern(**options):
    return options if MODERN else {}


def run(ctx, name, action, max_attempts=None):
    if not MODERN:
        return ctx.run(name, action, JSON, max_attempts=max_attempts)
    intervals = dict(initial_retry_interval=milliseconds(20), max_retry_interval=milliseconds(100))
    options = restate.RunOptions(serde=JSON, max_attempts=max_attempts, **intervals)
    return ctx.run_typed(name, action, options)


def arguments(target):
    options = {"key": target.get("key"), "headers": target.get("headers"), "idempotency_key": target.get("idempotencyKey")}
    options = {name: value for name, value in options.items() if value is not None}
    return (target["service"], target["handler"], json.dumps(target.get("value")).encode()), options


def begin(ctx, target):
    positional, options = arguments(target)
    return ctx.generic_call(*positional, **options)


async def call(ctx, target):
    return JSON.deserialize(await begin(ctx, target))


def send(ctx, target):
    positional, options = arguments(target)
    if target.get("delay"):
        options["send_delay"] = milliseconds(target["delay"])
    return ctx.generic_send(*positional, **options)


def plain(handler, value):
    return {"service": "Plain", "handler": handler, "value": value}


# A terminal error as a value.
async def caught(awaitable):
    try:
        return {"value": await awaitable}
    except TerminalError as error:
        return {"code": error.status_code, "message": error.message}


# It waits for an awakeable whose id it puts into a cell of that name.
async def opened(ctx, name):
    id, future = ctx.awakeable(JSON)
    target = {"service": "Cell", "key": name, "handler": "set", "value": {"name": "awakeable", "value": id}}
    send(ctx, target)
    return await future


plain_service = restate.Service("Plain", **policy())


def handler(service, name, input=JSON, output=JSON, **options):
    return service.handler(name, input_serde=input, output_serde=output, **options)


@handler(plain_service, "echo")
async def echo(ctx, value) -> Any:
    return value


@handler(plain_service, "nothing", output=Void())
async def nothing(ctx):
    pass


@handler(plain_service, "headers")
async def headers(ctx, names) -> Any:
    given = ctx.request().headers
    return {name: given.get(name) for name in names}


octets = "application/octet-stream"


@handler(plain_service, "raw", BytesSerde(), BytesSerde(), accept=octets, content_type=octets)
async def raw(ctx, value) -> Any:
    return value


@handler(plain_service, "hidden", **modern(ingress_private=True))
async def hidden(ctx, value) -> Any:
    return value


@handler(plain_service, "fail")
async def fail(ctx, failure) -> Any:
    metadata = {"metadata": failure["metadata"]} if "metadata" in failure else {}
    raise TerminalError(failure["message"], failure.get("code", 500), **metadata)


@handler(plain_service, "flaky")
async def flaky(ctx, name) -> Any:
    attempts = count(f"flaky {name}")
    if attempts < 3:
        raise ValueError("not yet")
    return attempts


@handler(plain_service, "stuck", **policy(max_attempts=2, on_max_attempts="pause"))
async def stuck(ctx, name) -> Any:
    count(f"stuck {name}")
    if noted(f"allow {name}") == 0:
        raise ValueError(f"{name} is not allowed")
    return "allowed"


@handler(plain_service, "doomed", **policy(max_attempts=2, on_max_attempts="kill"))
async def doomed(ctx, name) -> Any:
    count(f"doomed {name}")
    raise ValueError(f"{name} is doomed")


# The second attempt asks for something else than the first.
@handler(plain_service, "mismatch")
async def mismatch(ctx, name) -> Any:
    attempt = count(f"mismatch {name}")
    if attempt == 2:
        await run(ctx, "other", lambda: 1)
    else:
        await ctx.sleep(milliseconds(1))
    if attempt == 1:
        raise ValueError("once more")
    return "matched"


@handler(plain_service, "note")
async def handle_note(ctx, line) -> Any:
    return await run(ctx, "note", lambda: count(line))


@handler(plain_service, "noted")
async def handle_noted(ctx, line) -> Any:
    return await run(ctx, "noted", lambda: noted(line))


@handler(plain_service, "run")
async def handle_run(ctx, value) -> Any:
    nothing = await run(ctx, "nothing", lambda: None)
    return [await run(ctx, "value", lambda: value), nothing]


@handler(plain_service, "runFlaky")
async def run_flaky(ctx, name) -> Any:
    def body():
        attempts = count(f"runFlaky {name}")
        if attempts < 3:
            raise ValueError("not yet")
        return attempts

    return await run(ctx, "flaky", body)


@handler(plain_service, "runGivesUp")
async def run_gives_up(ctx, name) -> Any:
    def body():
        count(f"runGivesUp {name}")
        raise ValueError("never")

    given_up = await caught(run(ctx, "never", body, max_attempts=3))
    attempts = await run(ctx, "attempts", lambda: noted(f"runGivesUp {name}"))
    return {"code": given_up["code"], "attempts": attempts}


@handler(plain_service, "runTerminal")
async def run_terminal(ctx, message) -> Any:
    def body():
        raise TerminalError(message, 418)

    return await caught(run(ctx, "terminal", body))


@handler(plain_service, "steps")
async def steps(ctx, options) -> Any:
    for step in range(options["count"]):
        await run(ctx, f"step {step}", lambda: note(f"{options['name']} {step}"))
        if options["ms"]:
            await ctx.sleep(milliseconds(options["ms"]))
    return options["count"]


@handler(plain_service, "sleep")
async def sleep(ctx, ms) -> Any:
    await ctx.sleep(milliseconds(ms))
    return "rested"


UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@handler(plain_service, "random")
async def random(ctx, _nothing) -> Any:
    drawn = {"number": ctx.random().random(), "uuid": str(ctx.uuid()), "at": await ctx.time()}
    kept = await run(ctx, "kept", lambda: drawn)
    await ctx.sleep(milliseconds(20))
    return {
        "number": 0 <= drawn["number"] < 1,
        "uuid": UUID4.fullmatch(drawn["uuid"]) is not None,
        "at": drawn["at"] > 1.7e9,
        "same": kept == drawn,
    }


@handler(plain_service, "call")
async def handle_call(ctx, target) -> Any:
    return await call(ctx, target)


@handler(plain_service, "callCatches")
async def call_catches(ctx, target) -> Any:
    return await caught(call(ctx, target))


@handler(plain_service, "send")
async def handle_send(ctx, target) -> Any:
    send(ctx, target)
    return "sent"


@handler(plain_service, "sendForId")
async def send_for_id(ctx, target) -> Any:
    return await send(ctx, target).invocation_id()


@handler(plain_service, "callTwice")
async def call_twice(ctx, options) -> Any:
    counted = plain("note", f"callTwice {options['name']}")
    counted["idempotencyKey"] = options["idempotencyKey"]
    return [await call(ctx, counted), await call(ctx, counted)]


@handler(plain_service, "fibonacci")
async def fibonacci(ctx, n) -> Any:
    if n < 2:
        return n
    both = [begin(ctx, plain("fibonacci", less)) for less in (n - 1, n - 2)]
    return sum([json.loads(await one) for one in both])


@handler(plain_service, "all")
async def handle_all(ctx, values) -> Any:
    calls = [begin(ctx, plain("echo", value)) for value in values]
    if MODERN:
        await restate.gather(*calls)
    return [json.loads(await one) for one in calls]


@handler(plain_service, "race")
async def race(ctx, value) -> Any:
    _id, never = ctx.awakeable(JSON)
    _who, what = await restate.select(never=never, echo=begin(ctx, plain("echo", value)))
    return json.loads(what)


@handler(plain_service, "any")
async def handle_any(ctx, value) -> Any:
    calls = [begin(ctx, plain("fail", {"code": 500, "message": "no"})), begin(ctx, plain("echo", value))]
    async for one in restate.as_completed(*calls):
        try:
            return json.loads(await one)
        except TerminalError:
            pass
    raise TerminalError("all of them failed")


@handler(plain_service, "settled")
async def settled(ctx, value) -> Any:
    calls = [begin(ctx, plain("echo", value)), begin(ctx, plain("fail", {"code": 418, "message": "no"}))]
    outcomes = []
    for one in await restate.gather(*calls):
        try:
            outcomes.append({"status": "fulfilled", "value": json.loads(await one)})
        except TerminalError as error:
            outcomes.append({"status": "rejected", "message": error.message})
    return outcomes


@handler(plain_service, "timeout")
async def timeout(ctx, ms) -> Any:
    _id, never = ctx.awakeable(JSON)
    await restate.select(never=never, late=ctx.sleep(milliseconds(ms)))
    return {"code": 408, "message": "Timeout occurred"}


@handler(plain_service, "awakeable")
async def awakeable(ctx, name) -> Any:
    return await caught(opened(ctx, name))


@handler(plain_service, "resolveAwakeable")
async def resolve_awakeable(ctx, options) -> Any:
    ctx.resolve_awakeable(options["id"], options["value"], JSON)
    return "resolved"


@handler(plain_service, "rejectAwakeable")
async def reject_awakeable(ctx, options) -> Any:
    ctx.reject_awakeable(options["id"], options["reason"])
    return "rejected"


@handler(plain_service, "signal")
async def signal(ctx, name) -> Any:
    return await caught(ctx.signal(name, JSON))


@handler(plain_service, "resolveSignal")
async def resolve_signal(ctx, options) -> Any:
    ctx.resolve_signal(options["id"], options["name"], options["value"], JSON)
    return "resolved"


@handler(plain_service, "rejectSignal")
async def reject_signal(ctx, options) -> Any:
    ctx.reject_signal(options["id"], options["name"], options["reason"])
    return "rejected"


@handler(plain_service, "waits")
async def waits(ctx, name) -> Any:
    return await opened(ctx, name)


@handler(plain_service, "callsWaits")
async def calls_waits(ctx, name) -> Any:
    return await call(ctx, plain("waits", name))


@handler(plain_service, "cleansUp")
async def cleans_up(ctx, name) -> Any:
    ended = await caught(opened(ctx, name))
    await run(ctx, "clean", lambda: note(f"cleaned {name}"))
    return {"cleaned": ended}


@handler(plain_service, "cancel")
async def cancel(ctx, id) -> Any:
    ctx.cancel_invocation(id)
    return "asked"


@handler(plain_service, "cancelChild")
async def cancel_child(ctx, name) -> Any:
    id = await send(ctx, plain("waits", name)).invocation_id()
    ctx.cancel_invocation(id)
    return await caught(ctx.attach_invocation(id, JSON))


@handler(plain_service, "attach")
async def attach(ctx, id) -> Any:
    return await caught(ctx.attach_invocation(id, JSON))


def cell(name, **options):
    service = restate.VirtualObject(name, **options)

    def exclusive(name, output=JSON):
        return service.handler(name, kind="exclusive", input_serde=JSON, output_serde=output)

    def shared(name):
        return service.handler(name, kind="shared", input_serde=JSON, output_serde=JSON)

    async def get(ctx, name):
        return await ctx.get(name, JSON)

    async def keys(ctx):
        return sorted(await ctx.state_keys())

    @exclusive("key")
    async def handle_key(ctx) -> Any:
        return ctx.key()

    @exclusive("set", Void())
    async def handle_set(ctx, options):
        ctx.set(options["name"], options["value"], JSON)

    @shared("get")
    async def handle_get(ctx, name) -> Any:
        return await get(ctx, name)

    @exclusive("read")
    async def handle_read(ctx, name) -> Any:
        return await get(ctx, name)

    @shared("keys")
    async def handle_keys(ctx, _nothing) -> Any:
        return await keys(ctx)

    @exclusive("clear", Void())
    async def handle_clear(ctx, name):
        ctx.clear(name)

    @exclusive("clearAll", Void())
    async def handle_clear_all(ctx, _nothing):
        ctx.clear_all()

    @exclusive("add")
    async def handle_add(ctx, amount) -> Any:
        total = (await get(ctx, "total") or 0) + amount
        ctx.set("total", total, JSON)
        return total

    # Own writes are read back, before and after.
    @exclusive("changes")
    async def handle_changes(ctx, _nothing) -> Any:
        seen = [await get(ctx, "a")]
        ctx.set("a", 1, JSON)
        ctx.set("b", 2, JSON)
        seen += [await get(ctx, "a"), await keys(ctx)]
        ctx.clear("a")
        seen += [await get(ctx, "a"), await keys(ctx)]
        ctx.clear_all()
        seen += [await get(ctx, "b"), await keys(ctx)]
        return seen

    # Exclusive, so those that came later wait.
    @exclusive("slow")
    async def handle_slow(ctx, options) -> Any:
        await ctx.sleep(milliseconds(options["ms"]))
        order = (await get(ctx, "order") or []) + [options["label"]]
        ctx.set("order", order, JSON)
        return order

    @exclusive("setAndFail")
    async def handle_set_and_fail(ctx, options) -> Any:
        ctx.set(options["name"], options["value"], JSON)
        raise TerminalError("failed after the write", 409)

    @exclusive("transfer")
    async def handle_transfer(ctx, options) -> Any:
        to, amount = options["to"], options["amount"]
        total = (await get(ctx, "total") or 0) - amount
        ctx.set("total", total, JSON)
        await run(ctx, "transfer", lambda: note(f"transfer {ctx.key()} {to} {amount}"))
        await call(ctx, {"service": options["service"], "key": to, "handler": "add", "value": amount})
        return total

    return service


approval = restate.Workflow("Approval", **policy())


@approval.main("run", input_serde=JSON, output_serde=JSON)
async def approval_run(ctx, what) -> Any:
    ctx.set("stage", "asked", JSON)
    await run(ctx, "ask", lambda: note(f"asked {ctx.key()}"))
    answer = await caught(ctx.promise("answer", JSON).value())
    ctx.set("stage", "answered", JSON)
    await ctx.promise("done", JSON).resolve("done")
    if "code" in answer:
        raise TerminalError(answer["message"], answer["code"])
    return {"what": what, "key": ctx.key(), "answer": answer["value"]}


@handler(approval, "stage")
async def approval_stage(ctx, _nothing) -> Any:
    return await ctx.get("stage", JSON)


@handler(approval, "peek")
async def approval_peek(ctx, _nothing) -> Any:
    return await ctx.promise("answer", JSON).peek()


@handler(approval, "approve")
async def approval_approve(ctx, value) -> Any:
    return await caught(ctx.promise("answer", JSON).resolve(value))


@handler(approval, "refuse")
async def approval_refuse(ctx, reason) -> Any:
    return await caught(ctx.promise("answer", JSON).reject(reason))


@handler(approval, "done")
async def approval_done(ctx, _nothing) -> Any:
    return await ctx.promise("done", JSON).value()


lazy = cell("LazyCell", **policy(), **modern(enable_lazy_state=True))

if protocol := os.environ.get("PROTOCOL"):
    # Version 0.5.1 speaks version 3 of the protocol too, and does not announce it.
    endpoint = restate.discovery.Endpoint
    restate.discovery.Endpoint = lambda **announced: endpoint(
        **{**announced, "minProtocolVersion": int(protocol), "maxProtocolVersion": int(protocol)}
    )
app = restate.app([plain_service, cell("Cell", **policy()), lazy, approval], protocol="bidi")

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
config = hypercorn.config.Config()
config.bind = [f"fd://{listener.fileno()}"]
config.errorlog = "-"
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
print(json.dumps({"url": url, "sdk": version("restate-sdk")}), flush=True)
asyncio.run(hypercorn.asyncio.serve(app, config))
