"""mypy and pyright accept the package and right programs, and find the errors in wrong ones."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent


def checked(command: list[str]) -> tuple[int, str]:
    if not Path(command[0]).exists():
        pytest.skip(f"{Path(command[0]).name} is not installed")
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return finished.returncode, finished.stdout + finished.stderr


def tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name) or name


MYPY = [tool("mypy"), "--strict", "--no-error-summary", "--warn-unused-ignores"]
PYRIGHT = [tool("pyright"), "--pythonpath", sys.executable]


def lines_of(name: str) -> list[int]:
    text = (HERE / name).read_text().splitlines()
    return [number for number, line in enumerate(text, 1) if line.endswith("# error")]


def found(output: str, name: str) -> list[int]:
    return sorted(
        {int(line) for line in re.findall(rf"{re.escape(name)}:(\d+)(?::\d+)?[: -]+(?:\x1b\[\d+m)?error", output)}
    )


def test_mypy_accepts_the_package() -> None:
    assert checked([tool("mypy"), "--no-error-summary"]) == (0, "")


@pytest.mark.parametrize("command", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_a_right_program_is_accepted(command: list[str]) -> None:
    code, output = checked([*command, "tests/typing_ok.py"])
    assert code == 0, output


@pytest.mark.parametrize("command", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
@pytest.mark.parametrize("name", ["typing_errors.py", "typing_references.py"])
def test_each_error_is_found_at_its_line(command: list[str], name: str) -> None:
    _, output = checked([*command, f"tests/{name}"])
    assert found(output, name) == lines_of(name), output


@pytest.mark.parametrize("command", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_generated_types_are_accepted(command: list[str]) -> None:
    code, output = checked([*command, "../../host/types/tests/golden/shop_types.py"])
    assert code == 0, output


def test_pyright_accepts_the_package() -> None:
    code, output = checked(PYRIGHT)
    assert code == 0, output
