"""JSON as the host takes it. Values that JSON cannot say are refused with their place."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from .errors import InvalidValueError


def dumps(value: Any) -> str:
    """Writes a value as JSON. Whole numbers keep every digit."""
    _check(value, "", ())
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def loads(text: str) -> Any:
    """Reads JSON. Whole numbers keep every digit; other numbers have the 53 bits of ``float``."""
    return json.loads(text)


def _check(value: Any, place: str, above: tuple[int, ...]) -> None:
    where = f"`{place}`" if place else "the value"
    if value is None or isinstance(value, bool | int):
        return
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidValueError(f"{where} has half of a surrogate pair, which is no character")
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidValueError(f"{where} is {value}, which JSON cannot say")
        return
    if not isinstance(value, dict | list | tuple):
        raise InvalidValueError(f"{where} is a {type(value).__name__}, which JSON cannot say{_advice(value)}")
    if id(value) in above:
        raise InvalidValueError(f"{where} contains itself")
    within = (*above, id(value))
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidValueError(f"{where} has the key {name!r}: keys must be texts")
            _check(name, f"{place}.{name!a}", within)
            _check(item, f"{place}.{name}" if place else name, within)
    else:
        for at, item in enumerate(value):
            _check(item, f"{place}[{at}]", within)


def _advice(value: Any) -> str:
    if dataclasses.is_dataclass(value):
        return ": pass `dataclasses.asdict(…)`"
    if hasattr(value, "model_dump"):
        return ": pass `….model_dump(mode='json')`"
    if hasattr(value, "isoformat"):
        return ": pass `….isoformat()`"
    if isinstance(value, set | frozenset):
        return ": pass a list"
    return ""
