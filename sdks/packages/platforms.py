"""The platforms, and what a program says about its own."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Platform:
    """A platform, by the names that npm has for it."""

    os: str
    cpu: str
    machine: str
    """Its name for processors in wheels."""

    @property
    def name(self) -> str:
        """``linux-x64``."""
        return f"{self.os}-{self.cpu}"

    @property
    def file(self) -> str:
        """Name of the program."""
        return "segno.exe" if self.os == "win32" else "segno"


PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform("linux", "x64", "x86_64"),
        Platform("linux", "arm64", "aarch64"),
        Platform("darwin", "x64", "x86_64"),
        Platform("darwin", "arm64", "arm64"),
        Platform("win32", "x64", "amd64"),
        Platform("win32", "arm64", "arm64"),
    )
}

MACOS = {"x64": "10_12", "arm64": "11_0"}
"""The macOS for which Rust builds by default."""
ELF_MACHINES = {62: "x64", 183: "arm64"}
MACH_O_CPUS = {0x01000007: "x64", 0x0100000C: "arm64"}
PE_MACHINES = {0x8664: "x64", 0xAA64: "arm64"}
PT_INTERP = 3


@dataclass(frozen=True)
class Program:
    """A program for one platform."""

    platform: Platform
    content: bytes
    glibc: tuple[int, int] | None
    """The glibc that it needs; ``None`` on other systems, and for a static program."""

    @property
    def is_static_linux(self) -> bool:
        """True if it runs with any C library."""
        return self.platform.os == "linux" and self.glibc is None

    @property
    def wheel_tag(self) -> str:
        """The tag of the platform in the name of a wheel."""
        machine = self.platform.machine
        match self.platform.os:
            case "darwin":
                return f"macosx_{MACOS[self.platform.cpu]}_{machine}"
            case "win32":
                return f"win_{machine}"
            case _ if self.glibc is None:
                return f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"
            case _:
                major, minor = self.glibc
                return f"manylinux_{major}_{minor}_{machine}"


def program(name: str, path: Path) -> Program:
    """Reads the program for the platform ``name``, and checks that it is for it."""
    if name not in PLATFORMS:
        raise SystemExit(f"`{name}` is no platform: there are {', '.join(PLATFORMS)}")
    content = path.read_bytes()
    found = _platform_of(content)
    if found != name:
        raise SystemExit(f"{path} is a program for {found or 'another system'}, not for {name}")
    glibc = _glibc(content) if name.startswith("linux-") else None
    return Program(PLATFORMS[name], content, glibc)


def _platform_of(content: bytes) -> str | None:
    cpu: str | None = None
    system = ""
    if content.startswith(b"\x7fELF\x02\x01"):
        system, cpu = "linux", ELF_MACHINES.get(struct.unpack_from("<H", content, 18)[0])
    elif content.startswith(b"\xcf\xfa\xed\xfe"):
        system, cpu = "darwin", MACH_O_CPUS.get(struct.unpack_from("<I", content, 4)[0])
    elif content.startswith(b"MZ"):
        (header,) = struct.unpack_from("<I", content, 60)
        system, cpu = "win32", PE_MACHINES.get(struct.unpack_from("<H", content, header + 4)[0])
    return f"{system}-{cpu}" if cpu else None


def _glibc(content: bytes) -> tuple[int, int] | None:
    """The newest version of glibc whose symbols an ELF program names; ``None`` if it loads no C library."""
    (offset,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    if all(struct.unpack_from("<I", content, offset + at * size)[0] != PT_INTERP for at in range(count)):
        return None
    versions = [(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", content)]
    if not versions:
        raise SystemExit("the program is linked to a C library that is not glibc: link it statically")
    return max(versions)
