"""Finds the codec of a type."""

import collections.abc
import dataclasses
import sys
import types
import typing
from datetime import date
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from .base import Codec
from .container import AnyCodec, DictCodec, ListCodec, TupleCodec, UnionCodec
from .record import Field, PydanticCodec, RecordCodec
from .scalar import TEXTS, BoolCodec, FloatCodec, IntCodec, NoneCodec, StrCodec, ValuesCodec, enum_codec

_SCALARS: dict[Any, Codec] = {
    None: NoneCodec(), type(None): NoneCodec(), bool: BoolCodec(), int: IntCodec(), float: FloatCodec(), str: StrCodec(), **TEXTS,
}  # fmt: skip
_LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_REFUSED = {
    set: "JSON has no sets: write list[…]",
    frozenset: "JSON has no sets: write list[…]",
    bytes: "JSON has no bytes: write str, and pass base64.b64encode(…).decode()",
    bytearray: "JSON has no bytes: write str, and pass base64.b64encode(…).decode()",
    complex: "JSON has no complex numbers: write tuple[float, float]",
}
_found: dict[Any, Codec] = {}


def codec_of(type_: Any) -> Codec:
    """The codec of a type. Raises `TypeError`, if values of this type cannot be JSON."""
    try:
        known = _found.get(type_)
    except TypeError:  # Not hashable, such as Annotated with a dict.
        return _find(type_, {})
    if known is None:
        known = _found[type_] = _find(type_, {})
    return known


def set_codec(type_: type, codec: Codec) -> None:
    """Sets the codec of a type whose JSON differs from its fields."""
    _found[type_] = codec


#: Takes what JSON has; a value of a type with a codec is written by it.
ANY = AnyCodec(codec_of)
#: Takes what JSON has and gives back unchanged.
EXACT = AnyCodec(None)


def _find(type_: Any, names: dict[Any, Any]) -> Codec:
    """`names`: what the parameters of generic types stand for."""
    if type_ in (Any, object, typing.Hashable):
        return ANY
    if isinstance(type_, TypeVar):
        return _find(names[type_], {}) if type_ in names else ANY
    if isinstance(type_, NewType):
        return _find(type_.__supertype__, names)
    if isinstance(type_, str):
        raise TypeError(f"the annotation {type_!r} is a text that names no type")
    if type_ in _SCALARS:
        return _SCALARS[type_]
    alias = getattr(type_, "__value__", None)
    if alias is not None and type(type_).__name__ == "TypeAliasType":
        return _Later(lambda: codec_of(alias))
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Annotated, Required, NotRequired, getattr(typing, "ReadOnly", None)) and origin is not None:
        return _find(arguments[0], names)
    if origin in (Union, types.UnionType):
        return UnionCodec([_find(one, names) for one in arguments], _name(type_))
    if origin is Literal:
        return ValuesCodec({one.value if isinstance(one, Enum) else one: one for one in arguments}, _name(type_))
    if (origin or type_) in _LISTS:
        item = _find(arguments[0], names) if arguments else ANY
        return ListCodec(item, list, (list,) if (origin or type_) is list else (list, tuple), _name(type_))
    if (origin or type_) is tuple:
        return _tuple(arguments, names)
    if (origin or type_) in _DICTS:
        return _dict(arguments or (str, Any), names)
    if (origin or type_) in _REFUSED:
        raise TypeError(f"{_name(type_)} is no type of JSON. {_REFUSED[origin or type_]}")
    if isinstance(origin or type_, type):
        return _class(origin or type_, arguments, names, type_)
    raise TypeError(f"{_name(type_)} is no type that can be written as JSON")


def _tuple(arguments: tuple[Any, ...], names: dict[Any, Any]) -> Codec:
    if not arguments:
        return ListCodec(ANY, tuple, (tuple, list), "tuple")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return ListCodec(_find(arguments[0], names), tuple, (tuple, list), "tuple")
    return TupleCodec([_find(one, names) for one in arguments if one != ()])


def _dict(arguments: tuple[Any, ...], names: dict[Any, Any]) -> Codec:
    key, value = arguments
    is_text = key in (str, UUID, date, Any) or isinstance(key, TypeVar) or get_origin(key) is Literal
    is_text = is_text or _is_subclass(key, Enum) or isinstance(key, NewType)
    if not is_text and key is not int:
        raise TypeError(f"dict[{_name(key)}, …] is no type of JSON, where keys are texts: write dict[str, …]")
    return DictCodec(_find(str if key is Any else key, names), _find(value, names), key is int)


def _class(type_: Any, arguments: tuple[Any, ...], names: dict[Any, Any], whole: Any) -> Codec:
    if _is_subclass(type_, Enum):
        return enum_codec(type_)
    parameters = getattr(type_, "__parameters__", ())
    given = {parameter: names.get(argument, argument) for parameter, argument in zip(parameters, arguments)}
    name = type_.__name__ + "".join(f"_{_name(argument)}" for argument in given.values())
    if dataclasses.is_dataclass(type_):
        return _dataclass(type_, name, given, whole)
    if _is_subclass(type_, dict) and hasattr(type_, "__required_keys__"):

        def find() -> list[Field]:
            hints = get_type_hints(type_, include_extras=True)
            return [Field(key, _find(hint, given), key in type_.__required_keys__) for key, hint in hints.items()]

        return _kept(whole, RecordCodec(type_, name, find, dict, dict))
    if _is_subclass(type_, tuple) and hasattr(type_, "_fields"):

        def find_fields() -> list[Field]:
            hints = get_type_hints(type_)
            return [
                Field(key, _find(hints.get(key, Any), given), key not in type_._field_defaults) for key in type_._fields
            ]

        return _kept(
            whole, RecordCodec(type_, name, find_fields, lambda items: type_(**items), lambda value: value._asdict())
        )
    if hasattr(type_, "__attrs_attrs__"):
        return _attrs(type_, name, given, whole)
    if hasattr(type_, "model_fields"):
        raise TypeError(
            f"{type_.__name__} is a model of pydantic 2, whose core (pydantic_core) is native code and does not run on a host: "
            "write a dataclass, or install pydantic 1 without native code (pip install --no-binary pydantic 'pydantic<2')"
        )
    if hasattr(type_, "parse_obj") and hasattr(type_, "__fields__"):
        return _kept(whole, PydanticCodec(type_))
    raise TypeError(
        f"{type_.__name__} is no type that can be written as JSON: make it a dataclass, with annotated fields"
    )


def _dataclass(type_: Any, name: str, given: dict[Any, Any], whole: Any) -> Codec:
    def find() -> list[Field]:
        hints = get_type_hints(type_, include_extras=True)
        return [
            Field(field.name, _find(hints[field.name], given), _is_required(field), field.init)
            for field in dataclasses.fields(type_)
        ]

    def items(value: Any) -> dict[str, Any]:
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}

    return _kept(whole, RecordCodec(type_, name, find, lambda items: type_(**items), items))


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _attrs(type_: Any, name: str, given: dict[Any, Any], whole: Any) -> Codec:
    nothing = getattr(sys.modules.get("attr"), "NOTHING", None)

    def find() -> list[Field]:
        hints = get_type_hints(type_)
        attributes = [attribute for attribute in type_.__attrs_attrs__ if attribute.init]
        return [Field(one.name, _find(hints.get(one.name, Any), given), one.default is nothing) for one in attributes]

    def make(items: dict[str, Any]) -> Any:
        return type_(**{key.lstrip("_"): value for key, value in items.items()})

    return _kept(
        whole,
        RecordCodec(
            type_, name, find, make, lambda value: {one.name: getattr(value, one.name) for one in type_.__attrs_attrs__}
        ),
    )


def _kept(type_: Any, codec: Codec) -> Codec:
    """Keeps a codec before its fields are looked at: a type may contain itself."""
    if get_args(type_) and getattr(type_, "__parameters__", ()):
        return codec  # What its parameters stand for depends on the type around it.
    return _found.setdefault(type_, codec)


class _Later:
    """A codec that is found at its first use."""

    def __init__(self, find: Any) -> None:
        self._find = find

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        return self._find().schema(defs)  # type: ignore[no-any-return]

    def decode(self, value: Any, path: str) -> Any:
        return self._find().decode(value, path)

    def encode(self, value: Any, path: str) -> Any:
        return self._find().encode(value, path)


def _is_subclass(type_: Any, of: type) -> bool:
    return isinstance(type_, type) and issubclass(type_, of)


def _name(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) and not get_args(type_) else str(type_).replace("typing.", "")
