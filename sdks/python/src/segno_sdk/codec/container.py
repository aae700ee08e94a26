"""Types that contain others: lists, tuples, dicts, unions, and anything."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..core.failure import NotJson
from .base import DEPTH_MAX, Codec, Mismatch, Schema, shown, unlike, wrong
from .scalar import checked_float, checked_text


class ListCodec:
    """`list[T]`, and `tuple[T, ...]` where the annotation says it."""

    def __init__(self, item: Codec, make: Callable[[list[Any]], Any], types: tuple[type, ...], name: str) -> None:
        self._item, self._make, self._types, self._name = item, make, types, name

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "array", "items": self._item.schema(defs)}

    def decode(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise wrong(path, "a list", value)
        return self._make([self._item.decode(one, f"{path}[{place}]") for place, one in enumerate(value)])

    def encode(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, self._types):
            raise unlike(path, self._name, value)
        items = cast(Sequence[Any], value)
        return [self._item.encode(one, f"{path}[{place}]") for place, one in enumerate(items)]


class TupleCodec:
    """`tuple[A, B]`: a list of that length."""

    def __init__(self, items: Sequence[Codec]) -> None:
        self._items = items

    def schema(self, defs: dict[str, Schema]) -> Schema:
        items = [item.schema(defs) for item in self._items]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}

    def decode(self, value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(self._items):
            raise wrong(path, f"a list of {len(self._items)}", value)
        return tuple(item.decode(one, f"{path}[{place}]") for place, (item, one) in enumerate(zip(self._items, value)))

    def encode(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, (tuple, list)) or len(value) != len(self._items):
            raise unlike(path, f"a tuple of {len(self._items)}", value)
        return [item.encode(one, f"{path}[{place}]") for place, (item, one) in enumerate(zip(self._items, value))]


class DictCodec:
    """`dict[K, V]`. Keys are texts in JSON; the annotation may say what they are texts of."""

    def __init__(self, key: Codec, value: Codec, is_number: bool) -> None:
        self._key, self._value, self._is_number = key, value, is_number

    def schema(self, defs: dict[str, Schema]) -> Schema:
        about: Schema = {"type": "object", "additionalProperties": self._value.schema(defs)}
        names = {"pattern": "^-?[0-9]+$"} if self._is_number else self._key.schema(defs)
        return about if names == {"type": "string"} else {**about, "propertyNames": names}

    def decode(self, value: Any, path: str) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise wrong(path, "an object", value)
        return {self._read(key, path): self._value.decode(one, f"{path}.{key}") for key, one in value.items()}

    def _read(self, key: str, path: str) -> Any:
        if not self._is_number:
            return self._key.decode(key, f"the key {key!r} of {path}")
        try:
            return int(key)
        except ValueError:
            raise wrong(f"the key {key!r} of {path}", "a whole number", key) from None

    def encode(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise unlike(path, "dict", value)
        encoded: dict[str, Any] = {}
        for key, one in value.items():
            name = self._key.encode(key, f"the key {key!r} of {path}")
            encoded[str(name)] = self._value.encode(one, f"{path}.{name}")
        return encoded


class UnionCodec:
    """`A | B`: the first type that fits."""

    def __init__(self, choices: Sequence[Codec], name: str) -> None:
        self._choices, self._name = choices, name

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"anyOf": [choice.schema(defs) for choice in self._choices]}

    def decode(self, value: Any, path: str) -> Any:
        reasons = []
        for choice in self._choices:
            try:
                return choice.decode(value, path)
            except Mismatch as reason:
                reasons.append(reason)
        # The reason from the deepest place says most.
        deepest = max(reasons, key=lambda reason: len(reason.path))
        raise deepest if len(deepest.path) > len(path) else wrong(path, self._name, value)

    def encode(self, value: Any, path: str) -> Any:
        reasons = []
        for choice in self._choices:
            try:
                return choice.encode(value, path)
            except NotJson as reason:
                reasons.append(reason)
        inner = [reason for reason in reasons if not str(reason).startswith(f"{path} is ")]
        raise inner[0] if inner else unlike(path, self._name, value)


class AnyCodec:
    """`Any`: whatever JSON has. `find` gives the codec of a type that has one; None refuses such values, where what
    comes back would be something else."""

    def __init__(self, find: Callable[[Any], Codec] | None) -> None:
        self._find = find

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {}

    def decode(self, value: Any, path: str) -> Any:
        return value

    def encode(self, value: Any, path: str, depth: int = 0) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is int:
            return value
        if kind is str:
            return checked_text(value, path)
        if kind is float:
            return checked_float(value, path)
        if depth >= DEPTH_MAX:
            raise NotJson(f"{path} is deeper than {DEPTH_MAX} lists and dicts; does it contain itself?")
        if kind is list:
            return [self.encode(one, f"{path}[{place}]", depth + 1) for place, one in enumerate(value)]
        if kind is dict:
            return {self._name(key, path): self.encode(one, f"{path}.{key}", depth + 1) for key, one in value.items()}
        return self._other(value, path)

    @staticmethod
    def _name(key: Any, path: str) -> str:
        if isinstance(key, str):
            return checked_text(key, f"the key {key!r} of {path}")
        raise NotJson(
            f"{path} has the key {key!r}, a {type(key).__name__}: keys in JSON are texts, so write str(…), or annotate the dict"
        )

    def _other(self, value: Any, path: str) -> Any:
        kind = type(value)
        if isinstance(value, tuple) and not hasattr(kind, "_fields"):
            raise NotJson(
                f"{path} is {shown(value)}, a tuple, which comes back as a list: write list(…), or annotate it as a tuple"
            )
        if isinstance(value, (set, frozenset)):
            raise NotJson(f"{path} is {shown(value)}, a {kind.__name__}, which JSON does not have: write sorted(…)")
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise NotJson(
                f"{path} is {shown(value)}, {kind.__name__}, which JSON does not have: write base64.b64encode(…).decode()"
            )
        if kind is object:
            raise NotJson(
                f"{path} is {shown(value)}, an object, which JSON does not have: write a dataclass, a dict or a list"
            )
        if self._find is None:
            if (
                dataclasses.is_dataclass(kind)
                or hasattr(kind, "_fields")
                or kind.__module__ in ("datetime", "decimal", "uuid")
            ):
                raise NotJson(
                    f"{path} is {shown(value)}, a {kind.__name__}, and nothing says that it comes back as one: annotate the type"
                )
        else:
            try:
                codec = self._find(kind)
            except TypeError:
                pass
            else:
                return codec.encode(value, path)
        if hasattr(kind, "__await__"):
            raise NotJson(f"{path} is {shown(value)}, which is not awaited: write `await` before it")
        raise NotJson(
            f"{path} is {shown(value)}, a {kind.__name__}, which JSON does not have: write a dataclass, a dict or a list"
        )
