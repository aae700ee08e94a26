"""Sagas: steps that are undone, the last one first."""

from segno_sdk import Context, Failure, Undo, activity, workflow


@activity
def book(item: str) -> str:
    if item == "hotel":
        raise Failure(404, "there is no hotel")
    return f"{item} 7"


@activity
def unbook(undo: Undo[str, str]) -> None:
    if undo.input == "ferry":
        raise Failure(422, "a ferry is not given back")


@activity
def refund(undo: object) -> None:
    pass


@workflow(name="saga-undo")
async def saga_undo(ctx: Context) -> str:
    async with ctx.saga("trip") as saga:
        await saga.call(book, "flight", compensate=unbook)
        await saga.call(book, "car", compensate=unbook, on_unknown="compensate")
        await saga.call(book, "hotel", compensate=unbook)
    return "booked"


@workflow(name="saga-done")
async def saga_done(ctx: Context) -> None:
    saga = ctx.saga("trip")
    flight = await saga.call(book, "flight", compensate=unbook)
    saga.complete()
    raise Failure(409, f"{flight} stays")


@workflow(name="saga-abort")
async def saga_abort(ctx: Context) -> None:
    saga = ctx.saga("trip")
    await saga.call(book, "flight", compensate=unbook)
    raise await saga.abort("nobody wants to go")


@workflow(name="saga-nested")
async def saga_nested(ctx: Context) -> list[str]:
    outer = ctx.saga("outer")
    flight = await outer.call(book, "flight", compensate=unbook)
    try:
        async with ctx.saga("inner") as inner:
            await inner.call(book, "car", compensate=unbook)
            await inner.call(book, "hotel", compensate=unbook)
    except Failure as failure:
        return [flight, failure.message]
    return []


@workflow(name="saga-undo-fails")
async def saga_undo_fails(ctx: Context) -> None:
    async with ctx.saga("trip") as saga:
        await saga.call(book, "flight", compensate=unbook)
        await saga.call(book, "ferry", compensate=unbook)
        await saga.call(book, "hotel", compensate=unbook)


@workflow(name="saga-cancelled")
async def saga_cancelled(ctx: Context) -> None:
    async with ctx.saga("trip") as saga:
        await saga.call(book, "flight", compensate=unbook)
        await ctx.sleep("1h")


@workflow(name="saga-http")
async def saga_http(url: str, ctx: Context) -> None:
    async with ctx.saga("pay") as saga:
        await saga.http("POST", f"{url}/pay", compensate=refund)
        raise Failure(409, "changed my mind")
