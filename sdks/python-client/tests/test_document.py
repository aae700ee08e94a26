"""The API as the client knows it, and as a host describes it."""

from __future__ import annotations

import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import httpx
import pytest

from host import ROOT, Host
from segno_client import api

PACKAGE = Path(api.__file__).parent
ROUTES = {name: route for name, route in vars(api).items() if isinstance(route, api.Route)}
TYPES = {name: kind for name, kind in vars(api).items() if is_typeddict(kind)}
ENUMS = {
    name: set(get_args(kind))
    for name, kind in vars(api).items()
    if get_origin(kind) is typing.Literal and name != "ProblemCode"
}
CODES = (
    "not-begun",
    "read-too-long",
    "unknown-outcome",
    "journal-grew",
    "query-failed",
    "update-refused",
    "key-reused",
    "object-busy",
)


@pytest.fixture(scope="module")
def document(host: Host) -> Any:
    return httpx.get(f"{host.server}/openapi.json", trust_env=False).json()


def source() -> str:
    files = [*PACKAGE.glob("*.py"), *(PACKAGE / "_async").glob("*.py")]
    return "\n".join(file.read_text() for file in files if file.name != "api.py")


def test_each_route_method_and_parameter_is_one_of_the_host(document: Any) -> None:
    for name, route in ROUTES.items():
        operation = document["paths"][route.path][route.method.lower()]
        parameters = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
        assert set(route.query) == parameters, name


def test_each_body_and_answer_is_that_of_the_host(document: Any) -> None:
    hints = {
        name: get_args(kind)
        for name, kind in get_type_hints(api, vars(api)).items()
        if get_origin(kind) is api.Route
    }
    assert hints.keys() == ROUTES.keys()
    for name, (body, answer) in hints.items():
        operation = document["paths"][ROUTES[name].path][ROUTES[name].method.lower()]
        sent = operation.get("requestBody", {}).get("content", {}).get("application/json")
        given = next(one for status, one in operation["responses"].items() if status.startswith("2"))
        taken = given.get("content", {}).get("application/json")
        assert (reference(sent) if sent else None) == (body.__name__ if is_typeddict(body) else None), name
        assert (reference(taken) if taken else None) == (answer.__name__ if is_typeddict(answer) else None), name


def test_each_field_is_one_of_the_host_with_its_type(document: Any) -> None:
    for name, kind in TYPES.items():
        schema = document["components"]["schemas"][name]
        parts = [schema, *(part for part in schema.get("allOf", []) if "$ref" not in part)]
        fields = {field: one for part in parts for field, one in part.get("properties", {}).items()}
        required = {field for part in parts for field in part.get("required", [])}
        for base in (part["$ref"].split("/")[-1] for part in schema.get("allOf", []) if "$ref" in part):
            fields |= document["components"]["schemas"][base]["properties"]
            required |= set(document["components"]["schemas"][base]["required"])
        hints = get_type_hints(kind)
        assert hints.keys() == fields.keys(), name
        assert kind.__required_keys__ == required, name
        for field, hint in hints.items():
            assert words(hint) == expected(fields[field]), f"{name}.{field}"


def test_each_word_is_one_of_the_host(document: Any) -> None:
    for name, values in ENUMS.items():
        assert values == set(document["components"]["schemas"][name]["enum"]), name


def test_each_route_has_a_method() -> None:
    text = source()
    assert [name for name in ROUTES if name not in text] == []


def test_the_codes_that_decide_something_are_codes_of_the_api(document: Any) -> None:
    known = str(document) + (ROOT / "docs/reference/api.md").read_text()
    for code in CODES:
        assert code in source(), f"`{code}` is not used"
        assert f"`{code}`" in known, f"`{code}` is no code of the API"


def test_the_synchronous_client_is_written_from_the_other() -> None:
    script = ROOT / "sdks/python-client/scripts/unasync.py"
    subprocess.run([sys.executable, script, "--check"], check=True)


def reference(content: Any) -> str:
    return str(content["schema"]["$ref"]).split("/")[-1]


def words(hint: Any) -> str:
    """A hint in words that a schema can be put into, too."""
    if get_origin(hint) in (typing.Union, types.UnionType):
        return next(words(one) for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is typing.Literal:
        return "one of " + ", ".join(sorted(get_args(hint)))
    if get_origin(hint) is list:
        return f"list of {words(get_args(hint)[0])}"
    if get_origin(hint) is dict:
        return f"map of {words(get_args(hint)[1])}"
    return {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}.get(
        getattr(hint, "__name__", ""), getattr(hint, "__name__", "Any")
    )


def expected(schema: Any) -> str:
    if "oneOf" in schema:
        return expected(next(one for one in schema["oneOf"] if "$ref" in one))
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        return "one of " + ", ".join(sorted(ENUMS[name])) if name in ENUMS else name
    kinds = schema.get("type", [])
    kind = next((one for one in ([kinds] if isinstance(kinds, str) else kinds) if one != "null"), "Any")
    if kind == "array":
        return f"list of {expected(schema['items'])}"
    if kind == "object":
        return f"map of {expected(schema['additionalProperties'])}"
    return str(kind)
