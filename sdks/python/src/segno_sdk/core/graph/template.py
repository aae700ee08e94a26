"""Templates of plans: JSON with places that outputs of nodes fill."""

from collections.abc import Callable
from typing import Any

#: The name of the input of a run in a template.
INPUT = "input"


class Missing:
    """The part of a value that does not exist."""


MISSING = Missing()


def part_of(value: Any, pointer: str) -> Any:
    """A part of a value, by JSON pointer; `MISSING` if there is none."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and str(int(key)) == key and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value


def filled(template: Any, source: Callable[[str, str], Any]) -> Any:
    """Fills the places of a template. `source` gives parts of outputs; one that is missing is None."""
    if isinstance(template, list):
        return [filled(one, source) for one in template]
    if not isinstance(template, dict):
        return template
    if "$from" in template:
        found = source(template["$from"], template.get("at", ""))
        return None if found is MISSING else found
    return {key: filled(one, source) for key, one in template.items()}
