"""Computations that are kept, and what is the same in every replay."""

import random
import time
import uuid
from typing import Any

from segno_sdk import Context, Failure, workflow


@workflow(name="run-random")
async def run_random(ctx: Context) -> bool:
    number = random.random()
    kept = await ctx.run("kept", lambda: random.randrange(1_000_000))
    begun = time.time()
    await ctx.sleep("1s")
    slept = time.time() - begun
    return 0 <= number < 1 and 0 <= kept < 1_000_000 and round(slept, 3) >= 1 and uuid.uuid4() != uuid.uuid4()


def parse() -> int:
    raise Failure(422, "no number", {"text": "x"})


@workflow(name="run-failed")
async def run_failed(ctx: Context) -> list[Any]:
    try:
        await ctx.run("parse", parse)
    except Failure as failure:
        return [failure.code, failure.message, failure.details]
    return []


@workflow(name="run-order")
async def run_order(ctx: Context) -> dict[str, Any]:
    first = await ctx.run("first", lambda: [1, "a"])
    await ctx.publish("runs", first)
    return await ctx.run("second", lambda: {"first": first})
