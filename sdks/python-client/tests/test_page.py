"""The examples of ``docs/how-to/clients.md`` and of the README are right for mypy."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from host import ROOT

HEAD = """from __future__ import annotations
from datetime import UTC, datetime
from pathlib import Path
from segno_client import Client, ExecutionFailedError
"""
PACKAGE = ROOT / "sdks/python-client"


def test_each_example_in_python_is_right(tmp_path: Path) -> None:
    pages = [ROOT / "docs/how-to/clients.md", PACKAGE / "README.md"]
    fence = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
    blocks = [block for page in pages for block in fence.findall(page.read_text())]
    assert len(blocks) >= 10
    functions = [
        f"def block_{at}(client: Client) -> None:\n{known(block)}{textwrap.indent(block, '    ')}\n"
        for at, block in enumerate(blocks)
    ]
    file = tmp_path / "page.py"
    file.write_text(HEAD + "\n".join(functions))
    command = [sys.executable, "-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"), str(file)]
    checked = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def known(block: str) -> str:
    """The handle that the page has before the block, unless the block makes it."""
    return "" if "order = " in block else '    order = client.execution("order-7")\n'
