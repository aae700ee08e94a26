"""A worker of the suite: takes tasks until it is killed. It says when it listens."""

import asyncio
import os
from datetime import timedelta

from resonate.context import Context
from resonate.resonate import Resonate
from resonate.retry import Never


async def step(ctx: Context, n: int) -> int:
    return n + 1


async def double(ctx: Context, n: int) -> int:
    return 2 * n


async def parent(ctx: Context, n: int) -> int:
    local = await ctx.run(step, n)
    remote = await ctx.options(target="workers").rpc("double", local)
    await ctx.sleep(timedelta(milliseconds=200))
    return remote


async def sum(ctx: Context, left: int, right: int) -> int:  # noqa: A001
    return left + right


async def fail(ctx: Context, message: str) -> None:
    raise ValueError(message)


async def fan_out(ctx: Context, count: int) -> int:
    calls = [ctx.options(target="workers").rpc("double", n) for n in range(count)]
    total = 0
    for call in calls:
        total += await call
    return total


async def fibonacci(ctx: Context, n: int) -> int:
    if n < 2:
        return n
    left = ctx.options(target="workers").rpc("fibonacci", n - 1)
    right = ctx.options(target="workers").rpc("fibonacci", n - 2)
    return await left + await right


async def approval(ctx: Context) -> str:
    return await ctx.promise()


async def nap(ctx: Context, ms: int) -> str:
    await ctx.sleep(timedelta(milliseconds=ms))
    return "rested"


async def dawdle(ctx: Context, ms: int) -> str:
    await ctx.run(linger, ms)
    return "done"


async def linger(ctx: Context, ms: int) -> None:
    await asyncio.sleep(ms / 1000)


async def call_double(ctx: Context, n: int) -> int:
    return await ctx.options(target="wasm://bridge/double").rpc("double", n)


FUNCTIONS = [step, double, parent, sum, fail, fan_out, fibonacci, approval, nap, dawdle, linger, call_double]


async def main() -> None:
    ttl = timedelta(milliseconds=int(os.environ.get("TTL", "60000")))
    resonate = Resonate(
        url=os.environ["URL"], group="workers", pid=os.environ["WORKER"], ttl=ttl, retry_policy=Never()
    )
    for function in FUNCTIONS:
        resonate.register(function)
    starting = resonate.start()
    if asyncio.iscoroutine(starting):
        await starting
    print("listening", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
