"""Clear errors for what does not exist where workflows and activities run: sockets, threads, processes, files, and blocking."""

import builtins
import io
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

from . import current
from .failure import FORBIDDEN, Failure, NotAvailable

_SOCKETS = "there are no sockets here ({what}): send requests with `ctx.http` or `segno_sdk.http`"
_THREADS = (
    "there are no threads here ({what}): use `asyncio.gather` over calls of activities, or call the function directly"
)
_PROCESSES = "there are no processes here ({what}): what needs a program belongs on a server that an activity calls with `ctx.http`"
_replaced: list[tuple[Any, str, Any]] = []
#: True while the author's module is loaded into a component.
loading = False


def install() -> None:
    """Replaces what would fail without a clear error. Only where something runs; elsewhere all is as before."""
    if _replaced:
        return
    import socket
    import subprocess
    import threading

    for name in (
        "create_connection",
        "getaddrinfo",
        "gethostbyname",
        "gethostbyname_ex",
        "create_server",
        "socketpair",
    ):
        _replace(socket, name, _SOCKETS, f"`socket.{name}`")
    _replace(socket.socket, "__init__", _SOCKETS, "`socket.socket`")
    _replace(threading.Thread, "start", _THREADS, "`threading.Thread`")
    _replace(subprocess.Popen, "__init__", _PROCESSES, "`subprocess`")
    _replace_sleep()
    _replace_open()


def uninstall() -> None:
    """Puts everything back."""
    while _replaced:
        owner, name, original = _replaced.pop()
        setattr(owner, name, original)


def _replace(owner: Any, name: str, message: str, what: str) -> None:
    original = getattr(owner, name, None)
    if original is None:
        return

    def refused(*arguments: Any, **named: Any) -> Any:
        if loading:
            refuse(f"{message.format(what=what)}, and not while the module is loaded, but inside of an activity")
        if current.running is None:
            return original(*arguments, **named)
        return refuse(message.format(what=what))

    refused.__name__ = name
    _put(owner, name, refused, original)


def _replace_sleep() -> None:
    original: Callable[[float], None] = time.sleep

    def sleep(seconds: float) -> None:
        running = current.running
        if running is None:
            original(seconds)
        elif hasattr(running, "send_request"):
            running.engine.sleep(seconds)
        else:
            refuse(
                "`time.sleep` stops everything in a workflow: write `await asyncio.sleep(…)` or `await ctx.sleep('30s')`"
            )

    _put(time, "sleep", sleep, original)


def _replace_open() -> None:
    original: Callable[..., Any] = builtins.open

    def guarded(file: Any, *arguments: Any, **named: Any) -> Any:
        running = current.running
        if running is not None and isinstance(file, (str, os.PathLike)):
            path = os.fspath(file)
            if not hasattr(running, "send_request"):
                refuse(
                    f"a workflow reads and writes no files (`open({path!r})`): do it in an activity, with `ctx.files`"
                )
            _check_directory(running, str(path))
        return original(file, *arguments, **named)

    _put(builtins, "open", guarded, original)
    _put(io, "open", guarded, original)


def _check_directory(running: Any, path: str) -> None:
    """Refuses a file that no directory of the policy contains."""
    try:
        running.engine.file_read(os.path.abspath(path), 0, 0)
    except Failure as failure:
        if failure.code == FORBIDDEN:
            raise


def _put(owner: Any, name: str, value: Any, original: Any) -> None:
    _replaced.append((owner, name, original))
    setattr(owner, name, value)


def refuse(message: str) -> NoReturn:
    """Raises the error."""
    raise NotAvailable(message)
