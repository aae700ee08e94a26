"""Queries and updates."""

from dataclasses import dataclass, field

from segno_sdk import Context, Failure, activity, workflow


@dataclass
class Poll:
    votes: list[str] = field(default_factory=list)
    is_over: bool = False


@activity(name="is-known")
def is_known(voter: str) -> bool:
    return voter != "mallory"


@workflow(name="query-update")
async def query_update(ctx: Context) -> list[str]:
    poll = ctx.share(Poll())
    await ctx.until(lambda: poll.is_over)
    await ctx.updates_done()
    return poll.votes


@query_update.query
def votes(poll: Poll) -> int:
    return len(poll.votes)


def is_new(poll: Poll, voter: str) -> None:
    if voter in poll.votes:
        raise Failure(422, f"{voter} has voted")


@query_update.update(validate=is_new)
async def vote(poll: Poll, voter: str, ctx: Context) -> int:
    if not await ctx.call(is_known, voter):
        raise Failure(403, "who is that?")
    poll.votes.append(voter)
    return len(poll.votes)


@query_update.update
async def close(poll: Poll) -> None:
    poll.is_over = True


@dataclass
class House:
    doors: int = 0


@workflow(name="updates-done")
async def updates_done(ctx: Context) -> int:
    house = ctx.share(House())
    await ctx.until(lambda: house.doors == 1)
    await ctx.updates_done()
    return house.doors


@updates_done.update
async def open(house: House, door: int, ctx: Context) -> int:
    house.doors += 1
    await ctx.sleep("500ms")
    return door


@updates_done.query
def more(house: House, than: int) -> bool:
    return house.doors > than
