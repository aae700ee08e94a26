"""Types whose JSON is one number, one text, one boolean or null."""

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any
from uuid import UUID

from ..core.failure import NotJson
from .base import Schema, shown, unlike, wrong


def checked_text(value: str, path: str) -> str:
    """Refuses halves of characters."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = value[error.start]
            raise NotJson(
                f"{path} is {shown(value)}, which has half of a character ({half!a}, a lone surrogate)"
            ) from None
    return value


def checked_float(value: float, path: str) -> float:
    """Refuses what JSON has no digits for."""
    if not math.isfinite(value):
        raise NotJson(f"{path} is {value}, which JSON does not have: write None, or a text")
    return value


class NoneCodec:
    """`None`, in JSON null."""

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "null"}

    def decode(self, value: Any, path: str) -> None:
        if value is not None:
            raise wrong(path, "null", value)

    def encode(self, value: Any, path: str) -> None:
        if value is not None:
            raise unlike(path, "None", value)


class BoolCodec:
    """`bool`."""

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "boolean"}

    def decode(self, value: Any, path: str) -> bool:
        if not isinstance(value, bool):
            raise wrong(path, "true or false", value)
        return value

    def encode(self, value: Any, path: str) -> bool:
        if not isinstance(value, bool):
            raise unlike(path, "bool", value)
        return value


class IntCodec:
    """`int`, with any number of digits."""

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "integer"}

    def decode(self, value: Any, path: str) -> int:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong(path, "a whole number", value)
        return value

    def encode(self, value: Any, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise unlike(path, "int", value)
        return int(value)


class FloatCodec:
    """`float`; whole numbers are taken too."""

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "number"}

    def decode(self, value: Any, path: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wrong(path, "a number", value)
        return float(value)

    def encode(self, value: Any, path: str) -> float | int:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise unlike(path, "float", value)
        return checked_float(value, path) if isinstance(value, float) else value


class StrCodec:
    """`str`."""

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "string"}

    def decode(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise wrong(path, "a text", value)
        return value

    def encode(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise unlike(path, "str", value)
        return checked_text(str(value), path)


class TextCodec:
    """A type that is written as a text."""

    def __init__(self, type_: type, about: Schema, write: Callable[[Any], str], read: Callable[[str], Any]) -> None:
        self.type, self._about, self._write, self._read = type_, about, write, read

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "string", **self._about}

    def decode(self, value: Any, path: str) -> Any:
        if not isinstance(value, str):
            raise wrong(path, f"the text of a {self.type.__name__}", value)
        try:
            return self._read(value)
        except (ValueError, InvalidOperation):
            raise wrong(path, f"the text of a {self.type.__name__} ({self._about.get('description')})", value) from None

    def encode(self, value: Any, path: str) -> str:
        if not isinstance(value, self.type) or (self.type is date and isinstance(value, datetime)):
            raise unlike(path, self.type.__name__, value)
        try:
            return self._write(value)
        except ValueError as error:
            raise NotJson(f"{path} is {shown(value)}: {error}") from None


_LENGTH = re.compile(r"(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6}))?S)?)?")


def _write_length(length: timedelta) -> str:
    sign, length = ("-", -length) if length < timedelta() else ("", length)
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    part = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    clock = (
        (f"{hours}H" if hours else "")
        + (f"{minutes}M" if minutes else "")
        + (f"{seconds}{part}S" if seconds or part else "")
    )
    days = f"{length.days}D" if length.days else ""
    return f"{sign}P{days}{f'T{clock}' if clock else ''}" if days or clock else "PT0S"


def _read_length(text: str) -> timedelta:
    found = _LENGTH.fullmatch(text)
    if not found or text.endswith(("P", "T")):
        raise ValueError(text)
    sign, days, hours, minutes, seconds, part = found.groups()
    length = timedelta(
        days=int(days or 0),
        hours=int(hours or 0),
        minutes=int(minutes or 0),
        seconds=int(seconds or 0),
        microseconds=int((part or "").ljust(6, "0")),
    )
    return -length if sign else length


def _write_decimal(number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError("a Decimal has to be finite")
    return str(number)


def _read_instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


#: Types of the standard library that are texts in JSON.
TEXTS: dict[type, TextCodec] = {
    datetime: TextCodec(
        datetime,
        {"format": "date-time", "description": "ISO 8601, such as 2026-01-31T12:00:00+00:00"},
        datetime.isoformat,
        _read_instant,
    ),
    date: TextCodec(
        date, {"format": "date", "description": "ISO 8601, such as 2026-01-31"}, date.isoformat, date.fromisoformat
    ),
    time: TextCodec(
        time, {"format": "time", "description": "ISO 8601, such as 12:00:00"}, time.isoformat, time.fromisoformat
    ),
    timedelta: TextCodec(
        timedelta, {"format": "duration", "description": "ISO 8601, such as PT1H30M"}, _write_length, _read_length
    ),
    Decimal: TextCodec(Decimal, {"description": "a decimal number, such as 12.50"}, _write_decimal, Decimal),
    UUID: TextCodec(UUID, {"format": "uuid", "description": "a UUID"}, str, UUID),
}


class ValuesCodec:
    """`Literal` and `Enum`: one of some values."""

    def __init__(self, values: dict[Any, Any], name: str) -> None:
        # By type too, since True == 1.
        self._decoded = {(type(json), json): value for json, value in values.items()}
        self._encoded = {(type(value), value): json for json, value in values.items()}
        self._json, self._name = list(values), name

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"enum": self._json}

    def decode(self, value: Any, path: str) -> Any:
        try:
            return self._decoded[type(value), value]
        except (KeyError, TypeError):
            raise wrong(path, f"one of {', '.join(map(repr, self._json))}", value) from None

    def encode(self, value: Any, path: str) -> Any:
        try:
            return self._encoded[type(value), value]
        except (KeyError, TypeError):
            raise unlike(path, self._name, value) from None


def enum_codec(type_: type[Enum]) -> ValuesCodec:
    """An `Enum` by the values of its members."""
    for member in type_:
        if not isinstance(member.value, (str, int)):
            raise TypeError(
                f"{type_.__name__}.{member.name} is {member.value!r}: members of an Enum are texts or whole numbers here"
            )
    return ValuesCodec({member.value: member for member in type_}, type_.__name__)
