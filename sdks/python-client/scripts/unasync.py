"""Writes the synchronous client and its tests from those for asyncio.

    python scripts/unasync.py [--check]

With ``--check`` it writes nothing, and fails if a file differs from what it would write.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    ROOT / "src/segno_client/_async": ROOT / "src/segno_client/_sync",
    ROOT / "tests/_async": ROOT / "tests/_sync",
}
HEAD = "# Written by `scripts/unasync.py` from `{name}`. Do not edit.\n"
RULES = [
    (r"\bawait asyncio\.sleep\(", "time.sleep("),
    (r"\bimport asyncio\n(?=(?:.*\n){0,5}import time\n)", ""),
    (r"\bimport asyncio\n", "import time\n"),
    (r"pytestmark = pytest\.mark\.anyio\n\n?", ""),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"``async (with|for)\b", r"``\1"),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync(Iterator|Generator)\b", r"\1"),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\bhttpx\.AsyncClient\b", "httpx.Client"),
    (r"\bAsync([A-Z]\w+)", r"\1"),
    (r"\b(_|\.)async\b", r"\1sync"),
    (r"\basync_(sleep|in_thread)\b", r"\1"),
    (r"__a(iter|next|enter|exit)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\ba(iter_raw|read)\b", r"\1"),
    (r"\baclosing\b", "closing"),
    (r", for asyncio\.", "."),
    (r"for asyncio", "for synchronous programs"),
    (r"_async/", "_sync/"),
    (r'"""The client for synchronous programs. .*"""', '"""The synchronous client."""'),
]


def written(source: Path) -> str:
    """The synchronous text of ``source``."""
    text = source.read_text(encoding="utf-8")
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return HEAD.format(name=source.relative_to(ROOT).as_posix()) + text


def main() -> int:
    """Writes or checks all files; returns the exit code."""
    differing = []
    for source_folder, target_folder in FOLDERS.items():
        expected = {source.name: written(source) for source in sorted(source_folder.glob("*.py"))}
        actual = {target.name for target in target_folder.glob("*.py")}
        for name, text in expected.items():
            target = target_folder / name
            if name in actual and target.read_text(encoding="utf-8") == text:
                continue
            differing.append(target)
            if "--check" not in sys.argv:
                target.write_text(text, encoding="utf-8")
        for name in actual - expected.keys():
            differing.append(target_folder / name)
            if "--check" not in sys.argv:
                (target_folder / name).unlink()
    if "--check" in sys.argv and differing:
        print("run `python scripts/unasync.py`; these differ:", *differing, sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
