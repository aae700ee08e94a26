"""What the workers of the suite can do, under the names of functions.mjs. Every worker registers all of it."""

import asyncio
import os
from datetime import timedelta

from resonate.context import Context
from resonate.resonate import Resonate
from resonate.retry import Constant


def note(line: str) -> None:
    """A line for each execution of a body, so that the suite can count them."""
    if ledger := os.environ.get("LEDGER"):
        with open(ledger, "a") as file:
            file.write(line + "\n")


def workers(ctx: Context) -> Context:
    return ctx.options(target="workers")


# One step.
async def echo(ctx: Context, value: int) -> int:
    return value


async def sum(ctx: Context, left: int, right: int) -> int:  # noqa: A001
    return left + right


async def fail(ctx: Context, message: str) -> None:
    raise ValueError(message)


async def dawdle(ctx: Context, ms: int) -> str:
    await asyncio.sleep(ms / 1000)
    note("dawdled")
    return "done"


# A step of its own, a remote one, and a sleep.
async def parent(ctx: Context, n: int) -> int:
    local = await ctx.run(increment, n)
    remote = await workers(ctx).rpc("double", local)
    await ctx.sleep(timedelta(milliseconds=200))
    return remote


async def increment(ctx: Context, n: int) -> int:
    return n + 1


async def double(ctx: Context, n: int) -> int:
    return 2 * n


async def fan_out(ctx: Context, count: int) -> int:
    calls = [workers(ctx).rpc("echo", n) for n in range(count)]
    total = 0
    for call in calls:
        total += await call
    return total


async def fibonacci(ctx: Context, n: int) -> int:
    if n < 2:
        return n
    left = workers(ctx).rpc("fibonacci", n - 1)
    right = workers(ctx).rpc("fibonacci", n - 2)
    return await left + await right


async def fibonacci_local(ctx: Context, n: int) -> int:
    if n < 2:
        return n
    left = ctx.run(fibonacci_local, n - 1)
    right = ctx.run(fibonacci_local, n - 2)
    return await left + await right


async def nap(ctx: Context, ms: int) -> str:
    await ctx.sleep(timedelta(milliseconds=ms))
    return "rested"


async def approval(ctx: Context) -> str:
    return await ctx.promise()


# Fails twice, then does not.
async def stubborn(ctx: Context) -> int:
    attempts = 0

    async def attempt(ctx: Context) -> int:
        nonlocal attempts
        attempts += 1
        note("attempt")
        if attempts < 3:
            raise ValueError("not yet")
        return attempts

    return await ctx.options(retry_policy=Constant(delay=0, max_retries=5)).run(attempt)


# Steps that are counted, with a pause between them.
async def steps(ctx: Context, count: int, ms: int) -> int:
    for n in range(count):
        await ctx.run(step, n, ms)
    return count


async def step(ctx: Context, n: int, ms: int) -> None:
    note(f"step {n}")
    await asyncio.sleep(ms / 1000)


# Children, and parents that do not await them.
async def child(ctx: Context, name: str, ms: int) -> str:
    await asyncio.sleep(ms / 1000)
    note(f"child {name}")
    return name


async def begin_all(ctx: Context, count: int, ms: int) -> str:
    for n in range(count):
        workers(ctx).rpc("child", f"remote {n}", ms)
        ctx.run(child, f"local {n}", ms)
    return "returned"


async def one_fails(ctx: Context, ms: int) -> str:
    workers(ctx).rpc("child", "elder", ms)
    failing = workers(ctx).rpc("fail", "no stock")
    ctx.run(child, "younger", ms)
    await failing
    return "it did not fail"


async def leave_behind(ctx: Context) -> str:
    workers(ctx).detached("approval")
    return "left"


# Functions of a module, called from here.
async def call_double(ctx: Context, n: int) -> int:
    return await ctx.options(target="wasm://bridge/double").rpc("double", n)


FUNCTIONS = [
    echo, sum, fail, dawdle, parent, double, fan_out, fibonacci, fibonacci_local, nap, approval, stubborn, steps,
    child, begin_all, one_fails, leave_behind, call_double,
]  # fmt: skip


def register(resonate: Resonate) -> None:
    for function in FUNCTIONS:
        resonate.register(function)
