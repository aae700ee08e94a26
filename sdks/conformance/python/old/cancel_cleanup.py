"""A workflow that is cancelled while it sleeps cleans up, and ends as cancelled."""

import asyncio

from segno_sdk import Context, activity, workflow


@activity
def release(room: int) -> int:
    return room


@workflow(name="cancel-cleanup")
async def cancel_cleanup(room: int, ctx: Context) -> None:
    try:
        await asyncio.sleep(3600)
    finally:
        await ctx.call(release, room)
