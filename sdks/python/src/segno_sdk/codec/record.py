"""Types with fields: dataclasses, attrs classes, TypedDict, NamedTuple, and pydantic models."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.failure import NotJson
from .base import Codec, Mismatch, Schema, unlike, wrong


@dataclass(frozen=True)
class Field:
    """A field of a type, with its name in Python and in JSON."""

    name: str
    codec: Codec
    required: bool
    #: False for fields that the constructor does not take.
    init: bool = True


class RecordCodec:
    """A type with fields: an object of JSON. The fields are found at the first use, since types may contain themselves."""

    def __init__(
        self,
        type_: type,
        name: str,
        find_fields: Callable[[], list[Field]],
        make: Callable[[dict[str, Any]], Any],
        items: Callable[[Any], dict[str, Any]],
    ) -> None:
        self.type, self._name, self._find_fields, self._make, self._items = type_, name, find_fields, make, items
        self._fields: list[Field] | None = None

    @property
    def fields(self) -> list[Field]:
        """The fields, in their order."""
        if self._fields is None:
            self._fields = self._find_fields()
        return self._fields

    def schema(self, defs: dict[str, Schema]) -> Schema:
        name, number = self._name, 2
        while name in defs and defs[name].get("x-type") is not self:
            name, number = f"{self._name}{number}", number + 1
        if name not in defs:
            about: Schema = {"type": "object", "x-type": self}
            defs[name] = about
            documentation = self.type.__doc__ or ""
            if documentation and not documentation.startswith(f"{self.type.__name__}("):
                about["description"] = documentation.strip().split("\n\n")[0]
            about["properties"] = {field.name: field.codec.schema(defs) for field in self.fields}
            required = [field.name for field in self.fields if field.required]
            if required:
                about["required"] = required
        return {"$ref": f"#/$defs/{name}"}

    def decode(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise wrong(path, f"an object, the fields of {self._name}", value)
        given = {}
        for field in self.fields:
            if field.name in value:
                decoded = field.codec.decode(value[field.name], f"{path}.{field.name}")
                if field.init:
                    given[field.name] = decoded
            elif field.required:
                raise Mismatch(path, f"has no {field.name!r}, a field of {self._name}")
        try:
            return self._make(given)
        except (ValueError, TypeError) as error:
            raise Mismatch(path, f"is no {self._name}: {error}") from error

    def encode(self, value: Any, path: str) -> dict[str, Any]:
        items = self._items(value) if self._fits(value) else None
        if items is None:
            raise unlike(path, self._name, value)
        encoded = {}
        for field in self.fields:
            if field.name in items:
                encoded[field.name] = field.codec.encode(items[field.name], f"{path}.{field.name}")
            elif field.required:
                raise NotJson(f"{path} has no {field.name!r}, a field of {self._name}")
        return encoded

    def _fits(self, value: Any) -> bool:
        return isinstance(value, dict) if issubclass(self.type, dict) else isinstance(value, self.type)


class PydanticCodec:
    """A model of pydantic 1, which is pure Python."""

    def __init__(self, type_: Any) -> None:
        self.type = type_

    def schema(self, defs: dict[str, Schema]) -> Schema:
        about = json.loads(json.dumps(self.type.schema()).replace("#/definitions/", "#/$defs/"))
        defs.update(about.pop("definitions", {}))
        defs[self.type.__name__] = about
        return {"$ref": f"#/$defs/{self.type.__name__}"}

    def decode(self, value: Any, path: str) -> Any:
        try:
            return self.type.parse_obj(value)
        except ValueError as error:
            raise Mismatch(path, f"is no {self.type.__name__}: {error}") from error

    def encode(self, value: Any, path: str) -> Any:
        if not isinstance(value, self.type):
            raise unlike(path, self.type.__name__, value)
        return json.loads(value.json(by_alias=True))
