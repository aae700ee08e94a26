"""The code of the documents: each block is Python, and the programs run."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from segno_sdk.http import Response
from segno_sdk.testing import TestHost

PACKAGE = Path(__file__).parent.parent
PAGE = PACKAGE.parent.parent / "docs/how-to/python.md"
README = PACKAGE / "README.md"


def blocks(page: Path) -> list[str]:
    if not page.exists():
        pytest.skip(f"there is no {page.name} beside the package")
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", [PAGE, README], ids=lambda page: page.name)
def test_every_block_is_python(page: Path) -> None:
    found = blocks(page)
    assert found
    for block in found:
        compile(block, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", [PAGE, README], ids=lambda page: page.name)
def test_the_example_of_streams_passes_its_test(page: Path, segno_host: TestHost) -> None:
    first, example = blocks(page)[0], next(block for block in blocks(page) if "def test_an_answer_is_streamed" in block)
    app: Any = ModuleType("documented_streams")
    sys.modules["documented_streams"] = app
    exec(compile(f"{first}\n{example}", str(page), "exec"), app.__dict__)
    app.test_an_answer_is_streamed(segno_host)


def test_the_example_of_reading_a_stream_passes_its_test(segno_host: TestHost) -> None:
    first, example = blocks(PAGE)[0], next(block for block in blocks(PAGE) if "ctx.read_stream(" in block)
    app: Any = ModuleType("documented_reads")
    sys.modules["documented_reads"] = app
    exec(compile(f"{first}\n{example}", str(PAGE), "exec"), app.__dict__)
    app.test_the_numbers_are_added_up(segno_host)


def test_the_example_of_budgets_passes_its_test(segno_host: TestHost) -> None:
    first, example = blocks(PAGE)[0], next(block for block in blocks(PAGE) if "ctx.cost(" in block)
    app: Any = ModuleType("documented_budgets")
    sys.modules["documented_budgets"] = app
    exec(compile(f"{first}\n{example}", str(PAGE), "exec"), app.__dict__)
    app.test_an_agent_waits_for_a_person_when_its_budget_is_spent(segno_host)
    budget = {"tokens": 20_000, "calls": 2}
    assert segno_host.run(app.team, ["a", "b"], budget=budget) == [["a", "answer 1", "answer 2"], ["b"]]


CALLER = """
from segno_sdk import Context, workflow

@workflow
async def main(ctx: Context) -> str:
    return await ctx.call(ask, "?")
"""


def test_the_example_of_a_body_in_pieces_runs(segno_host: TestHost) -> None:
    app: Any = ModuleType("documented_pieces")
    sys.modules["documented_pieces"] = app
    example = next(block for block in blocks(PAGE) if "http_open(" in block and "def ask" in block)
    exec(compile(f"{example}\n{CALLER}", str(PAGE), "exec"), app.__dict__)
    segno_host.on_http("POST", "https://model.example.com/", Response.in_pieces(200, ["data: a\n", "\ndata: b\n\n"]))
    assert segno_host.run(app.main) == "ab"
    assert segno_host.stream("tokens") == ["a", "b"]


@pytest.mark.parametrize("page", [PAGE, README], ids=lambda page: page.name)
def test_the_first_program_runs(page: Path) -> None:
    app: Any = ModuleType("documented_app")
    sys.modules["documented_app"] = app
    exec(compile(blocks(page)[0], str(page), "exec"), app.__dict__)
    host = TestHost()
    host.on(app.charge, lambda order: f"receipt for {order.cents}")
    host.signal("approved", True, after="1h")
    assert host.run(app.order, app.Order("o-1", 1200)) == "receipt for 1200"
    assert host.elapsed.total_seconds() == 3600
