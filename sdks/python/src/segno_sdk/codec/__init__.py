"""Types of the author as JSON: schemas, and values in both directions.

A codec is found by the annotation. What JSON cannot say is refused where it is made, with its path.
"""

import json
from typing import Any

from ..core.failure import BAD_INPUT, Failure, NotJson
from .base import Codec, Mismatch, Schema
from .find import ANY, EXACT, codec_of

__all__ = ["ANY", "EXACT", "Codec", "Mismatch", "decoded", "encoded", "codec_of", "schema_text"]


def schema_text(codec: Codec) -> str | None:
    """The JSON schema (draft 2020-12) of a type as text; None for `Any`."""
    defs: dict[str, Schema] = {}
    about = dict(codec.schema(defs))
    for definition in defs.values():
        definition.pop("x-type", None)
    if not about:
        return None
    if defs:
        about["$defs"] = defs
    return json.dumps(about, ensure_ascii=False)


def encoded(codec: Codec, value: Any, what: str) -> str:
    """The JSON text of a value. `what` begins the path in errors, such as `input`."""
    try:
        plain = codec.encode(value, what)
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise NotJson(f"{what} is deeper than 100 lists and objects; does it contain itself?") from None


def plain(payload: str | bytes) -> Any:
    """The value of JSON that a payload has; bytes stay bytes."""
    if isinstance(payload, bytes):
        return payload
    return None if payload == "" else json.loads(payload)


def decoded(codec: Codec, payload: str | bytes, what: str) -> Any:
    """The value of a payload in the author's type. Raises a `Failure` with code 400 if it does not fit."""
    try:
        return codec.decode(plain(payload), what)
    except ValueError as error:
        raise Failure(BAD_INPUT, str(error)) from None
