"""Objects: their state, their turns, and their promises."""

import asyncio
from typing import Any

from segno_sdk import Context, Failure, Object, ObjectPromise, State, StateMap, exclusive, once, shared, workflow


class Counter(Object):
    total: State[int]
    parts: StateMap[int]

    @exclusive
    async def add(self, number: int) -> int:
        total = (await self.total.get() or 0) + number
        self.total.set(total)
        self.parts.set(str(number), number)
        return total

    @exclusive
    async def drop(self, name: str) -> list[str]:
        self.parts.remove(name)
        self.total.clear()
        return await self.state_names()

    @exclusive
    async def reset(self) -> None:
        self.clear_state()

    @shared
    async def read(self) -> tuple[str, int, list[str]]:
        return self.key, await self.total.get() or 0, await self.parts.keys()


@workflow(name="object-counter")
async def object_counter(key: str, ctx: Context) -> tuple[str, int, list[str]]:
    counter = ctx.object(Counter, key)
    await counter.add(2)
    await counter.add(3)
    return await counter.read()


@workflow(name="object-clear")
async def object_clear(key: str, ctx: Context) -> list[Any]:
    counter = ctx.object(Counter, key)
    await counter.add(2)
    await counter.add(3)
    left = await counter.drop("2")
    await counter.reset()
    return [left, list(await counter.read())]


@workflow(name="object-keys")
async def object_keys(ctx: Context) -> list[Any]:
    await ctx.object(Counter, "one").add(1)
    await ctx.object(Counter, "two").add(20)
    return [list(await ctx.object(Counter, "one").read()), list(await ctx.object(Counter, "two").read())]


class Gate(Object):
    opened: ObjectPromise[str]

    @once
    async def run(self, ctx: Context) -> str:
        by = await self.opened.wait()
        await ctx.sleep("1s")
        return by

    @shared
    async def open(self, by: str) -> bool:
        try:
            return await self.opened.resolve(by)
        except Failure as failure:
            return failure.code != 409

    @shared
    async def status(self) -> str | None:
        return await self.opened.peek()


@workflow(name="object-promise")
async def object_promise(key: str, ctx: Context) -> list[str | bool | None]:
    gate = ctx.object(Gate, key)
    before = await gate.status()
    running = gate.run()
    await ctx.sleep("300ms")
    return [before, await gate.open("ada"), await gate.open("bob"), await running]


@workflow(name="object-once")
async def object_once(key: str, ctx: Context) -> list[str | int]:
    gate = ctx.object(Gate, key)
    await gate.open("ada")
    first = await gate.run()
    try:
        await gate.run()
    except Failure as failure:
        return [first, failure.code]
    return []


@workflow(name="object-queue")
async def object_queue(key: str, ctx: Context) -> list[Any]:
    counter = ctx.object(Counter, key)
    totals = await asyncio.gather(counter.add(1), counter.add(10), counter.add(100))
    return [totals, list(await counter.read())]
