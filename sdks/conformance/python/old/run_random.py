"""Random numbers and time: the same in every replay. The result of `run` is kept."""

import random
import time
import uuid

from segno_sdk import Context, workflow


@workflow(name="run-random")
async def run_random(ctx: Context) -> bool:
    number = random.random()
    kept = await ctx.run("number", lambda: random.randrange(1_000_000))
    begun = time.time()
    await ctx.sleep("100ms")
    slept = time.time() - begun
    return 0 <= number < 1 and 0 <= kept < 1_000_000 and round(slept, 3) >= 0.1 and uuid.uuid4() != uuid.uuid4()
