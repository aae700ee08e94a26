"""A real host in a temporary folder. The program is the one that SEGNO names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from segno_client import Client

PROGRAM = os.environ.get("SEGNO", "segno")
ROOT = Path(__file__).resolve().parents[3]
COMPONENTS = {
    "parts": ROOT / "tests/contract/0.2.0.wasm",
    "keys": ROOT / "tests/contract/0.2.0-runs.wasm",
    "herald": ROOT / "sdks/fixtures/herald.wasm",
}


class Host:
    """A host that a test may kill and start again."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="segno-client-"))
        self.options = options
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.up()

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs"

    def up(self) -> None:
        log = self.folder.with_suffix(".log")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SEGNO_")}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(PROGRAM, "serve", "--data", self.folder, "--blobs", self.blobs),
                    *("--listen", f"127.0.0.1:{self.port}", *self.options),
                ],
                stdout=output,
                stderr=output,
                env=environment,
            )
        while self.process.poll() is None:
            found = re.search(r"listens on http://127\.0\.0\.1:(\d+)", log.read_text())
            if found:
                self.port = int(found[1])
                return
        raise RuntimeError(f"the host ended:\n{log.read_text()}")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.with_suffix(".log").unlink(missing_ok=True)


def deploy_all(server: str) -> None:
    """Deploys the components of the tests."""
    with Client(server, token="") as client:
        client.ready(wait_ms=30_000)
        for alias, path in COMPONENTS.items():
            client.deploy(path.read_bytes(), alias=alias)
