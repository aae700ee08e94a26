"""The packages for PyPI: a wheel for each platform, with the program as a script."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from platforms import Program

HERE = Path(__file__).resolve().parent
NAME = "segno-cli"
"""The name `segno` on PyPI belongs to a library for QR codes."""
TIME = (1980, 1, 1, 0, 0, 0)
"""The same files make the same bytes."""


def wheel(version: str, program: Program) -> tuple[str, bytes]:
    """Returns the name and the bytes of the wheel."""
    stem = f"{NAME.replace('-', '_')}-{version}"
    tag = f"py3-none-{program.wheel_tag}"
    info = f"{stem}.dist-info"
    files: list[tuple[str, bytes, int]] = [
        (f"segno_cli/{path.name}", path.read_bytes(), 0o644) for path in sorted((HERE / "pypi/segno_cli").glob("*.py"))
    ]
    files += [
        ("segno_cli/py.typed", b"", 0o644),
        (f"{stem}.data/scripts/{program.platform.file}", program.content, 0o755),
        (f"{info}/METADATA", _metadata(version), 0o644),
        (f"{info}/WHEEL", _wheel(tag), 0o644),
        (f"{info}/entry_points.txt", b"[console_scripts]\nsegno-cli = segno_cli:main\n", 0o644),
        (f"{info}/licenses/LICENSE", (HERE.parent.parent / "LICENSE").read_bytes(), 0o644),
    ]
    rows = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content, _ in files)
    files.append((f"{info}/RECORD", f"{rows}{info}/RECORD,,\n".encode(), 0o644))
    return f"{stem}-{tag}.whl", _zip(files)


def _metadata(version: str) -> bytes:
    readme = (HERE / "pypi/README.md").read_text(encoding="utf-8")
    return f"""Metadata-Version: 2.4
Name: {NAME}
Version: {version}
Summary: A host for durable functions as WebAssembly components, and its command line
License-Expression: Apache-2.0
License-File: LICENSE
Keywords: durable execution,workflow,webassembly
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{readme}""".encode()


def _wheel(tag: str) -> bytes:
    python, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    return f"Wheel-Version: 1.0\nGenerator: segno\nRoot-Is-Purelib: false\n{tags}".encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _zip(files: list[tuple[str, bytes, int]]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    return data.getvalue()
