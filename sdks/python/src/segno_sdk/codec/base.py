"""What a codec is: one type of the author, as a JSON schema and as values of JSON."""

from collections.abc import Awaitable
from typing import Any, Protocol

from ..core.failure import NotJson

Schema = dict[str, Any]
#: The host refuses deeper values.
DEPTH_MAX = 100


class Mismatch(ValueError):
    """A value of JSON that does not fit the type. `path` names the place."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path} {message}")
        self.path = path


class Codec(Protocol):
    """One type of the author."""

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """Returns the schema; types with names are added to `defs`."""
        ...

    def decode(self, value: Any, path: str) -> Any:
        """Makes a value of the author's type from a value of JSON. Raises `Mismatch`."""
        ...

    def encode(self, value: Any, path: str) -> Any:
        """Makes a value of JSON. Raises `NotJson`."""
        ...


def shown(value: Any) -> str:
    """A value, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def named(value: Any) -> str:
    """The type of a value of JSON, for messages."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__}")


def wrong(path: str, wanted: str, value: Any) -> Mismatch:
    """The error of a value of JSON that has another type."""
    return Mismatch(path, f"is {shown(value)}, {named(value)}: it has to be {wanted}")


def unlike(path: str, wanted: str, value: Any) -> NotJson:
    """The error of a value of Python that has another type than its annotation."""
    if isinstance(value, Awaitable):
        return NotJson(f"{path} is {shown(value)}, which is not awaited: write `await` before it")
    return NotJson(f"{path} is {shown(value)}, a {type(value).__name__}: its annotation says {wanted}")
