"""Replays from every interruption find what a workflow keeps outside of itself."""

import random

import pytest

from segno_sdk import Context, NotDeterministic, activity, workflow
from segno_sdk.testing import TestHost

starts: list[int] = []


@activity
def ping(number: int) -> int:
    return number


def test_every_interruption_is_replayed(segno_host: TestHost) -> None:
    @workflow
    async def steps(ctx: Context) -> int:
        return sum([await ctx.call(ping, number) for number in range(5)])

    assert segno_host.run(steps) == 10
    assert segno_host.replayed == 6  # after the start, and after each of five results


def test_a_global_variable_is_found_with_both_lines(segno_host: TestHost) -> None:
    @workflow
    async def fickle(ctx: Context) -> None:
        starts.append(1)
        if len(starts) == 1:
            await ctx.call(ping, 1)
        else:
            await ctx.sleep(len(starts))

    with pytest.raises(NotDeterministic) as found:
        segno_host.run(fickle)
    text = str(found.value)
    assert "`fickle` (test) does not replay: at record 1 its journal has call `ping`" in text
    assert text.count("test_replay.py:") == 2 and "a replay asked for sleep" in text


def test_another_value_in_a_command_is_found(segno_host: TestHost) -> None:
    numbers = iter(range(100))

    @workflow
    async def counts(ctx: Context) -> None:
        await ctx.call(ping, next(numbers))

    with pytest.raises(NotDeterministic, match=r'call `ping` \{"input": 0\}.*asked for call `ping` \{"input": 1\}'):
        segno_host.run(counts)


def test_a_command_that_is_left_out_is_found(segno_host: TestHost) -> None:
    begun: list[int] = []

    @workflow
    async def stops(ctx: Context) -> None:
        begun.append(1)
        if len(begun) == 1:
            await ctx.sleep(1)

    with pytest.raises(NotDeterministic, match="the journal has|its journal has sleep"):
        segno_host.run(stops)


def test_a_difference_that_the_author_catches_is_found(segno_host: TestHost) -> None:
    begun: list[int] = []

    @workflow
    async def hides(ctx: Context) -> None:
        begun.append(1)
        try:
            await ctx.call(ping, len(begun))
        except Exception:
            await ctx.sleep(1)

    with pytest.raises(NotDeterministic):
        segno_host.run(hides)


def test_random_numbers_inside_run_do_not_change_those_after_it(segno_host: TestHost) -> None:
    @workflow
    async def draws(ctx: Context) -> list[float]:
        inside = await ctx.run("draw", random.random, result=float)
        await ctx.run("draw-too", ctx.random.random, result=float)
        await ctx.call(ping, ctx.random.randrange(1_000_000))
        await ctx.sleep(1)
        await ctx.call(ping, random.randrange(1_000_000))
        return [inside, random.random()]

    assert len(segno_host.run(draws)) == 2


def test_replays_can_be_left_out() -> None:
    numbers = iter(range(100))

    @workflow
    async def counts(ctx: Context) -> None:
        await ctx.call(ping, next(numbers))

    TestHost(replays=False).run(counts)
