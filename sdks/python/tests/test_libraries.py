"""Libraries in pure Python, in workflows and activities."""

from datetime import datetime
from typing import Any

import attrs
import pytest
import tenacity
import yaml
from dateutil.relativedelta import relativedelta

from segno_sdk import Context, activity, workflow
from segno_sdk.codec import codec_of, decoded, encoded
from segno_sdk.core import guards
from segno_sdk.core.failure import NotAvailable
from segno_sdk.prepare import later_imports, load
from segno_sdk.testing import TestHost


@attrs.define
class Order:
    id: str
    cents: int = 0


@activity
def parses(text: str) -> Order:
    told = yaml.safe_load(text)
    return Order(**told)


@workflow
async def uses(text: str, ctx: Context) -> list[object]:
    order = await ctx.call(parses, text)
    due = datetime.now() + relativedelta(months=1)
    tries: list[int] = []

    @tenacity.retry(
        wait=tenacity.wait_fixed(60),
        stop=tenacity.stop_after_attempt(3),
        retry=tenacity.retry_if_exception_type(KeyError),
    )
    async def asks() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise KeyError
        return len(tries)

    return [order.id, order.cents, due.month, await asks()]


def test_pure_libraries_work_in_virtual_time() -> None:
    host = TestHost()
    assert host.run(uses, "{id: a, cents: 7}") == ["a", 7, 7, 3]
    assert host.elapsed.total_seconds() == 120


def test_attrs_classes_are_types() -> None:
    codec = codec_of(Order)
    assert decoded(codec, encoded(codec, Order("a", 1), "input"), "input") == Order("a", 1)
    assert decoded(codec, '{"id":"a"}', "input") == Order("a")


def test_a_model_of_pydantic_2_is_refused() -> None:
    pydantic = pytest.importorskip("pydantic", minversion="2")

    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        a: int

    with pytest.raises(TypeError, match="pydantic_core.* is native code and does not run on a host"):
        codec_of(Model)


def test_a_model_of_pydantic_1_is_a_type() -> None:
    pydantic = pytest.importorskip("pydantic.v1")

    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        a: int
        b: list[str] = []

    codec = codec_of(Model)
    again: Any = decoded(codec, encoded(codec, Model(a=1, b=["x"]), "input"), "input")
    assert again == Model(a=1, b=["x"])
    with pytest.raises(Exception, match="is no Model"):
        decoded(codec, '{"a":"x"}', "input")


def test_imports_inside_functions_are_found() -> None:
    def imports() -> None:
        import secrets
        from urllib import request

        print(secrets, request)

    import sys

    found = list(later_imports(sys.modules[__name__]))
    assert {"secrets", "urllib", "urllib.request"} <= set(found) and imports is not None


def test_an_import_that_comes_too_late_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    from segno_sdk.core import defect

    monkeypatch.setattr(defect, "unloaded", {"httpcore": "No module named '_ssl' on a host: use `ctx.http`"})
    late, other = ModuleNotFoundError("x", name="httpcore"), ModuleNotFoundError("x", name="other")
    assert "could not be loaded with the module: No module named '_ssl'" in defect.report(late)[1]
    assert "import it at the top of one of them" in defect.report(other)[1]
    zone = type("ZoneInfoNotFoundError", (KeyError,), {})("Europe/Berlin")
    assert "install tzdata in `.venv`" in defect.report(zone)[1]


def test_a_module_that_needs_the_network_while_it_is_loaded_is_refused(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    (tmp_path / "asks_early.py").write_text("import socket\nsocket.create_connection(('localhost', 1))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = socket.create_connection
    try:
        with pytest.raises(NotAvailable, match="no sockets here .*, and not while the module is loaded") as refused:
            load("asks_early")
    finally:
        guards.uninstall()
    assert refused.traceback[-3].path.name == "asks_early.py"
    assert not guards.loading and socket.create_connection is before
