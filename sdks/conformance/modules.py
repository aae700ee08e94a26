"""Modules, built by the program under test."""

import json
import os
import subprocess
import sys
from pathlib import Path

#: The environment with the package for Python.
ENVIRONMENT = Path(__file__).parent / "python/.venv"
PYTHON = ENVIRONMENT / "bin/python"


def build_module(project: Path, segno: str) -> str:
    """Builds the module of a project; the path of its file."""
    command = [segno, "--json", "build", str(project), "--prepare"]
    environment = {**os.environ, "VIRTUAL_ENV": str(ENVIRONMENT)}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{finished.stdout}{finished.stderr}")
    return str(json.loads(finished.stdout)["path"])
