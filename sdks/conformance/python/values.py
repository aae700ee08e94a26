"""Values that JSON can say, from one side to the other."""

from typing import Any

from segno_sdk import Context, activity, workflow


@activity
def echo(value: Any) -> Any:
    return value


@workflow(name="value-numbers")
async def value_numbers(value: Any, ctx: Context) -> Any:
    return await ctx.call(echo, value)


@workflow(name="value-texts")
async def value_texts(value: Any, ctx: Context) -> Any:
    return await ctx.call(echo, value)


@workflow(name="value-nested")
async def value_nested(value: Any, ctx: Context) -> Any:
    return await ctx.call(echo, value)


@workflow(name="value-null")
async def value_null(value: Any, ctx: Context) -> Any:
    return await ctx.call(echo, value)


@workflow(name="value-empty")
async def value_empty(value: Any, ctx: Context) -> Any:
    return await ctx.call(echo, value)


@workflow(name="value-none")
async def value_none() -> None:
    pass


@activity
def repeat(character: str) -> str:
    return character * 40_000


@activity
def length(given: str) -> int:
    return len(given)


@workflow(name="value-large")
async def value_large(character: str, ctx: Context) -> int:
    return await ctx.call(length, await ctx.call(repeat, character))


@workflow(name="value-limit")
async def value_limit(characters: str, ctx: Context) -> int:
    return await ctx.call(length, await ctx.call(repeat, characters))
