from typing import Any, TypedDict

from segno_sdk import Context, activity, workflow


class Turns(TypedDict):
    turns: int


@workflow
async def noop(ctx: Context) -> None:
    """Ends immediately."""


@workflow
async def turns(input: Turns, ctx: Context) -> int:
    """Awaits promises that a client settles."""
    for turn in range(input["turns"]):
        await ctx.promise(f"turn-{turn}", Any)
    return input["turns"]


@activity
def leaf(number: int) -> int:
    """Returns its input."""
    return number
