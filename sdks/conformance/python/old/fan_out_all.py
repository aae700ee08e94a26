"""Several calls at the same time, and all of their results in order."""

import asyncio
import time

from segno_sdk import Context, activity, workflow


@activity
def wait_and_name(number: int) -> str:
    time.sleep(0.4 * number)
    return f"part {number}"


@workflow(name="fan-out-all")
async def fan_out_all(count: int, ctx: Context) -> list[str]:
    return await asyncio.gather(*(ctx.call(wait_and_name, number) for number in range(count)))
