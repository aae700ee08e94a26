"""Handles of values that a graph will have: the input of a run, the outputs of its nodes, and parts of them."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, NoReturn, TypeVar

from ...codec import ANY, encoded, plain
from .template import INPUT

T_co = TypeVar("T_co", covariant=True)


class Place(Generic[T_co]):
    """A value that is known when the graph runs, or a part of it: an input of nodes, or the subject of a condition."""

    def __init__(self, owner: object, origin: str, pointer: str = "") -> None:
        self.owner, self.origin, self.pointer = owner, origin, pointer

    def at(self, *path: str | int) -> "Place[Any]":
        """A field, or an item of a list: `order.at("items", 0, "price")`. It is None where there is none."""
        steps = (str(one).replace("~", "~0").replace("/", "~1") for one in path)
        return Place(self.owner, self.origin, "/".join((self.pointer, *steps)))

    def is_(self, value: Any) -> "Condition":
        """Equal to this."""
        return self._test("is", value)

    def is_not(self, value: Any) -> "Condition":
        """Not equal to this."""
        return self._test("is_not", value)

    def above(self, number: float) -> "Condition":
        """A number greater than this."""
        return self._test("above", number)

    def below(self, number: float) -> "Condition":
        """A number less than this."""
        return self._test("below", number)

    def at_least(self, number: float) -> "Condition":
        """A number not less than this."""
        return self._test("at_least", number)

    def at_most(self, number: float) -> "Condition":
        """A number not greater than this."""
        return self._test("at_most", number)

    def exists(self) -> "Condition":
        """There is such a value; None is one, and the output of a skipped node is none."""
        return self._test("exists", True)

    def written(self, key: str) -> dict[str, Any]:
        """The place in the form of a plan."""
        return {key: self.origin, **({"at": self.pointer} if self.pointer else {})}

    def _test(self, test: str, value: Any) -> "Condition":
        operand = plain(encoded(ANY, value, f"the value that {self!r} is compared with"))
        return Condition({**self.written("from"), test: operand}, (self,))

    def __repr__(self) -> str:
        return "the input of the graph" if self.origin == INPUT else f"the output of `{self.origin}`"

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(f"{self!r} is known only when the graph runs: pass it to a node, or test it with `when=`")

    __bool__ = __iter__ = __len__ = __getitem__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse


class Output(Place[T_co]):
    """The output of a node."""


class Condition:
    """Decides if a node runs. Joined by `&`, `|` and `~`."""

    def __init__(self, expression: dict[str, Any], places: tuple[Place[Any], ...]) -> None:
        self.expression, self.places = expression, places

    def __and__(self, other: "Condition") -> "Condition":
        return Condition({"all": [self.expression, other.expression]}, (*self.places, *other.places))

    def __or__(self, other: "Condition") -> "Condition":
        return Condition({"any": [self.expression, other.expression]}, (*self.places, *other.places))

    def __invert__(self) -> "Condition":
        return Condition({"not": self.expression}, self.places)

    def __bool__(self) -> NoReturn:
        raise TypeError("a condition is known only when the graph runs: join conditions with `&`, `|` and `~`")


def template_of(source: Any, what: str, found: Callable[[Place[Any]], None]) -> Any:
    """A value with places in the form of a template. `found` is told of the places."""
    if isinstance(source, Place):
        found(source)
        return source.written("$from")
    if isinstance(source, (list, tuple)):
        return [template_of(one, f"{what}[{number}]", found) for number, one in enumerate(source)]
    if dataclasses.is_dataclass(source) and not isinstance(source, type):
        fields = {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}
        return template_of(fields, what, found)
    if isinstance(source, Mapping):
        if "$from" in source:
            raise TypeError(f"{what} has a field '$from', which marks a place in a plan: pass the output itself")
        return {key: template_of(one, f"{what}.{key}", found) for key, one in source.items()}
    return plain(encoded(ANY, source, what))


def has_places(source: Any) -> bool:
    """True if a value has places in it."""
    found: list[Place[Any]] = []
    try:
        template_of(source, "", found.append)
    except TypeError:
        pass
    return bool(found)
