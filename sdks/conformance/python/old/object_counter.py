"""The state of an object: one writer at a time, and a function that only reads."""

from segno_sdk import Context, Object, State, StateMap, exclusive, shared, workflow


class Counter(Object):
    total: State[int]
    parts: StateMap[int]

    @exclusive
    async def add(self, number: int) -> int:
        total = (await self.total.get() or 0) + number
        self.total.set(total)
        self.parts.set(str(number), number)
        return total

    @shared
    async def read(self, ctx: Context) -> tuple[str, int, list[str]]:
        return ctx.key, await self.total.get() or 0, await self.parts.keys()


@workflow(name="object-counter")
async def object_counter(key: str, ctx: Context) -> tuple[str, int, list[str]]:
    counter = ctx.object(Counter, key)
    await counter.add(2)
    await counter.add(3)
    return await counter.read()
