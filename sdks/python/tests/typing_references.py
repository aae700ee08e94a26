"""A workflow that calls another module by what `segno types` writes: mypy and pyright find the errors, and no others."""

from typing import Any, assert_type

import shop_types as shop

from segno_sdk import Call, Context, workflow
from segno_sdk.testing import TestHost

LINE: shop.Line = {"cents": 1, "item": "tea", "parts": [{"cents": 0, "item": "leaf"}]}
ORDER: shop.Order = {
    "id": "o-1",
    "cents": 1,
    "lines": [LINE],
    "gift": None,
    "paid with": {"kind": "invoice", "days": 14},
    "notes": {"any": ["thing", None, {"deep": 1}]},
    "place": [1, 2.5],
    "class": "a",
}
CASH: shop.Payment = {"kind": "cash"}  # error


@workflow
async def caller(ctx: Context) -> str:
    assert_type(await ctx.call(shop.order, ORDER, timeout="1h"), str | None)
    assert_type(ctx.call(shop.send_mail, shop.SendMailInput(to="ada")), Call[None])
    assert_type(await ctx.call(shop.Cart("ada").add, "tea"), list[str])
    assert_type(await ctx.call(shop.delete), Any)
    ended = await ctx.call(shop.nightly)
    if ended["kind"] == "done":
        assert_type(ended["orders"], int)
    else:
        assert_type(ended["reason"], str)
    assert_type(await ctx.send(shop.Cart("ada").add, "tea", delay="1d"), str)
    await ctx.call(shop.order, shop.SendMailInput(to="ada"))  # error
    await ctx.call(shop.Cart("ada").add, 7)  # error
    await ctx.call(shop.order)  # error
    number: int = await ctx.call(shop.order, ORDER)  # error
    await ctx.send(shop.Cart("ada").add, 7)  # error
    return str(number)


def test() -> None:
    host = TestHost()
    host.on(shop.order, lambda order: order["id"])
    assert_type(host.calls(shop.order), list[shop.Order])
