"""Makes the packages that carry the program `segno`, for npm and PyPI:

    python build.py --version 0.1.0 --out DIR linux-x64=PATH [darwin-arm64=PATH …]

Each PATH is a release build for its platform, stripped. A platform that is not given has no package, and the message of
the command says so there. The same programs make the same packages, byte by byte.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from npm_packages import packages
from platforms import PLATFORMS, program
from wheels import wheel

RELEASE = re.compile(r"\d+\.\d+\.\d+")


def build(version: str, paths: dict[str, Path], out: Path) -> list[Path]:
    """Writes the packages into ``out``, and returns their paths."""
    if not RELEASE.fullmatch(version):
        raise SystemExit(f"`{version}` is no version of a release: write it like 0.1.0")
    programs = [program(name, path) for name, path in sorted(paths.items())]
    if not programs:
        raise SystemExit(f"no program is given: write PLATFORM=PATH, with one of {', '.join(PLATFORMS)}")
    files = packages(version, programs) | dict(wheel(version, one) for one in programs)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    return [out / name for name in files]


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PLATFORM=PATH", help=", ".join(PLATFORMS))
    parser.add_argument("--version", required=True, help="version of the packages, like 0.1.0")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder for the packages (default: dist)")
    arguments = parser.parse_args()
    paths = {}
    for pair in arguments.programs:
        name, separator, path = pair.partition("=")
        if not separator:
            parser.error(f"`{pair}` is not PLATFORM=PATH")
        paths[name] = Path(path)
    for path in build(arguments.version, paths, arguments.out):
        print(f"{path}  {path.stat().st_size / 1_048_576:.1f} MiB")


if __name__ == "__main__":
    main()
