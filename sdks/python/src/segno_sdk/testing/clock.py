"""Virtual time for code that runs in a test."""

import ctypes
import datetime
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..core.defect import is_own


def _names(now_ms: Callable[[], int]) -> dict[str, Callable[[], Any]]:
    return {
        "time": lambda: now_ms() / 1_000,
        "time_ns": lambda: now_ms() * 1_000_000,
        "monotonic": lambda: now_ms() / 1_000,
        "monotonic_ns": lambda: now_ms() * 1_000_000,
        "perf_counter": lambda: now_ms() / 1_000,
        "perf_counter_ns": lambda: now_ms() * 1_000_000,
    }


@contextmanager
def virtual_time(now_ms: Callable[[], int]) -> Iterator[None]:
    """Replaces the clocks of `time` and `datetime`, also where a module has imported them by name."""
    replaced: list[tuple[ModuleType, str, Any]] = []
    for name, fake in _names(now_ms).items():
        original = getattr(time, name)
        for module in [time, *_modules_of_authors()]:
            for attribute, value in list(vars(module).items()):
                if value is original:
                    replaced.append((module, attribute, original))
                    setattr(module, attribute, fake)
    restore = _replace_now(now_ms)
    try:
        yield
    finally:
        restore()
        for module, attribute, original in replaced:
            setattr(module, attribute, original)


def _modules_of_authors() -> list[ModuleType]:
    modules = [module for module in list(sys.modules.values()) if isinstance(getattr(module, "__file__", None), str)]
    return [
        module for module in modules if not is_own(str(module.__file__)) and "site-packages" not in str(module.__file__)
    ]


def _replace_now(now_ms: Callable[[], int]) -> Callable[[], None]:
    """Replaces the methods of `datetime` that read the clock. These are built-in types, whose methods only this way can
    be replaced for those who have imported the type."""

    def now(cls: Any, tz: Any = None) -> Any:
        return cls.fromtimestamp(now_ms() / 1_000, tz)

    def utcnow(cls: Any) -> Any:
        return cls.fromtimestamp(now_ms() / 1_000, datetime.UTC).replace(tzinfo=None)

    def today(cls: Any) -> Any:
        return cls.fromtimestamp(now_ms() / 1_000)

    fakes: list[tuple[type, str, Any]] = [
        (datetime.datetime, "now", classmethod(now)),
        (datetime.datetime, "utcnow", classmethod(utcnow)),
        (datetime.date, "today", classmethod(today)),
    ]
    undo = [(type_, name, _put(type_, name, fake)) for type_, name, fake in fakes]

    def restore() -> None:
        for type_, name, original in undo:
            _put(type_, name, original)

    return restore


def _put(type_: type, name: str, value: Any) -> Any:
    attributes: dict[str, Any] = gc.get_referents(type_.__dict__)[0]
    original = attributes[name]
    attributes[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(type_))
    return original
