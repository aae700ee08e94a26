# Types of the Segno module `shop`; do not edit.
# Digest: 0000000000000000000000000000000000000000000000000000000000000000
# Command: segno types shop

from __future__ import annotations

from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypeVar, TypedDict

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class FunctionReference(Generic[_In, _Out]):
    """A function: the packages take it in place of a name."""

    def __init__(self, address: str) -> None:
        self.address = address
        """Address of what it refers to."""

    def segno_function(self, input: _In, /) -> _Out:
        """Says the types to the type checker; it is not called."""
        raise NotImplementedError


class SignalReference(Generic[_In]):
    """A signal: `segno_client` takes it in place of a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Name of what it refers to."""

    def segno_signal(self, payload: _In, /) -> None:
        """Says the types to the type checker; it is not called."""
        raise NotImplementedError


class PromiseReference(Generic[_Out]):
    """A promise: `segno_client` takes it in place of a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Name of what it refers to."""

    def segno_promise(self) -> _Out:
        """Says the types to the type checker; it is not called."""
        raise NotImplementedError


class QueryReference(Generic[_In, _Out]):
    """A query: `segno_client` takes it in place of a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Name of what it refers to."""

    def segno_query(self, input: _In, /) -> _Out:
        """Says the types to the type checker; it is not called."""
        raise NotImplementedError


class UpdateReference(Generic[_In, _Out]):
    """An update: `segno_client` takes it in place of a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Name of what it refers to."""

    def segno_update(self, input: _In, /) -> _Out:
        """Says the types to the type checker; it is not called."""
        raise NotImplementedError


class NightlyOutputDone(TypedDict):
    kind: Literal["done"]
    last: str | None
    orders: int


class NightlyOutputFailed(TypedDict):
    kind: Literal["failed"]
    reason: str


# An order of a customer.
# Schema: {"if":{"required":["gift"]},"then":{"required":["address"]}}
Order = TypedDict(
    "Order",
    {
        "address": "NotRequired[PostalAddress]",
        "anything": "NotRequired[Any]",
        # Schema: {"minimum":0}
        "cents": "int",
        # Deprecated.
        "class": "NotRequired[str]",
        "colour": "NotRequired[Literal[\"red\", \"dark-green\", \"class\"]]",
        # Schema: {"format":"email"}
        "contact": "NotRequired[str | int | None]",
        "gift": "NotRequired[bool | None]",
        # Number of the order.
        # Schema: {"pattern":"^o-[0-9]+$"}
        "id": "str",
        "labels": "NotRequired[dict[str, str]]",
        # Schema: {"minItems":1}
        "lines": "NotRequired[list[Line]]",
        "notes": "NotRequired[Json]",
        "paid with": "NotRequired[Payment]",
        "place": "NotRequired[list[float]]",
        # Schema: {"default":2}
        "priority": "NotRequired[Literal[1, 2, 3]]",
        "range": "NotRequired[list[str | int | bool]]",
        "version": "NotRequired[Literal[1]]",
    },
)


class PostalAddress(TypedDict):
    city: str
    zip: NotRequired[str]
    # Other keys: Any


class Line(TypedDict):
    cents: int
    item: str
    parts: NotRequired[list[Line]]


class PaymentCard(TypedDict):
    kind: Literal["card"]
    number: str


class PaymentInvoice(TypedDict):
    # Schema: {"minimum":0}
    days: NotRequired[int]
    kind: Literal["invoice"]


class Approval(TypedDict):
    by: str


class SendMailInput(TypedDict):
    order: NotRequired[Order2]
    to: str


class Order2(TypedDict):
    id: str


Json: TypeAlias = "None | str | float | list[Json] | dict[str, Json]"


Payment: TypeAlias = PaymentCard | PaymentInvoice | Literal["voucher"]


class CartAddQueries:
    size = QueryReference[Any, int]("size")


class OrderSignals:
    approved = SignalReference[Approval]("approved")
    stop = SignalReference[None]("stop")


class OrderPromises:
    receipt_sent = PromiseReference[bool]("receipt-sent")


class OrderQueries:
    status = QueryReference[Any, Literal["waiting", "charged"]]("status")
    """How far it is."""


class OrderUpdates:
    add_line = UpdateReference[Line, int]("add-line")
    """Schema: answer {"minimum":0}"""


class Cart:
    """The object `Cart` with this key."""

    def __init__(self, key: str) -> None:
        self.add = FunctionReference[str, list[str]]("wasm://shop/Cart@" + key + "/add")
        """Puts a line into the cart."""
        self.new = FunctionReference[Any, dict[str, float]]("wasm://shop/Cart@" + key + "/new")
        """Schema: output {"patternProperties":{"^n":{"type":"number"}}}"""


delete = FunctionReference[Any, Any]("wasm://shop/delete")
nightly = FunctionReference[None, NightlyOutputDone | NightlyOutputFailed]("wasm://shop/nightly")
order = FunctionReference[Order, str | None]("wasm://shop/order")
"""Charges an order when somebody approves it. A comment may end with */ and \"\"\".
Schema: output {"maxLength":40}
"""
send_mail = FunctionReference[SendMailInput, None]("wasm://shop/send-mail")
"""Sends a mail.

It may be sent twice.
"""
