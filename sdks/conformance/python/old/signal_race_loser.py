"""A wait that lost a race takes no signal: the next wait reads it."""

import asyncio

from segno_sdk import Context, workflow


@workflow(name="signal-race-loser", signals={"note": str, "stop": None})
async def signal_race_loser(ctx: Context) -> list[str]:
    async def note() -> str:
        return await ctx.signal("note", str)

    racers = [asyncio.create_task(note()), asyncio.create_task(asyncio.sleep(0.1, "nothing"))]
    done, pending = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
    for loser in pending:
        loser.cancel()
    await ctx.signal("stop")
    return [done.pop().result(), await ctx.signal("note", str)]
