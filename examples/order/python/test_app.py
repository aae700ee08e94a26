"""The order against a payment service that keeps a ledger, as a real one does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from segno_sdk import Failure
from segno_sdk.testing import SeenRequest, TestHost

from app import Item, Order, Receipt, order, release, reserve, ship

PAYMENTS = "http://payments.test"
ORDER = Order("o-1", [Item("hat", 1, 2_500), Item("glove", 2, 900)], PAYMENTS)


class Ledger:
    """Charges and refunds by idempotency key."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, Any]] = {}

    def serve(self, host: TestHost, *, accepted: bool = True, failures: int = 0) -> None:
        """Answers the test's requests. The first `failures` of them are entered, and fail."""

        def answer(request: SeenRequest) -> Any:
            nonlocal failures
            key = request.header("idempotency-key")
            assert key, "the host adds a key"
            self._entries.setdefault(key, (request.url, request.json()))
            if failures > 0:
                failures -= 1
                return 503
            return {"charge": f"charge-{key}", "accepted": accepted}

        host.on_http("POST", PAYMENTS, answer)

    def bodies(self, path: str) -> list[Any]:
        return [body for url, body in self._entries.values() if url == f"{PAYMENTS}/{path}"]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def fails_with(code: int, host: TestHost, given: Order = ORDER) -> None:
    with pytest.raises(Failure) as raised:
        host.run(order, given)
    assert raised.value.code == code


def test_an_approved_order_is_charged_once_and_shipped(
    segno_host: TestHost, ledger: Ledger
) -> None:
    ledger.serve(segno_host, failures=2)
    segno_host.promise("approval").after("1h").resolve(True)
    assert segno_host.run(order, ORDER) == Receipt(
        "o-1", "charge-test/charge", 4_300, ["parcel-test/3", "parcel-test/4"]
    )
    assert len(segno_host.requests) == 3, "two answers were lost"
    assert ledger.bodies("charges") == [{"order": "o-1", "amount_cents": 4_300}]
    assert ledger.bodies("refunds") == []
    assert segno_host.calls(release) == []


def assert_undone(host: TestHost, ledger: Ledger) -> None:
    """Checks that the charge was refunded and the stock released, each once."""
    assert len(ledger.bodies("charges")) == 1
    assert ledger.bodies("refunds") == [{"charge": "charge-test/charge"}]
    assert host.calls(release) == ["reservation-test"]


@pytest.mark.parametrize(
    ("code", "refuse"),
    [
        (409, lambda host: host.promise("approval").resolve(False)),
        (403, lambda host: host.promise("approval").reject(Failure(403, "not this customer"))),
        (499, lambda host: host.cancel_after("1m")),
        (408, lambda host: None),
    ],
    ids=["refused", "rejected", "cancelled", "forgotten"],
)
def test_an_order_that_is_not_approved_is_undone(
    segno_host: TestHost, ledger: Ledger, code: int, refuse: Callable[[TestHost], None]
) -> None:
    ledger.serve(segno_host)
    refuse(segno_host)
    fails_with(code, segno_host)
    assert segno_host.calls(ship) == []
    assert_undone(segno_host, ledger)


def test_an_order_that_cannot_be_shipped_is_undone(segno_host: TestHost, ledger: Ledger) -> None:
    def carry(item: Item) -> str:
        if item.sku == "glove":
            raise Failure(410, "the carrier went out of business")
        return "parcel"

    ledger.serve(segno_host)
    segno_host.promise("approval").resolve(True)
    segno_host.on(ship, carry)
    fails_with(410, segno_host)
    assert_undone(segno_host, ledger)


def test_an_order_that_is_cancelled_while_the_stock_is_reserved_is_not_charged(
    segno_host: TestHost, ledger: Ledger
) -> None:
    def unreachable(_: Any) -> None:
        raise Failure(500, "the warehouse does not answer")

    ledger.serve(segno_host)
    segno_host.on(reserve, unreachable)
    segno_host.cancel_after("50ms")
    fails_with(499, segno_host)
    assert segno_host.calls(release) == ["reservation-test"]
    assert ledger.bodies("charges") == []


def test_an_order_that_is_cancelled_while_it_is_charged_gets_its_money_back(
    segno_host: TestHost, ledger: Ledger
) -> None:
    ledger.serve(segno_host, failures=1)
    segno_host.cancel_after("50ms")
    fails_with(499, segno_host)
    assert_undone(segno_host, ledger)


def test_a_declined_payment_releases_the_stock(segno_host: TestHost, ledger: Ledger) -> None:
    ledger.serve(segno_host, accepted=False)
    fails_with(402, segno_host)
    assert segno_host.calls(release) == ["reservation-test"]
    assert ledger.bodies("refunds") == []


def test_what_is_sold_out_is_not_charged(segno_host: TestHost, ledger: Ledger) -> None:
    ledger.serve(segno_host)
    fails_with(409, segno_host, replace(ORDER, items=[Item("sold-out", 1, 2_500), *ORDER.items]))
    assert ledger.bodies("charges") == []
