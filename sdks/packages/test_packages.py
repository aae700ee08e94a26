"""Installs the packages into empty folders and uses them. The program is the one that SEGNO names.

    SEGNO=/path/to/segno python -m unittest -v test_packages

It needs npm. A registry on this machine serves the packages. The registry of npm is asked for the compiler of a new
project's package, unless Segno's cache has it.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import tarfile
import tempfile
import threading
import unittest
import urllib.parse
import venv
from pathlib import Path

import build
from platforms import PLATFORMS, program

VERSION = "0.1.0"
SEGNO = Path(os.environ.get("SEGNO", "segno"))
HOST = f"linux-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), '') }"
# A command is given up after this time: other tests may keep the processors busy.
PATIENCE_S = 600
# A header is enough for a package of another platform.
MACH_O = b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C) + b"\0" * 64


class Registry(http.server.ThreadingHTTPServer):
    """A registry of npm with the archives of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.archives = {path.name: path.read_bytes() for path in folder.glob("*.tgz")}
        self.documents = dict(self._document(name, content) for name, content in self.archives.items())
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def _document(self, file: str, content: bytes) -> tuple[str, bytes]:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            member = archive.extractfile("package/package.json")
            assert member is not None
            manifest = json.load(member)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        manifest["dist"] = {"tarball": f"{self.url}/-/{file}", "integrity": integrity}
        if "postinstall" in manifest.get("scripts", {}):
            manifest["hasInstallScript"] = True
        document = {"name": manifest["name"], "dist-tags": {"latest": VERSION}, "versions": {VERSION: manifest}}
        return manifest["name"], json.dumps(document).encode()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Registry)
        path = urllib.parse.unquote(self.path).removeprefix("/")
        content = server.archives.get(path.removeprefix("-/")) or server.documents.get(path)
        self.send_response(200 if content else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content or b"{}")))
        self.end_headers()
        self.wfile.write(content or b"{}")

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Packages(unittest.TestCase):
    root: Path
    binary: Path
    dist: Path
    paths: list[Path]
    registry: Registry
    npm_environment: dict[str, str]
    scripted: Path
    plain: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = Path(tempfile.mkdtemp(prefix="segno-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.binary = cls.root / "segno"
        shutil.copy(shutil.which(SEGNO) or SEGNO, cls.binary)
        # A debug build is large.
        if shutil.which("strip"):
            subprocess.run(["strip", "-s", cls.binary], check=True)
        (cls.root / "mac").write_bytes(MACH_O)
        cls.dist = cls.root / "dist"
        cls.paths = build.build(VERSION, {HOST: cls.binary, "darwin-arm64": cls.root / "mac"}, cls.dist)
        cls.registry = Registry(cls.dist)
        cls.addClassCleanup(cls.registry.server_close)
        cls.addClassCleanup(cls.registry.shutdown)
        create = [cls.binary, "new", cls.root / "compiled", "--lang", "ts"]
        subprocess.run(create, stdout=subprocess.DEVNULL, check=True)
        cache = os.environ.get("SEGNO_CACHE_DIR")
        cls.npm_environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SEGNO", "npm_"))},
            **({"SEGNO_CACHE_DIR": cache} if cache else {}),
            "npm_config_registry": cls.registry.url,
            "npm_config_cache": str(cls.root / "cache"),
            "npm_config_audit": "false",
            "npm_config_fund": "false",
            "npm_config_update_notifier": "false",
        }
        cls.scripted = cls.install("scripted")
        cls.plain = cls.install("plain", "--ignore-scripts")

    @classmethod
    def install(cls, name: str, *options: str) -> Path:
        folder = cls.root / name
        folder.mkdir()
        (folder / "package.json").write_text('{"private": true}')
        cls.ran(["npm", "install", "segno", *options], folder)
        return folder

    @classmethod
    def ran(cls, command: list[str | Path], folder: Path, code: int = 0, **environment: str) -> str:
        """Runs a command, checks its exit code, and returns all that it writes."""
        result = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**cls.npm_environment, **environment},
        )
        assert result.returncode == code, (command, result.returncode, result.stdout, result.stderr)
        return result.stdout + result.stderr

    def launcher(self, folder: Path) -> Path:
        return folder / "node_modules/.bin/segno"

    def test_npm_installs_the_program_of_this_platform_only(self) -> None:
        for folder in (self.scripted, self.plain):
            installed = sorted(path.name for path in (folder / "node_modules/@segno").iterdir())
            self.assertEqual(installed, [f"cli-{HOST}"])
            self.assertIn(VERSION, self.ran([self.launcher(folder), "--version"], folder))
            self.assertIn(VERSION, self.ran(["npx", "segno", "--version"], folder))

    def test_with_install_scripts_the_command_is_the_program_itself(self) -> None:
        self.assertTrue(
            self.launcher(self.scripted).samefile(self.scripted / f"node_modules/@segno/cli-{HOST}/bin/segno")
        )
        self.assertTrue(self.launcher(self.plain).read_bytes().startswith(b"#!/usr/bin/env node"))

    def test_a_project_is_made(self) -> None:
        folder = self.root / "create"
        folder.mkdir()
        self.ran(["npm", "create", "--yes", "segno@latest", "shop"], folder)
        self.assertTrue((folder / "shop/tsconfig.json").is_file())
        self.ran(["npm", "create", "--yes", "segno@latest", "till", "--", "--lang", "py"], folder)
        self.assertTrue((folder / "till/pyproject.toml").is_file())
        self.ran(["npx", "segno", "new", "desk", "--lang", "js"], self.plain)
        self.assertTrue((self.plain / "desk/package.json").is_file())
        self.assertIn(
            "usage: npm create segno@latest NAME", self.ran(["npm", "create", "--yes", "segno@latest"], folder, 2)
        )

    def test_exit_codes_are_passed_on(self) -> None:
        for folder in (self.scripted, self.plain):
            self.ran([self.launcher(folder), "nonsense"], folder, 2)
            self.ran([self.launcher(folder), "--server", "http://127.0.0.1:1", "modules"], folder, 8)

    def test_signals_are_passed_on(self) -> None:
        log = self.root / "serve.log"
        with log.open("w") as stderr:
            host = subprocess.Popen(
                [self.launcher(self.plain), "serve", "--data", self.root / "data", "--listen", "127.0.0.1:0"],
                stdout=subprocess.PIPE,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
                text=True,
                env=self.npm_environment,
            )
        assert host.stdout is not None
        with host.stdout:
            self.assertIn("listens on", host.stdout.readline(), log.read_text())
            (pid,) = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()
            host.send_signal(signal.SIGTERM)
            self.assertEqual(host.wait(PATIENCE_S), 0, log.read_text())
        self.assertFalse(Path(f"/proc/{pid}").exists(), "the host ended")

    def test_a_program_that_a_signal_ends_ends_the_launcher_so(self) -> None:
        script = self.root / "dies"
        script.write_text("#!/bin/sh\nkill -TERM $$\n")
        script.chmod(0o755)
        self.ran([self.launcher(self.plain)], self.plain, -signal.SIGTERM, SEGNO_BINARY=str(script))

    def test_a_missing_program_has_a_clear_message(self) -> None:
        folder = self.install("missing", "--ignore-scripts", "--omit=optional")
        said = self.ran([self.launcher(folder), "--version"], folder, 1)
        self.assertIn(f"segno: the package `@segno/cli-{HOST}` is not installed", said)
        self.assertIn("Install without `--omit=optional`", said)
        self.assertIn("does not exist", self.ran([self.launcher(folder)], folder, 1, SEGNO_BINARY="/nowhere"))
        self.assertIn(VERSION, self.ran([self.launcher(folder), "--version"], folder, SEGNO_BINARY=str(self.binary)))
        # An installation without a program does not fail.
        self.install("missing-scripted", "--omit=optional")

    def test_another_platform_has_a_clear_message(self) -> None:
        for system, expected in [
            ("freebsd", f"there is no Segno for freebsd-{HOST.split('-')[1]}; there is one for linux-x64"),
            (
                "win32",
                f"this release of Segno has no program for win32-{HOST.split('-')[1]}. Build it from source",
            ),
        ]:
            pretend = self.root / f"{system}.js"
            pretend.write_text(f"Object.defineProperty(process, 'platform', {{ value: '{system}' }});\n")
            said = self.ran(["node", "-r", pretend, self.launcher(self.plain)], self.plain, 1)
            self.assertIn(expected, said)

    def test_a_musl_machine_is_told_what_it_needs(self) -> None:
        folder = self.install("musl", "--ignore-scripts", "--omit=optional")
        pretend = self.root / "musl.js"
        pretend.write_text("process.report.getReport = () => ({ header: {} });\n")
        said = self.ran(["node", "-r", pretend, self.launcher(folder)], folder, 1)
        self.assertIn("this machine has musl (as Alpine does)", said)

    def test_the_wheel_has_the_program(self) -> None:
        (wheel,) = (path for path in self.paths if path.suffix == ".whl" and "linux" in path.name)
        venv.create(self.root / "venv", with_pip=True)
        scripts = self.root / "venv/bin"
        self.ran([scripts / "python", "-m", "pip", "install", "-q", "--no-index", wheel], self.root)
        for command in (["segno"], ["segno-cli"], ["python", "-m", "segno_cli"]):
            self.assertIn(VERSION, self.ran([scripts / command[0], *command[1:], "--version"], self.root))
        self.ran([scripts / "segno-cli", "nonsense"], self.root, 2)
        (scripts / "segno").rename(scripts / "away")
        self.assertIn("install segno-cli again", self.ran([scripts / "segno-cli", "--version"], self.root, 1))
        (scripts / "away").rename(scripts / "segno")
        self.ran([scripts / "python", "-m", "pip", "uninstall", "-q", "-y", "segno-cli"], self.root)
        self.assertFalse((scripts / "segno").exists())

    def test_the_same_programs_make_the_same_packages(self) -> None:
        again = build.build(VERSION, {"darwin-arm64": self.root / "mac"}, self.root / "again")
        names = [path.name for path in again]
        self.assertIn("segno_cli-0.1.0-py3-none-macosx_11_0_arm64.whl", names)
        twice = build.build(VERSION, {"darwin-arm64": self.root / "mac"}, self.root / "twice")
        self.assertEqual([path.read_bytes() for path in again], [path.read_bytes() for path in twice])

    def test_a_program_for_another_platform_is_refused(self) -> None:
        for name, words in [
            ("linux-x64", "is a program for darwin-arm64, not for linux-x64"),
            ("linux-z80", "is no platform"),
        ]:
            with self.assertRaises(SystemExit) as caught:
                program(name, self.root / "mac")
            self.assertIn(words, str(caught.exception))
        self.assertEqual(len(PLATFORMS), 6)


if __name__ == "__main__":
    unittest.main()
