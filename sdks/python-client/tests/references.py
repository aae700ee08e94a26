"""A program that calls a module by what ``segno types`` writes. mypy finds each error that is ignored here."""

from __future__ import annotations

from typing import Any, assert_type

import shop_types as shop

from segno_client import AsyncClient, Client, Execution, Promise

LINE: shop.Line = {"cents": 1, "item": "tea", "parts": [{"cents": 0, "item": "leaf"}]}
ORDER: shop.Order = {"id": "o-1", "cents": 1, "lines": [LINE], "gift": None, "paid with": "voucher"}


def synchronous(client: Client) -> None:
    assert_type(client.call(shop.order, ORDER, id="o-1"), str | None)
    assert_type(client.call(shop.Cart("ada").add, "tea"), list[str])
    assert_type(client.call(shop.delete, 7), Any)
    assert_type(client.call("shop/order", 7), Any)
    client.call(shop.order, shop.SendMailInput(to="ada"))  # type: ignore[misc]
    client.call(shop.order)  # type: ignore[arg-type]
    client.call(shop.order, ORDER, idd="o-1")  # type: ignore[call-overload]

    order = client.start(shop.order, ORDER)
    assert_type(order, Execution[str | None])
    assert_type(order.result(), str | None)
    assert_type(client.execution("o-1", shop.order), Execution[str | None])
    assert_type(client.execution("o-1"), Execution[Any])

    order.signal(shop.OrderSignals.approved, shop.Approval(by="ada"), key="a")
    order.signal(shop.OrderSignals.stop)
    order.signal(shop.OrderSignals.approved, LINE)  # type: ignore[misc]
    order.signal(shop.OrderQueries.status)  # type: ignore[call-overload]
    status = order.query(shop.OrderQueries.status)
    if status == "charged":
        assert_type(order.update(shop.OrderUpdates.add_line, LINE), int)
    assert_type(order.send_update(shop.OrderUpdates.add_line, LINE).result(), int)
    assert_type(order.promise(shop.OrderPromises.receipt_sent), Promise[bool])
    order.promise(shop.OrderPromises.receipt_sent).resolve("yes")  # type: ignore[arg-type]


async def asynchronous(client: AsyncClient) -> None:
    ended = await client.call(shop.nightly)
    if ended["kind"] == "failed":
        assert_type(ended["reason"], str)
    order = await client.start(shop.order, ORDER)
    assert_type(await order.result(wait_ms=10), str | None)
