"""Modules in the place of those that the build of a component makes from the contract."""

import sys
from collections.abc import Callable
from enum import Enum
from types import ModuleType
from typing import Any

RECORDS = {
    "Payload_Json": "value", "Payload_Bytes": "value", "Failure": "code message details", "Outcome_Success": "value",
    "Outcome_Failure": "value", "Completion": "command outcome", "Signal": "name payload", "Event_Completed": "value",
    "Event_Signal": "value", "Event_Cancelled": "", "RetryOptions": "initial_ms factor max_ms jitter max_attempts non_retryable",
    "CallOptions": "timeout_ms retry start_at_ms labels", "PromiseOptions": "timeout_ms", "HttpRequest": "method url headers body",
    "HttpResponse": "status headers body", "ResponseHead": "response status headers", "RunAnswer_Execute": "value", "RunAnswer_Recorded": "value",
    "FunctionDescription": "name kind summary input_schema output_schema signals timeout_ms retry",
    "Context": "invocation parent started_at_ms seed",
    "ActivityContext": "invocation idempotency_key fence_token attempt last_progress started_at_ms deadline_ms",
}  # fmt: skip
EXPORTS = {
    "messages": {"MessageDescription": "function kind name schema"},
    "objects": {"ObjectFunction": "function access"},
    "exposures": {"Exposure": "function protocol"},
    "handlers": {"HandlerDescription": "function kind name summary input_schema output_schema"},
    "limits": {
        "Rate": "count period_ms burst", "Bounds": "concurrency rate", "Priority": "path order", "Debounce": "period_ms longest_ms",
        "FunctionLimits": "function key per_key total priority singleton debounce",
    },
}  # fmt: skip
ENUMS = {
    "Level": "TRACE DEBUG INFO WARN ERROR", "FunctionKind": "WORKFLOW ACTIVITY", "MessageKind": "PROMISE SIGNAL",
    "Access": "EXCLUSIVE SHARED", "HandlerKind": "QUERY UPDATE", "Order": "STRICT WEIGHTED", "Singleton": "SKIP REPLACE",
}  # fmt: skip
IMPORTS = """journal sagas state object_promises signals generations streams activity activity_streams blobs costs http_bodies configuration files""".split()


class Refused(Exception):
    """`Err` of componentize-py."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


def record(name: str, fields: str) -> type:
    """A class with these fields."""
    names = fields.split()

    def begin(self: Any, *values: Any) -> None:
        assert len(values) == len(names), (name, values)
        self.__dict__.update(zip(names, values, strict=True))

    return type(name, (), {"__init__": begin, "__repr__": lambda self: f"{name}{self.__dict__}"})


def install(ask: Callable[[str, str, tuple[Any, ...]], Any]) -> ModuleType:
    """Puts the modules into `sys.modules`. `ask` answers what is asked of the host. Returns the module of the types."""
    enums: dict[str, Any] = {name: Enum(name, values) for name, values in ENUMS.items()}  # type: ignore[misc]
    types = module("wit_world.imports.types", {**{name: record(name, of) for name, of in RECORDS.items()}, **enums})
    module("componentize_py_types", {"Err": Refused})
    module("wit_world", {})
    imports, exports = module("wit_world.imports", {"types": types}), module("wit_world.exports", {})
    for name in IMPORTS:
        made = module(f"wit_world.imports.{name}", {"Step": record("Step", "saga seq compensate compensate_unknown")})
        made.__getattr__ = lambda function, interface=name: lambda *given: ask(interface, function, given)  # type: ignore[method-assign]
        setattr(imports, name, made)
    for name, classes in EXPORTS.items():
        about = {one: record(one, fields) for one, fields in classes.items()}
        setattr(exports, name, module(f"wit_world.exports.{name}", {**about, **enums}))
    return types


def module(name: str, content: dict[str, Any]) -> ModuleType:
    """A module with this content."""
    made = ModuleType(name)
    made.__dict__.update(content)
    sys.modules[name] = made
    return made
