"""The places of defects: file, line and column in the author's sources."""

import os
import re
import sys
import sysconfig
from functools import lru_cache
from types import CodeType, FrameType, TracebackType
from typing import Any

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STDLIB = sysconfig.get_paths().get("stdlib", "/python")
# On a host the standard library is here, and the sources in folders with numbers, beside the runtime that loads them.
_BUILT_IN = ("/python/", "/bundled/", "/world/", "/0/segno_", "<frozen", "<string>")
_NUMBERED = re.compile("^/[0-9]+/")


@lru_cache(maxsize=4096)
def is_own(filename: str) -> bool:
    """True for files of the SDK and of the standard library."""
    if filename.startswith((_OWN, *_BUILT_IN)):
        return True
    return filename.startswith(_STDLIB) and "site-packages" not in filename


#: In a component: the folder of `app.py`, without which the author's files look like those of packages.
author_folder: str | None = None


def is_of_author(filename: str) -> bool:
    """True for files of the author, and false for those of packages."""
    if author_folder is not None:
        return filename.startswith(author_folder) and not is_own(filename)
    return "site-packages" not in filename and not is_own(filename)


@lru_cache(maxsize=4096)
def shown_file(filename: str) -> str:
    """The name by which the author knows a file."""
    if _NUMBERED.match(filename):
        return _NUMBERED.sub("", filename)
    try:
        relative = os.path.relpath(filename)
    except (ValueError, OSError):
        return filename
    return filename if relative.startswith("..") else relative


def place_of_function(function: Any) -> str:
    """`FILE:LINE` of a function or class."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return "an unknown place"
    return f"{shown_file(code.co_filename)}:{code.co_firstlineno}"


def calling_place() -> str | None:
    """`FILE:LINE` of the author's code that is being executed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_own(frame.f_code.co_filename):
            return f"{shown_file(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def calling_frames() -> list[str]:
    """The author's code that is being executed, as lines `at FUNCTION (FILE:LINE)`, the innermost first."""
    lines = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_of_author(frame.f_code.co_filename):
            lines.append(f"    at {frame.f_code.co_qualname} ({shown_file(frame.f_code.co_filename)}:{frame.f_lineno})")
        frame = frame.f_back
    return lines


def waiting_place(awaitable: Any) -> str | None:
    """`FILE:LINE` of the author's code in which a coroutine waits; the innermost one."""
    found = None
    while awaitable is not None:
        frame = (
            getattr(awaitable, "cr_frame", None)
            or getattr(awaitable, "ag_frame", None)
            or getattr(awaitable, "gi_frame", None)
        )
        if frame is not None and not is_own(frame.f_code.co_filename):
            found = f"{shown_file(frame.f_code.co_filename)}:{frame.f_lineno}"
        awaitable = (
            getattr(awaitable, "cr_await", None)
            or getattr(awaitable, "ag_await", None)
            or getattr(awaitable, "gi_yieldfrom", None)
        )
    return found


class Defect(RuntimeError):
    """A defect of the author's code that no exception of its own shows. `at`: its `FILE:LINE`."""

    def __init__(self, message: str, at: str | None = None) -> None:
        super().__init__(message if at is None else f"{at}: {message}")
        self.at, self.what = at, message


#: Modules that could not be loaded with the module, with the reasons. None outside of a host.
unloaded: dict[str, str] | None = None


def _late_import(error: BaseException) -> str | None:
    """Why a module is missing."""
    if unloaded is not None and type(error).__name__ == "ZoneInfoNotFoundError":
        return "  the module has no time zones: install tzdata in `.venv`, and import zoneinfo at the top of a source"
    if unloaded is None or not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    reason = unloaded.get(error.name)
    if reason is not None:
        return f"  it could not be loaded with the module: {reason}"
    return "  a module has only what its sources import: import it at the top of one of them"


_UNAWAITED = re.compile("'(Call|Promise|Command|Wait|SignalWait|coroutine)'")


def _hint(error: BaseException) -> str | None:
    """What to do about an error whose own text does not say it."""
    if isinstance(error, (TypeError, AttributeError)) and (found := _UNAWAITED.search(str(error))) is not None:
        return f"  a {found[1]} has its value when it is awaited: write `await` before it"
    return _late_import(error)


def report(error: BaseException) -> tuple[str, str]:
    """The `FILE:LINE:COLUMN` of an exception, and a text for its author: the exception and the author's frames."""
    frames = [frame for frame in _frames(error.__traceback__) if not is_own(frame[0])]
    lines = [f"    at {name} ({shown_file(file)}:{line})" for file, line, _, name in reversed(frames[-20:])]
    if isinstance(error, Defect):
        return f"{error.at or 'an unknown place'}:1", "\n".join([error.what, *lines])
    at = getattr(error, "at", None)
    if at is None and frames:
        file, line, column, _ = next((frame for frame in reversed(frames) if is_of_author(frame[0])), frames[-1])
        at = f"{shown_file(file)}:{line}:{column}"
    text = f"{type(error).__name__}: {error}"
    if (hint := _hint(error)) is not None:
        text = f"{text}\n{hint}"
    if isinstance(error, BaseExceptionGroup):
        text = "\n".join([text, *(f"  {one}" for inner in error.exceptions for one in report(inner)[1].splitlines())])
    if error.__cause__ is not None:
        text = f"{text}\n  because of {type(error.__cause__).__name__}: {error.__cause__}"
    return at or "an unknown place", "\n".join([text, *lines])


def _frames(traceback: TracebackType | None) -> list[tuple[str, int, int, str]]:
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        column = _column(code, traceback.tb_lasti)
        frames.append((code.co_filename, traceback.tb_lineno or 1, column, code.co_qualname))
        traceback = traceback.tb_next
    return frames


def _column(code: CodeType, instruction: int) -> int:
    for number, (_, _, column, _) in enumerate(code.co_positions()):
        if number == instruction // 2:
            return 1 if column is None else column + 1
    return 1
