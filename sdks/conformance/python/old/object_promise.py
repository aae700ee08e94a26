"""A promise of an object that runs once per key: another function settles it."""

from segno_sdk import Context, Failure, Object, ObjectPromise, once, shared, workflow


class Gate(Object):
    opened: ObjectPromise[str]

    @once
    async def run(self) -> str:
        return await self.opened.wait()

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
    await gate.run.send()
    return [before, await gate.open("ada"), await gate.open("bob"), await gate.status()]
