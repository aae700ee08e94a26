"""The packages for npm: one with the program for each platform, `segno` that chooses among them, and `create-segno`."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from platforms import PLATFORMS, Program

HERE = Path(__file__).resolve().parent
LICENSE = (HERE.parent.parent / "LICENSE").read_bytes()
DESCRIPTION = "A host for durable functions as WebAssembly components"

Files = dict[str, tuple[bytes, int]]
"""The content and the mode of each file of a package."""


def packages(version: str, programs: Sequence[Program]) -> dict[str, bytes]:
    """Returns the archive of each package, by its file name."""
    archives = {}
    for program in programs:
        name = f"@segno/cli-{program.platform.name}"
        archives[_file_name(name, version)] = _archive(
            _manifest(_platform_manifest(name, version, program)) | _binary(program)
        )
    archives[_file_name("segno", version)] = _archive(_segno(version, programs))
    archives[_file_name("create-segno", version)] = _archive(_create_segno(version))
    return archives


def _platform_manifest(name: str, version: str, program: Program) -> dict[str, Any]:
    platform = program.platform
    return {
        "name": name,
        "version": version,
        "description": f"{DESCRIPTION}: the program for {platform.name}. Install `segno`, which chooses it.",
        "license": "Apache-2.0",
        "os": [platform.os],
        "cpu": [platform.cpu],
        **({"libc": ["glibc"]} if program.glibc else {}),
        # A program in an archive cannot be run.
        "preferUnplugged": True,
        "files": ["bin"],
    }


def _binary(program: Program) -> Files:
    return {f"bin/{program.platform.file}": (program.content, 0o755), "LICENSE": (LICENSE, 0o644)}


def _segno(version: str, programs: Sequence[Program]) -> Files:
    released = {program.platform.name: program for program in programs}
    manifest = {
        "name": "segno",
        "version": version,
        "description": f"{DESCRIPTION}, and its command line.",
        "keywords": ["durable execution", "workflow", "webassembly"],
        "license": "Apache-2.0",
        "bin": {"segno": "bin/segno"},
        "main": "lib/run.js",
        "scripts": {"postinstall": "node lib/install.js"},
        "engines": {"node": ">=18"},
        "preferUnplugged": True,
        "files": ["bin", "lib"],
        "optionalDependencies": {f"@segno/cli-{name}": version for name in sorted(released)},
    }
    platforms = {
        name: {
            "file": platform.file,
            "isReleased": name in released,
            **({"libc": "glibc"} if name in released and released[name].glibc else {}),
        }
        for name, platform in PLATFORMS.items()
    }
    return (
        _manifest(manifest)
        | _folder(HERE / "npm/segno")
        | {"lib/platforms.json": (_json({"platforms": platforms}), 0o644)}
    )


def _create_segno(version: str) -> Files:
    manifest = {
        "name": "create-segno",
        "version": version,
        "description": "Makes a project for Segno: `npm create segno@latest NAME`.",
        "license": "Apache-2.0",
        "bin": {"create-segno": "bin/create-segno.js"},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "dependencies": {"segno": version},
    }
    return _manifest(manifest) | _folder(HERE / "npm/create-segno")


def _manifest(fields: Mapping[str, Any]) -> Files:
    return {"package.json": (_json(fields), 0o644)}


def _folder(folder: Path) -> Files:
    """The files of a folder, those in `bin` executable, with the licence."""
    files: Files = {"LICENSE": (LICENSE, 0o644)}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            files[name] = (path.read_bytes(), 0o755 if name.startswith("bin/") else 0o644)
    return files


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _file_name(name: str, version: str) -> str:
    """The name that `npm pack` gives."""
    return f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"


def _archive(files: Files) -> bytes:
    """A package as `npm pack` makes it; the same files make the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=6, mtime=0)
