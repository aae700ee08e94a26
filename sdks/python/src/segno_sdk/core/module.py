"""A module: the functions that a component offers, and how it describes them."""

import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .defect import is_own
from .function import Activity, Function, Workflow
from .handler import Handler
from .object import Object


@dataclass(frozen=True)
class Module:
    """The functions of a module, by name."""

    functions: dict[str, Function[Any, Any]]

    @classmethod
    def of(cls, functions: Iterable[Function[Any, Any]]) -> "Module":
        """Refuses two functions with one name."""
        found: dict[str, Function[Any, Any]] = {}
        for function in functions:
            other = found.setdefault(function.name, function)
            if other is not function:
                raise ValueError(
                    f"two functions have the name `{function.name}`: {other.place} and {function.place}; write name='…' for one of them"
                )
        return cls(found)

    @classmethod
    def of_python(cls, module: types.ModuleType) -> "Module":
        """The functions of a Python module: those that it defines or imports, and those of the modules that it imports."""
        return cls.of(_functions(module, set()))

    def workflow(self, name: str) -> Workflow[Any, Any]:
        """The workflow with this name. Raises `LookupError`."""
        function = self.functions.get(name)
        if not isinstance(function, Workflow):
            raise LookupError(f"there is no workflow `{name}`; there are: {self._names(Workflow)}")
        return function

    def activity(self, name: str) -> Activity[Any, Any]:
        """The activity with this name. Raises `LookupError`."""
        function = self.functions.get(name)
        if not isinstance(function, Activity):
            raise LookupError(f"there is no activity `{name}`; there are: {self._names(Activity)}")
        return function

    def _names(self, kind: type) -> str:
        return (
            ", ".join(f"`{name}`" for name, function in self.functions.items() if isinstance(function, kind)) or "none"
        )

    @property
    def workflows(self) -> list[Workflow[Any, Any]]:
        """All workflows, those of objects included."""
        return [function for function in self.functions.values() if isinstance(function, Workflow)]

    @property
    def handlers(self) -> list[Handler]:
        """All queries and updates."""
        return [handler for workflow in self.workflows for handler in workflow.handlers.values()]


def _functions(module: types.ModuleType, seen: set[str]) -> Iterable[Function[Any, Any]]:
    seen.add(module.__name__)
    for value in list(vars(module).values()):
        if isinstance(value, Function):
            yield value
        elif isinstance(value, type) and issubclass(value, Object) and value is not Object:
            yield from value.methods()
        elif isinstance(value, types.ModuleType) and value.__name__ not in seen and _is_of_author(value):
            yield from _functions(value, seen)


def _is_of_author(module: types.ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return (
        file is not None
        and not is_own(file)
        and "site-packages" not in file
        and not module.__name__.startswith("segno_sdk")
    )
