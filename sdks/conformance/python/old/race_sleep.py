"""The first of two: a short sleep against a long one, which is given up."""

import asyncio

from segno_sdk import Context, workflow


@workflow(name="race-sleep")
async def race_sleep(ctx: Context) -> str:
    async def after(length: float, name: str) -> str:
        await asyncio.sleep(length)
        return name

    racers = [asyncio.create_task(after(0.1, "short")), asyncio.create_task(after(3600, "long"))]
    done, pending = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
    for loser in pending:
        loser.cancel()
    return done.pop().result()
