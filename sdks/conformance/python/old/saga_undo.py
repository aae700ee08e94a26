"""Steps of a saga are undone, the last one first, when a later one fails."""

from segno_sdk import Context, Failure, Undo, activity, workflow


@activity
def book(what: str) -> str:
    if what == "hotel":
        raise Failure(404, "there is no hotel")
    return f"{what} 7"


@activity
def cancel_booking(undo: Undo[str, str]) -> None:
    assert undo.output == f"{undo.input} 7"


@workflow(name="saga-undo")
async def saga_undo(ctx: Context) -> str:
    async with ctx.saga("trip") as saga:
        await saga.call(book, "flight", compensate=cancel_booking)
        await saga.call(book, "car", compensate=cancel_booking, on_unknown="compensate")
        await saga.call(book, "hotel", compensate=cancel_booking)
    return "booked"
