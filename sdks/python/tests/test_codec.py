"""Types as JSON: values in both directions, schemas, and refusals with paths."""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID

import pytest

from segno_sdk import Failure, NotJson
from segno_sdk.codec import ANY, EXACT, codec_of, decoded, encoded, schema_text

T = TypeVar("T")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: int = 0


class Address(TypedDict):
    street: str
    zip: NotRequired[str]


@dataclass
class Item:
    """One thing."""

    name: str
    price: Decimal
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    value: int
    children: "list[Tree]" = field(default_factory=list)


@dataclass
class Box(Generic[T]):
    content: T


UserId = NewType("UserId", str)

ROUND = [
    (int, 123456789012345678901234567890),
    (float, 1.5),
    (str, "ü€😀"),
    (bool, True),
    (None, None),
    (list[int], [1, 2]),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (dict[str, int], {"a": 1}),
    (dict[int, str], {7: "a"}),
    (dict[Color, int], {Color.RED: 1}),
    (int | None, None),
    (int | str, "a"),
    (Literal["a", 1, True], True),
    (Color, Color.BLUE),
    (Point, Point(1, 2)),
    (Address, {"street": "x"}),
    (Item, Item("hat", Decimal("12.50"), ["a"])),
    (list[Item], [Item("hat", Decimal("1"))]),
    (Tree, Tree(1, [Tree(2), Tree(3, [Tree(4)])])),
    (Box[int], Box(1)),
    (Box[Item], Box(Item("a", Decimal(1)))),
    (UserId, "u-1"),
    (datetime, datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    (date, date(2026, 1, 31)),
    (timedelta, timedelta(days=2, hours=3, seconds=4, microseconds=500000)),
    (timedelta, timedelta(0)),
    (timedelta, -timedelta(minutes=5)),
    (UUID, UUID(int=7)),
    (Any, {"a": [1, None, "x", {"b": 2.5}]}),
]


@pytest.mark.parametrize(("type_", "value"), ROUND, ids=lambda one: str(one)[:40])
def test_a_value_comes_back_as_it_was(type_: Any, value: Any) -> None:
    codec = codec_of(type_)
    again = decoded(codec, encoded(codec, value, "input"), "input")
    assert again == value and type(again) is type(value)


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        (Any, {"items": [{"price": float("nan")}]}, "input.items[0].price is nan"),
        (Any, {"a": float("inf")}, "input.a is inf"),
        (Any, {"a": {1, 2}}, "input.a is {1, 2}, a set"),
        (Any, [b"x"], "input[0] is b'x', bytes"),
        (Any, {"a": (1, 2)}, "input.a is (1, 2), a tuple"),
        (Any, {1: "a"}, "input has the key 1, a int"),
        (Any, {"a": object}, "input.a is <class 'object'>, a type"),
        (Any, {"a": object()}, "an object, which JSON does not have"),
        (Any, {"a": "\ud83d"}, "half of a character"),
        (list[float], [1.0, float("nan")], "input[1] is nan"),
        (Item, Item("a", Decimal("NaN")), "input.price is Decimal('NaN')"),
        (Item, {"name": "a"}, "its annotation says Item"),
        (int, "7", "input is '7', a str: its annotation says int"),
        (int, True, "its annotation says int"),
        (dict[str, Item], {"x": 3}, "input.x is 3"),
        (list[int] | None, [1, "x"], "input[1] is 'x'"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_path(type_: Any, value: Any, message: str) -> None:
    with pytest.raises(NotJson) as refused:
        encoded(codec_of(type_), value, "input")
    assert message in str(refused.value)


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NotJson, match="does it contain itself"):
        encoded(ANY, endless, "input")


def test_a_dataclass_is_written_where_any_is_annotated_but_not_where_it_has_to_come_back() -> None:
    assert json.loads(encoded(ANY, {"item": Item("a", Decimal(1))}, "input")) == {
        "item": {"name": "a", "price": "1", "tags": []}
    }
    with pytest.raises(NotJson, match="nothing says that it comes back as one"):
        encoded(EXACT, Item("a", Decimal(1)), "input")


@pytest.mark.parametrize(
    ("type_", "text", "message"),
    [
        (Item, '{"price":"1"}', "input has no 'name', a field of Item"),
        (Item, '{"name":1,"price":"1"}', "input.name is 1, a number: it has to be a text"),
        (list[Item], '[{"name":"a","price":"x"}]', "input[0].price is 'x'"),
        (int, "1.5", "input is 1.5, a number: it has to be a whole number"),
        (Color, '"green"', "one of 'red', 'blue'"),
        (Item | None, '{"name":1,"price":"1"}', "input.name is 1"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_path(type_: Any, text: str, message: str) -> None:
    with pytest.raises(Failure) as refused:
        decoded(codec_of(type_), text, "input")
    assert refused.value.code == 400 and message in refused.value.message


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (set[int], "JSON has no sets: write list"),
        (list[bytes], "JSON has no bytes"),
        (dict[float, int], "keys are texts"),
        (complex, "complex"),
        (object.__class__, "no type that can be written as JSON"),
    ],
)
def test_a_type_that_json_does_not_have_is_refused(type_: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        codec_of(type_)


def schema(type_: Any) -> Any:
    return json.loads(schema_text(codec_of(type_)) or "{}")


def test_schemas_say_what_fits() -> None:
    assert schema(int | None) == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert schema(Any) == {}
    item = schema(Item)
    assert item["$ref"] == "#/$defs/Item"
    about = item["$defs"]["Item"]
    assert about["required"] == ["name", "price"] and about["description"] == "One thing."
    assert about["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert schema(Tree)["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert set(schema(tuple[Box[int], Box[str]])["$defs"]) == {"Box_int", "Box_str"}
    assert schema(tuple[int, str])["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert "ISO 8601" in schema(datetime)["description"]
